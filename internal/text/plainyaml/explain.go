package plainyaml

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/adroit-run/adroit/internal/text/spelling"
)

// Explain is what is wrong with the file's text b, which the decoder has refused with err: its
// line, the key, and what was expected there. path is the
// file's, "" where the caller names it.
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

// keyAt is the path of keys to a token, as in endpoints.lab.base_url; "" if it has none.
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
