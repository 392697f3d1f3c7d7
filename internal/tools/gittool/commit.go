package gittool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/pkg/tools"
)

// commitInput is the input of git_commit.
type commitInput struct {
	Message string   `json:"message" jsonschema:"description=Subject line; then maybe a blank line and why"`
	Paths   []string `json:"paths,omitempty" jsonschema:"description=Files or directories; default what is staged"`
}

//go:embed git_commit.md
var commitProse string

// Commit is the tool git_commit.
var Commit = tools.New(tools.Metadata{
	Name: "git_commit", Category: "vcs", Needs: tools.Read | tools.Write | tools.Exec, Paths: []string{"paths"}, Requires: []string{"git"},
	Examples: []tools.Example{{Args: json.RawMessage(`{"message":"Round totals per cart","paths":["cart.go","cart_test.go"]}`)}},
}.Prose(commitProse), commit)

func commit(ctx context.Context, env *tools.Env, in commitInput) (tools.Result, error) {
	g := git.New(env.Exec).WithGuard(env.Files).Operation()
	s, err := g.Status(ctx)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	if err := ready(s, in.Paths); err != nil {
		return tools.Result{}, err
	}
	if err := leak(ctx, g, env.Files, s, in.Paths); err != nil {
		return tools.Result{}, err
	}
	c, err := g.Commit(ctx, in.Message, in.Paths)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	text := fmt.Sprintf("%.10s %s", c.Hash, c.Subject)
	return tools.Result{Text: "Committed as " + text, Summary: text}, nil
}

// ready refuses what git would refuse in words that help less.
func ready(s *git.Status, paths []string) error {
	var changed []string
	staged := false
	for _, e := range s.Entries {
		if e.Conflict {
			return fmt.Errorf("%s is in conflict: resolve it before committing", e.Path)
		}
		staged = staged || e.Index != ""
		changed = append(changed, e.Path)
	}
	switch {
	case len(changed) == 0:
		return errors.New("nothing differs from the last commit: there is nothing to commit")
	case len(paths) == 0 && !staged:
		return fmt.Errorf("nothing is staged: name in paths what to commit. Changed: %s", some(changed, 20))
	}
	for _, p := range paths {
		if !touches(p, changed) {
			return fmt.Errorf("%s has no changes. Changed: %s", p, some(changed, 20))
		}
	}
	return nil
}

func touches(path string, changed []string) bool {
	return slices.ContainsFunc(changed, func(c string) bool { return covers(path, c) })
}

func some(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}
