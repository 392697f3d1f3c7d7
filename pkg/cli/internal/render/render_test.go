package render

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/pkg/cli/internal/term"
	"github.com/adroit-run/adroit/pkg/event"
)

func TestEscape(t *testing.T) {
	for _, tc := range []struct{ in, multi, one string }{
		{"plain", "plain", "plain"},
		{"two\nlines\tand tab", "two\nlines\tand tab", `two\nlines and tab`},
		{"\r\n", "\n", `\n`},
		{"over\rwrite", `over\x0dwrite`, `over\x0dwrite`},
		{"\x1b]52;c;aGk=\x07", `\x1b]52;c;aGk=\x07`, `\x1b]52;c;aGk=\x07`},
		{"\x1b]8;;http://x\x1b\\", `\x1b]8;;http://x\x1b\`, `\x1b]8;;http://x\x1b\`},
		{"c1 \u009b2J", `c1 \u009b2J`, `c1 \u009b2J`},
		{"bidi \u202egnp", `bidi \u202egnp`, `bidi \u202egnp`},
		{"zero\u200bwidth", `zero\u200bwidth`, `zero\u200bwidth`},
		{"broken \xff", `broken \xff`, `broken \xff`},
		{"日本語 é", "日本語 é", "日本語 é"},
	} {
		if got := Sanitize(tc.in); got != tc.multi {
			t.Errorf("Sanitize(%q) = %q, want %q", tc.in, got, tc.multi)
		}
		if got := SanitizeLine(tc.in); got != tc.one {
			t.Errorf("SanitizeLine(%q) = %q, want %q", tc.in, got, tc.one)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("\x1b[2J\u202e\xff\r")
	f.Fuzz(func(t *testing.T, s string) {
		got := Sanitize(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, invisible) {
			t.Fatalf("Sanitize(%q) = %q", s, got)
		}
		if one := SanitizeLine(s); strings.ContainsAny(one, "\n\t") {
			t.Fatalf("SanitizeLine(%q) = %q", s, one)
		}
	})
}

func TestFigures(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		1200 * time.Millisecond: "1.2s", 41 * time.Second: "41s", 90 * time.Second: "1m30s", 2*time.Hour + 5*time.Minute: "2h05m",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%s) = %q, want %q", d, got, want)
		}
	}
}

// The viewer numbers each call once, also when a resumed run recalls it or performs
// it again, says what was recalled and nothing else, and never writes past the width.
func TestViewer(t *testing.T) {
	var out bytes.Buffer
	v := &Viewer{Screen: &term.Screen{Writer: &out, Cols: 40}, calls: numbering{of: map[string]int{"1.1": 1, "1.2": 2}, number: 2}}
	data, err := json.Marshal(map[string]any{"failed": true})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range []event.Event{
		{Kind: event.StepRecalled, Step: "tool", Name: "read_file", Path: "1.1"},
		{Kind: event.StepStarted, Step: "tool", Name: "edit_file", Path: "1.2"},
		{Kind: event.StepFinished, Step: "tool", Name: "edit_file", Path: "1.2", Error: "interrupted: it may or may not have happened"},
		{Kind: event.StepFinished, Step: "tool", Name: "run_tests", Path: "1.3", Text: "2 of 14 failed", Took: 1200 * time.Millisecond, Data: data},
		{Kind: event.Note, Text: "the tool crashed\nstack"},
		{Kind: event.StepFinished, Step: "tool", Name: "write_file", Path: "1.4", Text: "nothing was changed",
			Data: json.RawMessage(`{"args": {"path": "a", "content": "same"}, "text": "a holds exactly this already; nothing was changed"}`)},
	} {
		v.show(ev)
	}
	got := out.String()
	if strings.Contains(got, "+same") {
		t.Errorf("a write that changed nothing has a diff:\n%s", got)
	}
	if strings.Contains(got, "stack") {
		t.Errorf("more than the first line of a note is shown:\n%s", got)
	}
	for l := range strings.SplitSeq(got, "\n") {
		if utf8.RuneCountInString(l) > 40 {
			t.Errorf("wider than 40: %q", l)
		}
	}
	if !strings.HasPrefix(got, "     step 1 recalled, no model calls\n") {
		t.Errorf("it does not begin with what was recalled:\n%s", got)
	}
	if !strings.Contains(got, "  2  edit_file ") || !strings.Contains(got, "  3  run_tests ") {
		t.Errorf("numbers are wrong:\n%s", got)
	}
}
