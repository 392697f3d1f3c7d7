package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/text/spelling"
)

// annotations are the keywords that a value cannot fail.
var annotations = []string{"title", "description", "examples", "example", "default", "$comment", "$schema", "$id", "id", "$anchor", "$defs", "definitions",
	"readOnly", "writeOnly", "deprecated", "contentEncoding", "contentMediaType", "contentSchema", "then", "else", "minContains", "maxContains"}

// keywords lists the keywords that a value can fail, alone or with others.
var keywords = sync.OnceValue(func() []string {
	return []string{"type", "enum", "const", "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
		"unevaluatedProperties", "dependentSchemas", "dependentRequired", "dependencies", "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains",
		"minItems", "maxItems", "uniqueItems", "minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"allOf", "anyOf", "oneOf", "not", "if", "$ref", "$dynamicRef", "$recursiveRef"}
})

// rulesOf checks that a flat schema is one, and returns the rules with its patterns.
func rulesOf(sch *Node) (*rules, error) {
	r := &rules{patterns: map[string]*regexp.Regexp{}}
	if err := r.valid(sch, ""); err != nil {
		return nil, fmt.Errorf("the schema is not valid: %w", err)
	}
	return r, nil
}

// valid checks a schema and those in it. What no draft knows is passed over.
func (r *rules) valid(sch *Node, path string) error {
	if sch.is('t') || r.shallow {
		return nil
	}
	if !sch.is('{') {
		return fmt.Errorf("%s is %s, want a schema", path, shown(sch))
	}
	for i, key := range sch.Keys {
		if r.exact && !strings.HasPrefix(key, "x-") && !slices.Contains(annotations, key) && !slices.Contains(keywords(), key) {
			near := spelling.Nearest(key, keywords())
			if near != "" {
				near = "; did you mean " + near + "?"
			}
			return fmt.Errorf("%s is no keyword of JSON Schema%s", join(path, key), near)
		}
		if err := r.keyword(key, sch.Kids[i], join(path, key)); err != nil {
			return err
		}
	}
	return nil
}

// relaxedKeyword checks a keyword without the schemas in it, which were.
func (r *rules) relaxedKeyword(key string, v *Node) error {
	r.patterns, r.shallow = map[string]*regexp.Regexp{}, true
	return r.keyword(key, v, key)
}

// keyword checks the value of one keyword.
func (r *rules) keyword(key string, v *Node, path string) error {
	want := ""
	switch key {
	case "type":
		return validType(v, path)
	case "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "not", "if", "then", "else", "contains", "propertyNames", "contentSchema":
		return r.valid(v, path)
	case "items":
		if v.is('[') {
			return r.each(v, path)
		}
		return r.valid(v, path)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		if v.is('[') && len(v.Kids) > 0 {
			return r.each(v, path)
		}
		want = "schemas"
	case "properties", "patternProperties", "dependentSchemas", "dependencies", "dependentRequired":
		if v.is('{') {
			return r.named(key, v, path)
		}
		want = "an object"
	case "enum":
		if !v.is('[') {
			want = "an array"
		}
	case "required":
		if !v.is('[') || len(v.words()) < len(v.Kids) {
			want = "an array of strings"
		}
	case "minimum", "maximum":
		if !v.is('0') {
			want = "a number"
		}
	case "exclusiveMinimum", "exclusiveMaximum":
		if !v.is('0') && !v.is('t') {
			want = "a number"
		}
	case "multipleOf":
		if !v.is('0') || rat(v).Sign() <= 0 {
			want = "a number above 0"
		}
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		if !v.is('0') || !rat(v).IsInt() || rat(v).Sign() < 0 {
			want = "a count"
		}
	case "uniqueItems":
		if !v.is('t') {
			want = "true or false"
		}
	case "format", "title", "description":
		if !v.is('"') {
			want = "a string"
		}
	case "pattern":
		if !v.is('"') {
			want = "a string"
			break
		}
		return r.pattern(v.Text, path)
	}
	if want != "" {
		return fmt.Errorf("%s is %s, want %s", path, shown(v), want)
	}
	return nil
}

func validType(v *Node, path string) error {
	names := v.words()
	if v.is('"') {
		names = []string{v.Text}
	} else if !v.is('[') || len(names) == 0 || len(names) < len(v.Kids) {
		return fmt.Errorf("%s is %s, want a type or several", path, shown(v))
	}
	for _, name := range names {
		if !slices.Contains(typeNames, name) {
			return fmt.Errorf("%s is %s", path, enumWords(text(name), typeNodes())[len("is "):])
		}
	}
	return nil
}

func typeNodes() (list []*Node) {
	for _, name := range typeNames {
		list = append(list, text(name))
	}
	return list
}

func (r *rules) each(v *Node, path string) error {
	for i, kid := range v.Kids {
		if err := r.valid(kid, at(path, i)); err != nil {
			return err
		}
	}
	return nil
}

func (r *rules) named(key string, v *Node, path string) error {
	for name, kid := range v.entries() {
		if key == "patternProperties" {
			if err := r.pattern(name, path); err != nil {
				return err
			}
		}
		if names := key == "dependentRequired"; names || key == "dependencies" && kid.is('[') {
			if !kid.is('[') || len(kid.words()) < len(kid.Kids) {
				return fmt.Errorf("%s is %s, want an array of strings", join(path, name), shown(kid))
			}
			continue
		}
		if err := r.valid(kid, join(path, name)); err != nil {
			return err
		}
	}
	return nil
}

func (r *rules) pattern(p, path string) error {
	re, err := compilePattern(p)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r.patterns[p] = re
	return nil
}
