// Package edit changes a part of a file: the text a model quotes is found,
// strictly if possible and tolerant of space if not, and replaced only where
// there is no doubt which place is meant.
//
//	set, err := tools.NewSet(edit.File)
//
// It never guesses by likeness of words: what comes near is shown to the
// model, which then quotes it.
package edit

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
)

// Input of edit_file.
type Input struct {
	Path string `json:"path" jsonschema:"description=File"`
	Old  string `json:"old" jsonschema:"description=Text to replace"`
	New  string `json:"new" jsonschema:"description=What to put there"`
	All  bool   `json:"all,omitempty" jsonschema:"description=Replace every occurrence"`
}

//go:embed edit_file.md
var prose string

// File is the tool edit_file. It is not safe to repeat: after "a" became "aa",
// there is an "a" again.
var File = tools.New(tools.Metadata{
	Name: "edit_file", Category: tools.Code, Needs: tools.Read | tools.Write, Paths: []string{"path"}, Effect: tools.Unsafe,
	Examples: []tools.Example{{Note: "rename", Args: json.RawMessage(`{"path":"cart.go","old":"\tsum := 0\n","new":"\ttotal := 0\n"}`)}},
}.Prose(prose), edit)

const (
	mostHunks = 5
	hunkLines = 40
)

func edit(_ context.Context, env *tools.Env, in Input) (tools.Result, error) {
	if err := env.Files.Fresh(in.Path); err != nil {
		return tools.Result{}, err
	}
	t, err := env.Files.ReadText(in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	lf := strings.NewReplacer("\r\n", "\n")
	text, how, changes, err := Replace(t.Content, lf.Replace(in.Old), lf.Replace(in.New), in.All)
	if err != nil {
		return tools.Result{}, fmt.Errorf("%s: %w", in.Path, err)
	}
	t.Content = text
	if err := env.Files.WriteText(in.Path, t); err != nil {
		return tools.Result{}, err
	}
	return report(in.Path, how, changes), nil
}

func report(path string, how How, changes []Change) tools.Result {
	var b strings.Builder
	added, removed := 0, 0
	for i, c := range changes {
		h, a, r := c.Hunk(hunkLines)
		added, removed = added+a, removed+r
		if i < mostHunks {
			b.WriteString(h)
		}
	}
	if n := len(changes) - mostHunks; n > 0 {
		fmt.Fprintf(&b, "[%d more places]\n", n)
	}
	sum := fmt.Sprintf("%s +%d -%d", path, added, removed)
	head := sum + "\n"
	if how != Exact {
		head += fmt.Sprintf("old was found %s; look at the lines below.\n", how)
	}
	return tools.Result{Text: head + b.String(), Summary: sum}
}
