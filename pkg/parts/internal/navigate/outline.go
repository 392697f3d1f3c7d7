package navigate

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// outlineInput is the input of outline.
type outlineInput struct {
	Path string `json:"path,omitempty"`
}

// Outline is the tool outline.
var Outline = tools.New(tools.Metadata{
	Name: "outline", Category: "code", Needs: tools.Read | tools.Exec, Effect: tools.Idempotent, Paths: []string{"path"},
	Examples: []tools.Example{{Note: "a long file", Args: json.RawMessage(`{"path":"cart.go"}`)}},
	Timeout:  2 * patience,
}.ProseIn(descriptions), outline)

// mostOutlined bounds the files of a folder that are outlined in whole.
const mostOutlined = 200

func outline(ctx context.Context, env *tools.Env, in outlineInput) (tools.Result, error) {
	c := code{env}
	entries, more, err := c.entries(ctx, in.Path, func(name string) bool { return isGo(name) || isSource(name) })
	if err != nil {
		return tools.Result{}, err
	}
	single := len(entries) == 1 && entries[0].Name == c.clean(in.Path)
	if len(entries) > mostOutlined {
		return c.repoMap(ctx, entries)
	}
	by, why, err := c.symbols(ctx, entries, single)
	if err != nil {
		return tools.Result{}, err
	}
	var b strings.Builder
	total, shown := 0, 0
	for _, e := range entries {
		name, syms := e.Name, by[e.Name]
		if len(syms) == 0 {
			continue
		}
		if b.Len() > maxText {
			return c.repoMap(ctx, entries)
		}
		shown++
		total += len(syms)
		text, _ := c.read(name)
		write(&b, name, text, syms)
	}
	if why != "" {
		fmt.Fprintf(&b, "[%s]\n", why)
	}
	if more {
		fmt.Fprintf(&b, "[more files are not shown: narrow by path]\n")
	}
	if total == 0 {
		if single && why != "" {
			return tools.Result{}, fmt.Errorf("no outline of %s: %s. Use read_file", in.Path, why)
		}
		return tools.Result{Text: "no declarations\n" + b.String(), Summary: "no declarations"}, nil
	}
	return tools.Result{Text: b.String(), Summary: spelling.Plural(total, "declaration") + " in " + spelling.Plural(shown, "file")}, nil
}

// symbols lists the declarations of files: Go by parsing, a single other file by a
// language server, which knows more, the rest by ctags or, without it, by their words.
// why names the reason for the poorer way.
func (c code) symbols(ctx context.Context, entries []workspace.Entry, single bool) (by map[string][]tools.Symbol, why string, err error) {
	if single {
		if _, err := c.read(entries[0].Name); err != nil {
			return nil, "", err
		}
	}
	by = map[string][]tools.Symbol{}
	var rest []string
	for i, f := range c.index(ctx, entries, func(string) bool { return true }) {
		by[entries[i].Name] = f.syms
		if !isGo(entries[i].Name) {
			rest = append(rest, entries[i].Name)
		}
	}
	if len(rest) == 0 || ctx.Err() != nil {
		return by, "", ctx.Err()
	}
	if single && c.env.Code != nil {
		if syms, err := c.env.Code.Symbols(ctx, rest[0]); err == nil {
			by[rest[0]] = topLevel(syms)
			return by, "", nil
		}
	}
	tags, err := c.ctags(ctx, rest)
	switch {
	case err == nil:
		for _, name := range rest {
			by[name] = tags[name]
		}
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	default:
		why = "files that are not Go: what their words and indentation show; " + err.Error()
	}
	return by, why, nil
}

// topLevel leaves out declarations inside of functions.
func topLevel(syms []tools.Symbol) []tools.Symbol {
	var out []tools.Symbol
	inside := -1 // depth of the function we are in
	for _, s := range syms {
		if inside >= 0 && s.Depth > inside {
			continue
		}
		inside = -1
		switch s.Kind {
		case "func", "method", "constructor", "var", "const", "property", "field":
			inside = s.Depth
		}
		out = append(out, s)
	}
	return out
}

// isSource reports whether a folder's outline includes the file: the languages
// that one is likely to meet, not every text.
func isSource(name string) bool { return languages[strings.TrimPrefix(path.Ext(name), ".")] != nil }
