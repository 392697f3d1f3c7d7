package schema

import "encoding/json"

// GBNF gives the grammar of the JSON values of a schema.
func GBNF(full json.RawMessage) (string, error) {
	g := newGrammar()
	rule, err := g.schema("value", full)
	if err != nil {
		return "", err
	}
	g.rules["root"] = rule
	return g.String(), nil
}
