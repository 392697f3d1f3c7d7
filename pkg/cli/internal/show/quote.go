package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Quote is lines for text that a person is to approve: nothing in it is
// unseen, and no run of spaces pushes the rest out of sight.
func Quote(s string) string {
	var b strings.Builder
	for _, r := range kit.Sanitize(s) {
		switch {
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r),
			r != ' ' && unicode.Is(unicode.Z, r), unicode.Is(unicode.Co, r), r == 0x2800:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return spaces.ReplaceAllStringFunc(b.String(), func(run string) string { return fmt.Sprintf(" [%d spaces] ", len(run)) })
}

// lookalikes lists the words that mix ASCII letters with letters of other alphabets of
// the same shape, each with the strange letter by number.
func lookalikes(s string) []string {
	const most = 8
	var out []string
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		ascii, strange := false, rune(0)
		for _, r := range w {
			ascii = ascii || r < 0x80
			if unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu) || r >= 0xff21 && r <= 0xff5a || r >= 0x1d400 && r <= 0x1d7ff {
				strange = r
			}
		}
		if text := fmt.Sprintf("%s (U+%04X)", w, strange); ascii && strange != 0 && len(out) < most && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// Readable is JSON as a person would write it: < and > for themselves.
func Readable(raw json.RawMessage) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	b, err := jsontext.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(b)
}

var spaces = lazyregexp.New(` {9,}`)

// Criterion is a definition of done in words.
func Criterion(c executor.Criterion) string {
	if w := c.When; w != nil {
		rest := c
		rest.When = nil
		return "if " + strings.Join(w.Describe(), " and ") + ": " + Criterion(rest)
	}
	switch {
	case c.Signal != "":
		return fmt.Sprintf("the model says %s or calls finish", c.Signal)
	case c.Artifact != "" && len(c.Where) > 0:
		return fmt.Sprintf("artifact %s where %s", c.Artifact, Readable(c.Where))
	case c.Artifact != "":
		return "artifact " + c.Artifact
	case c.Tool != "":
		return c.Tool + " succeeds once"
	case c.Check != "":
		text := "check " + c.Check
		if len(c.With) > 0 {
			text += " with " + Readable(c.With)
		}
		if c.IfMissing != nil {
			text += fmt.Sprintf(" (where there is nothing to check: %s)", Criterion(*c.IfMissing))
		}
		return text
	case c.Run != "":
		return fmt.Sprintf("check `%s`", c.Run)
	case c.All != nil:
		return joined(c.All, "; ")
	case c.Any != nil:
		return "one of (" + joined(c.Any, "; ") + ")"
	case !c.Zero():
		return strings.Join(c.Describe(), "; ")
	}
	return "the model stops calling tools"
}

func joined(list []executor.Criterion, sep string) string {
	var parts []string
	for _, c := range list {
		parts = append(parts, Criterion(c))
	}
	return strings.Join(parts, sep)
}

// Transcript renders what a job's models were sent and answered, whole.
func Transcript(s *kit.Screen, t *adroit.Transcript) {
	for i := range t.Turns {
		turn := &t.Turns[i]
		offered := ""
		head := fmt.Sprintf("== turn %d: %s", turn.Turn, turn.Model)
		switch {
		case turn.After == 0 && turn.Turn > 1:
			head += ", a new conversation"
		case turn.After > 0 && turn.After != turn.Turn-1:
			head += fmt.Sprintf(", continues turn %d", turn.After)
		}
		if len(turn.Tools) > 0 {
			var names []string
			for _, tool := range turn.Tools {
				names = append(names, tool.Name)
			}
			offered = "   offered: " + strings.Join(names, ", ")
		}
		fmt.Fprintln(s, s.Paint(kit.Bold, kit.SanitizeLine(head)))
		if offered != "" {
			fmt.Fprintln(s, s.Paint(kit.Dim, strings.Join(kit.Wrap(kit.SanitizeLine(offered), kit.RowWidth(s, 0)), "\n   ")))
		}
		for _, m := range turn.New {
			message(s, m)
		}
		if turn.Response == nil {
			fmt.Fprintln(s, s.Paint(kit.Dim, "-- its response is not in a later request; "+hint.Command("jobs logs %s", t.Job)+" has its text if it came"))
			continue
		}
		message(s, *turn.Response)
	}
	for _, m := range t.Rest {
		message(s, m)
	}
}

// message renders one message of a conversation.
func message(s *kit.Screen, m llm.Message) {
	label := string(m.Role)
	if m.Role == llm.Tool {
		label = "result of " + m.Name
		if m.Failed {
			label += ", failed"
		}
	}
	fmt.Fprintln(s, s.Paint(kit.Magenta, kit.SanitizeLine("-- "+label)))
	if m.Thinking != "" {
		fmt.Fprintln(s, s.Paint(kit.Dim, "(thinking)"))
		block(s, kit.Dim, m.Thinking)
	}
	if m.Text != "" {
		block(s, kit.Plain, m.Text)
	}
	for _, c := range m.Calls {
		fmt.Fprintln(s, s.Paint(kit.Bold, "-> "+kit.SanitizeLine(c.Name)))
		arguments(s, c)
	}
}

func block(s *kit.Screen, style, text string) {
	for l := range strings.Lines(text) {
		fmt.Fprintln(s, s.Paint(style, kit.Sanitize(strings.TrimSuffix(l, "\n"))))
	}
}

// arguments renders the arguments of a call, each on lines of its own.
func arguments(s *kit.Screen, c llm.Call) {
	if c.Malformed != "" {
		fmt.Fprintf(s, "   %s\n", s.Paint(kit.Red, kit.SanitizeLine(c.Malformed)))
		block(s, kit.Plain, c.Raw)
		return
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(c.Args, &args) != nil {
		fmt.Fprintf(s, "   %s\n", kit.SanitizeLine(string(c.Args)))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value := Readable(args[name])
		var text string
		if json.Unmarshal(args[name], &text) == nil {
			value = text
		}
		value = strings.ReplaceAll(strings.TrimSuffix(value, "\n"), "\n", "\n      ")
		fmt.Fprintf(s, "   %s: %s\n", kit.SanitizeLine(name), kit.Sanitize(value))
	}
}

// ShortenedRows list the tools whose description is shortened, or that are left out, in a small window.
func ShortenedRows(t *kit.Table, where string, list []executor.ShortenedTool) {
	var short, out []string
	for _, f := range list {
		if f.Removed {
			out = append(out, f.Tool+" ("+f.Why+")")
		} else {
			short = append(short, f.Tool)
		}
	}
	if len(short) > 0 {
		t.Row(where+"shortened", strings.Join(short, ", ")+" (the window is small; describe_tool has the full description)")
	}
	if len(out) > 0 {
		t.Row(where+"left out", strings.Join(out, ", "))
	}
}

// Beside returns what the model was given with a person's words, in lines: notes, and the names of what
// is attached.
func Beside(a executor.Attached) (lines []string) {
	if a.Notes != "" {
		lines = strings.Split("note: "+strings.ReplaceAll(a.Notes, "\n", "\n  "), "\n")
	}
	return append(lines, Attachments(a)...)
}

// Attachments names what is attached to a message, one line each.
func Attachments(a executor.Attached) (lines []string) {
	for _, at := range a.Attachments {
		name := at.Path
		switch {
		case at.Image != nil:
			lines = append(lines, "attached: "+at.Image.String())
			continue
		case at.URL != "":
			name = at.URL
		case at.To > 0 && at.To != at.From:
			name += fmt.Sprintf(":%d-%d", at.From, at.To)
		case at.From > 0:
			name += fmt.Sprintf(":%d", at.From)
		}
		lines = append(lines, fmt.Sprintf("attached: %s, %d KB", name, (len(at.Text)+1023)/1024))
	}
	return lines
}

// TodoLines is a list of tasks in at most n lines: what is done at its beginning
// gives way first, then its end.
func TodoLines(list []control.TodoItem, n int) []string {
	var out []string
	done := 0
	if len(list) > n {
		for done < len(list) && list[done].Status == "completed" {
			done++
		}
		if done > 1 {
			out, list = append(out, fmt.Sprintf("[x] %d done", done)), list[done:]
		}
	}
	for _, it := range list {
		mark := "[ ] "
		switch it.Status {
		case "completed":
			mark = "[x] "
		case "in_progress":
			mark = "[>] "
		}
		out = append(out, mark+kit.SanitizeLine(it.Content))
	}
	return kit.Head(out, n)
}

// TrustText bounds the text of a file that is shown without a pager, in bytes.
const TrustText = 64 << 10

// TrustFiles renders files that would instruct agents: first what each of them would have
// done, then, unless most is 0, their text, of which most bytes at most with a most above 0.
func TrustFiles(w io.Writer, files []trust.File, most int, hide *secret.Redactor) {
	clean := func(s string) string {
		s, _ = hide.String(s)
		return kit.SanitizeLine(s)
	}
	for _, f := range files {
		fmt.Fprintf(w, "%-8s %-13s %s  %s\n", f.State, f.Kind, kit.Path(f.Path), kit.Plural(int(f.Size), "byte"))
		if f.Why != "" {
			fmt.Fprintf(w, "         %s\n", kit.SanitizeLine(f.Why))
		}
		for _, line := range asks(f) {
			fmt.Fprintf(w, "         %s\n", clean(line))
		}
	}
	for _, f := range files {
		if most == 0 || f.Hash == "" || f.Size == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s %s\n", f.State, kit.Path(f.Path))
		if f.Unshown {
			fmt.Fprintf(w, "         %s that are shown once the files before are decided about\n", kit.Plural(int(f.Size), "byte"))
			continue
		}
		if f.Text == "" {
			fmt.Fprintf(w, "         %s that are not shown here, since they are no text, or too many, or have changed meanwhile: sha256 %s\n", kit.Plural(int(f.Size), "byte"), f.Hash)
			continue
		}
		text, _ := hide.String(f.Text)
		lines, room := strings.Split(strings.TrimSuffix(text, "\n"), "\n"), most
		for i, line := range lines {
			if room -= len(line); most > 0 && room < 0 {
				fmt.Fprintf(w, "         %s not shown: less %s shows all\n", kit.Plural(len(lines)-i, "more line"), kit.Path(f.Path))
				break
			}
			fmt.Fprintf(w, "         | %s\n", Quote(kit.SanitizeLine(strings.TrimSuffix(line, "\r"))))
		}
	}
}
