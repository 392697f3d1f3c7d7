package main

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A cell is a character on a terminal and its style, as in 1 for bold and 32 for green.
type cell struct {
	r     rune
	style string
}

// A grid is all that a terminal of so many columns has shown, with what went off its top. It knows
// what the conversation sends, and fails for all else.
type grid struct {
	t             *testing.T
	width, height int
	rows          [][]cell // the last height of them are on the screen
	x, y          int
	style         string
}

func newGrid(t *testing.T, width int, printed string) *grid {
	g := &grid{t: t, width: width, height: 24}
	g.rows = make([][]cell, g.height)
	for s := printed; s != ""; {
		if s[0] == '\x1b' {
			s = g.control(s)
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		switch r {
		case '\r':
			g.x = 0
		case '\n':
			g.down()
		case '\a':
		default:
			g.put(r)
		}
	}
	return g
}

func (g *grid) top() int { return len(g.rows) - g.height }

func (g *grid) put(r rune) {
	if g.x == g.width {
		g.x = 0
		g.down()
	}
	row := &g.rows[g.top()+g.y]
	for len(*row) <= g.x {
		*row = append(*row, cell{' ', ""})
	}
	(*row)[g.x] = cell{r, g.style}
	g.x++
}

func (g *grid) down() {
	if g.y++; g.y == g.height {
		g.y--
		g.rows = append(g.rows, nil)
	}
}

// control executes an escape sequence and returns the text after it.
func (g *grid) control(s string) string {
	if strings.HasPrefix(s, "\x1b]") || strings.HasPrefix(s, "\x1bP") {
		end := regexp.MustCompile(`\x07|\x1b\\`).FindStringIndex(s)
		return s[end[1]:]
	}
	if s[1] != '[' {
		return s[2:] // keypad modes
	}
	i := strings.IndexFunc(s[2:], func(r rune) bool { return r >= '@' && r <= '~' }) + 2
	args, n := s[2:i], 0
	_, _ = fmt.Sscanf(args, "%d", &n)
	row := &g.rows[g.top()+g.y]
	switch s[i] {
	case 'm':
		if strings.HasPrefix(args, ">") { // how keys are reported
			break
		}
		if g.style = args; args == "0" {
			g.style = ""
		}
	case 'A':
		g.y = max(0, g.y-max(1, n))
	case 'B':
		g.y = min(g.height-1, g.y+max(1, n))
	case 'C':
		g.x = min(g.width-1, g.x+max(1, n))
	case 'G':
		g.x = max(1, n) - 1
	case 'K', 'J':
		*row = (*row)[:min(g.x, len(*row))]
		for y := g.y + 1; s[i] == 'J' && y < g.height; y++ {
			g.rows[g.top()+y] = nil
		}
	case 'h', 'l', 't', 'u', 'q', 'c', 'n': // modes, the title's stack, keys, questions
	default:
		g.t.Fatalf("the terminal does not know %q", s[:i+1])
	}
	return s[i+1:]
}

// lines are the rows without what differs from run to run, up to the last that has text.
func (g *grid) lines() (rows [][]cell) {
	changing := regexp.MustCompile(`\d+(\.\d+)?s\b|J[0-9A-Z]{13}`)
	for _, row := range g.rows {
		text := []byte(strings.Repeat(" ", len(row)))
		for i, c := range row {
			if c.r < utf8.RuneSelf {
				text[i] = byte(c.r)
			}
		}
		row = slices.Clone(row)
		for _, at := range slices.Backward(changing.FindAllIndex(text, -1)) {
			same := "1.0s"
			if text[at[0]] == 'J' {
				same = "J4K2JOB2J4K2JO"
			}
			var put []cell
			for _, r := range same {
				put = append(put, cell{r, row[at[0]].style})
			}
			blanks := 0 // a time at the right edge is there if a call took long
			for strings.TrimSpace(string(text[at[1]:])) == "" && at[0]-blanks > 0 && text[at[0]-blanks-1] == ' ' {
				blanks++
			}
			if blanks > 1 {
				row = row[:at[0]-blanks]
				continue
			}
			row = slices.Replace(row, at[0], at[1], put...)
		}
		rows = append(rows, row)
	}
	begin := slices.IndexFunc(rows, func(row []cell) bool { return strings.HasPrefix(plain(row), "       in: ") })
	end := slices.IndexFunc(rows, func(row []cell) bool { return strings.HasPrefix(plain(row), "       sandbox: ") })
	if begin < 0 || end < begin {
		g.t.Fatal("the question does not name the directory")
	}
	var place []cell
	for _, r := range "       in: /home/you/cart" { // another in each run, and as long
		place = append(place, cell{r, ""})
	}
	rows = slices.Replace(rows, begin, end, place)
	for len(rows) > 0 && strings.TrimSpace(plain(rows[len(rows)-1])) == "" {
		rows = rows[:len(rows)-1]
	}
	return rows
}

func plain(row []cell) string {
	var b strings.Builder
	for _, c := range row {
		b.WriteRune(c.r)
	}
	return strings.TrimRight(b.String(), " ")
}

// styled cuts a row where its style changes.
func styled(row []cell) (out [][]cell) {
	for i, c := range row {
		if i == 0 || c.style != row[i-1].style {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], c)
	}
	return out
}

// svg draws rows in the colours of a terminal.
func svg(rows [][]cell, width int, back, text string, colors map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14">`+"\n", width*9+24, len(rows)*18+24)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", back)
	for y, row := range rows {
		x := 0
		for _, run := range styled(row) {
			if s := plain(run); strings.TrimSpace(s) != "" {
				fill, more := text, ""
				switch style := run[0].style; style {
				case "":
				case "1":
					more = ` font-weight="bold"`
				case "2":
					more = ` opacity="0.6"`
				case "3":
					more = ` font-style="italic"`
				default:
					fill = colors[style]
				}
				fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%d" xml:space="preserve" fill="%s"%s>%s</text>`+"\n", 12+x*9, 26+y*18, utf8.RuneCountInString(s)*9, fill, more, html.EscapeString(s))
			}
			x += len(run)
		}
	}
	return b.String() + "</svg>\n"
}

// conversation has a question answered, a mode changed, an edit made and a command approved.
func conversation(t *testing.T, width int) *grid {
	p := newPlace(t, map[string]string{"repo/cart.go": "package cart\n\n// Total adds.\nfunc Total(a, b int) int {\n\treturn a - b\n}\n", "turns.yaml": `turns:
  - text: |
      Total is to add *two* prices in cents, and **subtracts** them:

      | call | wanted | got |
      |---|---|---|
      | Total(1, 2) | 3 | -1 |

      1. Change the sign in line 5.
      2. Run the tests.

      > Amounts are rounded once, at the end, half away from zero, as the README of this project has it.

          return a + b

      Shall I?
    usage: {in: 2310, out: 90}
  - calls: [{name: edit_file, args: {path: cart.go, old: "return a - b", new: "return a + b"}}]
    usage: {in: 2460, out: 40, cached: 2310}
  - text: Now a file that marks the release.
    calls: [{name: shell, args: {command: "touch released.txt"}}]
    usage: {in: 2560, out: 40, cached: 2460}
  - text: The sign is right, and the release is marked.
    usage: {in: 2660, out: 20, cached: 2560}
`})
	x, wait := p.terminal(uint16(width), []string{"TERM=xterm-256color", "HOME=" + p.dir}, "chat", "-m", "script:../turns.yaml")
	at := x.see(0, "/help")
	x.write("\x1b[Z\x1b[Z")
	at = x.see(at, "mode plan")
	x.write("what does @cart.go do?\r")
	at = x.see(at, "> what does")
	at = x.see(at, "Shall I?")
	at = x.see(at, "/help")
	x.write("\x1b[Z")
	at = x.see(at, "mode edits")
	x.write("yes, and mark the release\r")
	at = x.see(at, "wants to run:")
	at = x.see(at, "y yes")
	x.write("y\r")
	at = x.see(at, "is marked.")
	x.see(at, "/help")
	x.write("\x04")
	if code := wait(); code != 0 {
		t.Errorf("exit code %d\n%s", code, x.text())
	}
	return newGrid(t, width, x.text())
}

// A conversation at 40, 80 and 120 columns is what testdata/screens and the pictures of the README
// show, and has no styles but those that suit dark and light terminals (TestPalettes of pkg/cli).
func TestScreens(t *testing.T) {
	t.Parallel()
	compare := func(file, got string) {
		t.Helper()
		b, err := os.ReadFile(file)
		if *update {
			err = os.WriteFile(file, []byte(got), 0o644)
		} else if err == nil && string(b) != got {
			t.Errorf("%s is another; go test ./cmd/adroit -run TestScreens -update writes it:\n%s", file, got)
		}
		if err != nil {
			t.Error(err)
		}
	}
	for _, width := range []int{40, 80, 120} {
		rows := conversation(t, width).lines()
		var text, styles strings.Builder
		seen := map[string]bool{}
		for _, row := range rows {
			text.WriteString(plain(row) + "\n")
			if n := len([]rune(plain(row))); n > width {
				t.Errorf("%d columns: %q", n, plain(row))
			}
			for _, run := range styled(row) {
				style, words := run[0].style, strings.TrimSpace(plain(run))
				if line := fmt.Sprintf("%-2s  %s\n", style, words); style != "" && words != "" && !seen[line] {
					seen[line] = true
					styles.WriteString(line)
				}
				if !slices.Contains([]string{"", "1", "2", "3", "31", "32", "35"}, style) {
					t.Errorf("style %q of %q is none that suits dark and light terminals", style, words)
				}
			}
		}
		compare(filepath.Join("testdata", "screens", fmt.Sprintf("%d.txt", width)),
			fmt.Sprintf("A conversation on a terminal of %d columns, written by TestScreens. Dark and light terminals get the same.\n\n%s\nstyles: 1 bold, 2 dim, 3 italic, 31 red, 32 green, 35 magenta, in the terminal's own colours\n\n%s", width, text.String(), styles.String()))
		if width == 80 {
			compare("../../docs/pictures/chat-dark.svg", svg(rows, width, "#1e1e2e", "#e5e5e5", map[string]string{"31": "#f14c4c", "32": "#23d18b", "35": "#d670d6"}))
			compare("../../docs/pictures/chat-light.svg", svg(rows, width, "#ffffff", "#2e3436", map[string]string{"31": "#cd3131", "32": "#107c10", "35": "#bc05bc"}))
		}
	}
}
