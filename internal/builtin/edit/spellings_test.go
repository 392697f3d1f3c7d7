package edit_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A piece is a hunk of a real diff: lines with a blank, - or + in front.
type piece struct {
	at     int // line of the file before, from 0
	lines  []string
	header string // the nearest line above that is indented less
	// The last line before or after has no newline.
	wasOpen, isOpen bool
}

// side is the text of a piece before (-) or after (+) the change.
func (p piece) side(sign byte) string {
	var b strings.Builder
	for _, l := range p.lines {
		if l[0] == ' ' || l[0] == sign {
			b.WriteString(l[1:] + "\n")
		}
	}
	if sign == '-' && p.wasOpen || sign == '+' && p.isOpen {
		return strings.TrimSuffix(b.String(), "\n")
	}
	return b.String()
}

var hunkAt = regexp.MustCompile(`^@@ -(\d+)`)

// pieces are the hunks between the two texts of p, and the diff they are from.
func pieces(t *testing.T, p pair, lines int) (out []piece, diff string) {
	diff, err := udiff.ToUnified("a/"+p.path, "b/"+p.path, p.was, udiff.Lines(p.was, p.is), lines)
	if err != nil {
		t.Fatal(err)
	}
	ls := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	file := strings.Split(p.was, "\n")
	for i := 2; i < len(ls); i++ {
		h := &piece{}
		if n := len(out); n > 0 {
			h = &out[n-1]
		}
		switch l := ls[i]; {
		case l[0] == '@':
			at, _ := strconv.Atoi(hunkAt.FindStringSubmatch(l)[1])
			out = append(out, piece{at: max(at-1, 0), header: headerOf(file, max(at-1, 0))})
		case l[0] == '\\':
			h.wasOpen = h.wasOpen || ls[i-1][0] != '+'
			h.isOpen = h.isOpen || ls[i-1][0] != '-'
		default:
			h.lines = append(h.lines, l)
		}
	}
	return out, diff
}

func headerOf(file []string, at int) string {
	margin := func(l string) int { return len(l) - len(strings.TrimLeft(l, " \t")) }
	for i := at - 1; i >= 0; i-- {
		if s := strings.TrimSpace(file[i]); len(s) > 3 && (margin(file[i]) < margin(file[at]) || margin(file[i]) == 0) {
			return s
		}
	}
	return ""
}

// A landing is a call and what it must make of some files.
type landing struct {
	form    string
	tool    tools.Tool
	in      any
	was, is map[string]string
	old     string // the quoted text, of an edit of one place
	at      int    // where it is in the only file
	edited  []string
}

// landings are the calls that make the change c, in every form.
func landings(t *testing.T, c commit) []landing {
	var out []landing
	was, is := map[string]string{}, map[string]string{}
	var codex, bare, unified, blocks strings.Builder
	marked := false // a newline comes or goes at the end of a file, which only a unified diff says
	for _, p := range c.files {
		was[p.path], is[p.path] = p.was, p.is
		ps, diff := pieces(t, p, 3)
		unified.WriteString("diff --git a/" + p.path + " b/" + p.path + "\nindex 1111111..2222222 100644\n" + diff)
		codex.WriteString("*** Update File: " + p.path + "\n")
		bare.WriteString("*** Update File: " + p.path + "\n")
		var all []edit.Piece
		sayable := true // a newline that comes or goes at the end, by edit_file
		for _, h := range ps {
			body := strings.Join(h.lines, "\n") + "\n"
			codex.WriteString(strings.TrimSpace("@@ "+h.header) + "\n" + body)
			bare.WriteString("@@\n" + body)
			sayable = sayable && (h.wasOpen || !h.isOpen)
			marked = marked || h.wasOpen != h.isOpen
			all = append(all, edit.Piece{Old: h.side('-'), New: h.side('+')})
			blocks.WriteString(p.path + "\n<<<<<<< SEARCH\n" + ended(h.side('-')) + "=======\n" + ended(h.side('+')) + ">>>>>>> REPLACE\n\n")
		}
		one := func(form string, in edit.Input) {
			in.Path = p.path
			out = append(out, landing{form: form, tool: edit.File, in: in, was: map[string]string{p.path: p.was}, is: map[string]string{p.path: p.is}})
		}
		if len(all) > 1 && sayable {
			one("edit_file, several edits", edit.Input{Edits: all})
		}
		out = append(out, byHunk(p, ps)...)
	}
	for form, text := range map[string]string{"patch, headers": "*** Begin Patch\n" + codex.String() + "*** End Patch\n", "patch, no headers": "*** Begin Patch\n" + bare.String() + "*** End Patch\n",
		"patch, no frame": codex.String(), "unified diff": unified.String(), "unified diff in a fence": "So:\n\n````diff\n" + unified.String() + "````\n"} {
		if marked && strings.HasPrefix(form, "patch") {
			continue
		}
		out = append(out, landing{form: form, tool: edit.Patch, in: edit.PatchInput{Patch: text}, was: was, is: is})
	}
	if b := blocks.String(); !marked && strings.Count(b, "=======\n") == strings.Count(b, "<<<<<<< SEARCH\n") { // else no block can hold it
		out = append(out, landing{form: "blocks", tool: edit.Blocks, in: edit.BlocksInput{Blocks: b}, was: was, is: is})
	}
	return out
}

func ended(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// byHunk makes the change one place after the other, in the spellings that
// models use: whole lines, no newline at the end, and nothing around the text.
func byHunk(p pair, ps []piece) []landing {
	var out []landing
	text, shift := p.was, 0
	for _, h := range ps {
		old, new := h.side('-'), h.side('+')
		at := 0
		for range h.at + shift {
			at += strings.IndexByte(text[at:], '\n') + 1
		}
		if old == "" || !strings.HasPrefix(text[at:], old) {
			break // an insertion into nothing
		}
		next := text[:at] + new + text[at+len(old):]
		for form, f := range map[string]func(string) string{
			"edit_file, whole lines":         func(s string) string { return s },
			"edit_file, no newline at ends":  func(s string) string { return strings.TrimSuffix(s, "\n") },
			"edit_file, nothing around text": strings.TrimSpace,
		} {
			o, n := f(old), f(new)
			if o == n || o == "" || strings.HasSuffix(o, "\n") && n != "" && !strings.HasSuffix(n, "\n") || strings.HasSuffix(form, "ends") && (o == old || n == new) ||
				strings.HasSuffix(form, "text") && (strings.Replace(old, o, n, 1) != new) {
				continue // the spelling cannot say it
			}
			out = append(out, landing{form: form, tool: edit.File, in: edit.Input{Path: p.path, Old: o, New: n}, was: map[string]string{p.path: text}, is: map[string]string{p.path: next},
				old: old, at: at, edited: h.lines})
		}
		text = next
		shift += strings.Count(new, "\n") - strings.Count(old, "\n")
	}
	return out
}
