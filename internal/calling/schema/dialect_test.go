package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

var update = flag.Bool("update", false, "write the golden files anew")

var dialects = []*schema.Dialect{schema.Common, schema.Ollama, schema.Grammar, schema.Strict}

func TestDown(t *testing.T) {
	const object = `{"type":"object","properties":{"x":%s}}`
	for _, c := range []struct {
		name string
		d    *schema.Dialect
		in   string // of x
		want string // of x
	}{
		{"a constant becomes an enum", schema.Ollama, `{"const":"C"}`, `{"enum":["C"],"type":"string"}`},
		{"a constant stays where it is known", schema.Grammar, `{"const":"C"}`, `{"const":"C","type":"string"}`},
		{"one of becomes any of", schema.Common, `{"oneOf":[{"type":"string"},{"const":7}]}`, `{"anyOf":[{"type":"string"},{"enum":[7],"type":"integer"}]}`},
		{"bounds become words", schema.Ollama, `{"type":"string","minLength":1,"maxLength":9,"description":"A name."}`,
			`{"type":"string","description":"A name. (characters at least 1, characters at most 9)"}`},
		{"true becomes a schema", schema.Ollama, `true`, `{"description":"Any JSON value."}`},
		{"a pattern that covers part of a string", schema.Grammar, `{"type":"string","pattern":"a+"}`, `{"type":"string","description":"(matching a+)"}`},
		{"a pattern that covers all of it", schema.Grammar, `{"type":"string","pattern":"^a+$"}`, `{"type":"string","pattern":"^a+$"}`},
		{"bounds of numbers that no grammar holds", schema.Grammar, `{"type":"number","minimum":1}`, `{"type":"number","description":"(at least 1)"}`},
		{"bounds of integers", schema.Grammar, `{"type":"integer","minimum":1}`, `{"type":"integer","minimum":1}`},
		{"a format without meaning there", schema.Grammar, `{"type":"string","format":"email"}`, `{"type":"string","description":"(format email)"}`},
		{"what all demand is one", schema.Ollama, `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["a","b"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"]}`},
		{"negation", schema.Common, `{"type":"string","not":{"const":""}}`, `{"type":"string","description":"(but nothing that satisfies {\"const\":\"\"})"}`},
		{"optional is nullable", schema.Strict, `{"enum":["a","b"]}`, `{"enum":["a","b",null],"type":["string","null"]}`},
		{"an open object is text", schema.Strict, `{"type":"object","additionalProperties":{"type":"integer"}}`,
			`{"type":["string","null"],"description":"(each value satisfies {\"type\":\"integer\"}, an object, written as JSON in a string)"}`},
		{"properties are closed", schema.Strict, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","minLength":2}},"required":["a"]}`,
			`{"type":["object","null"],"properties":{"a":{"type":"string"},"b":{"type":["string","null"],"description":"(characters at least 2)"}},"required":["a","b"],"additionalProperties":false}`},
		{"what is deprecated is not offered", schema.Strict, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","deprecated":true},"c":{"type":"string","deprecated":true}},"required":["a","c"]}`,
			`{"type":["object","null"],"properties":{"a":{"type":"string"},"c":{"type":"string"}},"required":["a","c"],"additionalProperties":false}`},
		{"anything", schema.Strict, `{}`, `{"type":["string","number","boolean","null"],"description":"(an object or array is written as JSON in a string)"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.d.Down(json.RawMessage(fmt.Sprintf(object, c.in)))
			if err != nil {
				t.Fatal(err)
			}
			var o struct{ Properties struct{ X json.RawMessage } }
			if err := json.Unmarshal(got, &o); err != nil {
				t.Fatal(err)
			}
			if string(o.Properties.X) != c.want {
				t.Errorf("got  %s\nwant %s", o.Properties.X, c.want)
			}
		})
	}
}

func TestRoot(t *testing.T) {
	for in, want := range map[string]string{
		``: `{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"description":"(one of these: a; b)"}`,
	} {
		got, err := schema.Common.Down(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s became %s, %v", in, got, err)
		}
	}
	if _, err := schema.Common.Down(json.RawMessage(`{"type":`)); err == nil {
		t.Error("half a schema is taken")
	}
	if _, err := schema.Common.Down(json.RawMessage(strings.Repeat(`{"items":`, 300) + `{}` + strings.Repeat(`}`, 300))); err == nil {
		t.Error("a bottomless schema is taken")
	}
}

// shut walks a translated schema and reports the first keyword or value that the dialect does not
// allow.
func shut(d *schema.Dialect, v any, where string) error {
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is %v and no object", where, v)
	}
	for key, value := range s {
		if !d.Says(key) {
			return fmt.Errorf("%s has %s", where, key)
		}
		switch key {
		case "properties":
			for name, p := range value.(map[string]any) {
				if err := shut(d, p, where+"."+name); err != nil {
					return err
				}
			}
		case "items":
			if err := shut(d, value, where+"[]"); err != nil {
				return err
			}
		case "anyOf":
			for i, p := range value.([]any) {
				if err := shut(d, p, fmt.Sprintf("%s/%d", where, i)); err != nil {
					return err
				}
			}
		case "additionalProperties":
			if value != false {
				if d.Strict {
					return fmt.Errorf("%s has other properties", where)
				}
				if err := shut(d, value, where+".*"); err != nil {
					return err
				}
			}
		}
	}
	if !d.Strict {
		return nil
	}
	if s["type"] == nil && s["anyOf"] == nil {
		return fmt.Errorf("%s has no type", where)
	}
	props, ok := s["properties"].(map[string]any)
	if !ok {
		return nil
	}
	required, _ := s["required"].([]any)
	if len(required) != len(props) || s["additionalProperties"] != false {
		return fmt.Errorf("%s is not strict: %v", where, s)
	}
	return nil
}

func outside(d *schema.Dialect, down json.RawMessage) error {
	var v any
	if err := json.Unmarshal(down, &v); err != nil {
		return err
	}
	if d.Object && v.(map[string]any)["type"] != "object" {
		return fmt.Errorf("the root is %v", v.(map[string]any)["type"])
	}
	return shut(d, v, "root")
}

// TestTools goes over every tool that ships: goldens for each dialect, nothing
// in them that the dialect refuses, and no sample that they refuse.
func TestTools(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.Name, func(t *testing.T) {
			var all bytes.Buffer
			for _, tool := range parts.Tools() {
				full := tool.Input.JSON()
				down, err := d.Down(full)
				if err != nil {
					t.Fatal(err)
				}
				if err := outside(d, down); err != nil {
					t.Errorf("%s: %v", tool.Name, err)
				}
				if again, _ := d.Down(full); !bytes.Equal(again, down) {
					t.Errorf("%s is another one the second time", tool.Name)
				}
				fmt.Fprintf(&all, "%s\n%s\n\n", tool.Name, down)
				for _, e := range append(tool.Examples, tools.Example{Args: tool.Input.Sample()}) {
					if e.Args != nil {
						fits(t, d, full, down, e.Args)
					}
				}
			}
			dirtest.Golden(t, *update, filepath.Join("testdata", d.Name+".txt"), all.Bytes()) // the schemas that go out
		})
	}
}

// fits checks that a value that full accepts can be expressed under down, and is restored
// unchanged.
func fits(t *testing.T, d *schema.Dialect, full, down, value json.RawMessage) {
	t.Helper()
	rules, err := schema.Compile(down)
	if err != nil {
		t.Fatalf("%s: %v", down, err)
	}
	said := value
	if d.Strict {
		said = strictly(down, value)
	}
	if faults := rules.Validate(said); faults != nil {
		t.Errorf("%s: %s\nrefuses %s\nof %s: %v", d.Name, down, said, full, faults)
		return
	}
	whole, err := schema.Compile(full)
	if err != nil {
		t.Fatal(err)
	}
	if back := schema.Raise(full, said); whole.Validate(back) != nil {
		t.Errorf("%s: %s came back as %s, which %s refuses: %v", d.Name, said, back, full, whole.Validate(back))
	}
}

// strictly renders value as a model does whose output is constrained to a strict schema.
func strictly(down, value json.RawMessage) json.RawMessage {
	var s struct {
		Type       any
		Properties map[string]json.RawMessage
		Items      json.RawMessage
		AnyOf      []json.RawMessage
	}
	json.Unmarshal(down, &s)
	kinds := fmt.Sprint(s.Type)
	var o map[string]json.RawMessage
	var list []json.RawMessage
	switch {
	case len(s.AnyOf) > 0:
		for _, form := range s.AnyOf {
			rules, err := schema.Compile(form)
			if err != nil {
				continue
			}
			if said := strictly(form, value); rules.Validate(said) == nil {
				return said
			}
		}
	case value[0] == '{' && !strings.Contains(kinds, "object"), value[0] == '[' && !strings.Contains(kinds, "array"):
		b, _ := json.Marshal(string(value))
		return b
	case value[0] == '{' && json.Unmarshal(value, &o) == nil:
		for name, p := range s.Properties {
			if v, ok := o[name]; ok {
				o[name] = strictly(p, v)
			} else {
				o[name] = json.RawMessage("null")
			}
		}
		b, _ := json.Marshal(o)
		return b
	case value[0] == '[' && json.Unmarshal(value, &list) == nil:
		for i := range list {
			list[i] = strictly(s.Items, list[i])
		}
		b, _ := json.Marshal(list)
		return b
	}
	return value
}

// TestRandom does the same for schemas nobody would write.
func TestRandom(t *testing.T) {
	seed := testenv.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	sampled := 0
	for range 800 {
		full := json.RawMessage(random(r, 3, true))
		compiled, err := schema.Compile(full)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, full, err)
		}
		flat := compiled.JSON()
		for _, d := range dialects {
			down, err := d.Down(flat)
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, flat, err)
			}
			if err := outside(d, down); err != nil {
				t.Fatalf("seed %d: %s: %v\n%s\n%s", seed, d.Name, err, flat, down)
			}
			if sample := compiled.Sample(); sample != nil {
				sampled++
				fits(t, d, flat, down, sample)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if sampled < 1000 {
		t.Errorf("only %d values were tried", sampled)
	}
}

// random writes a schema; a root is an object.
func random(r *rand.Rand, depth int, root bool) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	extra := func(of ...string) string {
		var out []string
		for _, e := range of {
			if r.IntN(3) == 0 {
				out = append(out, ","+e)
			}
		}
		return strings.Join(out, "")
	}
	kind := r.IntN(9)
	if depth <= 0 {
		kind = r.IntN(5)
	}
	if root {
		kind = 7
	}
	switch kind {
	case 0:
		return `{"type":"string"` + extra(`"minLength":2`, `"maxLength":40`, `"description":"Text."`, `"default":"abc"`, `"not":{"const":"no"}`) + `}`
	case 1:
		return `{"type":"` + pick("integer", "number") + `"` + extra(`"minimum":1`, `"maximum":9`, `"exclusiveMinimum":-1`) + `}`
	case 2:
		return pick(`{"const":"C"}`, `{"const":3}`, `{"enum":["a","b"]}`, `{"enum":[1,"b",true]}`, `{"type":["string","null"]}`)
	case 3:
		return pick(`true`, `{}`, `{"type":"boolean"}`, `{"type":"object"}`, `{"type":"object","additionalProperties":{"type":"integer"}}`)
	case 4:
		return `{"type":"string","pattern":"` + pick("^[a-z]+$", "[a-z]") + `"}`
	case 5:
		return `{"type":"array","items":` + random(r, depth-1, false) + extra(`"minItems":1`, `"maxItems":3`, `"uniqueItems":true`) + `}`
	case 6:
		return `{"` + pick("anyOf", "oneOf") + `":[{"type":"integer"},` + pick(`{"type":"string"}`, `{"type":"object","properties":{"k":{"const":"a"},"v":{"type":"string"}},"required":["k"]}`) + `]}`
	case 7:
		var props, required []string
		for i := range 1 + r.IntN(4) {
			name := fmt.Sprintf("p%d", i)
			props = append(props, fmt.Sprintf("%q:%s", name, random(r, depth-1, false)))
			if r.IntN(2) == 0 {
				required = append(required, fmt.Sprintf("%q", name))
			}
		}
		return `{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":[` + strings.Join(required, ",") + `]` +
			extra(`"additionalProperties":false`, `"description":"An object."`, `"minProperties":0`, `"patternProperties":{"^z":{"type":"string"}}`) + `}`
	}
	return `{"allOf":[` + random(r, depth-1, true) + `,` + `{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}` + `]}`
}

func TestRaise(t *testing.T) {
	const full = `{"type":"object","properties":{"a":{"type":"string"},"n":{"type":["string","null"]},"r":{"type":"string"},"o":{"type":"object"},"l":{"type":"array","items":{"type":"object","properties":{"z":{"type":"integer"}}}},` +
		`"u":{"anyOf":[{"type":"object","properties":{"k":{"const":"x"},"v":{"type":"integer"}}},{"type":"object","properties":{"k":{"const":"y"},"v":{"type":["null"]}}}]}},"required":["r"]}`
	for in, want := range map[string]string{
		`{"a":null,"r":"x"}`:                             `{"r":"x"}`,
		`{"n":null,"r":"x"}`:                             `{"n":null,"r":"x"}`,
		`{"r":null}`:                                     `{"r":null}`, // the full schema's to judge
		`{"r":"{}","o":"{\"b\": 1}"}`:                    `{"r":"{}","o":{"b":1}}`,
		`{"r":"x","o":"not json"}`:                       `{"r":"x","o":"not json"}`,
		`{"r":"x","l":[{"z":null},{"z":1}]}`:             `{"r":"x","l":[{},{"z":1}]}`,
		`{"r":"x","u":{"k":"x","v":null}}`:               `{"r":"x","u":{"k":"x"}}`,
		`{"r":"x","u":{"k":"y","v":null}}`:               `{"r":"x","u":{"k":"y","v":null}}`,
		`{ "r" : "9007199254740993" }`:                   `{ "r" : "9007199254740993" }`,
		`{"r":"x","a":null,"more":12345678901234567890}`: `{"r":"x","more":12345678901234567890}`,
		`{"r":`: `{"r":`,
	} {
		if got := schema.Raise(json.RawMessage(full), json.RawMessage(in)); string(got) != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
	if got := schema.Raise(json.RawMessage(`{`), json.RawMessage(`{"a":null}`)); string(got) != `{"a":null}` {
		t.Errorf("a broken schema changed a value: %s", got)
	}
	if !slices.Contains(dialects, schema.Strict) {
		t.Fatal("the strict dialect is not tested")
	}
}

// A "not" becomes prose where it has a description.
func TestNotInWords(t *testing.T) {
	full := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","description":"A line.","not":{"description":"without a full stop","pattern":"\\.$"}},"b":{"type":"string","not":{"pattern":"x"}}}}`)
	for _, d := range []*schema.Dialect{schema.Common, schema.Ollama, schema.Grammar, schema.Strict} {
		got, err := d.Down(full)
		if err != nil {
			t.Fatal(err)
		}
		switch s := string(got); {
		case !strings.Contains(s, "without a full stop"):
			t.Errorf(`s lacks "without a full stop": %s: %s`, d.Name, s)
		case strings.Contains(s, `"not"`):
			t.Errorf("s contains `\"not\"`: %s: %s", d.Name, s)
		case strings.Contains(s, `\\.$`):
			t.Errorf("s contains `\\\\.$`: %s: %s", d.Name, s)
		case !strings.Contains(s, "but nothing that satisfies"):
			t.Errorf(`s lacks "but nothing that satisfies": %s: %s`, d.Name, s)
		}
	}
}
