package agents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/plaintemplate"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
)

// promptData is the data of a prompt's template. There is no clock in it: the same
// request always gives the same prompt, which providers cache.
type promptData struct {
	Agent  string         // the agent's name
	Prompt string         // what the user wrote
	Inputs map[string]any // by name
	Tools  []promptTool   // those the agent really has, by name
	Signal string         // the word by which the model claims to be done, if there is one
	Dir    string         // the workspace
}

// promptTool is a tool in a template's data.
type promptTool struct {
	Name, UsageHint, Description, Category string
	Optional                               bool // not always needed
}

func toolData(set *tools.Set) []promptTool {
	var out []promptTool
	for t := range set.All() {
		optional := t.Optionality == tools.Optional || t.Optionality == tools.Conditional
		out = append(out, promptTool{t.Name, t.UsageHint, t.Description, t.Category, optional})
	}
	return out
}

// maxPrompt bounds a rendered prompt, in bytes.
const maxPrompt = 1 << 20

var errLong = errors.New("the prompt grows past 1 MiB")

type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxPrompt {
		return 0, errLong
	}
	return b.Buffer.Write(p)
}

// compile reads the prompt of an agent as a template. has reports whether the agent
// has a tool, join joins a list. A prompt in the form of Claude Code is text as it is.
func compile(a *DynamicAgent, has func(string) bool) (*plaintemplate.Template, error) {
	prompt := a.Prompt
	if a.Source.Claude {
		prompt = plain(prompt)
	}
	return plaintemplate.Parse(a.Name, prompt, map[string]any{"has": has, "join": join})
}

// plain is a template that gives text as it is.
func plain(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }

func join(sep string, in any) (string, error) {
	v := reflect.ValueOf(in)
	if v.Kind() != reflect.Slice {
		return "", fmt.Errorf("join takes a separator and a list, not %T", in)
	}
	parts := make([]string, v.Len())
	for i := range parts {
		parts[i] = fmt.Sprint(v.Index(i).Interface())
	}
	return strings.Join(parts, sep), nil
}

func render(t *plaintemplate.Template, d promptData) (string, error) {
	var b bounded
	if err := t.Execute(&b, d); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// value gives a template an input: text as it is, numbers as they were
// written. What has parts prints as JSON.
func value(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return printable(v), err
}

// Lists and mappings of inputs, which print as JSON.
type (
	inputList    []any
	inputMapping map[string]any
)

func (l inputList) String() string    { return compact([]any(l)) }
func (m inputMapping) String() string { return compact(map[string]any(m)) }

func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func printable(v any) any {
	switch v := v.(type) {
	case []any:
		out := make(inputList, len(v))
		for i := range v {
			out[i] = printable(v[i])
		}
		return out
	case map[string]any:
		out := make(inputMapping, len(v))
		for name := range v {
			out[name] = printable(v[name])
		}
		return out
	}
	return v
}

// asGiven has the actions that only print an input, as {{.Inputs.data}}, print a list
// or a mapping as it was written.
func asGiven(t *plaintemplate.Template, inputs map[string]json.RawMessage) {
	walk(reflect.ValueOf(t.Root), func(n parse.Node) {
		act, ok := n.(*parse.ActionNode)
		if !ok || len(act.Pipe.Decl) > 0 || len(act.Pipe.Cmds) != 1 || len(act.Pipe.Cmds[0].Args) != 1 {
			return
		}
		field, ok := act.Pipe.Cmds[0].Args[0].(*parse.FieldNode)
		if !ok || len(field.Ident) != 2 || field.Ident[0] != "Inputs" {
			return
		}
		if raw := bytes.TrimSpace(inputs[field.Ident[1]]); len(raw) > 0 && (raw[0] == '{' || raw[0] == '[' || string(raw) == "null") {
			text := string(raw)
			act.Pipe.Cmds[0].Args[0] = &parse.StringNode{NodeType: parse.NodeString, Pos: field.Pos, Quoted: strconv.Quote(text), Text: text}
		}
	})
}

// A use is a field that a template names.
type use struct {
	path []string
	pos  parse.Pos
}

// uses finds the fields a template names, also in branches that a run would
// skip. What is in a value that is given, nobody knows before.
func uses(t *plaintemplate.Template) []use {
	var out []use
	given := map[parse.Node]bool{}
	within := func(b parse.BranchNode) {
		ofInputs := false
		walk(reflect.ValueOf(b.Pipe), func(n parse.Node) {
			f, ok := n.(*parse.FieldNode)
			ofInputs = ofInputs || ok && (given[n] || f.Ident[0] == "Inputs")
		})
		if ofInputs {
			walk(reflect.ValueOf(b.List), func(n parse.Node) { given[n] = true })
		}
	}
	for _, tree := range t.Trees {
		walk(reflect.ValueOf(tree.Root), func(n parse.Node) {
			switch n := n.(type) {
			case *parse.RangeNode:
				within(n.BranchNode)
			case *parse.WithNode:
				within(n.BranchNode)
			case *parse.FieldNode:
				if given[n] {
					return
				}
				out = append(out, use{n.Ident, n.Position()})
			case *parse.VariableNode:
				if n.Ident[0] == "$" && len(n.Ident) > 1 {
					out = append(out, use{n.Ident[1:], n.Position()})
				}
			}
		})
	}
	slices.SortFunc(out, func(a, b use) int { return int(a.pos - b.pos) })
	return out
}

// walk calls f for n and all below it. Nodes of text/template/parse have no
// common way to their children but their exported fields.
func walk(v reflect.Value, f func(parse.Node)) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), f)
		}
	case reflect.Pointer:
		if v.IsNil() || !v.CanInterface() {
			return
		}
		n, ok := v.Interface().(parse.Node)
		if !ok {
			return
		}
		f(n)
		walk(v.Elem(), f)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i), f)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), f)
		}
	}
}

// inputsUsed lists the inputs a template places itself; all reports that it
// does so with every one.
func inputsUsed(t *plaintemplate.Template) (names []string, all bool) {
	for _, u := range uses(t) {
		if u.path[0] != "Inputs" {
			continue
		}
		if len(u.path) == 1 {
			return nil, true
		}
		names = append(names, u.path[1])
	}
	return names, false
}

var templateAt = lazyregexp.New(`^template: [^:]*:(\d+):(?:(\d+):)? (.*)$`)

// explain takes place and words from a template's error.
func explain(err error) (line, col int, words string) {
	words = strings.ReplaceAll(err.Error(), "\n", " ")
	m := templateAt.FindStringSubmatch(words)
	if m == nil {
		return 0, 0, words
	}
	line, _ = strconv.Atoi(m[1]) // digits
	col, _ = strconv.Atoi(m[2])  // digits, or nothing
	return line, col, m[3]
}

// paragraphs joins what is not empty.
func paragraphs(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}

// within reports whether a set has a tool.
func within(set *tools.Set) func(string) bool {
	return func(name string) bool {
		_, ok := set.Lookup(name)
		return ok
	}
}

// template checks the prompt: that it can be read, that every field it names
// exists, and that it renders.
func (l *linter) template() {
	a := l.a
	if strings.TrimSpace(a.Prompt) == "" {
		l.at(cmp.Or(l.src.Places["prompt"], plainyaml.At(1, 1)), Error, "say what the agent is to do and how; in a file, below the front matter", "the prompt is empty")
		return
	}
	t, err := compile(a, within(l.own))
	if err != nil {
		l.broken(err, Error, broken)
		return
	}
	unknown := false
	for _, u := range uses(t) {
		if hint, ok := l.field(u.path); !ok {
			unknown = true
			l.at(l.offset(int(u.pos)), Error, hint, "the template names .%s, which is not there", strings.Join(u.path, "."))
		}
	}
	if unknown {
		return // rendering would say the same again
	}
	d := promptData{Agent: a.Name, Prompt: "x", Signal: "X", Dir: "/", Inputs: map[string]any{}, Tools: toolData(l.own)}
	for _, f := range a.Inputs {
		d.Inputs[f.Name] = "x"
		if f.Default != nil {
			if v, err := value(f.Default); err == nil {
				d.Inputs[f.Name] = v
			}
		}
	}
	names, all := inputsUsed(t)
	if len(a.Inputs) == 0 {
		for _, name := range names {
			d.Inputs[name] = "x" // whoever asks must give it; nothing is declared
		}
	}
	if _, err := render(t, d); err != nil && (len(names) > 0 || all) {
		l.broken(err, Warning, "the template cannot be used with a text for each input: %s")
	} else if err != nil {
		l.broken(err, Error, broken)
	}
}

// field reports whether a template may name path. Fields of Data and of
// ToolData are both allowed anywhere: which one the dot is takes running it.
func (l *linter) field(path []string) (hint string, ok bool) {
	known := slices.Concat(fields[promptData](), fields[promptTool]())
	if !slices.Contains(known, path[0]) {
		if near := spelling.Nearest(path[0], known); near != "" {
			return "did you mean ." + near + "?", false
		}
		return "there are ." + strings.Join(known, ", ."), false
	}
	if path[0] != "Inputs" || len(path) == 1 || len(l.a.Inputs) == 0 {
		return "", true
	}
	var names []string
	for _, f := range l.a.Inputs {
		names = append(names, f.Name)
	}
	if slices.Contains(names, path[1]) {
		return "", true
	}
	if near := spelling.Nearest(path[1], names); near != "" {
		return "did you mean .Inputs." + near + "?", false
	}
	return "declare it under inputs, beside " + strings.Join(names, ", "), false
}

func fields[T any]() []string {
	var names []string
	for f := range reflect.TypeFor[T]().Fields() {
		names = append(names, f.Name)
	}
	return names
}

// offset gives the place in the file of a byte of the prompt.
func (l *linter) offset(pos int) place {
	before := l.a.Prompt[:min(pos, len(l.a.Prompt))]
	line := strings.Count(before, "\n")
	return plainyaml.At(max(1, l.src.Places["prompt"].Line)+line, pos-strings.LastIndexByte(before, '\n'))
}

const broken = "the template cannot be used: %s"

func (l *linter) broken(err error, s Severity, format string) {
	line, col, words := explain(err)
	p := plainyaml.At(max(1, l.src.Places["prompt"].Line)+max(0, line-1), col+1)
	l.at(p, s, "", format, words)
}
