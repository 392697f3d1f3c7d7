package agents

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Kinds of nodes.
const (
	null    = "nothing"
	boolean = "a truth value"
	number  = "a number"
	text    = "text"
	list    = "a list"
	mapping = "a mapping"
)

// A node is a YAML value with its place: the plain part of YAML that maps to
// JSON, so that reading can go on after a problem and name every other.
type node struct {
	place
	kind string
	text string // of scalars; of numbers in JSON's spelling
	keys []*node
	kids []*node
}

// frontMatter reads YAML that begins on the second line of a file.
func frontMatter(src string, rep *report) *node {
	if depth(src) > maxDepth {
		rep.at(place{2, 1}, Error, "no agent needs that", "the front matter nests brackets more than %d deep", maxDepth)
		return nil
	}
	file, err := parser.ParseBytes([]byte(src), 0)
	if err != nil {
		if quoted, ok := quoteDescription(src); ok {
			if file, again := parser.ParseBytes([]byte(quoted), 0); again == nil {
				p := place{2 + strings.Count(src[:strings.Index("\n"+src, "\ndescription:")], "\n"), 1}
				rep.at(p, Note, "quote it", "the description is not valid YAML and was taken as it is")
				return document(file, rep)
			}
		}
		var ye yaml.Error
		if !errors.As(err, &ye) || ye.GetToken() == nil {
			rep.at(place{2, 1}, Error, "", "the front matter is not valid YAML: %s", err)
			return nil
		}
		rep.at(at(ye.GetToken()), Error, "", "the front matter is not valid YAML: %s", ye.GetMessage())
		return nil
	}
	return document(file, rep)
}

// maxDepth bounds brackets within brackets, on which the YAML parser spends
// time that grows with the square of their number.
const maxDepth = 100

func depth(src string) (deepest int) {
	n := 0
	for _, c := range []byte(src) {
		switch c {
		case '[', '{':
			n++
			deepest = max(deepest, n)
		case ']', '}':
			n = max(0, n-1)
		}
	}
	return deepest
}

// quoteDescription quotes a plain description of one line: descriptions with
// a colon in them are common in agent files, and no valid YAML.
func quoteDescription(src string) (string, bool) {
	lines := strings.Split(src, "\n")
	for i, line := range lines {
		v, ok := strings.CutPrefix(line, "description:")
		if v = strings.TrimSpace(v); !ok || v == "" || strings.ContainsAny(v[:1], `"'|>[{&*!`) {
			continue
		}
		lines[i] = "description: '" + strings.ReplaceAll(v, "'", "''") + "'"
		return strings.Join(lines, "\n"), true
	}
	return "", false
}

func document(file *ast.File, rep *report) *node {
	empty := &node{place: place{2, 1}, kind: mapping}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return empty
	}
	if len(file.Docs) > 1 {
		rep.at(place{2, 1}, Error, "", "the front matter holds more than one YAML document")
	}
	n := read(file.Docs[0].Body, rep)
	if n.kind == null {
		return empty
	}
	if n.kind != mapping {
		rep.at(n.place, Error, "write it like name: builder", "the front matter is %s, not keys with values", n.kind)
		return nil
	}
	return n
}

// at gives a token's place in the file, whose first line is the fence.
func at(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{2, 1}
	}
	return place{t.Position.Line + 1, t.Position.Column}
}

func read(v ast.Node, rep *report) *node {
	n := &node{place: at(v.GetToken()), kind: null}
	switch v := v.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		n.kind, n.text = boolean, strconv.FormatBool(v.Value)
	case *ast.IntegerNode:
		n.kind, n.text = number, jsonNumber(v.Value)
	case *ast.FloatNode:
		n.kind, n.text = number, jsonNumber(v.Value)
	case *ast.StringNode:
		n.kind, n.text = text, v.Value
	case *ast.LiteralNode:
		n.kind, n.text = text, v.Value.Value
	case *ast.SequenceNode:
		n.kind = list
		for _, kid := range v.Values {
			n.kids = append(n.kids, read(kid, rep))
		}
	case *ast.MappingNode:
		n.kind = mapping
		for _, pair := range v.Values {
			n.pair(pair, rep)
		}
		if len(n.keys) > 0 {
			n.place = n.keys[0].place
		}
	case *ast.MappingValueNode:
		n.kind = mapping
		n.pair(v, rep)
		n.place = n.keys[0].place
	case nil:
	default:
		rep.at(n.place, Error, "write the value out", "anchors, references, tags and special numbers are not used in agent files")
	}
	return n
}

func (n *node) pair(pair *ast.MappingValueNode, rep *report) {
	key := &node{place: at(pair.Key.GetToken()), kind: text}
	switch k := pair.Key.(type) {
	case *ast.StringNode:
		key.text = k.Value
	case ast.ScalarNode:
		key.text = pair.Key.GetToken().Value
	default:
		rep.at(key.place, Error, "", "a key must be plain text")
	}
	kid := &node{place: key.place, kind: null}
	if pair.Value != nil {
		kid = read(pair.Value, rep)
	}
	n.keys, n.kids = append(n.keys, key), append(n.kids, kid)
}

func jsonNumber(v any) string {
	if f, ok := v.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return "0"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "0"
	}
	return string(b)
}

// json writes n as JSON, keys in the order of the text.
func (n *node) json() json.RawMessage { return n.append(nil) }

func (n *node) append(b []byte) []byte {
	switch n.kind {
	case boolean, number:
		return append(b, n.text...)
	case text:
		return append(b, quote(n.text)...)
	case list:
		b = append(b, '[')
		for i, kid := range n.kids {
			if i > 0 {
				b = append(b, ',')
			}
			b = kid.append(b)
		}
		return append(b, ']')
	case mapping:
		b = append(b, '{')
		for i, kid := range n.kids {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(append(b, quote(n.keys[i].text)...), ':'), kid.append(nil)...)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always encode
	}
	return b
}

// places records where each key is, for problems found later.
func (n *node) places(prefix string, into map[string]place) {
	into[strings.TrimSuffix(prefix, ".")] = n.place
	for i, kid := range n.kids {
		name := strconv.Itoa(i)
		if n.kind == mapping {
			name = n.keys[i].text
		}
		kid.places(prefix+name+".", into)
		if n.kind == mapping && kid.kind == mapping {
			into[prefix+name] = n.keys[i].place
		}
	}
}
