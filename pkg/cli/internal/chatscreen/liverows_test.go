package chatscreen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// A vt is a terminal of so many columns and rows that knows what liveRows sends,
// and fails for all else. What leaves it at the top is in the scrollback.
type vt struct {
	t             *testing.T
	width, height int
	back          []string
	rows          [][]rune
	x, y          int
	savedX        int
	savedY        int
	wrapped       []bool // rows that go on in the next
	backWrapped   []bool
}

func newVT(t *testing.T, width, height int) *vt {
	v := &vt{t: t, width: width, height: height}
	for range height {
		v.rows = append(v.rows, nil)
	}
	v.wrapped = make([]bool, height)
	return v
}

func (v *vt) Write(b []byte) (int, error) {
	for s := string(b); s != ""; {
		if strings.HasPrefix(s, "\x1b") {
			s = v.control(s)
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		switch r {
		case '\r':
			v.x = 0
		case '\n':
			v.down()
		default:
			v.put(r)
		}
	}
	return len(b), nil
}

func (v *vt) put(r rune) {
	if v.x == v.width { // the last column was written before
		v.x = 0
		v.wrapped[v.y] = true
		v.down()
	}
	for len(v.rows[v.y]) <= v.x {
		v.rows[v.y] = append(v.rows[v.y], ' ')
	}
	v.rows[v.y][v.x] = r
	v.x++
}

func (v *vt) down() {
	if v.y++; v.y == v.height {
		v.back, v.backWrapped = append(v.back, strings.TrimRight(string(v.rows[0]), " ")), append(v.backWrapped, v.wrapped[0])
		v.rows, v.wrapped = append(slices.Delete(v.rows, 0, 1), nil), append(slices.Delete(v.wrapped, 0, 1), false)
		v.y--
	}
}

// control executes an escape sequence and returns the text after it.
func (v *vt) control(s string) string {
	if rest, ok := strings.CutPrefix(s, "\x1b]"); ok { // the title
		_, rest, _ = strings.Cut(rest, "\x07")
		return rest
	}
	switch s[1] {
	case '7':
		v.savedX, v.savedY = v.x, v.y
		return s[2:]
	case '8':
		v.x, v.y = v.savedX, v.savedY
		return s[2:]
	}
	i := strings.IndexFunc(s[2:], func(r rune) bool { return r >= '@' && r <= '~' }) + 2
	var n int
	_, _ = fmt.Sscanf(s[2:i], "%d", &n)
	switch s[i] {
	case 'A':
		v.y = max(0, v.y-max(1, n))
	case 'B':
		v.y = min(v.height-1, v.y+max(1, n))
	case 'C':
		v.x = min(v.width-1, v.x+max(1, n))
	case 'K':
		v.rows[v.y] = v.rows[v.y][:min(v.x, len(v.rows[v.y]))]
		if v.x == 0 { // as tmux has it: a row that is erased from its first column on ends a line
			v.wrapped[v.y] = false
		}
	case 'J':
		if v.x == 0 && v.y == 0 {
			v.t.Fatal("it erases the whole screen, which tmux keeps in its history")
		}
		v.rows[v.y] = v.rows[v.y][:min(v.x, len(v.rows[v.y]))]
		for y := v.y + 1; y < v.height; y++ {
			v.rows[y], v.wrapped[y] = nil, false
		}
	case 'h', 'l', 'm', 't', 'u': // modes, colours, the title's stack, keys
	default:
		v.t.Fatalf("the terminal does not know %q", s[:i+1])
	}
	return s[i+1:]
}

// lines is all that was printed, with rows that were wrapped as one line, and the place of
// the cursor in them.
func (v *vt) lines() (lines []string, line, column int) {
	var b strings.Builder
	add := func(row []rune, wrapped bool) {
		text := string(row)
		if wrapped {
			text += strings.Repeat(" ", v.width-len(row))
		}
		if b.WriteString(text); !wrapped {
			lines = append(lines, b.String())
			b.Reset()
		}
	}
	for i, r := range v.back {
		add([]rune(r), v.backWrapped[i])
	}
	for y, r := range v.rows {
		if y == v.y {
			line, column = len(lines), len([]rune(b.String()))+v.x
		}
		add(r, v.wrapped[y])
	}
	for len(lines) > line+1 && strings.TrimRight(lines[len(lines)-1], " ") == "" {
		lines = lines[:len(lines)-1]
	}
	return lines, line, column
}

// resize reflows what was printed, as tmux, kitty and VTE do.
func (v *vt) resize(width, height int) {
	lines, line, column := v.lines()
	w := newVT(v.t, width, height)
	at := 0 // rows from the first on, of the cursor
	for i, l := range lines {
		if i > 0 {
			_, _ = w.Write([]byte("\r\n"))
		}
		if i == line {
			at = len(w.back) + w.y + column/width
		}
		_, _ = w.Write([]byte(l))
	}
	w.x, w.y = column%width, at-len(w.back)
	*v = *w
}

// text is all that was printed, and what is on the screen, up to the last row that
// has something.
func (v *vt) text() []string {
	all := slices.Clone(v.back)
	for _, r := range v.rows {
		all = append(all, strings.TrimRight(string(r), " "))
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// Whatever is printed and drawn, the terminal has what was printed once and in
// order, then the live rows as they are now, and the cursor where they have it.
func TestLiveRowsOnTerminal(t *testing.T) {
	rnd := rand.New(rand.NewPCG(12, 20))
	for trial := range 200 {
		width, height := 10+rnd.IntN(80), 4+rnd.IntN(30)
		term := newVT(t, width, height)
		l := liveRows{out: term}
		l.enter()
		l.resize(width)
		var printed []string
		for n := range 40 {
			v := view{title: fmt.Sprint("title ", rnd.IntN(3))}
			for range 1 + rnd.IntN(height/2) {
				v.rows = append(v.rows, "\x1b[2m"+strings.Repeat(string(rune('a'+rnd.IntN(3))), 1+rnd.IntN(width-1))+"\x1b[0m")
			}
			v.y = rnd.IntN(len(v.rows))
			v.x = rnd.IntN(width - 1)
			text := ""
			if rnd.IntN(3) == 0 {
				for range 1 + rnd.IntN(2*height) {
					line := fmt.Sprintf("%d.%d", n, len(printed)) + strings.Repeat("x", rnd.IntN(2)*rnd.IntN(3*width))
					for rest := line; rest != ""; { // as the terminal wraps it
						most := min(width, len(rest))
						printed, rest = append(printed, rest[:most]), rest[most:]
					}
					text += line + "\n"
				}
			}
			l.draw(text, v, "")
			want := slices.Clone(printed)
			for _, r := range v.rows {
				want = append(want, kit.Unpaint(r))
			}
			if got := term.text(); !slices.Equal(got, want) {
				t.Fatalf("trial %d, frame %d, %dx%d:\ngot\n%s\nwant\n%s", trial, n, width, height, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if row := len(want) - len(v.rows) + v.y - len(term.back); term.x != v.x || term.y != row {
				t.Fatalf("trial %d, frame %d: the cursor is at %d, %d, want %d, %d", trial, n, term.x, term.y, v.x, row)
			}
		}
		l.leave()
		if got := term.text(); !slices.Equal(got, printed) {
			t.Fatalf("trial %d: live rows were left:\n%s", trial, strings.Join(got, "\n"))
		}
	}
}

// Whatever the terminal is resized to, also twice before that is noticed, it has what was
// printed once and in order, then the live rows.
func TestLiveRowsResized(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 34))
	for trial := range 300 {
		width := 40 + rnd.IntN(80)
		term := newVT(t, width, 30)
		l := liveRows{out: term}
		l.enter()
		l.resize(width)
		var printed []string
		for n := range 30 {
			if rnd.IntN(2) == 0 {
				for range 1 + rnd.IntN(2) {
					width = 20 + rnd.IntN(100)
					term.resize(width, 20+rnd.IntN(20))
				}
				l.resize(width)
			}
			var v view
			for range 1 + rnd.IntN(4) {
				v.rows = append(v.rows, strings.Repeat(string(rune('a'+rnd.IntN(3))), 1+rnd.IntN(width-1)))
			}
			v.y = len(v.rows) - 1
			v.x = len(v.rows[v.y]) - 1 // behind the last column terminals differ
			text := ""
			if rnd.IntN(2) == 0 {
				for range rnd.IntN(4) {
					line := fmt.Sprintf("%d.%d", n, len(printed)) + strings.Repeat("x", rnd.IntN(3*width))
					printed, text = append(printed, line), text+line+"\n"
				}
			}
			l.draw(text, v, "")
			want := append(slices.Clone(printed), v.rows...)
			if got, _, _ := term.lines(); !slices.Equal(got, want) {
				t.Fatalf("trial %d, frame %d, %d columns:\ngot\n%s\nwant\n%s", trial, n, width, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// A frame in which nothing has changed writes nothing, and a key that makes one row
// longer writes that row alone.
func TestLiveRowsWriteLittle(t *testing.T) {
	var out strings.Builder
	l := liveRows{out: &out}
	l.resize(80)
	v := view{rows: []string{"hint", "> a"}, x: 3, y: 1}
	l.draw("", v, "")
	out.Reset()
	l.draw("", v, "")
	if out.Len() > 0 {
		t.Errorf("nothing has changed: %q", out.String())
	}
	v.rows, v.x = []string{"hint", "> ab"}, 4
	l.draw("", v, "")
	if got := out.String(); strings.Contains(got, "hint") || !strings.Contains(got, "> ab") {
		t.Errorf("%q", got)
	}
}

// A narrower terminal has wrapped the live rows; they are erased all the same, and
// what stands above them is not.
func TestLiveRowsNarrower(t *testing.T) {
	term := newVT(t, 20, 10)
	l := liveRows{out: term}
	l.resize(20)
	l.draw("kept\n", view{rows: []string{strings.Repeat("x", 18), "> "}, x: 2, y: 1}, "")
	narrow := newVT(t, 10, 10) // as a terminal that reflows has it
	fmt.Fprintf(narrow, "kept\r\n%s\r\n%s\r\n> ", strings.Repeat("x", 10), strings.Repeat("x", 8))
	l.out = narrow
	l.resize(10)
	l.draw("", view{rows: []string{"y", "> "}, x: 2, y: 1}, "")
	if got := strings.Join(narrow.text(), "|"); got != "kept|y|>" {
		t.Errorf("%q", got)
	}
}
