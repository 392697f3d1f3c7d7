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

// logInput is the input of git_log.
type logInput struct {
	Path string `json:"path,omitempty" jsonschema:"description=Only commits that touch it"`
	Max  int    `json:"max,omitempty" jsonschema:"minimum=1,maximum=200,description=How many; default 10"`
}

//go:embed git_log.md
var logProse string

// Log is the tool git_log.
var Log = tools.New(tools.Metadata{
	Name: "git_log", Category: "vcs", Needs: tools.Read | tools.Exec, Paths: []string{"path"}, Effect: tools.Idempotent, Requires: []string{"git"},
	Examples: []tools.Example{{Note: "the history of a file", Args: json.RawMessage(`{"path":"cart.go","max":5}`)}},
}.Prose(logProse), log)

// A logged commit is what programs get of one, the newest first.
type logged struct {
	Hash    string `json:"hash"`
	Subject string `json:"subject"`
}

func log(ctx context.Context, env *tools.Env, in logInput) (tools.Result, error) {
	in.Max = cmp.Or(in.Max, 10)
	g := git.New(env.Exec).WithGuard(env.Files).Operation()
	s, err := g.Status(ctx)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	if s.Commit == "" {
		return tools.Result{Text: "There is no commit yet.", Summary: "0 commits"}, nil
	}
	commits, err := g.Log(ctx, in.Max, in.Path)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	if len(commits) == 0 {
		return tools.Result{Text: "No commit touches " + in.Path + ".", Summary: "0 commits"}, nil
	}
	var b strings.Builder
	for _, c := range commits {
		fmt.Fprintf(&b, "%.10s %s %s: %s\n", c.Hash, c.Time.Format("2006-01-02"), c.Author, c.Subject)
		if c.Body != "" {
			b.WriteString("    " + strings.ReplaceAll(c.Body, "\n", "\n    ") + "\n")
		}
	}
	summary := "1 commit"
	if len(commits) > 1 {
		summary = fmt.Sprintf("%d commits", len(commits))
	}
	res := tools.Result{Text: cut(b.String(), "ask for fewer"), Summary: summary}
	if env.MaxValueBytes > 0 {
		var list []logged
		for _, c := range commits {
			list = append(list, logged{c.Hash, c.Subject})
		}
		if res.Value, err = json.Marshal(list); err != nil {
			return tools.Result{}, tools.Fatal(err)
		}
	}
	return res, nil
}
