package git

import (
	"context"
	"errors"
	"slices"

	"github.com/adroit-run/adroit/internal/work/process"
)

// Merging is what git has stopped at.
type Merging struct {
	Operation string   `json:"operation,omitempty"` // merge, rebase, cherry-pick, revert; "" for what only left conflicts, as stash pop does
	Files     []string `json:"files,omitempty"`     // that are in conflict
	Continued bool     `json:"continued,omitempty"`
}

// stoppedAt are the names by which git knows what an operation has stopped at. That of a
// rebase comes first: it may have picked.
var stoppedAt = [][2]string{{"REBASE_HEAD", "rebase"}, {"MERGE_HEAD", "merge"}, {"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}}

// Unmerged returns what git has stopped at. It is an error if nothing is under way.
func (g *Repo) Unmerged(ctx context.Context) (*Merging, error) {
	m, err := g.merging(ctx)
	if err == nil && m.Operation == "" && len(m.Files) == 0 {
		err = errors.New("no merge, rebase, cherry-pick or revert is under way, and no file is in conflict")
	}
	return m, err
}

func (g *Repo) merging(ctx context.Context) (*Merging, error) {
	if _, _, err := g.Locate(ctx); err != nil {
		return nil, err
	}
	m := &Merging{}
	for _, s := range stoppedAt {
		_, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"rev-parse", "--quiet", "--verify", s[0]}})
		if err == nil {
			m.Operation = s[1]
			break
		}
		if exit := new(ExitError); !errors.As(err, &exit) {
			return nil, err
		}
	}
	var err error
	m.Files, err = g.ListNames(ctx, "diff", "--no-ext-diff", "--no-textconv", "--name-only", "--diff-filter=U", "--relative", "-z")
	slices.Sort(m.Files)
	m.Files = slices.Compact(m.Files)
	return m, err
}

// Continue stages the files that m names and continues its operation, without an editor.
// It returns what git stops at then, which has no files if that is nothing.
func (g *Repo) Continue(ctx context.Context, m *Merging) (*Merging, error) {
	specs, err := g.pathspecs(m.Files)
	if err != nil {
		return nil, err
	}
	if len(specs) > 0 {
		if err := g.Stage(ctx, specs); err != nil {
			return nil, err
		}
	}
	args := []string{m.Operation, "--continue"}
	switch m.Operation {
	case "":
		return g.merging(ctx)
	case "merge":
		args = []string{"commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-edit", "--cleanup=strip"} // as where an editor was open: without git's comments
	}
	_, failed := g.Run(ctx, process.Cmd{Args: args, Env: []string{"GIT_EDITOR=true"}, Snapshot: true})
	after, err := g.merging(ctx)
	if err != nil {
		return nil, err
	}
	if failed != nil && len(after.Files) == 0 {
		return nil, failed
	}
	return after, nil
}
