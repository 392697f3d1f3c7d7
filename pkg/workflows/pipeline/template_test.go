package pipeline

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestEnds wants the bound to hold and no character to be cut in two.
func TestEnds(t *testing.T) {
	if got := headAndTail("short", 5); got != "short" {
		t.Error(got)
	}
	long := strings.Repeat("ä€😀", 100)
	for n := range 40 {
		got := headAndTail(long, n)
		head, rest, ok := strings.Cut(got, "\n[… ")
		_, tail, ok2 := strings.Cut(rest, " …]\n")
		switch {
		case !ok:
			t.Errorf("ok is false: %d bytes: %q", n, got)
		case !ok2:
			t.Errorf("ok2 is false: %d bytes: %q", n, got)
		case !utf8.ValidString(got):
			t.Errorf("utf8.ValidString(got) is false: %d bytes: %q", n, got)
		case len(head)+len(tail) > n:
			t.Errorf("len(head)+len(tail) > n: %d bytes: %q", n, got)
		case !strings.HasPrefix(long, head):
			t.Errorf("strings.HasPrefix(long, head) is false: %d bytes: %q", n, got)
		case !strings.HasSuffix(long, tail):
			t.Errorf("strings.HasSuffix(long, tail) is false: %d bytes: %q", n, got)
		}
	}
}

// TestCommandText wants braces of other templates put into a command as they are, and no
// value.
func TestCommandText(t *testing.T) {
	for in, want := range map[string]string{
		`docker inspect --format '{{"{{.State}}"}}' a`: `docker inspect --format '{{.State}}' a`,
		`go list -f '{{"{{"}}.Dir}}'`:                  `go list -f '{{.Dir}}'`,
		`echo '}}' {a}`:                                `echo '}}' {a}`,
	} {
		if got, err := commandText(in); err != nil || got != want {
			t.Errorf("%s is %s, %v", in, got, err)
		}
	}
	for _, in := range []string{"echo {{input}}", "go list -f '{{.Dir}}'", "helm '{{ range .X }}'", "echo {{", `{{"a}}`} {
		if got, err := commandText(in); err == nil || !strings.Contains(err.hint, `{{"{{.State}}"}}`) {
			t.Errorf("%s is %s, %v", in, got, err)
		}
	}
}

// TestValue wants kinds kept where a text is one value, and texts elsewhere.
func TestValue(t *testing.T) {
	values := map[string]string{"n": "3", "list": `["a",2]`, "text": `"{{n}}"`, "big": `12345678901234567890`}
	f := func() *filler {
		return &filler{each: 20, all: 40, look: func(path string) (json.RawMessage, error) {
			v, ok := values[path]
			if !ok {
				return nil, errors.New("no " + path)
			}
			return json.RawMessage(v), nil
		}}
	}
	for in, want := range map[string]string{
		`{"a":"{{n}}","b":"{{n}} of {{list}}","c":["{{text}}",1.50,true,null]}`: `{"a":3,"b":"3 of [\"a\",2]","c":["{{n}}",1.50,true,null]}`,
		`"{{big}}"`:              `12345678901234567890`,
		`"{{ \"{{n}}\" }}{{n}}"`: `"{{n}}3"`,
	} {
		got, err := f().value(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s became %s, %v; want %s", in, got, err, want)
		}
	}
	if _, err := f().value(json.RawMessage(`{"a":["{{m}}"]}`)); err == nil || err.Error() != "no m" {
		t.Errorf("an unknown value: %v", err)
	}
}
