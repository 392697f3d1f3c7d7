package agents

import (
	"reflect"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/text/spelling"
)

// template checks the prompt: that it can be read, that every field it names
// exists, and that it renders.
func (l *linter) template() {
	a := l.a
	if strings.TrimSpace(a.Prompt) == "" {
		l.at(plainyaml.At(max(1, l.src.Places["prompt"].Line), 1), Error, "write below the front matter what the agent is to do and how", "the prompt is empty")
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
