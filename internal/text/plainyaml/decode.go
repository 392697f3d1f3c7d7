package plainyaml

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// A Decoder takes values out of nodes, reports errors and goes on.
type Decoder struct {
	Report func(p Place, hint, words string)
	// Nearest gives the one of some names that was probably meant, or "".
	Nearest func(name string, names []string) string
	// Odd, if set, looks at a key of the outermost mapping that is not known,
	// and reports whether it has dealt with it.
	Odd func(key, value *Node) bool
}

// Fields hands each known key of n to its func, and reports the others. of
// names the mapping, "" the outermost. The result has the keys that are there,
// also those without a value.
func (d *Decoder) Fields(n *Node, of string, known map[string]func(*Node)) map[string]bool {
	seen := map[string]bool{}
	if n.Kind != Mapping {
		d.Report(n.Place, "", of+" is "+string(n.Kind)+", not keys with values")
		return seen
	}
	for i, k := range n.Keys {
		f, ok := known[k.Text]
		switch {
		case ok && seen[k.Text]:
			d.Report(k.Place, "", k.Text+" is there twice")
		case ok:
			seen[k.Text] = true
			if n.Kids[i].Kind != Null {
				f(n.Kids[i])
			}
		case of == "" && d.Odd != nil && d.Odd(k, n.Kids[i]):
		default:
			d.unknown(k, of, known)
		}
	}
	return seen
}

func (d *Decoder) unknown(k *Node, of string, known map[string]func(*Node)) {
	names := slices.Sorted(maps.Keys(known))
	hint := "known are " + strings.Join(names, ", ")
	if near := d.Nearest(k.Text, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	if of != "" {
		of = " in " + of
	}
	d.Report(k.Place, hint, "unknown key "+strconv.Quote(k.Text)+of)
}

// String reads a scalar as it is written, without space around it: the version
// 1.10 is not 1.1.
func (d *Decoder) String(n *Node, what string, into *string) {
	if n.Kind == List || n.Kind == Mapping {
		d.Report(n.Place, "", what+" is "+string(n.Kind)+", not text")
		return
	}
	*into = strings.TrimSpace(cmp.Or(n.Raw, n.Text))
}

// Names reads a list of names, also one written with commas.
func (d *Decoder) Names(n *Node, what string) []string {
	var out []string
	switch n.Kind {
	case Text:
		rest, depth, from := n.Text+",", 0, 0
		for i, c := range rest {
			switch {
			case c == '(':
				depth++
			case c == ')' && depth > 0:
				depth--
			case c == ',' && (depth == 0 || i == len(rest)-1):
				if part := strings.TrimSpace(rest[from:i]); part != "" {
					out = append(out, part)
				}
				from = i + 1
			}
		}
	case List:
		for _, kid := range n.Kids {
			var s string
			d.String(kid, "an entry of "+what, &s)
			if s != "" {
				out = append(out, s)
			}
		}
	default:
		d.Report(n.Place, "", what+" is "+string(n.Kind)+", not a list of names")
	}
	return out
}

// Whole reads a whole number.
func (d *Decoder) Whole(n *Node, what string, into *int) {
	v, err := strconv.Atoi(n.Text)
	if n.Kind != Number || err != nil {
		d.Report(n.Place, "", what+" is not a whole number")
		return
	}
	*into = v
}

// Decimal reads a number.
func (d *Decoder) Decimal(n *Node, what string, into *float64) {
	v, err := strconv.ParseFloat(n.Text, 64)
	if n.Kind != Number || err != nil {
		d.Report(n.Place, "", what+" is "+string(n.Kind)+", not a number")
		return
	}
	*into = v
}

// Duration reads a duration.
func (d *Decoder) Duration(n *Node, what string, into *time.Duration) {
	v, err := time.ParseDuration(n.Text)
	if n.Kind != Text || err != nil {
		d.Report(n.Place, "write it like 30m or 1h30m", what+" is not a duration")
		return
	}
	*into = v
}

// Bool reads true or false.
func (d *Decoder) Bool(n *Node, what string, into *bool) {
	if *into = n.Text == "true"; n.Kind != Boolean {
		d.Report(n.Place, "", what+" is true or false")
	}
}

// Explain describes, with line and key, the mistake in the file's text b for which the decoder
// failed with err, and what was expected there. path is the file's name, or "" if the caller names
// it.
func Explain(path string, b []byte, err error) error {
	place := func(line int) string {
		if path == "" {
			return fmt.Sprintf("line %d", line)
		}
		return fmt.Sprintf("%s:%d", path, line)
	}
	var (
		kind     *yaml.TypeError
		over     *yaml.OverflowError
		unknown  *yaml.UnknownFieldError
		node     *yaml.UnexpectedNodeTypeError
		any      yaml.Error
		words    string
		at       *token.Token
		expected reflect.Type
	)
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%s: unknown key %s", place(unknown.Token.Position.Line), cmp.Or(keyAt(b, unknown.Token), unknown.Token.Value))
	case errors.As(err, &kind):
		at, expected = kind.Token, kind.DstType
	case errors.As(err, &over):
		at, words = over.Token, fmt.Sprintf("%s is too large", over.SrcNum)
	case errors.As(err, &node):
		at, words = node.Token, fmt.Sprintf("it must be %s", nodeWords(node.Expected))
	case errors.As(err, &any) && any.GetToken() != nil:
		at, words = any.GetToken(), any.GetMessage()
	default:
		return fmt.Errorf("%s: %s", path, strings.TrimSpace(yaml.FormatError(err, false, false)))
	}
	if expected != nil {
		words = "it must be " + spelling.Form(expected)
	}
	if key := keyAt(b, at); key != "" {
		words = key + ": " + words
	}
	return fmt.Errorf("%s: %s", place(at.Position.Line), words)
}

// keyAt returns the path of keys to a token, as in endpoints.lab.base_url; "" if it has none.
func keyAt(b []byte, at *token.Token) string {
	file, err := parser.ParseBytes(b, 0)
	if err != nil || at == nil {
		return ""
	}
	f := &finder{line: at.Position.Line, column: at.Position.Column}
	for _, doc := range file.Docs {
		ast.Walk(f, doc)
	}
	return strings.TrimPrefix(strings.TrimPrefix(f.path, "$"), ".")
}

// A finder finds the innermost node at a place.
type finder struct {
	line, column int
	path         string
}

// Visit implements [ast.Visitor].
func (f *finder) Visit(n ast.Node) ast.Visitor {
	if t := n.GetToken(); t != nil && t.Position != nil && t.Position.Line == f.line && t.Position.Column == f.column && len(n.GetPath()) >= len(f.path) {
		f.path = n.GetPath()
	}
	return f
}

func nodeWords(t ast.NodeType) string {
	switch t {
	case ast.MappingType, ast.MappingValueType:
		return "keys with values"
	case ast.SequenceType:
		return "a list"
	}
	return "a " + strings.ToLower(t.YAMLName())
}
