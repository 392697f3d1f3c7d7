package schema_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/calling/textcall"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/parts"
)

// A term is a piece of a grammar: literal, set, rule, sequence or choice,
// repeated between least and most times.
type term struct {
	kind        byte // " [ r & |
	text        string
	not         bool
	ranges      [][2]rune
	kids        []*term
	least, most int
}

type grammar map[string]*term

// readGrammar reads the subset of GBNF that the writer may write.
func readGrammar(t *testing.T, text string) grammar {
	t.Helper()
	g := grammar{}
	for line := range strings.Lines(text) {
		name, rule, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ::= ")
		if !ok || g[name] != nil {
			t.Fatalf("not a rule, or one twice: %s", line)
		}
		p := &reader{t: t, s: rule}
		g[name] = p.choice()
		if p.i != len(p.s) {
			t.Fatalf("%q is left of %s", p.s[p.i:], line)
		}
	}
	var check func(*term)
	check = func(x *term) {
		if x.kind == 'r' && g[x.text] == nil {
			t.Fatalf("there is no rule %q in\n%s", x.text, text)
		}
		for _, k := range x.kids {
			check(k)
		}
	}
	for _, x := range g {
		check(x)
	}
	return g
}

type reader struct {
	t *testing.T
	s string
	i int
}

func (p *reader) take(s string) bool {
	if strings.HasPrefix(p.s[p.i:], s) {
		p.i += len(s)
		return true
	}
	return false
}

func (p *reader) choice() *term {
	out := &term{kind: '|', least: 1, most: 1}
	for {
		seq := &term{kind: '&', least: 1, most: 1}
		for p.take(" ") || p.i < len(p.s) && p.s[p.i] != '|' && p.s[p.i] != ')' {
			if p.i < len(p.s) && p.s[p.i] != '|' && p.s[p.i] != ')' {
				seq.kids = append(seq.kids, p.item())
			}
		}
		out.kids = append(out.kids, seq)
		if !p.take("|") {
			return out
		}
	}
}

func (p *reader) char() rune {
	if !p.take(`\`) {
		r, n := utf8.DecodeRuneInString(p.s[p.i:])
		p.i += n
		return r
	}
	c := p.s[p.i]
	p.i++
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'x', 'u', 'U':
		n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		v, err := strconv.ParseUint(p.s[p.i:p.i+n], 16, 32)
		if err != nil {
			p.t.Fatal(err)
		}
		p.i += n
		return rune(v)
	case '\\', '"', '[', ']':
		return rune(c)
	}
	p.t.Fatalf("an escape \\%c in %s", c, p.s)
	return 0
}

func (p *reader) item() *term {
	x := &term{least: 1, most: 1}
	switch {
	case p.take(`"`):
		x.kind = '"'
		for !p.take(`"`) {
			x.text += string(p.char())
		}
	case p.take("["):
		x.kind, x.not = '[', p.take("^")
		for !p.take("]") {
			from := p.char()
			to := from
			if p.i+1 < len(p.s) && p.s[p.i] == '-' && p.s[p.i+1] != ']' {
				p.i++
				to = p.char()
			}
			x.ranges = append(x.ranges, [2]rune{from, to})
		}
	case p.take("("):
		kids := p.choice()
		if !p.take(")") {
			p.t.Fatalf("no ) in %s", p.s)
		}
		x.kind, x.kids = '|', kids.kids
	default:
		n := strings.IndexFunc(p.s[p.i:], func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-')
		})
		if n < 0 {
			n = len(p.s) - p.i
		}
		if n == 0 {
			p.t.Fatalf("%q in %s", p.s[p.i:], p.s)
		}
		x.kind, x.text = 'r', p.s[p.i:p.i+n]
		p.i += n
	}
	switch {
	case p.take("*"):
		x.least, x.most = 0, -1
	case p.take("?"):
		x.least = 0
	case p.take("{"):
		n := strings.IndexByte(p.s[p.i:], '}')
		from, to, _ := strings.Cut(p.s[p.i:p.i+n], ",")
		x.least, _ = strconv.Atoi(from)
		x.most = -1
		if to != "" {
			x.most, _ = strconv.Atoi(to)
		}
		p.i += n + 1
	}
	return x
}

// derive writes something that the grammar allows.
func (g grammar) derive(r *rand.Rand, x *term, depth int) string {
	times := x.least
	if more := 3; depth < 30 && (x.most < 0 || x.most > x.least) {
		if x.most >= 0 {
			more = min(more, x.most-x.least)
		}
		times += r.IntN(more + 1)
	}
	var b strings.Builder
	for range times {
		switch x.kind {
		case '"':
			b.WriteString(x.text)
		case '[':
			b.WriteRune(x.pick(r))
		case 'r':
			b.WriteString(g.derive(r, g[x.text], depth+1))
		case '&':
			for _, k := range x.kids {
				b.WriteString(g.derive(r, k, depth+1))
			}
		case '|':
			n := r.IntN(len(x.kids))
			if depth > 20 {
				n = len(x.kids) - 1 // what ends comes last
			}
			b.WriteString(g.derive(r, x.kids[n], depth+1))
		}
	}
	return b.String()
}

func (x *term) has(c rune) bool {
	for _, r := range x.ranges {
		if c >= r[0] && c <= r[1] {
			return !x.not
		}
	}
	return x.not
}

func (x *term) pick(r *rand.Rand) rune {
	for {
		all := []rune("abtool_c<>/ \n{}\"\\é字😀0")
		c := all[r.IntN(len(all))]
		if !x.not {
			one := x.ranges[r.IntN(len(x.ranges))]
			c = one[0] + rune(r.IntN(int(min(one[1]-one[0], 0x2fff))+1))
		}
		if x.has(c) && utf8.ValidRune(c) {
			return c
		}
	}
}

// ends returns the positions at which a match of x that begins at i may end.
func (g grammar) ends(s string, x *term, i int, seen map[string]map[int]bool) map[int]bool {
	key := fmt.Sprintf("%p %d", x, i)
	if had, ok := seen[key]; ok {
		return had
	}
	seen[key] = map[int]bool{}
	now, out := map[int]bool{i: true}, map[int]bool{}
	for n := 0; ; n++ {
		if n >= x.least {
			for e := range now {
				out[e] = true
			}
		}
		if n == x.most || len(now) == 0 {
			break
		}
		next := map[int]bool{}
		for at := range now {
			for e := range g.once(s, x, at, seen) {
				if e > at || n < x.least {
					next[e] = true
				}
			}
		}
		now = next
	}
	seen[key] = out
	return out
}

func (g grammar) once(s string, x *term, i int, seen map[string]map[int]bool) map[int]bool {
	switch x.kind {
	case '"':
		if strings.HasPrefix(s[i:], x.text) {
			return map[int]bool{i + len(x.text): true}
		}
		return nil
	case '[':
		if c, n := utf8.DecodeRuneInString(s[i:]); n > 0 && x.has(c) {
			return map[int]bool{i + n: true}
		}
		return nil
	case 'r':
		return g.ends(s, g[x.text], i, seen)
	case '&':
		now := map[int]bool{i: true}
		for _, k := range x.kids {
			next := map[int]bool{}
			for at := range now {
				for e := range g.ends(s, k, at, seen) {
					next[e] = true
				}
			}
			now = next
		}
		return now
	}
	out := map[int]bool{}
	for _, k := range x.kids {
		for e := range g.ends(s, k, i, seen) {
			out[e] = true
		}
	}
	return out
}

func (g grammar) matches(s string) bool {
	return g.ends(s, g["root"], 0, map[string]map[int]bool{})[len(s)]
}

// sayable returns a random schema that a grammar can express completely.
func sayable(r *rand.Rand, depth int) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	kind := r.IntN(12)
	if depth == 0 {
		kind = r.IntN(5)
	}
	switch kind {
	case 9:
		return `{"type":"string","pattern":` + pick(`"^[a-z][a-z0-9-]*$"`, `"^v\\d+(\\.\\d+){0,2}$"`, `"a+b"`, `"^(?i)yes|no$"`, `"^[^\"\\\\]{1,4}$"`, `"^\\S+\\s\\S+$"`, `"^$"`, `"\\.go$"`, `"^[\\x00-\\x7f]{2}$"`, `"^(é|字|\\\\n|\"){2,3}$"`, `"^.{2}\\n"`) +
			pick(``, ``, `,"description":"x"`) + `}`
	case 10:
		return `{"type":"string","format":"` + pick("date", "time", "date-time", "uuid", "ipv4") + `"}`
	case 11:
		switch r.IntN(3) {
		case 0:
			return `{"type":"array","prefixItems":[` + sayable(r, depth-1) + `,` + sayable(r, depth-1) + `]` + pick(``, `,"items":false`, `,"items":`+sayable(r, depth-1), `,"minItems":2`, `,"minItems":1,"maxItems":3`, `,"minItems":3`) + `}`
		case 1:
			return `{"type":"object","patternProperties":{"^x[0-9]{1,3}$":` + sayable(r, depth-1) + `},"additionalProperties":false` + pick(``, `,"minProperties":1`, `,"minProperties":2,"maxProperties":3`) + `}`
		}
		return `{"type":"object","properties":{"q":` + sayable(r, depth-1) + `,"quick \"é":{"type":"integer"}},"required":["q","r"],"additionalProperties":` + pick(`{"type":"integer"}`, `{"type":"string"}`) + `}`
	case 0:
		return pick(`{"type":"string"}`, `{"type":"string","minLength":2,"maxLength":5}`, `{"type":"string","minLength":1}`, `{"type":"string","maxLength":3}`)
	case 1:
		return pick(`{"type":"integer"}`, `{"type":"integer","minimum":0}`, `{"type":"integer","minimum":-2,"maximum":12}`, `{"type":"integer","minimum":1}`, `{"type":"number"}`)
	case 2:
		return pick(`{"const":"a \"b\" \\ é"}`, `{"enum":["a",1,null,{"k":[1]}]}`, `{"type":["string","null"]}`, `{"const":9007199254740993}`)
	case 3:
		return pick(`{}`, `{"type":"boolean"}`, `{"type":"null"}`, `{"type":"object"}`, `{"type":"object","additionalProperties":false}`)
	case 4:
		return `{"type":"object","additionalProperties":` + pick(`{"type":"integer"}`, `{"type":"string","minLength":1}`) + `}`
	case 5:
		return `{"type":"array","items":` + sayable(r, depth-1) + pick(``, `,"minItems":1`, `,"maxItems":2`, `,"minItems":2,"maxItems":3`, `,"maxItems":0`, `,"minItems":1,"maxItems":1`) + `}`
	case 6:
		return `{"anyOf":[` + sayable(r, depth-1) + `,` + sayable(r, depth-1) + `]}`
	case 7:
		return `{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],"anyOf":[{"properties":{"x":` + sayable(r, depth-1) + `},"required":["x"]},{"properties":{"y":{"type":"integer"}}}]}`
	}
	var props, required []string
	for i := range 1 + r.IntN(4) {
		props = append(props, fmt.Sprintf("%q:%s", fmt.Sprintf("p %d", i), sayable(r, depth-1)))
		if r.IntN(2) == 0 {
			required = append(required, fmt.Sprintf("%q", fmt.Sprintf("p %d", i)))
		}
	}
	return `{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":[` + strings.Join(required, ",") + `]` + pick(``, `,"additionalProperties":false`) + `}`
}

// TestGBNF derives values from the grammars of random schemas: each is valid.
func TestGBNF(t *testing.T) {
	seed := testenv.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	matched := 0
	for range 300 {
		full := json.RawMessage(sayable(r, 3))
		rules, err := schema.Compile(full)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, full, err)
		}
		text, err := schema.GBNF(rules.JSON())
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, full, err)
		}
		if again, _ := schema.GBNF(rules.JSON()); again != text {
			t.Fatalf("seed %d: another grammar the second time", seed)
		}
		g := readGrammar(t, text)
		for range 6 {
			value := g.derive(r, g["root"], 0)
			if strings.Contains(fmt.Sprint(rules.Validate(json.RawMessage(value))), "given more than once") {
				continue // of names that nobody knows beforehand a grammar cannot keep count
			}
			if faults := rules.Validate(json.RawMessage(value)); !json.Valid([]byte(value)) || faults != nil {
				t.Fatalf("seed %d: %s\nderives %s\nwhich %s refuses: %v", seed, text, value, full, faults)
			}
			if len(value) < 200 && !g.matches(value) {
				t.Fatalf("seed %d: %s\nderives %s and does not match it", seed, text, value)
			}
		}
		if sample := rules.Sample(); sample != nil {
			matched++
			if !g.matches(string(sample)) {
				t.Errorf("seed %d: %s\ndoes not match %s\nwhich %s accepts", seed, text, sample, full)
			}
		}
	}
	if matched < 100 {
		t.Errorf("only %d samples of the schemas are in their grammars", matched)
	}
	for _, bad := range []string{"9", `{"name": "a", "arguments": {}}`, `{"p": 1}`, `{"p":"a",}`, `{}`} {
		text, err := schema.GBNF(json.RawMessage(`{"type":"object","properties":{"p":{"type":"string"}},"required":["p"]}`))
		if err != nil {
			t.Fatal(err)
		}
		if readGrammar(t, text).matches(bad) {
			t.Errorf("%s is in\n%s", bad, text)
		}
	}
}

// TestTextOrCall derives answers with the tools that ship: text stays text,
// and each call that is begun is one that we read and that names a tool.
func TestTextOrCall(t *testing.T) {
	seed := testenv.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	var list []schema.Callable
	var offered []llm.ToolSpec
	for _, tool := range parts.Tools() {
		list = append(list, schema.Callable{Name: tool.Name, Input: tool.Input.JSON()})
		offered = append(offered, llm.ToolSpec{Name: tool.Name, Input: tool.Input.JSON()})
	}
	text, err := schema.TextOrCall(list)
	if err != nil {
		t.Fatal(err)
	}
	g := readGrammar(t, text)
	for range 200 {
		before := strings.NewReplacer("`", "'").Replace(g.derive(r, g["text0"], 0))
		if strings.Contains(before, "<tool_call>") {
			continue
		}
		answer := "Well" + strings.Repeat(".", r.IntN(2)) + "\n<tool_call>" + g.derive(r, g["calls"], 0)
		found := textcall.Read(answer, textcall.Options{Offered: offered})
		if len(found.Calls) == 0 {
			t.Fatalf("seed %d: no call in %s: %s", seed, answer, found.UnreadCall)
		}
		for _, c := range found.Calls {
			if c.Malformed != "" || !json.Valid(c.Args) {
				t.Fatalf("seed %d: %s: %+v", seed, answer, c)
			}
		}
	}
	for in, want := range map[string]bool{
		"": true, "Done.": true, "if a < b && c <tool { <<tool_cal": true,
		"<tool_call>": false,
		"Now.<tool_call>{\"name\": \"rm\", \"arguments\": {}}</tool_call>":                           false,
		"Now.<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\":\"a\"}}</tool_call>":      true,
		"Now.<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\":1}}</tool_call>":          false,
		"<<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\":\"a\"}}\n</tool_call>\n":   true,
		"<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\":\"a\"}}</tool_call> and more": false,
	} {
		if got := g.matches(in); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}

// TestGBNFKeywords compares grammars with schemas whose keywords they can, or cannot, express: a
// grammar accepts the values that the schema accepts and rejects those that it should keep out,
// and some of the values derived from it are valid; all are, unless the grammar is wider.
func TestGBNFKeywords(t *testing.T) {
	seed := testenv.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, c := range []struct {
		name, full string
		wider      bool
		in, out    []string
	}{
		{"a tuple and more items", `{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":{"type":"boolean"}}`, false,
			[]string{`[]`, `["a"]`, `["a",1]`, `["a",1,true,false]`}, []string{`[1]`, `["a",true]`, `["a",1,2]`}},
		{"a tuple that is closed", `{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false,"minItems":1}`, false,
			[]string{`["a"]`, `["a",1]`}, []string{`[]`, `["a",1,2]`}},
		{"a tuple of a draft before", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"array","items":[{"type":"string"}],"additionalItems":{"type":"integer"},"maxItems":2}`, false,
			[]string{`[]`, `["a"]`, `["a",1]`}, []string{`["a","b"]`, `["a",1,1]`}},
		{"required and not described", `{"type":"object","properties":{"a":{"type":"string"}},"required":["b"],"additionalProperties":{"type":"integer"}}`, false,
			[]string{`{"b":1}`, `{"a":"x","b":1}`, `{"b":1,"c":2}`}, []string{`{}`, `{"a":"x"}`, `{"b":"x"}`}},
		{"required and matched by a pattern", `{"type":"object","required":["x1"],"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, false,
			[]string{`{"x1":"a"}`, `{"x1":"a","x2":"b"}`}, []string{`{}`, `{"x1":1}`}},
		{"names by pattern alone", `{"type":"object","patternProperties":{"^x-":{"type":"integer"}},"additionalProperties":false,"minProperties":1}`, false,
			[]string{`{"x-a":1}`, `{"x-a":1,"x-b":2}`}, []string{`{}`, `{"y":1}`, `{"x-a":"1"}`}},
		{"names by a pattern that cannot be said", `{"type":"object","patternProperties":{"\\bx":{"type":"integer"}},"additionalProperties":false}`, true,
			[]string{`{}`, `{"x":1}`, `{"a x":1}`}, []string{`{"x":"1"}`}},
		{"properties and more", `{"type":"object","properties":{"ab":{"type":"string"},"a":{"type":"string"}},"required":["a"],"additionalProperties":{"type":"integer"}}`, false,
			[]string{`{"a":"x"}`, `{"ab":"y","a":"x","abc":1,"b":2,"":3}`}, []string{`{"a":1}`, `{"a":"x","b":"y"}`, `{"a":"x","ab":1}`}},
		{"an open object", `{"type":"object","properties":{"a":{"type":"string"}}}`, false, []string{`{}`, `{"a":"x"}`, `{"a":"x","b":[null]}`, `{"b":1}`}, []string{`{"a":1}`, `{"b":1,"a":2}`}},
		{"the form of names", `{"type":"object","propertyNames":{"pattern":"^[a-z]+$"},"additionalProperties":{"type":"integer"}}`, false, []string{`{}`, `{"a":1}`}, []string{`{"A":1}`}},
		{"a property that must not be", `{"type":"object","properties":{"a":false,"b":{"type":"integer"}},"additionalProperties":false}`, false, []string{`{}`, `{"b":1}`}, []string{`{"a":1}`}},
		{"a pattern", `{"type":"string","pattern":"^[a-z]+-\\d{2}$"}`, false, []string{`"ab-12"`}, []string{`"ab-1"`, `"AB-12"`, `"x ab-12"`}},
		{"a pattern with a bound", `{"type":"string","pattern":"^[a-z]+$","maxLength":3}`, false, []string{`"a"`, `"abc"`}, []string{`""`, `"abcd"`}},
		{"a pattern without anchors", `{"type":"string","pattern":"\\d"}`, false, []string{`"1"`, `"a1b"`, `"\\\"1"`}, []string{`""`, `"ab"`}},
		{"a pattern of either end", `{"type":"string","pattern":"^a|b$"}`, false, []string{`"ax"`, `"xb"`}, []string{`"xax"`, `"bx"`}},
		{"a pattern of characters that JSON escapes", `{"type":"string","pattern":"^[\"\\\\\\n]+$"}`, false, []string{`"\"\\\n"`}, []string{`"a"`, `""`}},
		{"a pattern of all but some characters", `{"type":"string","pattern":"^[^/]+$"}`, false, []string{`"a b"`, `"é\"\n\\"`}, []string{`"a/b"`, `""`}},
		{"a pattern in both cases", `{"type":"string","pattern":"^(?i:ok)$"}`, false, []string{`"ok"`, `"Ok"`, `"OK"`}, []string{`"no"`}},
		{"a pattern with a word boundary", `{"type":"string","pattern":"\\bgo\\b","minLength":3}`, true, []string{`"to go"`, `"xyz"`}, []string{`"a"`, `1`}},
		{"a repetition of what may be empty", `{"type":"string","pattern":"^(a*)*$"}`, true, []string{`""`, `"aa"`}, []string{`1`}},
		{"a date", `{"type":"string","format":"date"}`, false, []string{`"2024-02-29"`, `"2000-02-29"`, `"2023-12-31"`}, []string{`"2023-02-29"`, `"1900-02-29"`, `"2024-04-31"`, `"2024-13-01"`, `"24-1-1"`}},
		{"a time", `{"type":"string","format":"time"}`, false, []string{`"23:59:59Z"`, `"00:00:00.123+05:30"`, `"23:59:60Z"`}, []string{`"24:00:00Z"`, `"12:00"`}},
		{"a date and time", `{"type":"string","format":"date-time"}`, false, []string{`"2024-02-29T12:00:00Z"`, `"2024-01-01t00:00:00.5-08:00"`}, []string{`"2024-02-30T12:00:00Z"`, `"2024-01-01 00:00:00Z"`}},
		{"a uuid", `{"type":"string","format":"uuid"}`, false, []string{`"123e4567-e89b-12d3-A456-426614174000"`}, []string{`"123e4567"`}},
		{"an address", `{"type":"string","format":"ipv4"}`, false, []string{`"127.0.0.1"`, `"255.255.255.255"`}, []string{`"256.0.0.1"`, `"1.2.3"`}},
		{"a format that is not said", `{"type":"string","format":"email"}`, true, []string{`"a@b.example"`}, []string{`1`}},
		{"values of several types", `{"type":"string","enum":["a",1,null]}`, false, []string{`"a"`}, []string{`1`, `null`}},
		{"no type and a keyword", `{"minLength":2}`, false, []string{`"ab"`, `1`, `null`, `[]`, `{}`}, []string{`"a"`}},
		{"long texts", `{"type":"string","minLength":3,"maxLength":100000}`, false, []string{`"abc"`}, []string{`"ab"`}},
		{"what is not said at all", `{"type":"object","properties":{"a":{"type":"integer"}},"dependentRequired":{"a":["b"]},"not":{"required":["c"]},"minProperties":1,"additionalProperties":{"type":"integer"}}`, true,
			[]string{`{"a":1,"b":2}`, `{"b":1}`}, []string{`{"a":"x"}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules, err := schema.Compile(json.RawMessage(c.full))
			if err != nil {
				t.Fatal(err)
			}
			text, err := schema.GBNF(rules.JSON())
			if err != nil {
				t.Fatal(err)
			}
			g := readGrammar(t, text)
			for _, in := range c.in {
				if faults := rules.Validate(json.RawMessage(in)); faults != nil && c.name != "a pattern with a word boundary" {
					t.Errorf("%s is not valid: %v", in, faults)
				}
				if !g.matches(in) {
					t.Errorf("%s is not in\n%s", in, text)
				}
			}
			for _, out := range c.out {
				if g.matches(out) {
					t.Errorf("%s is in\n%s", out, text)
				}
			}
			valid := 0
			for range 60 {
				value := g.derive(r, g["root"], 0)
				faults := rules.Validate(json.RawMessage(value))
				if !json.Valid([]byte(value)) || faults != nil && !c.wider && !strings.Contains(fmt.Sprint(faults), "given more than once") {
					t.Fatalf("%s\nderives %s: %v", text, value, faults)
				}
				if faults == nil {
					valid++
				}
			}
			if valid == 0 && c.name != "a format that is not said" && c.name != "a pattern with a word boundary" {
				t.Errorf("nothing that is derived is valid:\n%s", text)
			}
		})
	}
}
