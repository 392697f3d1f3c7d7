package schema

import (
	"encoding/json"
	"errors"
	"strings"
)

// mostNested bounds the nesting of what is read: schemas whose references were replaced
// are deeper than what models may write.
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

// typeName is the type of a value, as schemas call it.
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
