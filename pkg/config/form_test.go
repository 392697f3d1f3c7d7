package config

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/adroit-run/adroit/pkg/parts"
)

// A fault of any key is reported with the file, the line and the key, and without words of
// the language that this program is written in.
func TestEveryKeyWrong(t *testing.T) {
	seen := 0
	var visit func(kind reflect.Type, least, key, before, indent string)
	visit = func(kind reflect.Type, least, key, before, indent string) {
		for kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		wrong := []string{"{a: b}", "[x]", `""`, "text", "5", "-5", "-5s", "2x", "1.5", ".nan", ".inf", "99999999999999999999", "true"}
		right := map[string]bool{} // has the form
		switch {
		case kind == reflect.TypeFor[time.Duration]():
			right["-5s"] = least == "-"
		case kind.Kind() == reflect.Int:
			right["5"], right["-5"] = true, least == "-"
		case kind.Kind() == reflect.Float64:
			right["5"], right["1.5"], right["99999999999999999999"] = true, true, true
		case kind.Kind() == reflect.Bool:
			right["true"] = true
		case kind.Kind() == reflect.String, decodesItself(kind):
			wrong = []string{"{a: b}", "[[x]]"}
			if kind.Kind() != reflect.Slice {
				wrong[1] = "[x]"
			}
		case kind.Kind() == reflect.Interface:
			return
		case kind.Kind() == reflect.Map, kind.Kind() == reflect.Struct:
			wrong = wrong[1:]
		case kind.Kind() == reflect.Slice:
			wrong = append(wrong[2:], "{a: b}")
		}
		for _, value := range wrong {
			if key == "" || right[value] {
				continue
			}
			seen++
			file := "# one\n" + before + " " + value + "\n"
			_, err := load(file, nil, Flags{})
			want := fmt.Sprintf("/home/ann/.config/adroit/config.yaml:%d: ", strings.Count(file, "\n"))
			if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(strings.TrimPrefix(err.Error(), want), key) {
				t.Errorf("%s = %s: %v, want %s… and the key", key, value, err, want)
				continue
			}
			for _, word := range []string{"time: un", "time: mis", "time: inv", "strconv", "yaml:", "unmarshal", "Go ", "int64", "float64", "NaN"} {
				if strings.Contains(strings.TrimPrefix(err.Error(), want), word) {
					t.Errorf("%s = %s: %v has %q", key, value, err, word)
				}
			}
		}
		below := func(name string) string { return before + "\n" + indent + name + ":" }
		switch kind.Kind() {
		case reflect.Struct:
			for _, field := range reflect.VisibleFields(kind) {
				if name, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); name != "" && name != "-" {
					visit(field.Type, field.Tag.Get("least"), joinKey(key, name), strings.TrimPrefix(below(name), "\n"), indent+"  ")
				}
			}
		case reflect.Map:
			visit(kind.Elem(), "", joinKey(key, "lab"), below("lab"), indent+"  ")
		case reflect.Slice:
			visit(kind.Elem(), "", joinKey(key, "0"), before+"\n"+indent+"-", indent+"  ")
		}
	}
	visit(reflect.TypeFor[Config](), "", "", "", "")
	for _, s := range sectionsOf(parts.All()) {
		visit(reflect.TypeOf(s), "", s.Key(), s.Key()+":", "  ")
	}
	if seen < 1000 {
		t.Errorf("only %d values were tried", seen)
	}
}

// A text that a key does not take is reported at its line.
func TestEveryTextWrong(t *testing.T) {
	example, err := os.ReadFile("../../docs/config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseBytes(example, 0)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, n := range ast.Filter(ast.StringType, file.Docs[0].Body) {
		at := n.GetToken().Position
		lines := strings.Split(string(example), "\n")
		line := lines[at.Line-1]
		if strings.HasPrefix(line[at.Column-1+len(strings.TrimSpace(n.GetToken().Origin)):], ":") {
			continue // a key
		}
		for _, text := range []string{`""`, `"\x01 [/"`} {
			lines[at.Line-1] = line[:at.Column-1] + text + line[at.Column-1+len(strings.TrimSpace(n.GetToken().Origin)):]
			_, err := load(strings.Join(lines, "\n"), nil, Flags{})
			if err == nil {
				continue
			}
			refused++
			var got int
			_, scan := fmt.Sscanf(err.Error(), "/home/ann/.config/adroit/config.yaml:%d: ", &got)
			// What is required is missing at the key around it.
			if required := text == `""` || strings.HasPrefix(strings.TrimSpace(line), "command:"); scan != nil || got != at.Line && !(required && at.Line-got <= 2 && got-at.Line <= 1) {
				t.Errorf("%s:\n%v\nwant line %d", lines[at.Line-1], err, at.Line)
			}
		}
	}
	if refused < 40 {
		t.Errorf("only %d texts were refused", refused)
	}
}

// All faults of a file are reported, each with what to do about it.
func TestAllFaults(t *testing.T) {
	_, err := load("modle: a\nlimits:\n  turns: many\n  tmie: 1h\n", nil, Flags{})
	faults, ok := err.(Faults)
	if !ok || len(faults) != 3 || !strings.Contains(faults[2].Error(), ":4: unknown key limits.tmie") || !strings.Contains(faults[2].(*fileError).Hint(), "time?") {
		t.Errorf("%v", err)
	}
	_, err = load("mode: fast\nhooks:\n  - {when: before}\n  - {when: never, command: [a]}\nlog: {level: loud}\n", nil, Flags{})
	if faults, ok = err.(Faults); !ok || len(faults) != 4 {
		t.Errorf("%v", err)
	}
}
