package plaintemplate_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"text/template"

	"github.com/adroit-run/adroit/internal/text/plaintemplate"
)

type list []any

func (l list) String() string { return fmt.Sprintf("list%v", []any(l)) }

type mapping map[string]any

func (m mapping) String() string { return fmt.Sprintf("mapping%v", map[string]any(m)) }

type tool struct {
	Name, Hint string
	Optional   bool
	Cost       float64
	hidden     int
}

type data struct {
	Name   string
	Inputs map[string]any
	Tools  []tool
	Signal string
	First  *tool
	None   *tool
	Count  int
	Wide   uint8
}

func example() data {
	tools := []tool{{"read", "reads <b>", false, 1.5, 1}, {"write", "", true, 0, 2}}
	return data{"me", map[string]any{
		"text": "a 'b' & \"c\" é", "empty": "", "n": json.Number("12"), "big": json.Number("1e999"), "yes": true, "nil": nil,
		"list": list{"x", json.Number("2"), nil, list{}}, "none": list{}, "map": mapping{"b": "1", "a": list{"q"}},
	}, tools, "DONE", &tools[1], nil, 3, 200}
}

func funcs() map[string]any {
	return map[string]any{
		"has":  func(name string) bool { return name == "read" },
		"join": func(sep string, v any) (string, error) { return sep, fmt.Errorf("no list: %T", v) },
		"none": func() func() string { return nil },
		"glue": func(sep string, v any) string { return fmt.Sprint(v, sep) },
	}
}

// A writer writes templates.
type writer struct {
	*rand.Rand
	vars  []string
	loops int
}

func (w *writer) of(list ...string) string { return list[w.IntN(len(list))] }

func (w *writer) value(depth int) string {
	if len(w.vars) > 0 && w.IntN(4) == 0 {
		return w.of(w.vars...) + w.of("", "", "", ".Name", ".a")
	}
	if depth > 0 && w.IntN(4) == 0 {
		return "(" + w.pipe(depth-1) + ")" + w.of("", "", "", ".Name", ".text")
	}
	if w.IntN(2) == 0 {
		return w.of("$.Name", "$.Inputs.text", "$.Inputs.n", "$.Inputs.list", "$.Inputs.map", "$.Inputs.yes", "$.Inputs.nil", "$.Tools", "$.First.Hint", "$.Count", "$.None", ".", `"text"`, "2")
	}
	return w.of(".", "$", ".Name", ".Inputs", ".Inputs.text", ".Inputs.empty", ".Inputs.n", ".Inputs.big", ".Inputs.n.Int64", ".Inputs.n.Float64", ".Inputs.big.Float64",
		".Inputs.n.String", ".Inputs.list.String", ".Inputs.yes", ".Inputs.nil", ".Inputs.nil.x", ".Inputs.list", ".Inputs.none", ".Inputs.map", ".Inputs.map.a", ".Inputs.map.zzz",
		".Inputs.missing", ".Tools", ".First", ".First.Name", ".None", ".None.Name", ".Count", ".Wide", ".Optional", ".Cost", ".hidden", "$.Name", "$.Inputs.list", "$.Tools",
		`"text"`, "`raw`", `"read"`, `"%v-%q"`, "1", "0", "2", "-1", "1.5", "1e3", "0x1F", "'a'", "2i", "true", "false", "nil", "99999999999999999999")
}

// command is mostly one that can be carried out.
func (w *writer) command(depth int) string {
	if w.IntN(2) == 0 {
		return w.value(depth)
	}
	text := func() string {
		return w.of(".Name", ".Inputs.text", ".Inputs.empty", `"text"`, "`raw`", `"read"`, "(print "+w.value(0)+")")
	}
	number := func() string { return w.of("1", "0", ".Count", "2", ".Wide", "(len .Tools)", "3", "-1") }
	switch w.IntN(12) {
	case 0:
		return w.of("and ", "or ") + w.value(depth) + " " + w.value(0)
	case 1:
		return w.of("not ", "print ", "println ", "html ", "js ", "urlquery ") + w.value(depth)
	case 2:
		return "len " + w.of(".Tools", ".Inputs", ".Inputs.list", text())
	case 3:
		return "index " + w.of(".Tools 1", `.Inputs.map "a" 0`, `.Inputs "none"`, ".Inputs.list 0", ".Name 1", ".Inputs.list "+number(), ".Inputs "+text())
	case 4:
		return "slice " + w.of(".Name 1", ".Tools 0 1", ".Tools 0 1 2", "`raw` "+number()+" "+number(), ".Inputs.list")
	case 5:
		return `printf "%v %q %d|" ` + w.value(0) + " " + text() + " " + number()
	case 6:
		return w.of("eq ", "ne ", "lt ", "le ", "gt ", "ge ") + number() + " " + number()
	case 7:
		return w.of("eq ", "ne ", "lt ", "le ", "gt ", "ge ") + text() + " " + text()
	case 8:
		return "has " + text()
	case 9:
		return "glue " + text() + " " + w.value(0)
	}
	name := w.of("and", "or", "not", "len", "index", "slice", "print", "printf", "println", "html", "js", "urlquery", "call", "eq", "ne", "lt", "le", "gt", "ge", "has", "join", "glue")
	for range w.IntN(4) {
		name += " " + w.value(depth)
	}
	return name
}

func (w *writer) pipe(depth int) string {
	out := w.command(depth)
	for w.IntN(8) == 0 {
		out += " | " + w.of("print", "len", "not", "html", `eq "text"`, `printf "%v"`, w.command(depth))
	}
	return out
}

func (w *writer) open() string  { return w.of("{{", "{{", "{{- ") }
func (w *writer) close() string { return w.of("}}", "}}", " -}}") }

func (w *writer) list(depth int) string {
	mark := len(w.vars)
	defer func() { w.vars = w.vars[:mark] }()
	out := ""
	for range 1 + w.IntN(3) {
		out += w.of("", " text\n", "<x>", "\n") + w.node(depth)
	}
	return out
}

func (w *writer) node(depth int) string {
	act := func(s string) string { return w.open() + s + w.close() }
	kind := w.IntN(12)
	if depth == 0 {
		kind = min(kind, 4)
	}
	switch kind {
	case 0:
		name := w.of("$x", "$y")
		out := act(name + " := " + w.pipe(depth))
		w.vars = append(w.vars, name)
		return out
	case 1:
		if len(w.vars) > 0 {
			return act(w.of(w.vars...) + " = " + w.pipe(depth))
		}
	case 5, 6:
		return act("if "+w.pipe(depth-1)) + w.list(depth-1) + w.of("", act("else")+w.list(depth-1), act("else if "+w.value(0))+w.list(depth-1)) + act("end")
	case 7:
		return act("with "+w.of("", "", "$w := ")+w.pipe(depth-1)) + w.list(depth-1) + w.of("", act("else")+w.list(depth-1), act("else with "+w.value(0))+w.list(depth-1)) + act("end")
	case 8, 9:
		over, mark := w.of(".Tools", ".Inputs.list", ".Inputs.map", ".Inputs", ".Inputs.none", ".Inputs.nil", "3", ".Count", w.value(1)), len(w.vars)
		decl := w.of("", "", "$e := ", "$i, $e := ")
		if decl != "" {
			w.vars = append(w.vars, "$e")
		}
		if strings.HasPrefix(decl, "$i") {
			w.vars = append(w.vars, "$i")
		}
		w.loops++
		out := act("range "+decl+over) + w.list(depth-1)
		if w.IntN(4) == 0 {
			out += act("if "+w.value(0)) + act(w.of("break", "continue")) + act("end") + w.list(depth-1)
		}
		w.loops--
		out += w.of("", act("else")+w.list(depth-1)) + act("end")
		w.vars = w.vars[:mark]
		return out
	case 10:
		return act("template " + w.of(`"t"`, `"t"`, `"u"`) + w.of("", " .", " "+w.pipe(0)))
	case 11:
		return act(`block "b`+fmt.Sprint(w.IntN(1_000_000))+`" `+w.pipe(0)) + "b" + act("end")
	}
	return act(w.pipe(depth))
}

// TestLikeTextTemplate: what text/template writes is written, and what it refuses is refused.
func TestLikeTextTemplate(t *testing.T) {
	written, refused := 0, 0
	for seed := range uint64(3_000) {
		w := &writer{Rand: rand.New(rand.NewPCG(seed, 1))}
		text := w.list(3) + `{{define "t"}}[{{.}}]{{end}}`
		compare(t, text, &written, &refused)
	}
	t.Logf("%d written, %d refused", written, refused)
	if written < 700 {
		t.Errorf("%d templates were written", written)
	}
}

func compare(t *testing.T, text string, written, refused *int) {
	t.Helper()
	theirs, err := template.New("name").Option("missingkey=error").Funcs(funcs()).Parse(text)
	ours, ourErr := plaintemplate.Parse("name", text, funcs())
	if fmt.Sprint(err) != fmt.Sprint(ourErr) {
		t.Fatalf("%s\nparsing: %v\nwant %v", text, ourErr, err)
	}
	if err != nil {
		return
	}
	var want, got strings.Builder
	in := example()
	err, ourErr = theirs.Execute(&want, in), ours.Execute(&got, in)
	switch {
	case (err == nil) != (ourErr == nil):
		t.Errorf("%s\nfails with %v\nwant %v", text, ourErr, err)
	case got.String() != want.String():
		t.Errorf("%s\nwrites %s\nwant %s", text, got.String(), want.String())
	case err == nil:
		*written++
	default:
		*refused++
		a, _, _ := strings.Cut(err.Error(), ": executing")
		if b, _, _ := strings.Cut(ourErr.Error(), ": executing"); strings.Split(a, ":")[1] != strings.Split(b, ":")[1] {
			t.Errorf("%s\nfails at %v\nwant %v", text, ourErr, err)
		}
	}
}

// TestCases are templates that no generator finds soon.
func TestCases(t *testing.T) {
	var n int
	for _, text := range []string{
		`{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`,
		`{{range $i, $t := .Tools}}{{if eq $t.Name "write"}}{{continue}}{{end}}{{$i}} {{$t.Name}}{{end}}`,
		`{{$x := "a"}}{{range $x = .Inputs.none}}{{else}}{{$x}}{{end}}{{$x}}`,
		`{{range 3}}{{.}}{{if eq . 1}}{{break}}{{end}}{{end}}`,
		`{{/* nothing */}}{{- "x" -}}  {{printf "%d %s" .Count .Name | len}}`,
		`{{and (has "read") .Inputs.missing}}`, `{{or (has "read") .Inputs.missing}}`,
		`{{le .Count 2 }}{{ge .Count 3}}{{gt 2.5 1.5}}{{eq .Wide 200}}{{lt -1 .Wide}}`,
		`{{index .Inputs.map "a" 0}}{{slice .Name 1}}{{slice .Tools 0 1 1}}`, `{{call none}}`,
	} {
		compare(t, text, &n, &n)
	}
}
