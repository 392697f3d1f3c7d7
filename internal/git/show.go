package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/process"
)

// Show returns a commit and its changes as a unified diff: against its first parent, below the
// workspace, and only of the given paths if there are any. Files on the list of secrets are left
// out.
func (g *Repo) Show(ctx context.Context, ref string, paths []string) (*Commit, string, error) {
	if err := CheckRef("commit", ref); err != nil {
		return nil, "", err
	}
	g = g.Operation()
	hash, err := g.ResolveCommit(ctx, ref)
	if err != nil {
		return nil, "", err
	}
	out, err := g.Run(ctx, process.Cmd{Args: []string{"log", "-z", "--no-show-signature", "--no-ext-diff", "--no-textconv", logFormat, "-n", "1", hash, "--"}})
	if err != nil {
		return nil, "", err
	}
	log := parseLog(string(out))
	if len(log) == 0 {
		return nil, "", fmt.Errorf("git does not show commit %s", hash)
	}
	parent := ""
	if c := log[0]; len(c.Parents) > 0 {
		parent = c.Parents[0]
	} else if parent, err = g.emptyTree(ctx); err != nil {
		return nil, "", err
	}
	diff, err := g.Diff(ctx, DiffOptions{From: parent, To: hash, Paths: paths})
	return &log[0], diff, err
}

// emptyTree returns the hash of the empty tree.
func (g *Repo) emptyTree(ctx context.Context) (string, error) {
	out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"hash-object", "-t", "tree", "--stdin"}, Stdin: []byte{}})
	return strings.TrimSpace(string(out)), err
}

// A BlameLine is a line of a file and the commit it is from.
type BlameLine struct {
	Line    int       `json:"line"`
	Commit  string    `json:"commit"` // all zeros if it is not committed
	Author  string    `json:"author"`
	Time    time.Time `json:"time"`
	Subject string    `json:"subject"`
	Text    string    `json:"text"`
}

// Blame returns the commit of each of n lines of a file, from the given one, counted from 1.
func (g *Repo) Blame(ctx context.Context, path string, from, n int) ([]BlameLine, error) {
	if _, err := g.pathspec(path); err != nil {
		return nil, err
	}
	if _, _, err := g.Locate(ctx); err != nil {
		return nil, err
	}
	from = max(from, 1)
	out, err := g.Run(ctx, process.Cmd{Args: []string{"blame", "--line-porcelain", "--no-textconv", "--no-progress", "-L",
		strconv.Itoa(from) + ",+" + strconv.Itoa(max(n, 1)), "--", "./" + filepath.ToSlash(filepath.Clean(path))}})
	if err != nil {
		return nil, err
	}
	return parseBlame(string(out)), nil
}

func parseBlame(out string) []BlameLine {
	var lines []BlameLine
	var l BlameLine
	head := true
	for row := range strings.SplitSeq(out, "\n") {
		if text, ok := strings.CutPrefix(row, "\t"); ok {
			l.Text, head = rootfs.Visible(text), true
			lines = append(lines, l)
			continue
		}
		key, value, _ := strings.Cut(row, " ")
		switch {
		case head: // hash, line before, line now, lines in the group
			if f := strings.Fields(value); len(f) > 1 {
				no, _ := strconv.Atoi(f[1])
				l = BlameLine{Commit: key, Line: no}
			}
			head = false
		case key == "author":
			l.Author = rootfs.Visible(value)
		case key == "author-time":
			sec, _ := strconv.ParseInt(value, 10, 64)
			l.Time = time.Unix(sec, 0).UTC()
		case key == "summary":
			l.Subject = rootfs.Visible(value)
		}
	}
	return lines
}

// ErrNothing reports that a commit would be empty.
var ErrNothing = errors.New("nothing differs from the last commit: there is nothing to commit")

// A NotStagedError names the paths that git add silently left out.
type NotStagedError struct{ Paths []string }

func (e *NotStagedError) Error() string {
	return "git add left out " + spelling.List(spelling.PathLines(e.Paths), 20) + "; nothing is committed"
}

// Stage stages the paths that the pathspecs name as they are in the work tree: new and deleted
// files, and those that a sparse checkout does not have. Paths that git leaves out are a
// *NotStagedError. config are options of git before its command.
func (g *Repo) Stage(ctx context.Context, specs []string, config ...string) error {
	var before []string
	for {
		add := func(options ...string) error {
			_, err := g.Run(ctx, process.Cmd{Args: Args(config, "add", "-A", options, "--", specs), Snapshot: true, OwnGit: true})
			return err
		}
		err := add("--sparse")
		if exit, ok := errors.AsType[*ExitError](err); ok && exit.Code == 129 { // before 2.34 git has no such option
			err = add()
		}
		if err != nil {
			return err
		}
		left, err := g.unstaged(ctx, specs, config)
		if err != nil {
			return err
		}
		if before != nil { // what is left both times was not written in between
			left = slices.DeleteFunc(left, func(p string) bool { return !slices.Contains(before, p) })
			if len(left) > 0 {
				return &NotStagedError{left}
			}
			return nil
		}
		if before = left; len(left) == 0 {
			return nil
		}
	}
}

// unstaged lists files whose change is not in the index at all. A file that is written to all the
// time may be slightly out of date.
func (g *Repo) unstaged(ctx context.Context, specs, config []string) ([]string, error) {
	off, err := g.drivers(ctx)
	if err != nil {
		return nil, err
	}
	list := func(args ...any) ([]string, error) {
		out, err := g.Capture(ctx, off, process.Cmd{Args: Args(append(append([]any{config}, args...), "-z", "--", specs)...)}, 256*rootfs.MaxNames)
		return SplitNul(out), err
	}
	diff := []string{"diff", "--no-ext-diff", "--no-textconv", "--name-only", "--no-renames", "--relative", "--ignore-submodules=dirty"}
	left, err := list(diff)
	if err == nil && len(left) > 0 {
		var staged []string
		staged, err = list(diff, "--cached")
		left = slices.DeleteFunc(left, func(p string) bool { return slices.Contains(staged, p) })
	}
	if err != nil {
		return nil, err
	}
	others, err := list("ls-files", "--others", "--exclude-standard")
	return append(left, others...), err
}

// Merging describes an operation in which git has stopped.
type Merging struct {
	Operation string   `json:"operation,omitempty"` // merge, rebase, cherry-pick, revert; "" for what only left conflicts, as stash pop does
	Files     []string `json:"files,omitempty"`     // that are in conflict
	Continued bool     `json:"continued,omitempty"`
}

// stoppedAt maps git's names of the commit at which an operation has stopped to the operation. A
// rebase comes first: it may have picked.
var stoppedAt = [][2]string{{"REBASE_HEAD", "rebase"}, {"MERGE_HEAD", "merge"}, {"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}}

// Unmerged returns the operation in which git has stopped. It is an error if there is none.
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

// Continue stages the files that m names and continues its operation, without an editor. It
// returns the state in which git stops then, which has no files if the operation is complete.
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
