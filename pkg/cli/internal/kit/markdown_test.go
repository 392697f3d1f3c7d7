package kit

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
)

var update = flag.Bool("update", false, "write the golden files")

// screenOf is a screen of so many columns, with colours or without.
func screenOf(columns int, colour bool) *Screen {
	if colour {
		return NewColor(io.Discard, columns)
	}
	s := NewPlain(io.Discard)
	s.Cols = columns
	return s
}

// The layout of a text with all that Markdown has, on three terminals and without colours.
func TestLayout(t *testing.T) {
	src, err := os.ReadFile("testdata/layout.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, columns := range []int{40, 80, 120} {
		for _, colour := range []bool{true, false} {
			got := NewMarkdown(screenOf(columns, colour), Plain, "     ").Text(string(src))
			dirtest.Golden(t, *update, fmt.Sprintf("testdata/layout-%d-%v.golden", columns, colour), []byte(strings.ReplaceAll(got, "\x1b", "E")))
		}
	}
	if got := NewMarkdown(NewPlain(io.Discard), Plain, "").Text(string(src)); got != Sanitize(strings.ReplaceAll(string(src), "\t", "    ")) {
		t.Errorf("a text for a file is not as it was written:\n%s", got)
	}
}

// pieces are parts of texts whose blocks and marks end, or do not.
var pieces = []string{"word ", "many more words here ", "\n", "\n\n", "- item ", "\n- next\n", "1. one\n", "**bold** ", "*", "**", "`code` ", "`", "```go\n", "```\n", "func f() { return \"x\" } // y\n",
	"> quote\n", "# head\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "| 3 | four and more |\n", "[link](http://x.y) ", "[x", "<b>", "日本語 ", "✅ ", "&amp;", "~~s~~ ", "\n    code\n", "\n\n---\n\n"}

func inkOf(s string) string { return strings.Join(strings.Fields(Unpaint(s)), "") }

// However a text comes, what is finished at its end is what the whole text would be, in
// order and once, and no row is wider than the screen.
func TestFlow(t *testing.T) {
	rnd := rand.New(rand.NewPCG(34, 6))
	for trial := range 2000 {
		var src strings.Builder
		for range 1 + rnd.IntN(25) {
			src.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		columns, colour := 30+rnd.IntN(60), rnd.IntN(3) > 0
		m := NewMarkdown(screenOf(columns, colour), Plain, "  ")
		all, printed := strings.TrimSpace(src.String()), ""
		for at := 0; at < len(all); {
			at = min(len(all), at+1+rnd.IntN(12))
			for at < len(all) && all[at]&0xc0 == 0x80 { // not within a character
				at++
			}
			finished, tail := m.Flow(all[:at], false)
			printed += finished
			for _, r := range append(strings.Split(finished, "\n"), tail...) {
				if n := Columns(Unpaint(r)); n >= columns {
					t.Fatalf("trial %d: %d of %d columns: %q", trial, n, columns, r)
				}
			}
		}
		finished, _ := m.Flow(all, true)
		printed += finished
		want := NewMarkdown(screenOf(columns, colour), Plain, "  ").Text(all)
		if got := inkOf(printed); got != inkOf(want) {
			t.Fatalf("trial %d, %d columns, %q:\ngot\n%s\nwant\n%s", trial, columns, all, printed, want)
		}
	}
}

// Nothing is lost and nothing is twice when the width changes in the middle of a paragraph.
func TestFlowOfAResizedScreen(t *testing.T) {
	rnd := rand.New(rand.NewPCG(34, 7))
	for trial := range 500 {
		all := strings.Repeat("Paragraph with **bold words** and `code` that wraps, 日本語 too. ", 1+rnd.IntN(6)) + "\n\n" + strings.Repeat("Then another. ", rnd.IntN(20)) + "End"
		screen := screenOf(80, rnd.IntN(2) > 0)
		m, printed := NewMarkdown(screen, Plain, "  "), ""
		for at := 0; at < len(all); {
			at = min(len(all), at+1+rnd.IntN(30))
			for at < len(all) && all[at]&0xc0 == 0x80 {
				at++
			}
			if rnd.IntN(4) == 0 {
				screen.Cols = 30 + rnd.IntN(100)
			}
			finished, tail := m.Flow(all[:at], false)
			printed += finished
			for _, r := range append(strings.Split(finished, "\n"), tail...) {
				if n := Columns(Unpaint(r)); n >= screen.Cols {
					t.Fatalf("trial %d: %d of %d columns: %q", trial, n, screen.Cols, r)
				}
			}
		}
		finished, _ := m.Flow(all, true)
		if got, want := inkOf(printed+finished), inkOf(NewMarkdown(screen, Plain, "  ").Text(all)); got != want {
			t.Fatalf("trial %d, %q:\ngot\n%s\nwant\n%s", trial, all, printed+finished, want)
		}
	}
}

// Rows of a long paragraph, of a list and of code are finished while the text goes on.
func TestFlowFinishes(t *testing.T) {
	for src, rows := range map[string]int{
		strings.Repeat("words and ", 30) + "more": 4,
		"- one\n- two\n- three\n- four":           3,
		"```go\na := 1\nb := 2\nc":                3,
		"para\n\nmore\n\nand":                     3,
		"**" + strings.Repeat("words and ", 30):   0,
	} {
		finished, tail := NewMarkdown(screenOf(72, true), Plain, "").Flow(src, false)
		if n := strings.Count(finished, "\n"); n != rows || len(tail) == 0 {
			t.Errorf("%q: %d rows are finished, want %d, and %d are not:\n%s", src, n, rows, len(tail), finished)
		}
	}
}

// Whatever a text has, nothing in its rows acts on the terminal.
func FuzzMarkdown(f *testing.F) {
	f.Add("&#27;[2J \x1b]0;x\x07 `\x1b` [a](\x1b[1m) ```\n\x9b31m\n| a |\n|-|\n|\u202e|", uint8(40))
	f.Fuzz(func(t *testing.T, src string, columns uint8) {
		for _, colour := range []bool{true, false} {
			text := NewMarkdown(screenOf(int(columns)+1, colour), Plain, "").Text(src)
			if plain := Unpaint(text); Sanitize(plain) != plain {
				t.Fatalf("%q", plain)
			}
		}
	})
}

// Colours of code: reserved words, strings and comments; an unknown language is one colour.
func TestHighlight(t *testing.T) {
	for _, tc := range []struct{ lang, code, want string }{
		{"go", `return "a\"b" // c`, `35:return|: |32:"a\"b"|: |2:// c`},
		{"sh", "echo a#b 'x' # y", ":echo a#b |32:'x'|: |2:# y"},
		{"python", "def f():\n  '''two\nlines'''", "35:def|: f():|:  |32:'''two|32:lines'''"},
		{"sql", "SELECT 'a' -- x", "35:SELECT|: |32:'a'|: |2:-- x"},
		{"diff", "+a\n-b", "32:+a|31:-b"},
		{"who", "a 'b'", "35:a 'b'"},
		{"go", "x := 'a", ":x := 'a"},
	} {
		var got []string
		for _, line := range highlight(tc.lang, tc.code) {
			for _, s := range line {
				got = append(got, s.style+":"+s.text)
			}
		}
		if want := strings.Split(tc.want, "|"); !slices.Equal(got, want) {
			t.Errorf("%s %q: %q, want %q", tc.lang, tc.code, got, want)
		}
	}
}
