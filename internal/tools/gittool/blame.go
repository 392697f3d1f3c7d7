package gittool

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
)

// blameInput is the input of git_blame.
type blameInput struct {
	Path  string `json:"path" jsonschema:"description=File"`
	From  int    `json:"from,omitempty" jsonschema:"minimum=1,description=First line; default 1"`
	Lines int    `json:"lines,omitempty" jsonschema:"minimum=1,maximum=500,description=How many; default 100"`
}

//go:embed git_blame.md
var blameProse string

// Blame is the tool git_blame.
var Blame = tools.New(tools.Metadata{
	Name: "git_blame", Category: "vcs", Optionality: tools.Optional, Needs: tools.Read | tools.Exec, Effect: tools.Idempotent,
	Paths: []string{"path"}, Requires: []string{"git"},
	Examples: []tools.Example{{Args: json.RawMessage(`{"path":"cart.go","from":40,"lines":20}`)}},
}.Prose(blameProse), blame)

func blame(ctx context.Context, env *tools.Env, in blameInput) (tools.Result, error) {
	in.Lines = cmp.Or(in.Lines, 100)
	lines, err := git.New(env.Exec).WithGuard(env.Files).Blame(ctx, in.Path, in.From, in.Lines)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	var b strings.Builder
	commits := map[string]bool{}
	for _, l := range lines {
		commits[l.Commit] = true
		who := fmt.Sprintf("%.10s %s %s %.60s", l.Commit, l.Time.Format("2006-01-02"), l.Author, l.Subject)
		if strings.Trim(l.Commit, "0") == "" {
			who = "not committed"
		}
		fmt.Fprintf(&b, "%s\t%d\t%s\n", who, l.Line, l.Text)
	}
	return tools.Result{Text: cut(b.String(), "ask for fewer lines"), Summary: spelling.Plural(len(lines), "line") + " of " + spelling.Plural(len(commits), "commit")}, nil
}
