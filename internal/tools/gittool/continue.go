package gittool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed git_continue.md
var continueProse string

// Continue is the tool git_continue.
var Continue = tools.New(tools.Metadata{
	Name: "git_continue", Category: "vcs", Needs: tools.Read | tools.Write | tools.Exec, Effect: tools.Unsafe, Requires: []string{"git"},
	Asks:     "it commits what was resolved, and goes on with the merge, rebase, cherry-pick or revert",
	Examples: []tools.Example{{Args: json.RawMessage(`{}`)}},
}.Prose(continueProse), goOn)

func goOn(ctx context.Context, env *tools.Env, _ struct{}) (tools.Result, error) {
	g := git.New(env.Exec).WithGuard(env.Files).Operation()
	before, err := g.Unmerged(ctx)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	for _, name := range before.Files {
		content, err := env.Files.ReadFile(name)
		if err != nil {
			continue // it was removed, which settles it
		}
		if at := marker(string(content)); at > 0 {
			return conflicts(before, fmt.Sprintf("not continued: %s still has the marks of a conflict in line %d", name, at))
		}
	}
	after, err := g.Continue(ctx, before)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	if len(after.Files) > 0 {
		after.Continued = true
		return conflicts(after, "continued up to the next conflict")
	}
	done := "staged"
	if before.Operation != "" {
		done = before.Operation + " continued to its end"
	}
	value, err := json.Marshal(after)
	if err != nil {
		return tools.Result{}, tools.Fatal(err)
	}
	return tools.Result{Text: done + ": " + some(before.Files, 20), Summary: done, Value: value}, nil
}

// conflicts is the result where files are still in conflict, in git's own words.
func conflicts(m *git.Merging, why string) (tools.Result, error) {
	value, err := json.Marshal(m)
	if err != nil {
		return tools.Result{}, tools.Fatal(err)
	}
	var b strings.Builder
	for _, name := range m.Files {
		fmt.Fprintf(&b, "CONFLICT (content): Merge conflict in %s\n", name)
	}
	return tools.Result{Failed: true, Text: b.String() + why, Summary: why, Value: value}, nil
}

// marker is the number of the first line that marks a conflict, 0 if there is none.
func marker(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") {
			return n
		}
	}
	return 0
}
