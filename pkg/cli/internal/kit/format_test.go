package kit

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
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
		{"ends\u2028of\u2029lines", `ends\u2028of\u2029lines`, `ends\u2028of\u2029lines`},
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

// A joiner stands where it is for something, and not where it hides that two names differ.
func TestSanitizeJoiners(t *testing.T) {
	for s, want := range map[string]string{
		"👨\u200d👩\u200d👧": "👨\u200d👩\u200d👧", "❤️\u200d🔥": "❤️\u200d🔥", "می\u200cخواهم": "می\u200cخواهم", "क\u094d\u200dष": "क\u094d\u200dष",
		"a\u200db": `a\u200db`, "р\u200dу": `р\u200dу`, "👨\u200c👩": `👨\u200c👩`, "\u200d👩": `\u200d👩`, "👨\u200d": `👨\u200d`,
	} {
		if got := Sanitize(s); got != want {
			t.Errorf("Sanitize(%+q) = %+q", s, got)
		}
		if got := SanitizeLine(s); strings.ContainsAny(got, "\u200c\u200d") {
			t.Errorf("a name has %+q", got)
		}
	}
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

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		text string
		n    int
		want string
	}{
		{"one two three", 7, "one two|three"}, {"one", 0, "one"}, {"abcdefgh", 3, "abc|def|gh"}, {"", 5, ""}, {"日本語 日本", 6, "日本語|日本"}, {"one  two", 4, "one|two"},
	} {
		if got := strings.Join(Wrap(tc.text, tc.n), "|"); got != tc.want {
			t.Errorf("wrap(%q, %d) = %q, want %q", tc.text, tc.n, got, tc.want)
		}
	}
	begun := time.Now()
	if n := len(Wrap(strings.Repeat("日", 400_000), 70)); n != 11429 || time.Since(begun) > 10*time.Second {
		t.Errorf("a long line became %d rows in %s", n, time.Since(begun))
	}
	if got := strings.Join(WrapIndented("  one two three", 9), "|"); got != "  one two|  three" {
		t.Errorf("with its indentation: %q", got)
	}
	for s, want := range map[string]int{"abc": 3, "日本": 4, "é": 1, "e\u0301": 1, "🙂": 2} {
		if got := Columns(s); got != want {
			t.Errorf("columns(%q) = %d, want %d", s, got, want)
		}
	}
	if got := Cut("日本語日本語", 7); got != "日本..." {
		t.Error(got)
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("one two 日本", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n %= 200
		rows := Wrap(SanitizeLine(s), n)
		if n < 2 {
			return
		}
		for _, r := range rows {
			if Columns(r) > n {
				t.Fatalf("wrap(%q, %d) has %q", s, n, r)
			}
		}
	})
}
