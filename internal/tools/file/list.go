package file

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// listInput is the input of list_files.
type listInput struct {
	Glob string `json:"glob,omitempty" jsonschema:"description=Like *.go or cmd/**/*.go"`
	Dir  string `json:"dir,omitempty" jsonschema:"description=Where"`
}

//go:embed list_files.md
var listProse string

// List is the tool list_files.
var List = tools.New(tools.Metadata{
	Name: "list_files", Category: "code", Needs: tools.Read, Paths: []string{"dir"},
	Examples: []tools.Example{{Note: "all Go files", Args: json.RawMessage(`{"glob":"**/*.go"}`)}},
}.Prose(listProse), list)

const mostFiles = 400

func list(ctx context.Context, env *tools.Env, in listInput) (tools.Result, error) {
	entries, more, err := env.Files.List(ctx, workspace.ListOptions{Glob: in.Glob, Dir: in.Dir, Max: mostFiles, Hidden: true})
	if err != nil {
		return tools.Result{}, err
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(spelling.PathLine(e.Name) + "\n")
	}
	files := "files"
	if len(entries) == 1 {
		files = "file"
	}
	sum := fmt.Sprintf("%d %s", len(entries), files)
	switch {
	case len(entries) == 0:
		b.WriteString("no file matches\n")
	case more:
		sum = "more than " + sum
		fmt.Fprintf(&b, "[%s: narrow by dir or glob]\n", sum)
	}
	return tools.Result{Text: b.String(), Summary: sum}, nil
}
