package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// explain is what is wrong with the file's text b: its line, the key, and what was expected there.
func explain(path string, b []byte, err error) error {
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
		return fmt.Errorf("%s:%d: unknown key %s", path, unknown.Token.Position.Line, cmp.Or(keyAt(b, unknown.Token), unknown.Token.Value))
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
		words = "it must be " + typeWords(expected)
	}
	if key := keyAt(b, at); key != "" {
		words = key + ": " + words
	}
	return fmt.Errorf("%s:%d: %s", path, at.Position.Line, words)
}

// A place names a key: the file, and the line of the key or of the innermost one around
// it that is there.
type place func(keys ...string) string

// placeIn returns what names the keys of the file's text b.
func placeIn(path string, b []byte) place {
	return func(keys ...string) string {
		file, err := parser.ParseBytes(b, 0)
		if err != nil || len(file.Docs) == 0 {
			return path
		}
		line := 0
		for at, i := ast.Node(file.Docs[0].Body), 0; i < len(keys); i++ {
			if list, ok := at.(*ast.SequenceNode); ok {
				if n, err := strconv.Atoi(keys[i]); err == nil && n < len(list.Values) {
					at = list.Values[n]
					line = firstLine(at)
				}
				continue
			}
			entry := entryOf(at, keys[i])
			if entry == nil {
				break
			}
			line, at = entry.Key.GetToken().Position.Line, entry.Value
		}
		if line == 0 {
			return path
		}
		return fmt.Sprintf("%s:%d", path, line)
	}
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

func typeWords(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "a duration as in 90s or 2h"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeWords(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "keys with values"
	}
	return "text"
}
