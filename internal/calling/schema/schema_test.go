package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

type span struct {
	Line int    `json:"line" jsonschema:"minimum=1,description=Counts from 1."`
	Text string `json:"text"`
}

type edit struct {
	Path  string          `json:"path" jsonschema:"description=File to edit.,minLength=1"`
	Mode  string          `json:"mode" jsonschema:"enum=append,enum=replace"`
	Edits []span          `json:"edits"`
	Last  *span           `json:"last,omitempty"`
	Count uint            `json:"count,omitempty" jsonschema:"maximum=9"`
	Since time.Time       `json:"since,omitzero"`
	Extra any             `json:"extra,omitempty"`
	Raw   json.RawMessage `json:"raw,omitempty"`
	More  map[string]any  `json:"more,omitempty"`
	Tags  map[string]int  `json:"tags,omitempty"`
	Any   []any           `json:"any,omitempty"`
}

func TestInfer(t *testing.T) {
	s, err := Infer[edit]()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"properties":{` +
		`"path":{"type":"string","minLength":1,"description":"File to edit."},` +
		`"mode":{"type":"string","enum":["append","replace"]},` +
		`"edits":{"items":{"properties":{"line":{"type":"integer","minimum":1,"description":"Counts from 1."},"text":{"type":"string"}},"additionalProperties":false,"type":"object","required":["line","text"]},"type":"array"},` +
		`"last":{"properties":{"line":{"type":"integer","minimum":1,"description":"Counts from 1."},"text":{"type":"string"}},"additionalProperties":false,"type":"object","required":["line","text"]},` +
		`"count":{"type":"integer","maximum":9,"minimum":0},` +
		`"since":{"type":"string","format":"date-time"},` +
		`"extra":{"description":"Any JSON value."},` +
		`"raw":{"description":"Any JSON value."},` +
		`"more":{"type":"object"},` +
		`"tags":{"additionalProperties":{"type":"integer"},"type":"object"},` +
		`"any":{"items":{"description":"Any JSON value."},"type":"array"}},` +
		`"additionalProperties":false,"type":"object","required":["path","mode","edits"]}`
	if got := s.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

type tree struct {
	Name string  `json:"name"`
	Kids []*tree `json:"kids"`
}
type viaMap struct{ M map[string]*viaMap }
type embedsItself struct {
	A              int
	*embedsItself2 //lint:ignore U1000 reached by reflection
}
type embedsItself2 struct{ *embedsItself } //lint:ignore U1000 reached by reflection

func TestInferRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		infer func() (*Schema, error)
		want  string
	}{
		"recursive":     {Infer[tree], "schema.tree.Kids is recursive"},
		"through a map": {Infer[viaMap], "recursive"},
		"by embedding":  {Infer[embedsItself], "recursive"},
		"channel":       {Infer[struct{ C chan int }], "JSON cannot hold"},
		"duration":      {Infer[struct{ D time.Duration }], "number of seconds"},
		"int keys":      {Infer[struct{ M map[int]string }], "string keys only"},
		"not a struct":  {Infer[string], "must be a struct"},
		"an interface":  {Infer[any], "must be a struct"},
		"raw":           {Infer[json.RawMessage], "must be a struct"},
		"a default": {Infer[struct {
			N int `json:"n,omitempty" jsonschema:"default=1"`
		}], "would be shown to the model and not applied"},
		"two at a time": {Infer[struct{ A, B chan int }], "B is a chan"},
	} {
		if _, err := c.infer(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestInferNothing(t *testing.T) {
	s, err := Infer[struct{}]()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.String(), `"properties":{}`) || s.Validate(json.RawMessage(`{}`)) != nil {
		t.Errorf("got %s", s)
	}
}

func TestCompileInlines(t *testing.T) {
	s, err := Compile(json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"x","type":"object",
		"properties":{"a":{"$ref":"#/definitions/p","description":"first"},"b":{"$ref":"#/definitions/p"},"c":true,"d":{"$ref":"#/definitions/p","minLength":3}},
		"definitions":{"p":{"type":"string","description":"a p"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","properties":{"a":{"type":"string","description":"first"},"b":{"type":"string","description":"a p"},"c":{"description":"Any JSON value."},` +
		`"d":{"minLength":3,"allOf":[{"type":"string","description":"a p"}]}}}`
	if s.String() != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	again, err := Compile(s.JSON())
	if err != nil || again.String() != s.String() {
		t.Errorf("compiling the result again gives %v, %v", again, err)
	}
	for name, bad := range map[string]string{
		"recursive":    `{"type":"object","properties":{"a":{"$ref":"#"}}}`,
		"elsewhere":    `{"properties":{"a":{"$ref":"https://example.com/x.json"}}}`,
		"a file":       `{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`,
		"not there":    `{"properties":{"a":{"$ref":"#/$defs/a"}}}`,
		"not a schema": `{"type":"strnig"}`,
		"laughs":       laughs(),
		"bound":        `{"type":"number","minimum":1e9999999}`,
		"lookahead":    `{"type":"string","pattern":"(?=x)"}`,
		"list":         `[]`,
	} {
		if s, err := Compile(json.RawMessage(bad)); err == nil {
			t.Errorf("%s: compiled to %.200s", name, s)
		} else if strings.Contains(err.Error(), "tool:///") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// laughs returns a small schema whose references would inline to 10^9 values.
func laughs() string {
	defs := `"d0":{"type":"string"}`
	for i := 1; i < 10; i++ {
		ref := `{"$ref":"#/$defs/d` + string(rune('0'+i-1)) + `"}`
		defs += `,"d` + string(rune('0'+i)) + `":{"anyOf":[` + strings.Repeat(ref+",", 9) + ref + `]}`
	}
	return `{"$ref":"#/$defs/d9","$defs":{` + defs + `}}`
}

// TestExact wants a schema that decides to have no keyword that nothing reads, anywhere in it.
func TestExact(t *testing.T) {
	for raw, want := range map[string]string{
		`{"minLength":1,"x-unit":"m","title":"t"}`:                                      "",
		`{"type":"object","properties":{"minimun":{"const":1}},"required":["minimun"]}`: "",
		`{"$defs":{"a":{"enum":["x"]}},"$ref":"#/$defs/a"}`:                             "",
		`{"if":{"type":"string"},"then":{"minLength":2},"else":{"type":"null"}}`:        "",
		`{"minimun":3}`: "minimun is no keyword of JSON Schema; did you mean minimum?",
		`{"items":{"type":"object","properties":{"a":{"patern":"x"}}}}`: "items.properties.a.patern is no keyword",
		`{"anyOf":[{"type":"string"},{"equals":3}]}`:                    "anyOf[1].equals is no keyword",
		`{}`:                                "demands nothing",
		`{"title":"t","description":"d"}`:   "demands nothing",
		`{"minLength":"x"}`:                 "want a count",
		`{"a":{"type":"string"},"b":false}`: "a is no keyword",
	} {
		_, err := Exact(json.RawMessage(raw))
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q", raw, got, want)
		}
	}
}

func TestValidateWords(t *testing.T) {
	s, err := Infer[edit]()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{`{"path":"a","mode":"append","edits":[]}`, ""},
		{`{"path":"a","mode":"append","edits":[],"extra":9007199254740993,"tags":{"a":3.0}}`, ""},
		{`{"edits":[{"line":0,"text":""},{"text":"x"},{"line":"3","text":1}],"mode":"apend","pth":""}`,
			`edits[0].line is 0, want at least 1
edits[1].line is missing; it is required
edits[2].line is the string "3", want an integer
edits[2].text is the number 1, want a string
mode is the string "apend", want one of "append", "replace" (did you mean "append"?)
path is missing; it is required
pth is not known (did you mean "path"?)`},
		{`{"path":"","mode":null,"edits":{},"count":-1,"since":"soon"}`,
			`count is -1, want at least 0
edits is an object, want an array
mode is null, want a string
path is empty, want at least 1 character
since is the string "soon", want a valid date-time`},
		{`{"PATH":"a","path":"b","mode":"append","edits":[]}`, `PATH is not known (did you mean "path"?)`},
		{`{"path":"a","path":"b","mode":"append","edits":[]}`, `path is given more than once; write it once`},
		{`{"path":"a","mode":"append","edits":[],"count":1e9999999}`, `count is 1e9999999, which is out of the range of numbers`},
		{`{"path":"a","mode":"append","edits":[],"extra":1e400}`, `extra is 1e400, which is out of the range of numbers`},
		{`[]`, `the value is an array, want an object`},
		{`null`, `the value is null, want an object`},
		{``, `the value is not complete JSON: it ends in the middle`},
		{`{"path":"a"`, `the value is not complete JSON: it ends in the middle`},
		{`{"path":"a"}}`, `the value has more text after its end; write one JSON value only`},
		{`{"path":"\ud800"}`, `the value holds half a character (a \uD800-\uDFFF escape without its other half)`},
		{"{\"path\":\"\xff\"}", `the value is not valid UTF-8`},
	} {
		var lines []string
		for _, f := range s.Validate(json.RawMessage(c.args)) {
			lines = append(lines, f.String())
		}
		if got := strings.Join(lines, "\n"); got != c.want {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", c.args, got, c.want)
		}
	}
	for name, big := range map[string]string{
		"deep":        strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		"big":         `{"path":"` + strings.Repeat("x", maxBytes) + `"}`,
		"many":        `{"any":[` + strings.Repeat("1,", maxValues) + `1]}`,
		"long number": `{"count":` + strings.Repeat("9", 1000) + `}`,
	} {
		if s.Validate(json.RawMessage(big)) == nil {
			t.Errorf("%s: no fault", name)
		}
	}
	if f := s.Validate(json.RawMessage(`{"path":"` + strings.Repeat("x", 5<<20) + `","mode":"append","edits":[]}`)); f != nil {
		t.Errorf("a string of 5 MiB is refused: %v", f)
	}
}

func TestValidateChoices(t *testing.T) {
	s, err := Compile(json.RawMessage(`{"type":"object","properties":{
		"a":{"anyOf":[{"type":"string"},{"type":"null"}]},
		"b":{"oneOf":[{"type":"object","properties":{"k":{"type":"integer"}},"required":["k"]},{"type":"string"}]},
		"c":{"type":["integer","null"]}, "d":{"const":"x"}, "e":{"type":"array","uniqueItems":true,"maxItems":2}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"a":1}`:         `a is the number 1, want a string or null`,
		`{"b":{"k":"1"}}`: `b.k is the string "1", want an integer`,
		`{"b":1}`:         `b is the number 1, want a string or an object`,
		`{"c":"x"}`:       `c is the string "x", want null or an integer`,
		`{"d":"y"}`:       `d is the string "y", want "x"`,
		`{"e":[1,1.0]}`:   `e has equal items at 0 and 1, want each once`,
	} {
		faults := s.Validate(json.RawMessage(args))
		if len(faults) != 1 || faults[0].String() != want {
			t.Errorf("%s: %v, want %s", args, faults, want)
		}
	}
}

func TestRepair(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{``, `{}`}, {" \n", `{}`}, {`null`, `{}`},
		{`"{\"a\":1}"`, `{"a":1}`}, {`" {\"a\":1} "`, `{"a":1}`},
		{`{"a":1}`, `{"a":1}`}, {`{"a":`, `{"a":`}, {`"{\"a\":"`, `"{\"a\":"`}, {`"[1]"`, `"[1]"`}, {`"x"`, `"x"`}, {`[]`, `[]`},
		{`"{\"a\":1,\"a\":2}"`, `"{\"a\":1,\"a\":2}"`},
	} {
		got, note := Repair(json.RawMessage(c.in))
		if string(got) != c.want || (note != "") != (c.in != c.want) {
			t.Errorf("Repair(%s) = %s, %q; want %s", c.in, got, note, c.want)
		}
	}
}

func FuzzValidate(f *testing.F) {
	s, err := Infer[edit]()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{`{"path":"a","mode":"append","edits":[]}`, `{"count":1e9999999}`, `[[[`, `{"a":1,"a":2}`, `"\ud800"`, `{"edits":[{"line":"3"}]}`, `{"count":0.0e-308}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		faults := s.Validate(args)
		if again := s.Validate(args); len(again) != len(faults) {
			t.Fatalf("%q: %v, then %v", args, faults, again)
		}
		if faults == nil {
			// Go is stricter than the schema: its integers are bounded, and its times have no leap
			// seconds.
			var in edit
			err := Decode(args, &in)
			if err != nil && !strings.Contains(err.Error(), "does not fit into") && !strings.Contains(err.Error(), "parsing time") {
				t.Fatalf("%q is valid but cannot be read: %v", args, err)
			}
		}
		for _, fault := range faults {
			if fault.Message == "" || strings.Contains(fault.Message, "cannot be checked") {
				t.Fatalf("%q: %v", args, fault)
			}
		}
	})
}
