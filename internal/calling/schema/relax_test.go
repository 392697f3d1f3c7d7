package schema

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRelax: a schema with a detail that is not understood is usable without it, and accepts the
// same values.
func TestRelax(t *testing.T) {
	for name, tt := range map[string]struct {
		schema   string
		left     string   // part of what is said of it; "" for nothing
		accepts  []string // values of v
		refuses  []string
		contains string // of the schema
	}{
		"a look-ahead":        {`{"type":"object","properties":{"v":{"type":"string","description":"An address.","pattern":"^(?!x)a+$"}}}`, "v: the pattern ^(?!x)a+$ is not checked", []string{`"aa"`, `"xa"`}, []string{"1"}, `An address. It must match the pattern ^(?!x)a+$.`},
		"a pattern first":     {`{"type":"object","properties":{"v":{"type":"string","pattern":"^(?!x)a+$","description":"An address."}}}`, "v: the pattern", []string{`"aa"`}, []string{"1"}, `An address. It must match the pattern ^(?!x)a+$.`},
		"a back reference":    {`{"properties":{"v":{"type":"string","pattern":"^(a|b)\\1$"}}}`, "v: the pattern", []string{`"aa"`}, []string{"1"}, ""},
		"many repeats":        {`{"properties":{"v":{"type":"string","pattern":"^[a-z]{1,2000}$"}}}`, "v: the pattern", []string{`"aa"`}, []string{"1"}, ""},
		"a pattern for names": {`{"properties":{"v":{"type":"object","patternProperties":{"^(?!x-).+$":{"type":"string"},"^y":{"type":"number"}},"additionalProperties":false}}}`, "v: properties whose names match the pattern ^(?!x-).+$", []string{`{"a":"b"}`, `{"y":1}`}, []string{`{"y":"a"}`}, ""},
		"recursion":           {`{"$defs":{"f":{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#/$defs/f"}},"field":{"type":"string"}}}},"properties":{"v":{"$ref":"#/$defs/f"}}}`, "#/$defs/f is nested in itself", []string{`{"and":[{"and":[{"and":[{"and":[{"and":[{"field":"x"}]}]}]}]}]}`}, []string{`{"and":[{"field":1}]}`, `{"and":1}`}, "As #/$defs/f again."},
		"recursion at once":   {`{"properties":{"v":{"$ref":"#/properties/v"}}}`, "is nested in itself", []string{`1`}, nil, ""},
		"recursion of all":    {`{"type":"object","properties":{"v":{"type":"string"},"w":{"$ref":"#"}}}`, "# is nested in itself", []string{`"a"`}, []string{"1"}, ""},
		"[] for {}":           {`{"type":"object","properties":{"v":{"type":"object","properties":[],"additionalProperties":[],"required":[]}},"required":[]}`, "", []string{`{}`, `{"a":1}`}, []string{"1"}, ""},
		"a list of nothing":   {`{"type":"object","properties":{"v":{"type":"string","enum":[]}}}`, "v: enum is left out: it lists nothing", []string{`"a"`}, []string{"1"}, ""},
		"null":                {`{"type":"object","properties":{"v":{"type":"string","description":null,"title":null,"pattern":null,"enum":["a"],"minLength":null,"items":null}}}`, "", []string{`"a"`}, []string{`"b"`}, ""},
		"null for a schema":   {`{"type":"object","properties":{"v":null}}`, "", []string{"1", `"a"`}, nil, ""},
		"an unknown type":     {`{"type":"object","properties":{"v":{"type":"any","minLength":1}}}`, "v: type is left out", []string{"1", `"a"`}, nil, ""},
		"a type in capitals":  {`{"type":"OBJECT","properties":{"v":{"type":"STRING"}}}`, "", []string{`"a"`}, []string{"1"}, ""},
		"required as before":  {`{"type":"object","properties":{"v":{"type":"string","required":true}}}`, "v: required is left out", []string{`"a"`}, []string{"1"}, ""},
		"a count as text":     {`{"type":"object","properties":{"v":{"type":"string","maxLength":"10"}}}`, "v: maxLength is left out", []string{`"aaaaaaaaaaaa"`}, []string{"1"}, ""},
		"another document":    {`{"type":"object","properties":{"v":{"$ref":"https://example.com/x.json"}}}`, `v: it is not checked: the schema refers to "https://example.com/x.json"`, []string{"1"}, nil, ""},
		"what is not there":   {`{"type":"object","properties":{"v":{"$ref":"#/$defs/x"}}}`, "v: it is not checked", []string{"1"}, nil, ""},
		"a dynamic one":       {`{"type":"object","properties":{"v":{"$dynamicRef":"#x"}}}`, "v: $dynamicRef is left out", []string{"1"}, nil, ""},
		"within not":          {`{"type":"object","properties":{"v":{"type":"string","not":{"pattern":"^(?=x)"}}}}`, "v: not is left out", []string{`"x"`, `"a"`}, []string{"1"}, ""},
		"within oneOf":        {`{"type":"object","properties":{"v":{"oneOf":[{"type":"string","pattern":"^(?=x)"},{"type":"string","pattern":"^y"}]}}}`, "the pattern ^(?=x) is not checked", []string{`"x"`, `"y"`}, []string{"1"}, ""},
		"within if":           {`{"type":"object","properties":{"v":{"if":{"pattern":"^(?=x)"},"then":{"maxLength":1},"else":{"maxLength":2}}}}`, "v: if is left out", []string{`"xyz"`, `"abc"`}, nil, ""},
		"within contains":     {`{"type":"object","properties":{"v":{"type":"array","contains":{"pattern":"^(?=x)"},"maxContains":1}}}`, "v: contains is left out", []string{`["x","a"]`}, []string{"1"}, ""},
		"nothing else":        {`{"type":"object","properties":{"v":{"allOf":[{"$ref":"https://example.com/y"}],"unevaluatedProperties":false}}}`, "is not checked", []string{`{"a":1}`}, nil, ""},
		"several types":       {`{"type":["object","null"],"properties":{"v":{"type":"string"}}}`, "", []string{`"a"`}, []string{"1"}, ""},
		"nothing at all":      {`null`, "", []string{`"a"`}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, left, err := Relax(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(left, "\n"); tt.left == "" && said != "" || !strings.Contains(said, tt.left) || strings.Count(said, "\n") > 2 {
				t.Errorf("left out is %q, want %q", said, tt.left)
			}
			if !strings.Contains(s.String(), tt.contains) {
				t.Errorf("the schema is %s", s)
			}
			again, err := Compile(s.JSON())
			if err != nil || again.String() != s.String() {
				t.Errorf("the schema is none as it is: %v", err)
			}
			for _, v := range tt.accepts {
				if faults := s.Validate(json.RawMessage(`{"v":` + v + `}`)); faults != nil {
					t.Errorf("%s: %s", v, FaultText(faults))
				}
			}
			for _, v := range tt.refuses {
				if s.Validate(json.RawMessage(`{"v":`+v+`}`)) == nil {
					t.Errorf("%s is accepted", v)
				}
			}
		})
	}
	for name, raw := range map[string]string{"no object": `{"type":"string"}`, "a bomb": bomb(), "nothing allowed": "false"} {
		if s, left, err := Relax(json.RawMessage(raw)); err != nil || left == nil || s.Validate(json.RawMessage(`{"b":1}`)) != nil {
			t.Errorf("%s: %v, %q", name, err, left)
		}
	}
	if _, _, err := Relax(json.RawMessage(strings.Repeat("[", 700) + strings.Repeat("]", 700))); err == nil {
		t.Error("700 levels are usable")
	}
}

func bomb() string {
	var b strings.Builder
	b.WriteString(`{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 40 {
		d, next := string(rune('a'+i%26))+strings.Repeat("x", i/26), string(rune('a'+(i+1)%26))+strings.Repeat("x", (i+1)/26)
		if i == 0 {
			b.WriteString(`"d0":{"properties":{"x":{"$ref":"#/$defs/` + d + `"}}},`)
		}
		b.WriteString(`"` + d + `":{"properties":{"x":{"$ref":"#/$defs/` + next + `"},"y":{"$ref":"#/$defs/` + next + `"}}},`)
	}
	return strings.TrimSuffix(b.String(), ",") + "}}"
}

// TestRelaxAcceptsMore: the relaxed form of a schema accepts every value that the schema accepts.
func TestRelaxAcceptsMore(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	bad := map[string]string{ // what is not understood, and the same thing if it were
		`"pattern":"^(?=a)"`: `"pattern":"^a"`, `"pattern":"^(?!a)"`: `"not":{"pattern":"^a"}`, `"maxLength":"2"`: `"maxLength":2`, `"type":"text"`: `"type":"string"`,
	}
	var odd []string
	for k := range bad {
		odd = append(odd, k)
	}
	slices.Sort(odd)
	var schema func(depth int) (as, means string)
	schema = func(depth int) (string, string) {
		if depth == 0 || r.IntN(4) == 0 {
			switch r.IntN(3) {
			case 0:
				k := pick(odd...)
				return "{" + k + "}", "{" + bad[k] + "}"
			case 1:
				s := pick(`{"type":"string"}`, `{"const":"a"}`, `{"minLength":2}`, `{"type":["array","object"]}`)
				return s, s
			}
			return `{}`, `{}`
		}
		a, am := schema(depth - 1)
		b, bm := schema(depth - 1)
		form := pick(`{"not":A}`, `{"oneOf":[A,B]}`, `{"anyOf":[A,B]}`, `{"allOf":[A,B]}`, `{"if":A,"then":B}`, `{"if":A,"else":B}`, `{"items":A}`, `{"contains":A,"maxContains":1}`,
			`{"properties":{"a":A},"additionalProperties":B}`, `{"patternProperties":{"^a":A},"unevaluatedProperties":B}`, `{"allOf":[A],"unevaluatedProperties":false}`, `{"propertyNames":A}`, `{"dependentSchemas":{"a":A}}`)
		fill := func(a, b string) string { return strings.NewReplacer("A", a, "B", b).Replace(form) }
		return fill(a, b), fill(am, bm)
	}
	values := []string{`"a"`, `"ab"`, `"b"`, `"bbb"`, `""`, `1`, `[]`, `["a"]`, `["a","b"]`, `{}`, `{"a":"a"}`, `{"a":"b","b":"a"}`, `{"ab":1}`}
	for range 3000 {
		as, means := schema(3)
		wrap := func(s string) json.RawMessage {
			return json.RawMessage(`{"type":"object","properties":{"v":` + s + `}}`)
		}
		relaxed, _, err := Relax(wrap(as))
		if err != nil {
			t.Fatalf("%s: %v", as, err)
		}
		strict, err := Compile(wrap(means))
		if err != nil {
			t.Fatalf("%s: %v", means, err)
		}
		for _, v := range values {
			in := json.RawMessage(`{"v":` + v + `}`)
			if strict.Validate(in) == nil && relaxed.Validate(in) != nil {
				t.Fatalf("seed %d: %s is accepted by %s and not by %s, which is %s", seed, v, means, as, relaxed)
			}
		}
	}
}

// TestECMAPatterns: patterns have the meaning of ECMA 262, or are refused.
func TestECMAPatterns(t *testing.T) {
	for p, tt := range map[string]struct{ yes, no string }{
		`^[\u4e00-\u9fa5]+$`: {"中文", "a"}, `^\u{1f600}$`: {"😀", "a"}, `^\ud83d\ude00$`: {"😀", "a"}, `^\cA$`: {"\x01", "A"}, `^[\b]$`: {"\b", "b"}, `^\0$`: {"\x00", "0"},
		`^\a\z$`: {"az", "a"}, `^[[a]$`: {"[", "b"}, `^\/\-\_$`: {"/-_", ""}, `^(?<y>\d{4})$`: {"2024", "x"}, `^\x41$`: {"A", "x"}, `^\u$`: {"u", "v"}, `^\p{L}$`: {"ü", "1"}, `^[^]$`: {"\n", ""}, `^a|[]$`: {"a", "b"}, `^\p{Script=Greek}$`: {"α", "a"}, `^\P{sc=Han}$`: {"a", "漢"}, `^\p{gc=Lu}$`: {"A", "a"}, `^/api/$`: {"/api/", "/^"}, `^[\w--]$`: {"-", "+"},
	} {
		re, err := compilePattern(p)
		if err != nil || !re.MatchString(tt.yes) || re.MatchString(tt.no) {
			t.Errorf("%s: %v, %v", p, re, err)
		}
	}
	for _, p := range []string{`(?=a)`, `(?<!a)b`, `(a)\1`, `\k<x>`, `a\`, `/^[a-z]+$/i`, `/a$/`, `[\p{L}--[a-z]]`, `[\w&&[^_]]`, `\p{Emoji}`, `[a-z]{1,2000}`} {
		if re, err := compilePattern(p); err == nil {
			t.Errorf("%s is %v", p, re)
		}
	}
}
