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

// branchInput is the input of git_branch.
type branchInput struct {
	Name string `json:"name,omitempty" jsonschema:"description=Branch to switch to; none lists"`
	From string `json:"from,omitempty" jsonschema:"description=Commit a new branch starts at; default HEAD"`
}

//go:embed git_branch.md
var branchProse string

// Branch is the tool git_branch. Being on a branch already is no error, so it
// may be repeated.
var Branch = tools.New(tools.Metadata{
	Name: "git_branch", Category: "vcs", Needs: tools.Read | tools.Write | tools.Exec, Effect: tools.Idempotent, Requires: []string{"git"},
	Examples: []tools.Example{{Note: "start a branch", Args: json.RawMessage(`{"name":"round-totals"}`)}},
}.Prose(branchProse), branch)

func branch(ctx context.Context, env *tools.Env, in branchInput) (tools.Result, error) {
	g := git.New(env.Exec)
	all, err := g.Branches(ctx)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	if in.Name == "" {
		return branches(all), nil
	}
	verb := "switched to"
	known := false
	for _, b := range all {
		known = known || b.Name == in.Name
		if b.Name == in.Name && b.Current {
			return tools.Result{Text: "Already on " + in.Name + ".", Summary: "on " + in.Name}, nil
		}
	}
	switch {
	case known && in.From != "":
		return tools.Result{}, fmt.Errorf("branch %s exists already: leave from out to switch to it, or choose another name", in.Name)
	case !known:
		verb = "created"
		if err := g.CreateBranch(ctx, in.Name, in.From); err != nil {
			return tools.Result{}, explain(err)
		}
	}
	if err := g.Switch(ctx, in.Name); err != nil {
		return tools.Result{}, explain(err)
	}
	text := verb + " " + in.Name
	return tools.Result{Text: text, Summary: text}, nil
}

func branches(all []git.Branch) tools.Result {
	var b strings.Builder
	current := "no branch"
	for _, br := range all {
		mark := "  "
		if br.Current {
			mark, current = "* ", br.Name
		}
		fmt.Fprintf(&b, "%s%s %.10s\n", mark, br.Name, br.Hash)
	}
	if len(all) == 0 {
		b.WriteString("There is no branch yet: the first commit makes one.\n")
	}
	return tools.Result{Text: b.String(), Summary: fmt.Sprintf("on %s, %d in all", current, len(all))}
}
