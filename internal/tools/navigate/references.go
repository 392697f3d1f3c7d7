package navigate

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed references.md
var referencesProse string

// References is the tool references.
var References = tools.New(tools.Metadata{
	Name: "references", Category: "code", Needs: tools.Read | tools.Exec, Effect: tools.Idempotent, Paths: []string{"path"},
	Examples: []tools.Example{{Note: "who calls a function", Args: json.RawMessage(`{"name":"Total"}`)}},
	Timeout:  2 * patience,
}.Prose(referencesProse), references)

func references(ctx context.Context, env *tools.Env, in nameInput) (tools.Result, error) {
	c := code{env}
	word, err := bare(in.Name)
	if err != nil {
		return tools.Result{}, err
	}
	var at []tools.Location
	if in.Path != "" {
		if at, err = c.near(c.clean(in.Path), in.Line, word); err != nil {
			return tools.Result{}, err
		}
	} else {
		syms, err := c.declarations(ctx, word)
		if err != nil {
			return tools.Result{}, err
		}
		if len(syms) > 1 {
			return tools.Result{}, fmt.Errorf("%s is declared in %d places; give path and line of the one you mean:\n%s", word, len(syms), c.show(spotsOf(syms)))
		}
		if len(syms) == 1 {
			at = spotsOf(syms)
		}
	}
	why := "its declaration was not found"
	if len(at) > 0 {
		var spots []tools.Location
		if spots, why, err = c.uses(ctx, at); err != nil {
			return tools.Result{}, err
		}
		if len(spots) > 0 {
			return c.listed(word, spots, ""), nil
		}
	}
	texts, names, err := c.with(ctx, word, func(name string) bool { return isGo(name) || isSource(name) })
	if err != nil {
		return tools.Result{}, err
	}
	var spots []tools.Location
	for _, name := range names {
		for i, line := range strings.Split(texts[name], "\n") {
			if col := column(line, word); col > 0 {
				spots = append(spots, tools.Location{File: name, Line: i + 1, Column: col})
			}
		}
	}
	if len(spots) == 0 {
		return tools.Result{}, fmt.Errorf("%s does not occur in the workspace's code; use search for other files", word)
	}
	return c.listed(word, spots, "lines with that word, whatever it means there: "+why), nil
}

// uses returns where what is at a location is referred to.
func (c code) uses(ctx context.Context, tries []tools.Location) (spots []tools.Location, why string, err error) {
	return c.ask(ctx, tries, tools.Codebase.References, (*module).references)
}

func (c code) listed(word string, spots []tools.Location, note string) tools.Result {
	res := c.found(word, "reference", spots, note)
	files := map[string]bool{}
	for _, s := range spots {
		files[s.File] = true
	}
	res.Summary = fmt.Sprintf("%s: %s in %s", word, spelling.Plural(len(spots), "reference"), spelling.Plural(len(files), "file"))
	return res
}
