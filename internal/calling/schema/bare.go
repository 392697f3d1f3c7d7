package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
)

// prose are the keywords that only explain.
var prose = []string{"title", "description", "examples", "default", "$comment"}

// Bare returns a schema without its descriptions: it accepts the same values and is shorter.
func Bare(full json.RawMessage) (json.RawMessage, error) {
	n, err := parseNode(full)
	if err != nil {
		return nil, err
	}
	return bare(n).Append(nil), nil
}

func bare(n *Node) *Node {
	switch n.Kind {
	case '[':
		out := array()
		for _, kid := range n.Kids {
			out.Kids = append(out.Kids, bare(kid))
		}
		return out
	case '{':
	default:
		return n
	}
	out := n
	for _, key := range prose {
		out = out.Without(key)
	}
	plain := newObject()
	for i, key := range out.Keys {
		kid := out.Kids[i]
		switch key {
		case "properties", "patternProperties", "$defs", "dependentSchemas":
			// The keys are names of properties, even if they look like keywords.
			named := newObject()
			for k, name := range kid.Keys {
				named.Set(name, bare(kid.Kids[k]))
			}
			kid = named
		case "enum", "const", "required":
		default:
			kid = bare(kid)
		}
		plain.Set(key, kid)
	}
	return plain
}

// A Cache remembers schemas in a dialect's words, since the same tools are
// offered again and again. The zero value is ready; it is safe for concurrent
// use.
type Cache struct {
	mu   sync.Mutex
	kept map[cached]form
}

type cached struct{ dialect, full string }

// A form is a schema in a dialect, and the description of its root separately.
type form struct {
	schema, bare json.RawMessage
	words        string
}

const mostCached = 256

// Down is a cached [Dialect.Down]. The result must not be changed.
func (c *Cache) Down(d *Dialect, full json.RawMessage) (json.RawMessage, error) {
	f, err := c.form(d, full)
	return f.schema, err
}

func (c *Cache) form(d *Dialect, full json.RawMessage) (form, error) {
	key := cached{d.Name, string(full)}
	c.mu.Lock()
	had, ok := c.kept[key]
	c.mu.Unlock()
	if ok {
		return had, nil
	}
	down, err := d.Down(full)
	if err != nil {
		return form{}, err
	}
	n, err := parseNode(down)
	if err != nil {
		return form{}, err
	}
	f := form{schema: down, bare: down, words: n.At("description").Str()}
	if f.words != "" {
		f.bare = n.Without("description").Append(nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= mostCached {
		c.kept = map[cached]form{}
	}
	c.kept[key] = f
	return f, nil
}

// Strict is like [Cache.Parameters], in the strict dialect. It reports false for a schema without
// an equivalent strict form; that tool has to be offered without.
func (c *Cache) Strict(about string, full json.RawMessage) (string, json.RawMessage, bool, error) {
	n, err := parseNode(full)
	if len(full) > 0 && (err != nil || !Closes(full) || loses(n)) {
		return about, nil, false, nil
	}
	about, down, err := c.Parameters(Strict, about, full)
	return about, down, err == nil, err
}

// Parameters translates the schema of a tool's arguments into the dialect d. It returns the
// description of the tool with the description of the schema's root added, since servers drop the
// latter.
func (c *Cache) Parameters(d *Dialect, about string, full json.RawMessage) (string, json.RawMessage, error) {
	f, err := c.form(d, full)
	if f.words != "" {
		about = strings.TrimSpace(about + " " + f.words)
	}
	return about, f.bare, err
}

// mostNested bounds the nesting of values that are read: schemas with inlined references are
// deeper than values by models.
const mostNested = 200

func parseNode(b json.RawMessage) (*Node, error) {
	n, faults := Parse(b, mostNested)
	if faults != nil {
		return nil, errors.New(FaultText(faults))
	}
	return n, nil
}

func newObject() *Node      { return &Node{Kind: '{'} }
func array() *Node          { return &Node{Kind: '['} }
func quoted(s string) *Node { return &Node{Kind: '"', Text: s} }

// typeName returns the JSON Schema type of a value.
func typeName(n *Node) string {
	switch n.Kind {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't':
		return "boolean"
	case 'n':
		return "null"
	}
	if strings.ContainsAny(n.Text, ".eE") {
		return "number"
	}
	return "integer"
}
