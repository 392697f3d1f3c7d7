package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/adroit-run/adroit/internal/jsontext"
)

// A node is a JSON value whose keys keep their order and whose numbers keep
// their spelling.
type node struct {
	kind byte // { [ " or anything else
	keys []string
	kids []*node
	text string // of a scalar
}

// maxDepth bounds the nesting of what is read.
const maxDepth = 200

func parse(b json.RawMessage) (*node, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	n, err := read(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON value")
	}
	return n, nil
}

func read(dec *json.Decoder, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errors.New("it is nested too deep")
	}
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		n := &node{kind: byte(v)}
		for dec.More() {
			key := ""
			if n.kind == '{' {
				t, err := dec.Token()
				if err != nil {
					return nil, err
				}
				key, _ = t.(string) // keys are strings, or there was an error
			}
			kid, err := read(dec, depth+1)
			if err != nil {
				return nil, err
			}
			if n.kind == '{' {
				n.set(key, kid)
			} else {
				n.kids = append(n.kids, kid)
			}
		}
		_, err := dec.Token()
		return n, err
	case string:
		return quoted(v), nil
	case json.Number:
		return raw(v.String()), nil
	case bool:
		return raw(strconv.FormatBool(v)), nil
	}
	return raw("null"), nil
}

func object() *node { return &node{kind: '{'} }
func array() *node  { return &node{kind: '['} }

func raw(text string) *node { return &node{kind: text[0], text: text} }

func quoted(s string) *node { return &node{kind: '"', text: string(jsontext.Quote(s))} }

// at gives a value of an object, nil if there is none. A nil node has none.
func (n *node) at(key string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	if i := slices.Index(n.keys, key); i >= 0 {
		return n.kids[i]
	}
	return nil
}

func (n *node) set(key string, v *node) {
	if i := slices.Index(n.keys, key); i >= 0 {
		n.kids[i] = v
		return
	}
	n.keys, n.kids = append(n.keys, key), append(n.kids, v)
}

func (n *node) without(key string) *node {
	out := &node{kind: n.kind}
	for i, k := range n.keys {
		if k != key {
			out.set(k, n.kids[i])
		}
	}
	return out
}

// is reports whether n is a scalar written like this.
func (n *node) is(text string) bool {
	return n != nil && n.text == text && n.kind != '{' && n.kind != '['
}

// string is the text of a string, "" of anything else.
func (n *node) string() string {
	var s string
	if n == nil || n.kind != '"' || json.Unmarshal([]byte(n.text), &s) != nil {
		return ""
	}
	return s
}

// types are the values of a schema's type.
func (n *node) types() []string {
	t := n.at("type")
	switch {
	case t == nil:
		return nil
	case t.kind == '"':
		return []string{t.string()}
	}
	var out []string
	for _, k := range t.kids {
		out = append(out, k.string())
	}
	return out
}

// typeName is the type of a value, as schemas call it.
func (n *node) typeName() string {
	switch n.kind {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	for i := range len(n.text) {
		if c := n.text[i]; c == '.' || c == 'e' || c == 'E' {
			return "number"
		}
	}
	return "integer"
}

func (n *node) appendTo(dst []byte) []byte {
	switch n.kind {
	case '{', '[':
	default:
		return append(dst, n.text...)
	}
	dst = append(dst, n.kind)
	for i, kid := range n.kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.kind == '{' {
			dst = append(append(dst, quoted(n.keys[i]).text...), ':')
		}
		dst = kid.appendTo(dst)
	}
	return append(dst, n.kind+2) // { and [ are two before } and ]
}
