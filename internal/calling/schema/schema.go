// Package schema infers, compiles, simplifies and checks the JSON Schemas of tool arguments, and
// translates them for servers.
//
//	s, err := schema.Infer[input]()
//	for _, fault := range s.Validate(args) {
//		fmt.Println(fault) // edits[2].line is missing; it is required
//	}
//	small, err := schema.Ollama.Down(full)
//
// Servers decode schemas into types of their own and lose, misread or refuse unknown keywords. So
// a keyword outside of a [Dialect] becomes part of a description, which the model reads. [Raise]
// brings the model's values into the full schema's form; only the full schema decides whether they
// are valid.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Schema is a JSON Schema with the rules to check values. It is free of $ref, $id and $schema,
// its keys keep the order they were written in, and boolean schemas are spelled out, since
// providers choke on all of these. It is safe for concurrent use and never changes.
//
// A schema made with [Lazy] is inferred and compiled at its first use, so a program pays only for
// the schemas of the tools it offers, not for all that it links.
type Schema struct {
	once   sync.Once
	source func() (*Schema, error) // called at first use for the fields below; nil if they are set
	err    error                   // of source

	raw   json.RawMessage
	root  *Node
	rules *rules
}

// Lazy returns the schema that source makes. It calls source once, at the first use.
func Lazy(source func() (*Schema, error)) *Schema { return &Schema{source: source} }

// Err returns the error of a schema made with [Lazy]. It infers and compiles the schema at the
// first call; the other fields are valid after it.
func (s *Schema) Err() error {
	s.once.Do(func() {
		if s.source == nil {
			return
		}
		made, err := s.source()
		if s.source = nil; err != nil {
			s.err = err
			return
		}
		s.raw, s.root, s.rules = made.raw, made.root, made.rules
	})
	return s.err
}

// JSON returns the schema as sent to models, nil if it has a fault. The caller
// must not change it.
func (s *Schema) JSON() json.RawMessage {
	if s == nil || s.Err() != nil {
		return nil
	}
	return s.raw
}

// String returns the schema's JSON.
func (s *Schema) String() string { return string(s.JSON()) }

// MarshalJSON writes the schema itself.
func (s *Schema) MarshalJSON() ([]byte, error) {
	if s == nil {
		return []byte("null"), nil
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return s.raw, nil
}

// Compile reads a JSON Schema of any draft from 4 to 2020-12. References
// within the document are inlined; recursive ones and those to other documents
// are refused, and nothing is ever loaded.
func Compile(raw json.RawMessage) (*Schema, error) {
	root, faults := parse(raw)
	if faults != nil {
		return nil, fmt.Errorf("the schema %s", FaultText(faults))
	}
	return compileNode(root)
}

// Exact is like [Compile], for a schema that decides: it refuses a keyword that no draft has, which every
// validator passes over, and one without any keyword that a value could fail. Keys that begin with x- are
// their writers' own.
func Exact(raw json.RawMessage) (*Schema, error) {
	s, err := Compile(raw)
	if err != nil {
		return nil, err
	}
	r := &rules{patterns: map[string]*regexp.Regexp{}, exact: true}
	if err := r.valid(s.root, ""); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(s.root.Keys, func(key string) bool { return slices.Contains(keywords(), key) }) {
		return nil, errors.New("the schema demands nothing, so that every value satisfies it")
	}
	return s, nil
}

// compileNode consumes root.
func compileNode(root *Node) (*Schema, error) {
	if v := root.At("$schema"); v.is('"') && !isDraft(v.Text) {
		return nil, fmt.Errorf("the schema's $schema is %q; known are the drafts 4, 6, 7, 2019-09 and 2020-12", v.Text)
	}
	clean, err := newFlattener(root).flatten(root, 0)
	if err != nil {
		return nil, err
	}
	return build(clean)
}

// build checks a schema that is flat already.
func build(clean *Node) (*Schema, error) {
	rules, err := rulesOf(clean)
	if err != nil {
		return nil, err
	}
	return &Schema{raw: clean.Append(nil), root: clean, rules: rules}, nil
}

func isDraft(url string) bool {
	url = strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "http://")
	switch strings.TrimSuffix(url, "#") {
	case "json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema",
		"json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-04/schema":
		return true
	}
	return false
}

// ForArguments makes s fit to describe arguments: an object whose properties are
// listed, though there be none. Some providers refuse anything else.
func (s *Schema) ForArguments() (*Schema, error) {
	t := s.root.At("type")
	switch {
	case !s.root.is('{'):
		return nil, errors.New("the schema of arguments must be an object")
	case t != nil && (!t.is('"') || t.Text != "object"):
		return nil, fmt.Errorf("the schema of arguments must have type \"object\", not %s", t)
	case t != nil && s.root.At("properties") != nil:
		return s, nil
	}
	root := object()
	root.Set("type", text("object"))
	root.Set("properties", object())
	for i, key := range s.root.Keys {
		root.Set(key, s.root.Kids[i])
	}
	return build(root)
}
