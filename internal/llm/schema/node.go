package schema

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/adroit-run/adroit/internal/schema"
)

type node = schema.Node

// mostNested bounds the nesting of what is read: schemas whose references were replaced
// are deeper than what models may write.
const mostNested = 200

func parse(b json.RawMessage) (*node, error) {
	n, faults := schema.Parse(b, mostNested)
	if faults != nil {
		return nil, errors.New(schema.FaultText(faults))
	}
	return n, nil
}

func object() *node         { return &node{Kind: '{'} }
func array() *node          { return &node{Kind: '['} }
func quoted(s string) *node { return &node{Kind: '"', Text: s} }

// typeName is the type of a value, as schemas call it.
func typeName(n *node) string {
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
