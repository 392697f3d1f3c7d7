package edit

import (
	"errors"
	"strings"
	"testing"
)

const cart = "package cart\n\nfunc Total(ps []int) int {\n\tsum := 0\n\tfor _, p := range ps {\n\t\tsum += p\n\t}\n\treturn sum\n}\n"

func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name, text, old, new string
		all                  bool
		want                 string
		how                  matchRule
	}{
		{"exact", "a\nb\nc\n", "b", "B", false, "a\nB\nc\n", ruleExact},
		{"exact part of a line", "x := 1\n", "1", "2", false, "x := 2\n", ruleExact},
		{"up to inside a word that new keeps", "func Unavailable(n int) {\n", "func Unav", "func (s *S) Unav", false, "func (s *S) Unavailable(n int) {\n", ruleExact},
		{"from inside a word that new keeps", "x := unavailable(n)\n", "available(n)", "available(n, m)", false, "x := unavailable(n, m)\n", ruleExact},
		{"several lines, up to inside a word", "a()\nreturn Unavailable\n", "a()\nreturn Un", "b()\nreturn ", false, "b()\nreturn available\n", ruleExact},
		{"all", "a a\na\n", "a", "b", true, "b b\nb\n", ruleExact},
		{"all, overlapping", "aaa", "aa", "b", true, "ba", ruleExact},
		{"trailing space in the file", "a  \nb\t\nc\n", "a\nb\n", "x\n", false, "x\nc\n", ruleTrailing},
		{"trailing space in old", "a\nb\nc\n", "a \nb \n", "x\n", false, "x\nc\n", ruleTrailing},
		{"no final newline", "a\nb  ", "a \nb\n", "x\ny\n", false, "x\ny", ruleTrailing},
		{
			"spaces for tabs", cart, "    for _, p := range ps {\n        sum += p\n    }\n",
			"    for _, p := range ps {\n        if p > 0 {\n            sum += p\n        }\n    }\n", false,
			strings.Replace(cart, "\t\tsum += p\n", "\t\tif p > 0 {\n\t\t\tsum += p\n\t\t}\n", 1), ruleIndent,
		},
		{
			"one level too shallow", cart, "for _, p := range ps {\n\tsum += p\n}\nreturn sum\n",
			"for _, p := range ps {\n\tif p > 0 {\n\t\tsum += p\n\t}\n}\nreturn sum\n", false,
			strings.Replace(cart, "\t\tsum += p\n", "\t\tif p > 0 {\n\t\t\tsum += p\n\t\t}\n", 1), ruleIndent,
		},
		{
			"one level too deep", "def f():\n    a = 1\n    b = 2\n", "        a = 1\n        b = 2\n",
			"        a = 1\n        if a:\n            b = 3\n", false, "def f():\n    a = 1\n    if a:\n        b = 3\n", ruleIndent,
		},
		{
			"one line, deeper lines in new", "func f() {\n\tif x {\n\t\ty()\n\t}\n}\n", "    y() \n",
			"    if z {\n        y()\n    }\n", false, "func f() {\n\tif x {\n\t\tif z {\n\t\t\ty()\n\t\t}\n\t}\n}\n", ruleIndent,
		},
		{
			"new goes shallower than old", "func f() {\n\tif x {\n\t\ta( )\n\t\tb()\n\t}\n}\n", "        a( )\n        b()\n    }\n",
			"        a( )\n    }\n    b()\n", false, "func f() {\n\tif x {\n\t\ta( )\n\t}\n\tb()\n}\n", ruleIndent,
		},
		{"aligned fields", "type T struct {\n\tName    string\n\tAge     int\n}\n", "\tName string\n\tAge int\n", "\tName string\n", false, "type T struct {\n\tName    string\n}\n", ruleSpacing},
		{"delete", "a\nb\nc\n", "b\n", "", false, "a\nc\n", ruleExact},
		{"old without indentation, new with the file's", "if a {\n\tb()\n\tc()\n}\n", "b()\nc()\n", "\tb()\n\td()\n", false, "if a {\n\tb()\n\td()\n}\n", ruleIndent},
		{"exact is literal", "a\nb\nc\n", "a\nb", "a\nB\n", false, "a\nB\n\nc\n", ruleExact},
		{"a call is chained", "x\n  .filter(a);\n", ".filter(a)", ".filter(a)\n  .map(b)", false, "x\n  .filter(a)\n  .map(b);\n", ruleExact},
		{"a line is parted", "f(a); g(b)\n", "f(a); ", "f(a)\n", false, "f(a)\ng(b)\n", ruleExact},
		{"blank line with blanks", "a:\n    b\n  \n    c\n", "a:\n    b\n\n    c\n", "a:\n    d\n", false, "a:\n    d\n", ruleTrailing},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, how, changes, err := replaceText(c.text, c.old, c.new, c.all)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want || how != c.how {
				t.Errorf("got %q (%s)\nwant %q (%s)", got, how, c.want, c.how)
			}
			if len(changes) == 0 {
				t.Error("no change is reported")
			}
		})
	}
}

// A file in which a line has changed since staleOld was quoted from it.
const (
	stale    = "func f(ps []int) int {\n\tlimit := 20 // was raised\n\tsum := 0\n\tfor _, p := range ps {\n\t\tsum += p\n\t}\n\treturn sum\n}\n"
	staleOld = "func f(ps []int) int {\n\tlimit := 10\n\tsum := 0\n\tfor _, p := range ps {\n\t\tsum += p\n\t}\n\treturn sum\n}\n"
)

// The rules after Match: each finds one place, and what the edit does not
// touch stays as the file has it.
func TestLoose(t *testing.T) {
	for _, c := range []struct {
		name, text, old, new, want string
		how                        matchRule
	}{
		{"blank lines around", "a\nb\nc\n", "\n\nb\n\n", "\nB\n", "a\nB\nc\n", ruleBlank},
		{"line numbers", "a\nb\nc\n", "2\tb\n3\tc\n", "2\tB\n3\tc\n", "a\nB\nc\n", ruleNumbers},
		{"line numbers in old only", "a\nb\nc\n", "2\tb\n", "B\n", "a\nB\nc\n", ruleNumbers},
		{"escaped twice", "f(\"a\")\ng()\nh()\n", `f(\"a\")\ng()`, `f(\"b\\n\")\ng()`, "f(\"b\\n\")\ng()\nh()\n", ruleEscapes},
		{"escaped quotes", "say(\"hi\") // x\n", `say(\"hi\")`, `say(\"bye\")`, "say(\"bye\") // x\n", ruleEscapes},
		{"typographic marks stay", "He said \u201cit\u2019s fine\u201d \u2014 twice.\n", "He said \"it's fine\" - twice.", "She said \"it's fine\" - twice.", "She said \u201cit\u2019s fine\u201d \u2014 twice.\n", rulePunct},
		{"typographic marks of the model", "x = 'a' - 1\n", "x = \u2018a\u2019 \u2013 1", "x = \u2018a\u2019 \u2013 2", "x = 'a' - 2\n", rulePunct},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, how, _, err := replaceText(c.text, c.old, c.new, false)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want || how != c.how {
				t.Errorf("got %q (%s)\nwant %q (%s)", got, how, c.want, c.how)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, text, old, new string
		says                 []string
	}{
		{"empty", "a\n", "", "b", []string{"write_file"}},
		{"equal", "a\n", "a", "a", []string{"same"}},
		{"absent", "alpha beta\n", "gamma", "x", []string{"0 matches", "No line"}},
		{"near", "one\nfunc Total(xs []int) int {\n\treturn 0\n}\n", "func Total(ys []int64) int {\n", "x", []string{"Nearest", "2\tfunc Total(xs"}},
		{"repeated", "a\nb\na\n", "a\n", "c\n", []string{"2 times", "line 1", "line 3", "all"}},
		{"overlapping", "aaa\n", "aa", "b", []string{"2 times"}},
		{"repeated but for space", "\tx := 1\n\ty()\n\n\t\tx := 1\n\t\ty()\n", "  x := 1\n  y()\n", "z", []string{"2 times", "line 1", "line 4"}},
		{"wrong line numbers", "a\nb\n", "2\ta\n3\tb\n", "x", []string{"line numbers"}},
		{"escaped twice, new not so", "a\nb\n", `a\nb`, "x(\"a\\n\")", []string{"escaped twice"}},
		{"new escaped twice", "a\nb\n", "a", `if a {\n\tb()\n}`, []string{"escaped twice"}},
		{"inside a word", "max = 10\n", "x = 1", "x = 2", []string{`old begins inside the word "max"`, "1\tmax = 10"}},
		{"at the end of a word", "n := Unavailable()\n", "n := Un", "m := Un2", []string{`old ends inside the word "Unavailable"`}},
		{"a short part of a word, kept", "max = 10\n", "x = 1", "x = 1 + 1", []string{`inside the word "max"`}},
		{"all of old in a word", "n := Unavailable()\n", "avail", "reach", []string{`begins inside the word "Unavailable"`}},
		{"new repeats the rest", "a\nfor p := range ps {\n", "for p := range", "for q := range ps {", []string{`old ends before "ps {" on its line, and new repeats that`}},
		{"new repeats the start", "if ok && x > 1 {\n", "x > 1 {", "if ok && x > 2 {", []string{`old begins behind "if ok &&" on its line`}},
		{"tabs and blanks", "a {\n\tb\n\t\tc\n}\n", "a {\n  b\n  c\n}\n", "x", []string{"At line 2", "1 tab", "2 blanks"}},
		{"part of a line", "alpha(one, two)\nbeta(three)\n", "alpha(one\nbeta(three)\n", "x", []string{"only a part"}},
		{"one line is another", "alpha(one)\nbeta(two)\ngamma()\n", "alpha(one)\nbeta(three)\ngamma()\n", "x", []string{"At line 2", "for the first time"}},
		{"a line has changed since, the one to change", stale, staleOld, strings.Replace(staleOld, "limit := 10", "limit := 11", 1), []string{"0 matches"}},
		{"a line has changed since, another one", stale, staleOld, strings.Replace(staleOld, "return sum", "return 0", 1), []string{"0 matches", "At line 2", "limit := 20"}},
		{"not uniform", "a {\n\t\tb\n\tc\n}\n", "a {\n  b\n  c\n}\n", "x", []string{"0 matches"}},
		{"rest of", "a\nb\n", "a", "a2\n// ... rest of the code\n", []string{"leaves code out"}},
		{"existing code", "a\nb\n", "a", "a2\n# existing code here\n", []string{"leaves code out"}},
		{"html", "a\nb\n", "a", "<!-- remaining items ... -->", []string{"leaves code out"}},
		{"old without indentation, new with the file's", "class A {\n  function oldFunc() {}\n}\n", "\nfunction oldFunc() {}", "\n  function newFunc() {}", []string{"0 matches"}},
		{"lines into the midst of a line", "x\ncobra.test // more\n", "x\ncobra.test", "x\ncobra.test\n\nnew\n*.o", []string{`the end of its last line, "// more"`}},
		{"a line's end would move below new lines", "a\nThe limit is 30. // more\nb\n", "The limit is 30.", "The limit is 30.\n\nadded line", []string{`leaves out the end of its line, "// more"`}},
		{"a form feed is no blank", "a     = \f\n", "a =", "a     =", []string{"0 matches"}},
		{"other blanks at the line's end, made already", "bare-limit   = \nb\n", "bare-limit =", "bare-limit   =", []string{"nothing would change"}},
		{"the same in a line", "class A {\n  function oldFunc() {}\n}\n", "function oldFunc() {}", "  function newFunc() {}", []string{"behind the indentation of its line"}},
		{"rest of, in brackets", "a\nb\n", "a", "a2\n(rest of methods ...)\n", []string{"leaves code out"}},
		{"unchanged, in brackets", "a\nb\n", "a", "a2\n  [unchanged code\u2026]\n", []string{"leaves code out"}},
		{"a carriage return alone", "one\ntwo\rthree\n", "two\nthree\n", "x", []string{`two\rthree`}},
		{"blank only", "a\nb\n", "  \n", "x", []string{"0 matches"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, _, err := replaceText(c.text, c.old, c.new, false)
			if err == nil {
				t.Fatalf("accepted: %q", got)
			}
			if got != c.text {
				t.Errorf("refused, yet changed: %q", got)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
}

// Code that looks a little like an omission is left alone.
func TestNotOmitted(t *testing.T) {
	for _, s := range []string{
		"f({...rest, a: 1})", "  ...other,", "...existing", "func f(xs ...int) {", "// the rest of the paths are tried in order",
		"print('...')", "# remaining seconds", "// Other callers pass nil.", "...", "x = [...same]", "existing := load()", "[existing, ...more]", "(existing...)", "(rest of it)", "  [remaining[0], ...]",
		"// existing code paths stay as they are when the flag is off and nobody asks",
	} {
		if err := check("old", "old", s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	if err := check("a\n// ... rest of the code\nb", "a\n// ... rest of the code\nb", "c\n// ... rest of the code\nb"); err != nil {
		t.Errorf("a comment the file has: %v", err)
	}
}

func FuzzReplace(f *testing.F) {
	f.Add(cart, "\tsum := 0\n", "\tsum := 1\n", false)
	f.Add("a  \n\tb", "a\nb", "c\n  d", true)
	f.Add("x\r\ny", "x\ny", "z", false)
	f.Add("0", "\n0", "1", true)
	f.Fuzz(func(t *testing.T, text, old, repl string, all bool) {
		got, how, changes, err := replaceText(text, old, repl, all)
		if err != nil {
			var me *matchError
			if errors.As(err, &me) {
				_ = me.Error() // must not panic on any input
			}
			if got != text {
				t.Fatal("refused, yet changed")
			}
			return
		}
		spans, _ := findText(text, old)
		if len(spans) == 0 {
			return // a rule beyond Match, whose place is not to be had here
		}
		last := 0
		for i, s := range spans {
			if s.Start < 0 || s.End > len(text) || s.Start > s.End {
				t.Fatalf("span %v of %d bytes", s, len(text))
			}
			if how != ruleExact && s.Start < last {
				t.Fatalf("span %d overlaps", i)
			}
			last = s.End
		}
		// What no span covers stays as it was.
		if !strings.HasPrefix(got, text[:spans[0].Start]) {
			t.Fatal("text before the match changed")
		}
		if !all && !strings.HasSuffix(got, text[spans[0].End:]) {
			t.Fatal("text after the match changed")
		}
		for _, c := range changes {
			c.Hunk(10)
		}
	})
}

// A number is never cut, also where several lines are quoted: 1 is not 10.
func TestNumbersAreNotCut(t *testing.T) {
	for text, edit := range map[string][2]string{
		"def f():\n    x = 10\n":    {"def f():\n    x = 1", "def f():\n    x = 2"},
		"timeout: 30\nport: 8080\n": {"timeout: 30\nport: 80", "timeout: 30\nport: 90"},
		"a: 180\nb: 2\n":            {"80\nb: 2", "90\nb: 2"},
	} {
		if got, _, _, err := replaceText(text, edit[0], edit[1], false); err == nil {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
