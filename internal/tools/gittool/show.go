package gittool

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/pkg/tools"
)

// showInput is the input of git_show.
type showInput struct {
	Commit string   `json:"commit,omitempty" jsonschema:"description=Hash or branch; default the last commit"`
	Paths  []string `json:"paths,omitempty" jsonschema:"description=Only these; default all"`
}

//go:embed git_show.md
var showProse string

// Show is the tool git_show.
var Show = tools.New(tools.Metadata{
	Name: "git_show", Category: "vcs", Optionality: tools.Optional, Needs: tools.Read | tools.Exec, Effect: tools.Idempotent,
	Paths: []string{"paths"}, Requires: []string{"git"},
	Examples: []tools.Example{{Args: json.RawMessage(`{"commit":"HEAD~1","paths":["cart.go"]}`)}},
}.Prose(showProse), show)

func show(ctx context.Context, env *tools.Env, in showInput) (tools.Result, error) {
	in.Commit = cmp.Or(in.Commit, "HEAD")
	c, diff, err := git.New(env.Exec).WithGuard(env.Files).Show(ctx, in.Commit, in.Paths)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s: %s\n", c.Hash, c.Time.Format("2006-01-02"), c.Author, c.Subject)
	if c.Body != "" {
		b.WriteString("    " + strings.ReplaceAll(c.Body, "\n", "\n    ") + "\n")
	}
	if len(c.Parents) > 1 {
		b.WriteString("[a merge; compared with its first parent]\n")
	}
	b.WriteString("\n" + strings.ToValidUTF8(diff, "\uFFFD"))
	if diff == "" {
		b.WriteString("It changed nothing here.\n")
	}
	return tools.Result{Text: cut(b.String(), "name paths to see the rest"), Summary: fmt.Sprintf("%.10s %s", c.Hash, counts(diff))}, nil
}
