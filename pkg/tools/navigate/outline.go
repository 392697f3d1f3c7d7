package navigate

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
)

// outlineInput is the input of outline.
type outlineInput struct {
	Path string `json:"path,omitempty" jsonschema:"description=File or folder; default all"`
}

//go:embed outline.md
var outlineProse string

// Outline is the tool outline.
var Outline = tools.New(tools.Metadata{
	Name: "outline", Category: tools.Code, Needs: tools.Read | tools.Exec, Effect: tools.Idempotent, Paths: []string{"path"},
	Examples: []tools.Example{{Note: "a long file", Args: json.RawMessage(`{"path":"cart.go"}`)}},
	Timeout:  2 * patience,
}.Prose(outlineProse), outline)

const (
	mostOutlined = 200 // files of a folder
	mostServed   = 10  // of those for which a server must be asked
)

func outline(ctx context.Context, env *tools.Env, in outlineInput) (tools.Result, error) {
	c := code{env}
	names, more, err := c.files(ctx, in.Path, func(name string) bool { return isGo(name) || isSource(name) })
	if err != nil {
		return tools.Result{}, err
	}
	single := len(names) == 1 && names[0] == c.clean(in.Path)
	left := max(0, len(names)-mostOutlined)
	names = names[:len(names)-left]
	by, why, err := c.symbols(ctx, names, single)
	if err != nil {
		return tools.Result{}, err
	}
	var b strings.Builder
	total, shown := 0, 0
	for _, name := range names {
		syms := by[name]
		if len(syms) == 0 {
			continue
		}
		if b.Len() > maxText {
			left++
			continue
		}
		shown++
		total += len(syms)
		text, _ := c.read(name)
		write(&b, name, text, syms)
	}
	if why != "" {
		fmt.Fprintf(&b, "[%s]\n", why)
	}
	if left > 0 || more {
		fmt.Fprintf(&b, "[more files are not shown: narrow by path]\n")
	}
	if total == 0 {
		if single && why != "" {
			return tools.Result{}, fmt.Errorf("no outline of %s: %s. Use read_file", in.Path, why)
		}
		return tools.Result{Text: "no declarations\n" + b.String(), Summary: "no declarations"}, nil
	}
	return tools.Result{Text: b.String(), Summary: count(total, "declaration") + " in " + count(shown, "file")}, nil
}

// symbols finds what files declare: Go by parsing, the rest by ctags or, for
// few files, by a server, which knows more. why reports what is missing.
func (c code) symbols(ctx context.Context, names []string, single bool) (by map[string][]tools.Symbol, why string, err error) {
	by = map[string][]tools.Symbol{}
	var rest []string
	for _, name := range names {
		if !isGo(name) {
			rest = append(rest, name)
			continue
		}
		text, err := c.read(name)
		if err != nil {
			if single {
				return nil, "", err
			}
			continue
		}
		by[name], _ = declared(name, text)
	}
	if len(rest) == 0 {
		return by, "", nil
	}
	var missing string
	if single && c.env.Code != nil {
		syms, err := c.env.Code.Symbols(ctx, rest[0])
		if err == nil {
			by[rest[0]] = outer(syms)
			return by, "", nil
		}
		missing = err.Error()
	}
	tags, tagErr := c.ctags(ctx, rest)
	if tagErr == nil {
		for name, syms := range tags {
			by[name] = syms
		}
		return by, "", nil
	}
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	if !single && c.env.Code != nil {
		served := 0
		for _, name := range rest {
			if served == mostServed {
				break
			}
			if syms, err := c.env.Code.Symbols(ctx, name); err == nil {
				by[name] = outer(syms)
				served++
			}
		}
		if served > 0 {
			return by, fmt.Sprintf("files that are not Go: the first %d only, %v", served, tagErr), nil
		}
	}
	if missing != "" {
		return by, missing + ", and " + tagErr.Error(), nil
	}
	return by, "only Go is outlined: " + tagErr.Error(), nil
}

// outer leaves out what is declared inside of functions.
func outer(syms []tools.Symbol) []tools.Symbol {
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

// write shows the declarations of a file: the line as it is says most.
func write(b *strings.Builder, name, text string, syms []tools.Symbol) {
	lines := strings.Split(text, "\n")
	fmt.Fprintf(b, "%s (%d lines)\n", name, len(lines))
	for i, s := range syms {
		if b.Len() > maxText {
			fmt.Fprintf(b, "[%d more]\n", len(syms)-i)
			return
		}
		line := s.Kind + " " + s.Name
		if s.Line >= 1 && s.Line <= len(lines) && strings.Contains(lines[s.Line-1], s.Name) {
			line = strings.TrimRight(strings.TrimSpace(lines[s.Line-1]), " {:")
		}
		where := fmt.Sprint(s.Line)
		if s.End > s.Line {
			where = fmt.Sprintf("%d-%d", s.Line, s.End)
		}
		fmt.Fprintf(b, "%s%s: %s\n", strings.Repeat("  ", s.Depth+1), where, clip(line))
	}
}

// isSource reports whether a folder's outline includes the file: the languages
// that one is likely to meet, not every text.
func isSource(name string) bool {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return false
	}
	switch name[i+1:] {
	case "ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "py", "pyi", "rs", "java", "kt", "scala", "rb", "php",
		"c", "h", "cc", "cpp", "cxx", "hpp", "hh", "cs", "swift", "sh", "lua", "pl", "ex", "erl", "hs", "ml", "vue", "proto", "sql":
		return true
	}
	return false
}
