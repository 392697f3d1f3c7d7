package navigate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
)

// nameInput is the input of definition and references.
type nameInput struct {
	Name string `json:"name"`
	Path string `json:"path,omitempty"`
	Line int    `json:"line,omitempty"`
}

// Definition is the tool definition.
var Definition = tools.New(tools.Metadata{
	Name: "definition", Category: "code", Needs: tools.Read | tools.Exec, Effect: tools.Idempotent, Paths: []string{"path"},
	Examples: []tools.Example{{Note: "what a call refers to", Args: json.RawMessage(`{"name":"Total","path":"cart.go","line":12}`)}},
	Timeout:  2 * patience,
}.ProseIn(descriptions), definition)

func definition(ctx context.Context, env *tools.Env, in nameInput) (tools.Result, error) {
	c := code{env}
	word, err := bare(in.Name)
	if err != nil {
		return tools.Result{}, err
	}
	var note string
	if in.Path != "" {
		at, err := c.near(c.clean(in.Path), in.Line, word)
		if err != nil {
			return tools.Result{}, err
		}
		spots, why, err := c.definitions(ctx, at, word)
		if err != nil {
			return tools.Result{}, err
		}
		if len(spots) > 0 {
			return c.found(word, "declaration", spots, ""), nil
		}
		if note = "declarations of that name, whatever is meant there"; why != "" {
			note += ": " + why
		}
	}
	syms, err := c.declarations(ctx, word)
	if err != nil {
		return tools.Result{}, err
	}
	if len(syms) == 0 {
		hint := "it may come from a library: give path and line of a use"
		if in.Path != "" {
			hint = "it may come from a library"
		}
		return tools.Result{}, fmt.Errorf("nothing in the workspace is known to declare %s; %s", word, hint)
	}
	return c.found(word, "declaration", locations(syms), note), nil
}

// definitions returns the definitions of the identifier at a location.
func (c code) definitions(ctx context.Context, tries []tools.Location, word string) (spots []tools.Location, why string, err error) {
	return c.ask(ctx, tries, word, tools.Codebase.Definition, false, func(m *module, at tools.Location) []tools.Location {
		if s, ok := m.definition(at); ok {
			return []tools.Location{s}
		}
		return nil
	})
}

// ask asks a server about one location after the other, or for Go the type checker;
// none means unknown, and why reports the reason.
func (c code) ask(ctx context.Context, tries []tools.Location, word string,
	server func(tools.Codebase, context.Context, tools.Location) ([]tools.Location, error), all bool, checker func(*module, tools.Location) []tools.Location) (spots []tools.Location, why string, err error) {
	if c.env.Code != nil {
		for _, at := range tries {
			spots, err = server(c.env.Code, ctx, at)
			switch {
			case err == nil && len(spots) > 0:
				return spots, "", nil
			case ctx.Err() != nil:
				return nil, "", ctx.Err()
			}
			if errors.Is(err, tools.ErrNoServer) {
				break
			}
		}
	}
	if isGo(tries[0].File) {
		if m, merr := c.module(ctx, tries[0].File, word, all); merr == nil {
			for again := true; again; again = m.full() {
				for _, at := range tries {
					spots := checker(m, at)
					if ctx.Err() != nil {
						return nil, "", ctx.Err()
					}
					if len(spots) > 0 {
						return spots, "", nil
					}
				}
			}
		}
	}
	if err == nil {
		err = tools.ErrNoServer
	}
	if why = unserved(c.env, err); why == "" {
		why = err.Error()
	}
	return nil, why, nil
}

const (
	mostTagged = 500 // files with the name that ctags is given
)

// declarations finds the declarations of a name, anywhere in the workspace.
func (c code) declarations(ctx context.Context, word string) ([]tools.Symbol, error) {
	all, _, err := c.entries(ctx, ".", func(name string) bool { return isGo(name) || isSource(name) })
	if err != nil {
		return nil, err
	}
	syms, inner, others, names := c.named(ctx, all, word)
	texts, rest, err := c.withWord(ctx, word, names[:min(len(names), mostTagged)])
	if err != nil {
		return nil, err
	}
	if len(syms) == 0 {
		syms = inner
	}
	if len(rest) > 0 {
		tags, err := c.ctags(ctx, rest)
		for i, name := range names {
			found := tags[name]
			if err != nil {
				found = others[i].syms
			}
			for _, s := range found {
				if s.Name == word || err != nil && s.Name == firstWord(word) {
					syms = append(syms, s)
				}
			}
		}
	}
	for i, s := range syms { // ctags knows no columns
		if line := lineAt(texts[s.File], s.Line); column(line, word) > 0 {
			syms[i].Column = column(line, word)
		}
	}
	return syms, ctx.Err()
}

func lineAt(text string, n int) string {
	lines := strings.Split(text, "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

func locations(syms []tools.Symbol) (spots []tools.Location) {
	for _, s := range syms {
		spots = append(spots, s.Location)
	}
	return spots
}

func (c code) found(word, noun string, spots []tools.Location, note string) tools.Result {
	text := c.show(spots)
	if note != "" {
		text = "[" + note + "]\n" + text
	}
	sum := fmt.Sprintf("%s: %s", word, spelling.Plural(len(spots), noun))
	if len(spots) == 1 {
		sum = fmt.Sprintf("%s is at %s:%d", word, spots[0].File, spots[0].Line)
	}
	return tools.Result{Text: text, Summary: sum}
}
