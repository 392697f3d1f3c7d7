package schema

import "encoding/json"

// prose are the keywords that only explain.
var prose = []string{"title", "description", "examples", "default", "$comment"}

// Bare gives a schema without the words that explain it: what it takes is the
// same, and shorter to tell.
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
			// Their keys are names, whatever they are called.
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
