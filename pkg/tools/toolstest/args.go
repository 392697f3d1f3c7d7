package toolstest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A shape is the part of an input schema from which arguments are made.
type shape struct {
	Properties           map[string]json.RawMessage `json:"properties"`
	Required             []string                   `json:"required"`
	AdditionalProperties any                        `json:"additionalProperties"`
}

type property struct {
	Type        any    `json:"type"`
	Description string `json:"description"`
}

func shapeOf(tool tools.Tool) shape {
	var s shape
	// A schema that is no such object has no properties to vary.
	_ = json.Unmarshal(tool.Input.JSON(), &s)
	return s
}

func (s shape) names() []string { return slices.Sorted(maps.Keys(s.Properties)) }

func (s shape) property(name string) property {
	var p property
	_ = json.Unmarshal(s.Properties[name], &p)
	return p
}

// invalidArgs are arguments that a tool must refuse.
type invalidArgs struct {
	what  string
	args  json.RawMessage
	names string // what the refusal must mention
}

func broken(tool tools.Tool) []invalidArgs {
	out := []invalidArgs{
		{"an array", json.RawMessage(`[]`), ""},
		{"a number", json.RawMessage(`7`), ""},
		{"a string", json.RawMessage(`"go on"`), ""},
		{"broken JSON", json.RawMessage(`{"a":`), ""},
		{"two values", json.RawMessage(`{} {}`), ""},
		{"deep nesting", json.RawMessage(strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)), ""},
		{"bytes that are not UTF-8", json.RawMessage("{\"a\":\"\xff\"}"), ""},
		{"a number out of range", json.RawMessage(`{"zz_extreme":1e9999999}`), "zz_extreme"},
	}
	s := shapeOf(tool)
	if s.AdditionalProperties == false {
		out = append(out, invalidArgs{"an unknown property", with(base(tool), "zz_unknown", json.RawMessage(`1`)), "zz_unknown"})
	}
	sample := base(tool)
	for _, name := range s.Required {
		less := maps.Clone(sample)
		delete(less, name)
		out = append(out, invalidArgs{"arguments without " + name, encode(less), name})
	}
	for _, name := range s.names() {
		if wrong := wrongTypeValue(s.property(name)); wrong != nil {
			out = append(out, invalidArgs{name + " of the wrong type", with(sample, name, wrong), name})
		}
		first := with(sample, name, json.RawMessage("null"))
		twice := strings.TrimSuffix(string(first), "}") + "," + string(encode(map[string]json.RawMessage{name: json.RawMessage("null")}))[1:]
		out = append(out, invalidArgs{name + " twice", json.RawMessage(twice), name})
	}
	return out
}

// wrongTypeValue returns a value that p's type excludes, nil if it has none.
func wrongTypeValue(p property) json.RawMessage {
	switch p.Type {
	case "string", "integer", "number", "boolean", "array":
		return json.RawMessage(`{"a":1}`)
	case "object":
		return json.RawMessage(`[1]`)
	}
	return nil
}

// base returns arguments that satisfy the schema, as far as one can be found.
func base(tool tools.Tool) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	args := tool.Input.Sample()
	if args == nil && len(tool.Examples) > 0 {
		args = tool.Examples[0].Args
	}
	if args != nil {
		_ = json.Unmarshal(args, &m) // validated: it is an object
	}
	return m
}

func with(m map[string]json.RawMessage, name string, v json.RawMessage) json.RawMessage {
	m = maps.Clone(m)
	m[name] = v
	return encode(m)
}

func encode(m map[string]json.RawMessage) json.RawMessage {
	b, err := json.Marshal(m)
	if err != nil { // every value was read from JSON or is a literal above
		panic(err)
	}
	return b
}

// valid returns arguments that satisfy the schema: the examples, a sample, the
// sample with each optional property, and with odd strings everywhere.
func valid(tool tools.Tool) []json.RawMessage {
	var out []json.RawMessage
	add := func(args json.RawMessage) {
		if tool.Input.Validate(args) == nil {
			out = append(out, args)
		}
	}
	for _, e := range tool.Examples {
		add(e.Args)
	}
	sample := base(tool)
	add(encode(sample))
	s := shapeOf(tool)
	for _, name := range s.names() {
		if one, err := schema.Compile(s.Properties[name]); err == nil {
			if v := one.Sample(); v != nil {
				add(with(sample, name, v))
			}
		}
		for _, odd := range oddValues() {
			add(with(sample, name, odd))
		}
	}
	return out
}

func oddValues() []json.RawMessage {
	var out []json.RawMessage
	for _, s := range []string{
		"", " ", ".", "..", "../../etc/passwd", "/", "-rf", "--help", "a\x00b", "a\nb", "$(id)", "*", "[", "(?", "%s%n",
		"\u202egnp.exe", "e\u0301", "\U0001F600", strings.Repeat("a/", 5000), strings.Repeat("x", 100_000), "{}", "null",
	} {
		b, err := json.Marshal(s)
		if err != nil { // a string can always be encoded
			panic(err)
		}
		out = append(out, b)
	}
	for _, literal := range []string{"0", "-1", "1e18", "9223372036854775807", "99999999999999999999", "0.5", "3.0", "[]", "{}", `[""]`, `["..","-x"]`} {
		out = append(out, json.RawMessage(literal))
	}
	return out
}
