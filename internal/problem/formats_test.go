package problem

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Each output of testdata/formats.txt is read as its heading has it.
func TestFormats(t *testing.T) {
	b, err := os.ReadFile("testdata/formats.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, part := range strings.Split("\n"+string(b), "\n-- ")[1:] {
		head, text, _ := strings.Cut(part, " --\n")
		name, want, _ := strings.Cut(head, ": ")
		n++
		r := Read(strings.ReplaceAll(text, "␛", "\x1b"))
		var got []string
		if typ := first(r.Types); typ != "" {
			got = append(got, "type="+typ)
		}
		for _, c := range []struct {
			name string
			n    int
		}{{"passed", r.Passed}, {"failed", r.Failed}, {"skipped", r.Skipped}} {
			if c.n > 0 {
				got = append(got, fmt.Sprintf("%s=%d", c.name, c.n))
			}
		}
		switch {
		case r.None:
			got = append(got, "none")
		case !r.Known():
			got = append(got, "unknown")
		case len(got) == 0:
			got = append(got, "known")
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s (%q)", name, s, want, r.Formats)
		}
	}
	if n < 100 {
		t.Errorf("there are %d outputs", n)
	}
}

// TestWrappedFormats: an output is read the same way behind the times and names that services and
// containers put before its lines, in colour, and with other ends of lines.
func TestWrappedFormats(t *testing.T) {
	b, err := os.ReadFile("testdata/formats.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split("\n"+string(b), "\n-- ")[1:] {
		head, text, _ := strings.Cut(part, " --\n")
		text = strings.ReplaceAll(text, "␛", "\x1b")
		want := Read(text)
		for _, w := range []struct{ before, end string }{
			{"", "\r\n"}, {"", "\r"}, {"\x1b[31m", "\x1b[0m\x1b[K\n"}, {"2026-11-29T05:00:01.1234567Z ", "\n"}, {"2026-11-29T05:00:01.123456Z 00O ", "\n"},
			{"tests-1  | ", "\n"}, {"tests-1  | 2026-11-29T05:00:01.123456789Z ", "\n"}, {"[2026-11-29T05:00:01.123Z] ", "\n"}, {"[pod/x-1/c] ", "\n"},
		} {
			wrapped := w.before + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", w.end+w.before) + w.end
			if got := Read(wrapped); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s behind %q: %+v, want %+v", head, w.before+w.end, got, want)
			}
		}
	}
	// A prefix that many programs write may hide a line's beginning, but changes no reading.
	for _, prefix := range []string{"packages/a test: ", "web:test: ", "a:build | ", "[web] ", "[0] ", "    ", "Nov 29 05:00:01 "} {
		unknown := 0
		for _, part := range strings.Split("\n"+string(b), "\n-- ")[1:] {
			head, text, _ := strings.Cut(part, " --\n")
			text = strings.ReplaceAll(text, "␛", "\x1b")
			want, got := Read(text), Read(prefix+strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix)+"\n")
			if !got.Known() {
				unknown++
			} else if got.Passed != want.Passed && !strings.HasPrefix(head, "sbt munit scala3 failing") || got.None != want.None {
				t.Errorf("%s behind %q: %+v, want %+v", head, prefix, got, want)
			}
		}
		if unknown > 33 && strings.ContainsAny(prefix, ":|[") && !strings.HasPrefix(prefix, "Nov") {
			t.Errorf("behind %q %d outputs are not read", prefix, unknown)
		}
	}
	if r := Read("@acme/web:test: Executed 3 of 3 specs (1 FAILED) in 0.02 sec.\n"); !r.Failing() {
		t.Errorf("%+v", r)
	}
}

// What is left out of a long output is its middle.
func TestLongOutput(t *testing.T) {
	noise := strings.Repeat("a line of a log\n", mostText/16)
	r := Read("Tests: 1 failed, 1 passed, 2 total\n" + noise + noise + "== 3 passed in 0.1s ==\n")
	if r.Passed != 4 || r.Failed != 1 {
		t.Errorf("%+v", r)
	}
	if s := bounded(noise + noise); len(s) > mostText || len(s) < mostText-100 || strings.ReplaceAll(s, "a line of a log\n", "") != "" {
		t.Errorf("%d bytes", len(s))
	}
}

// first returns the type that counts: see pkg/workflows/coordinator.
func first(types []string) string {
	for _, want := range []string{Test, Format, Type, Lint, Build} {
		for _, t := range types {
			if t == want {
				return t
			}
		}
	}
	return ""
}
