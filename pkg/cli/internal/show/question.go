package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// ToolQuestion decodes a question about a tool call; it is nil for any other question.
func ToolQuestion(q *jobs.Question) *executor.Question {
	var e executor.Question
	if q == nil || json.Unmarshal(q.About, &e) != nil || e.Tool == "" {
		return nil
	}
	return &e
}

// QuestionLine is a question on one line.
func QuestionLine(q *jobs.Question) string {
	if q == nil {
		return "see " + hint.Command("jobs show")
	}
	if e := ToolQuestion(q); e != nil {
		text := fmt.Sprintf("may %s run with %s", e.Tool, Quote(Readable(e.Args)))
		if n := len([]rune(text)); n > 240 {
			text = fmt.Sprintf("%s (%s in all; %s shows them)", kit.Cut(text, 240), kit.Plural(n, "character"), hint.Command("jobs show"))
		}
		if e.Why != "" {
			text += "; " + e.Why
		}
		return text
	}
	if w := summary(q); w != "" {
		if u := UserQuestion(q); u != nil {
			w = fmt.Sprintf("the MCP server %s asks: %s", kit.SanitizeLine(u.Server), w)
		}
		return w
	}
	var names []string
	for _, s := range q.Signals {
		names = append(names, SignalName(s))
	}
	return "one of " + strings.Join(names, ", ")
}

// summary is a question that a workflow puts in words, such as the step of a
// pipeline that waits.
func summary(q *jobs.Question) string {
	var e struct{ Question string }
	if json.Unmarshal(q.About, &e) != nil {
		return ""
	}
	return Quote(kit.SanitizeLine(e.Question))
}

// maxPreview bounds the preview of a call's changes, in characters, and maxChanged in lines.
const (
	maxPreview = 4000
	maxChanged = 24
)

// changed are the arguments of edits that the diff of what they change shows.
var changed = map[string]bool{"old": true, "new": true, "edits": true, "content": true, "patch": true, "blocks": true}

// Question shows exactly what will run and where, each argument on lines of its own. It
// shows at most limit characters of each argument, or all of it if limit is negative.
// What is not an argument is wrapped at columns, 0 for no wrapping: an argument can be copied
// as it is. whole reports whether nothing was left out.
func Question(q *jobs.Question, limit, columns int) (text string, whole bool) {
	e := ToolQuestion(q)
	if UserQuestion(q) != nil {
		return userQuestion(q), true
	}
	if w := summary(q); e == nil && w != "" {
		return fmt.Sprintf("     asks: %s\n", w), true
	}
	if e == nil {
		return fmt.Sprintf("     asks: %s\n", Quote(string(q.About))), true
	}
	whole = true
	var b strings.Builder
	fmt.Fprintf(&b, "     %s wants to run:\n", Quote(kit.SanitizeLine(e.Tool)))
	put := func(name, text string) {
		if text != "" {
			text = strings.ReplaceAll(Quote(text), "\n", "\n         ")
			fmt.Fprintf(&b, "       %s: %s\n", Quote(kit.SanitizeLine(name)), text)
		}
	}
	about := func(name, text string) {
		if columns > 0 { // the first row has the name, too
			head := kit.Wrap(text, max(1, columns-9-len(name)))[0]
			rows := append([]string{head}, kit.Wrap(strings.TrimLeft(text[len(head):], " "), max(1, columns-9))...)
			text = strings.Join(rows, "\n")
		}
		put(name, strings.TrimRight(text, "\n"))
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(e.Args, &args) != nil {
		put("arguments", string(e.Args))
	}
	all := ""
	diff := strings.HasPrefix(e.Preview, "--- ")
	for _, name := range slices.Sorted(maps.Keys(args)) {
		text := Readable(args[name])
		var s string
		if json.Unmarshal(args[name], &s) == nil {
			text = s
		}
		all += text + " "
		if diff && changed[name] {
			continue
		}
		if n := len([]rune(text)); limit >= 0 && n > limit {
			whole = false
			text = fmt.Sprintf("%s (%s in all; v shows them)", kit.Cut(text, limit), kit.Plural(n, "character"))
		}
		put(name, text)
	}
	if alike := lookalikes(all); len(alike) > 0 {
		about("look", "letters of several alphabets in one word: "+strings.Join(alike, ", "))
	}
	if preview, all := folded(e.Preview, limit); e.Preview != "" {
		whole = whole && all
		put("changes", preview)
	}
	put("in", e.Dir)
	for _, name := range slices.Sorted(maps.Keys(e.Files)) {
		about("publishes", fmt.Sprintf("%s (sha256 %.12s)", name, e.Files[name]))
	}
	around := ""
	if e.Sandbox != "" {
		around = e.Sandbox
		if e.Network != "" {
			around += ", "
		}
	}
	if e.Network != "" {
		around += "network " + e.Network
	}
	about("sandbox", around)
	about("may", strings.Join(e.Needs.Names(), ", "))
	about("because", e.Why)
	return b.String(), whole
}

// folded returns a call's changes, the lines of a diff with their numbers, and whether that is all
// of them.
func folded(preview string, limit int) (text string, whole bool) {
	lines := numbered(preview)
	text = strings.Join(lines, "\n")
	if strings.HasPrefix(preview, "--- ") {
		text = "\n" + text
	}
	n := len([]rune(text))
	if limit < 0 || n <= maxPreview && len(lines) <= maxChanged {
		return text, true
	}
	if len(lines) > maxChanged {
		text = "\n" + strings.Join(lines[:maxChanged-1], "\n")
	}
	if n = len([]rune(text)); n > maxPreview {
		text = kit.Cut(text, maxPreview)
	}
	return text + fmt.Sprintf("\n(%s in all; v shows them)", kit.Plural(len(lines), "line")), false
}

// numbered are the lines of a unified diff with their numbers in the file, in place of its heads;
// other lines are as they are.
func numbered(diff string) (out []string) {
	var old, now, oldLeft, nowLeft int
	for line := range strings.SplitSeq(strings.TrimSuffix(diff, "\n"), "\n") {
		var a, b, c, d int
		switch {
		case oldLeft+nowLeft > 0 && line != "" && strings.ContainsAny(line[:1], "+- "):
			n := now
			if line[0] != '+' {
				if oldLeft--; line[0] == '-' {
					n = old
				}
				old++
			}
			if line[0] != '-' {
				nowLeft--
				now++
			}
			out = append(out, fmt.Sprintf("%5d %s", n, line))
		case hunk(line, &a, &b, &c, &d):
			if old > 0 {
				out = append(out, "  ...")
			}
			old, oldLeft, now, nowLeft = a, b, c, d
		case strings.HasPrefix(line, "--- "):
			old = 0
		case strings.HasPrefix(line, "+++ "):
			if name := strings.TrimPrefix(line, "+++ b/"); name != line {
				out = append(out, name)
			} else if line == "+++ /dev/null" {
				out = append(out, "the file is deleted")
			}
		default:
			out = append(out, line)
		}
	}
	return out
}

// hunk reads the head of a part of a unified diff: where its lines begin, and how many they are.
func hunk(line string, old, oldLen, now, nowLen *int) bool {
	head, _, ok := strings.Cut(strings.TrimPrefix(line, "@@ -"), " @@")
	from, to, both := strings.Cut(head, " +")
	if !ok || !both || !strings.HasPrefix(line, "@@ -") {
		return false
	}
	read := func(s string, at, n *int) bool {
		first, count, several := strings.Cut(s, ",")
		var err, bad error
		*at, err = strconv.Atoi(first)
		if *n = 1; several {
			*n, bad = strconv.Atoi(count)
		}
		return err == nil && bad == nil
	}
	return read(from, old, oldLen) && read(to, now, nowLen)
}

// numberedStyle is the style of a line of [numbered].
func numberedStyle(line string) string {
	if len(line) > 6 && strings.Trim(line[:6], " 0123456789") == "" && strings.TrimSpace(line[:6]) != "" {
		line = line[6:]
	}
	return kit.DiffStyle(line)
}

// Always explains the answer always to a question that has a rule, in a line.
func Always(q *executor.Question) string {
	where := ", in this job only"
	if Keepable(q) {
		where = ""
	}
	return "always means" + where + ": " + Quote(kit.SanitizeLine(q.Always.String()))
}

// RuleLine is [Always] as a line below the question q, "" where always is no answer to it.
func RuleLine(q *jobs.Question) string {
	if e := ToolQuestion(q); e != nil && e.Always != nil {
		return "     " + Always(e) + "\n"
	}
	return ""
}

// Keepable reports whether the rule of an answer of always can be kept for the project of the job:
// that of a command in a sandbox can. q may be nil.
func Keepable(q *executor.Question) bool {
	return q != nil && q.Always != nil && q.Always.Command != "" && q.Always.Tool != "" && q.Sandbox != "" && q.Sandbox != "off"
}

// PaintQuestion paints the lines that a call adds and removes.
func PaintQuestion(s *kit.Screen, text string) string {
	var b strings.Builder
	changes := false
	for line := range strings.Lines(text) {
		body, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "         ")
		if !ok {
			changes = strings.HasPrefix(line, "       changes: ")
		}
		if !ok || !changes {
			b.WriteString(line)
			continue
		}
		b.WriteString("         " + s.Paint(numberedStyle(body), body) + "\n")
	}
	return b.String()
}

// SignalSent renders the effect of the signal with this name: the next command, and the
// question about a tool call that it answers.
func SignalSent(w io.Writer, name string, sent *adroit.SignalSent) {
	j := sent.Job
	next := hint.Command("continue %s", j.ID)
	if j.Status == jobs.Running {
		next = hint.Command("jobs logs %s -f", j.ID)
	}
	fmt.Fprintf(w, "%s: %s sent    %s\n", j.ID, kit.SanitizeLine(name), next)
	if ToolQuestion(sent.Question) != nil {
		text, _ := Question(sent.Question, -1, 0)
		fmt.Fprint(w, text)
	}
}

// SignalName is the name of a signal without the step it is for.
func SignalName(signal string) string {
	name, _, _ := strings.Cut(signal, "@")
	return name
}

// UserQuestion decodes a question that a tool asks the user in the middle of a call; it
// is nil for any other question.
func UserQuestion(q *jobs.Question) *executor.UserQuestion {
	var u executor.UserQuestion
	if q == nil || json.Unmarshal(q.About, &u) != nil || u.Tool == "" {
		return nil
	}
	return &u
}

// A Field is a field of the answer to a [UserQuestion].
type Field struct {
	Name     string
	About    string // what it is, for people
	Required bool
	Text     bool // it is text, whatever it looks like
}

// Fields lists the fields of the answer to a tool's question in the order of its schema, none if it is yes or no.
func Fields(q *jobs.Question) []Field {
	u := UserQuestion(q)
	var s struct {
		Required   []string
		Properties json.RawMessage
	}
	var fields map[string]struct {
		Type, Title, Description string
		Enum                     []json.RawMessage
		OneOf                    []struct{ Const json.RawMessage }
		Default                  json.RawMessage
	}
	if u == nil || len(u.Schema) == 0 || json.Unmarshal(u.Schema, &s) != nil || json.Unmarshal(s.Properties, &fields) != nil {
		return nil
	}
	var out []Field
	for _, name := range jsontext.Names(s.Properties) {
		p := fields[name]
		f := Field{Name: name, Required: slices.Contains(s.Required, name), Text: p.Type == "string"}
		parts := []string{cmp.Or(p.Description, p.Title), p.Type}
		for _, one := range p.OneOf {
			p.Enum = append(p.Enum, one.Const)
		}
		var values []string
		for _, v := range p.Enum {
			values = append(values, strings.Trim(string(v), `"`))
		}
		if values != nil {
			parts[1] = "one of " + strings.Join(values, ", ")
		}
		if p.Default != nil {
			parts = append(parts, "default "+string(p.Default))
		}
		if f.Required {
			parts = append(parts, "required")
		}
		f.About = Quote(kit.SanitizeLine(strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")))
		out = append(out, f)
	}
	return out
}

// userQuestion shows which server asks, its question, and the fields of the answer.
func userQuestion(q *jobs.Question) string {
	u := UserQuestion(q)
	var b strings.Builder
	fmt.Fprintf(&b, "     the MCP server %s asks, in its tool %s:\n", Quote(kit.SanitizeLine(u.Server)), Quote(kit.SanitizeLine(u.Tool)))
	for line := range strings.Lines(Quote(u.Question)) {
		fmt.Fprintf(&b, "       %s\n", strings.TrimRight(line, "\n"))
	}
	if u.URL != "" {
		fmt.Fprintf(&b, "       it asks you to open %s\n", Quote(kit.SanitizeLine(u.URL)))
	}
	for _, f := range Fields(q) {
		fmt.Fprintf(&b, "       - %s: %s\n", Quote(kit.SanitizeLine(f.Name)), f.About)
	}
	if u.Fault != "" {
		fmt.Fprintf(&b, "     the answer before did not fit: %s\n", Quote(kit.SanitizeLine(u.Fault)))
	}
	return b.String()
}
