package hint_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/text/hint"
)

func TestCommand(t *testing.T) {
	for want, got := range map[string]string{
		"adroit jobs show J1": hint.Command("jobs show %s", "J1"), "adroit run AGENT PROMPT": hint.Command("run AGENT PROMPT"),
		"adroit answer J1 continue|abort|WORDS": hint.Command("answer %s continue|abort|WORDS", "J1"),
		`adroit run 'my agent' "..."`:           hint.Command(`run %s "..."`, "my agent"),
		"adroit models check ollama/qwen3:8b":   hint.Command("models check ollama/%s", "qwen3:8b"),
		"adroit jobs rm ''":                     hint.Command("jobs rm %s", ""),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What the person gave leads to the same data, and is in no name.
func TestPlace(t *testing.T) {
	hint.Place(func(words []string) []string {
		return slices.Concat([]string{"--data-dir", hint.Quote("/my data")}, words)
	})
	defer hint.Place(nil)
	if got := hint.Command("jobs undo %s", "J1"); got != "adroit --data-dir '/my data' jobs undo J1" {
		t.Error(got)
	}
	if got := hint.Name("jobs undo %s", "J1"); got != "adroit jobs undo J1" {
		t.Error(got)
	}
}

// A shell reads each word as it was, and a terminal shows all of it on a line.
func TestQuote(t *testing.T) {
	words := []string{"", "plain", "a b", "it's", `back\slash`, "$HOME", "a\nb", "\x1b[31mred", "ö ü", "\xff\xfe", "'\n", "~", "*", "-x", "zero\u200bwidth", "{a,b}", "#x", "!"}
	var line strings.Builder
	for _, w := range words {
		q := hint.Quote(w)
		if strings.ContainsAny(q, "\n\x1b\u200b") || strings.Contains(q, "\xff") {
			t.Errorf("%q is quoted as %q", w, q)
		}
		line.WriteString(" " + q)
	}
	out, err := exec.Command("bash", "-c", `printf '%s\0'`+line.String()).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, words) {
		t.Errorf("%q, want %q", got, words)
	}
}

// A template without its values prints no command that does something else.
func TestValues(t *testing.T) {
	for _, values := range [][]string{nil, {"a", "b"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d values for one", len(values))
				}
			}()
			hint.Name("jobs rm %s", values...)
		}()
	}
}
