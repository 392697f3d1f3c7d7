package show

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// How many lines of a call are shown below its own.
const (
	maxDiffLines   = 24
	maxOutputLines = 4  // of a command that went well, and of why a call failed
	maxFailedLines = 12 // of one that failed
	maxCommand     = 6
	maxTodo        = 8
)

// callData is the data of the event of a finished call.
type callData struct {
	Args   json.RawMessage `json:"args"`
	Failed bool            `json:"failed"`
	Text   string          `json:"text"`
	Diff   string          `json:"diff"`
}

// call shows a finished tool call: a line, and below it the end of a command's
// output or the diff of an edit.
func (v *Viewer) call(ev event.Event) {
	c := &v.calls
	if viewerAsks(ev) {
		return
	}
	number, again := c.of[ev.Path]
	if !again {
		c.number++
		number = c.number
		c.of[ev.Path] = number
	}
	var d callData
	_ = json.Unmarshal(ev.Data, &d) // of an interrupted call there is none
	style, text := kit.Plain, ev.Text
	if ev.Error != "" {
		style, text = kit.Red, v.tally.interrupted(ev)
	} else if d.Failed {
		style = kit.Red
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if ev.Name == "finish" && style == kit.Plain && !v.log {
		text = reports(d.Args) // its words are printed at the end
	}
	took := ""
	if ev.Took >= 500*time.Millisecond {
		took = kit.Duration(ev.Took)
	}
	name := kit.SanitizeLine(ev.Name)
	c.column = max(c.column, 12, min(kit.Columns(name), 20))
	head := fmt.Sprintf("%3d  %s%s  ", number, v.parts.place, kit.Pad(name, c.column))
	room, column := 200, 50 // where times stand
	if w := v.Width(); w > 0 {
		head = kit.Cut(head, w)
		room = w - kit.Columns(head) - 8
		column = min(column, room)
		if room < 0 {
			took = "" // the name fills the line
		}
	}
	command := commandOf(ev.Name, d.Args)
	text = kit.SanitizeLine(text)
	if inline := "$ " + kit.SanitizeLine(command) + " -> " + text; command != "" && !strings.Contains(command, "\n") && kit.Columns(inline) <= room {
		command, text = "", inline
	}
	why := ""
	if what, rest, ok := strings.Cut(text, ": "); ok && style == kit.Red && v.Width() > 0 && kit.Columns(text) > room {
		text, why = what, rest
	}
	if text = kit.Cut(text, room); took != "" {
		text = kit.Pad(text, column)
	}
	v.print(head, style, text, took)
	if why != "" {
		v.lines(kit.Head(kit.Wrap(why, kit.RowWidth(v.Screen, 8+kit.Columns(v.parts.place))), maxOutputLines), style, "")
	}
	if ev.Error != "" {
		return
	}
	v.keep(fold{name: ev.Name, data: d})
	if list, ok := control.TodoList(ev); ok {
		v.lines(TodoLines(list, maxTodo), kit.Dim, "")
	}
	v.details(ev.Name, strings.TrimSpace(command), d)
}

// reports renders the outcome that a call of finish reports.
func reports(args json.RawMessage) string {
	var in struct{ Outcome string }
	if json.Unmarshal(args, &in) != nil || in.Outcome == "" {
		in.Outcome = executor.Done
	}
	return "reports " + jobs.Status(in.Outcome).Words()
}

// runsCommand reports whether a tool runs a command that the model wrote, whose output it returns.
func runsCommand(tool string) bool { return tool == "shell" || tool == "shell_online" }

// commandOf is the command of a call that runs one.
func commandOf(tool string, args json.RawMessage) string {
	var a struct{ Command string }
	if !runsCommand(tool) || json.Unmarshal(args, &a) != nil {
		return ""
	}
	return strings.TrimSpace(a.Command)
}

// details shows a call's command, if there was no room for it beside the call, and the end
// of its output or its diff.
func (v *Viewer) details(tool, command string, d callData) {
	if command != "" {
		var rows []string
		for l := range strings.SplitSeq(command, "\n") {
			rows = append(rows, kit.Wrap(kit.SanitizeLine(l), kit.RowWidth(v.Screen, 10+kit.Columns(v.parts.place)))...)
		}
		for i, row := range kit.Head(rows, maxCommand) {
			v.lines([]string{row}, kit.Plain, []string{"$ ", "  "}[min(i, 1)])
		}
	}
	switch {
	case runsCommand(tool):
		most := maxOutputLines
		if d.Failed {
			most = maxFailedLines
		}
		v.output(tail(outputOf(d.Text), most))
	case d.Failed && (tool == "run_tests" || tool == "run_check"):
		v.output(tail(outputOf(d.Text), maxFailedLines))
	case !d.Failed:
		for _, l := range kit.Head(editLines(tool, d), maxDiffLines) {
			v.lines([]string{l}, numberedStyle(l), "")
		}
	}
}

// maxOutputRows bounds the rows that a line of output takes.
const maxOutputRows = 3

// output prints lines of a command's output below its call.
func (v *Viewer) output(list []string) {
	for _, l := range list {
		rows := kit.WrapIndented(strings.ReplaceAll(strings.TrimRight(l, " \t\r"), "\t", "    "), kit.RowWidth(v.Screen, 8+kit.Columns(v.parts.place)))
		if len(rows) > maxOutputRows {
			rows = append(rows[:maxOutputRows-1], strings.Join(rows[maxOutputRows-1:], " "))
		}
		v.lines(rows, kit.Dim, "")
	}
}

// lines prints lines below a call.
func (v *Viewer) lines(list []string, style, prefix string) {
	for _, l := range list {
		text := strings.ReplaceAll(kit.Sanitize(strings.TrimRight(l, " \t\r")), "\t", "    ")
		text = v.parts.place + prefix + text
		if w := v.Width(); w > 0 {
			text = kit.Cut(text, w-8)
		}
		v.print("       ", style, text, "")
	}
}

// outputOf is the output in the result of a command, without what was put around
// it for the model: the first line, and remarks in brackets behind it.
func outputOf(text string) []string {
	_, body, _ := strings.Cut(strings.TrimSpace(text), "\n")
	lines := strings.Split(strings.Trim(body, "\n"), "\n")
	if body == "" {
		return nil
	}
	for len(lines) > 0 {
		l := strings.TrimSpace(lines[len(lines)-1])
		if l != "" && !(strings.HasPrefix(l, "[") && strings.HasSuffix(l, "]")) {
			break
		}
		lines = lines[:len(lines)-1]
	}
	return lines
}

// tail is the end of a list of lines, with how many were before.
func tail(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	before := "... " + kit.Plural(len(lines)-n+1, "line") + " before"
	if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "… (") && strings.HasSuffix(l, "bytes in all)") }) {
		before = "... more before" // the event has an excerpt
	}
	return append([]string{before}, lines[len(lines)-n+1:]...)
}

// editLines are the lines that an edit takes away and adds, as its diff or its arguments have
// them; none for a call that is no edit.
func editLines(tool string, d callData) []string {
	if lines := numbered(d.Diff); len(lines) > 1 {
		return lines[1:] // the line of the call has the file
	}
	type piece struct{ Old, New string }
	var a struct {
		piece
		Edits         []piece
		Content       string
		Patch, Blocks string
	}
	if json.Unmarshal(d.Args, &a) != nil {
		return nil
	}
	switch tool {
	case "edit_file", "edit_long_file":
		var out []string
		for i, p := range append([]piece{a.piece}, a.Edits...) {
			if i > 0 || p.Old+p.New != "" {
				out = append(out, replaced(p.Old, p.New)...)
			}
		}
		return out
	case "write_file":
		return replaced("", a.Content)
	case "apply_patch":
		return strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(a.Patch), "*** Begin Patch\n"), "\n*** End Patch"), "\n")
	case "edit_blocks":
		return blockLines(a.Blocks)
	}
	return nil
}

// replaced is the diff of two texts whose beginning and end are the same, with one
// line of each around it.
func replaced(before, after string) []string {
	a, b := textLines(before), textLines(after)
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	end := 0
	for end < min(len(a), len(b))-from && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var out []string
	add := func(mark string, lines []string) {
		for _, l := range lines {
			out = append(out, mark+l)
		}
	}
	add(" ", a[max(0, from-1):from])
	add("-", a[from:len(a)-end])
	add("+", b[from:len(b)-end])
	add(" ", a[len(a)-end:][:min(1, end)])
	return out
}

func textLines(s string) []string {
	if s = strings.TrimSuffix(s, "\n"); s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// blockLines is the diff of blocks with SEARCH and REPLACE.
func blockLines(blocks string) []string {
	var out, before, after []string
	mark := " "
	for _, l := range textLines(blocks) {
		switch {
		case strings.HasPrefix(l, "<<<<<<<"):
			mark, before, after = "-", nil, nil
		case strings.HasPrefix(l, "=======") && mark == "-":
			mark = "+"
		case strings.HasPrefix(l, ">>>>>>>"):
			out = append(out, replaced(strings.Join(before, "\n"), strings.Join(after, "\n"))...)
			mark = " "
		case mark == "-":
			before = append(before, l)
		case mark == "+":
			after = append(after, l)
		default:
			out = append(out, l)
		}
	}
	return out
}

// A feed is the state that a viewer keeps for an owner that draws the screen itself.
type feed struct {
	folds []fold // what was shown in part, the newest last
	next  int    // of folds, to be unfolded next
}

// A fold is something that was shown in part, or mentioned: a call, or what a model thought.
type fold struct {
	name    string
	data    callData
	thought string
}

// maxFolds bounds what can be unfolded.
const maxFolds = 50

func (v *Viewer) keep(f fold) {
	if v.feed == nil {
		return
	}
	v.feed.folds = append(v.feed.folds[max(0, len(v.feed.folds)-maxFolds+1):], f)
	v.feed.next = len(v.feed.folds) - 1
}

// NewFeed is a viewer for an owner that draws the screen: what Feed returns is
// printed once, above what Tail and Meter return. The owner is one goroutine.
// rate, which may be nil, prices a model's tokens.
func NewFeed(s *kit.Screen, rate func(string, llm.Usage) float64) *Viewer {
	return &Viewer{Screen: s, calls: numbering{of: map[string]int{}}, tally: usageTotals{rate: rate}, status: progress{start: time.Now()}, feed: new(feed)}
}

// Feed returns what events add to the text on the screen.
func (v *Viewer) Feed(evs ...event.Event) string {
	return v.capture(func() {
		for _, ev := range evs {
			v.show(ev)
		}
		v.lay()
	})
}

// Replay returns what an event of a log that is read back adds to the text.
func (v *Viewer) Replay(ev event.Event) string {
	v.log = true
	defer func() { v.log = false }()
	return v.capture(func() { v.show(ev); v.lay() })
}

// BreakOff returns what is left of answers that broke off with the turn, to be printed, and all that
// the agent of the conversation had written of its own.
func (v *Viewer) BreakOff() (left, written string) {
	for _, w := range v.responses.open {
		if len(v.responses.open) == 1 && v.parts.place == "" && w.md != nil {
			written = strings.TrimSpace(w.text.String())
		}
	}
	return v.capture(v.breakOff), written
}

// Begin starts the clock of a turn.
func (v *Viewer) Begin() { v.status.start, v.responses.last = time.Now(), "" }

// Took returns the time since the turn began.
func (v *Viewer) Took() time.Duration { return time.Since(v.status.start) }

// Known sets the model's context window in tokens, 0 if it is not known.
func (v *Viewer) Known(window int) { v.status.window = window }

// Tail are the rows that the model is writing, painted, or why it is asked again.
func (v *Viewer) Tail() []string {
	for _, a := range v.status.failing {
		return []string{v.Paint(kit.Dim, "     "+kit.SanitizeLine(a.last))}
	}
	return v.unfinished()
}

// Meter is the step in progress and what the job has used.
func (v *Viewer) Meter() string { return v.meter() }

// Context renders how full the context window is, "" if that is not known.
func (v *Viewer) Context() string { return v.status.inUse() }

// InUse returns the tokens of the context window that the last request took, and all of it, 0
// for what is not known.
func (v *Viewer) InUse() (tokens, window int) { return v.status.context, v.status.window }

// maxUnfolded bounds the lines of what is shown whole.
const maxUnfolded = 5000

// Newest has Unfold return the newest call or thought next.
func (v *Viewer) Newest() { v.feed.next = len(v.feed.folds) - 1 }

// Unfold returns the newest call or thought whole, the one before when it is called again,
// and "" if there is none.
func (v *Viewer) Unfold() string {
	if len(v.feed.folds) == 0 {
		return ""
	}
	f := v.feed.folds[v.feed.next]
	if v.feed.next--; v.feed.next < 0 {
		v.feed.next = len(v.feed.folds) - 1
	}
	return v.capture(func() {
		v.parts.place = ""
		v.print("     ", kit.Bold, kit.SanitizeLine(f.name), "")
		if f.thought != "" {
			v.whole(strings.Split(strings.TrimSpace(f.thought), "\n"), kit.Dim)
			return
		}
		if command := commandOf(f.name, f.data.Args); command != "" {
			v.whole(strings.Split("$ "+command, "\n"), kit.Plain)
		}
		if diff := editLines(f.name, f.data); len(diff) > 0 && !f.data.Failed {
			for _, l := range kit.Head(diff, maxUnfolded) {
				v.whole([]string{l}, numberedStyle(l))
			}
			return
		}
		v.whole(strings.Split(strings.TrimSpace(f.data.Text), "\n"), kit.Dim)
	})
}

// whole prints lines in as many rows as they need.
func (v *Viewer) whole(list []string, style string) {
	for _, l := range kit.Head(list, maxUnfolded) {
		text := strings.ReplaceAll(kit.Sanitize(strings.TrimRight(l, " \t\r")), "\t", "    ")
		for _, row := range kit.Wrap(text, kit.RowWidth(v.Screen, 7)) {
			v.print("       ", style, row, "")
		}
	}
}
