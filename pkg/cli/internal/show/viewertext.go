package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// responses are the responses of the models.
type responses struct {
	open    map[string]*openResponse // responses that have not ended, by path
	ended   map[string]bool          // whose last pieces may still come
	pending *pendingText
	failed  string // why the last request failed, shown like a pending text
	last    string // that stands last on the screen, whole
}

// An openResponse is a response on its way.
type openResponse struct {
	text    strings.Builder
	shown   int // bytes of text that were printed
	thought strings.Builder
	began   time.Time // of the thinking
	folded  bool      // the thinking was mentioned
	md      *kit.Markdown
}

// A pendingText is an answer without calls: it is shown unless it turns out to be
// what is printed at the end.
type pendingText struct{ text, indent string }

// at is the response of the step at path.
func (t *responses) at(path string) *openResponse {
	w := t.open[path]
	if w == nil {
		if t.open == nil {
			t.open = map[string]*openResponse{}
		}
		w = &openResponse{began: time.Now()}
		t.open[path] = w
	}
	return w
}

// begun notes that a response is on its way.
func (v *Viewer) begun(ev event.Event) {
	if ev.Step == turn.ModelStep && v.Live && !v.log {
		v.responses.at(ev.Path)
	}
}

// delta takes a piece of a response, of its text or of the thinking before it.
func (v *Viewer) delta(ev event.Event) {
	t := &v.responses
	waiting := ev.Step == turn.ModelStep && string(ev.Data) == `{"waiting":true}`
	if ev.Step == turn.ToolStep && len(ev.Data) == 0 || waiting {
		v.status.doing, v.status.doer = strings.TrimSpace(ev.Text), ev.Path
	}
	if waiting || ev.Step != turn.ModelStep || t.ended[ev.Path] || !v.Live {
		return
	}
	w := t.at(ev.Path)
	if len(ev.Data) > 0 {
		if w.thought.Len() == 0 {
			w.began = time.Now()
		}
		w.thought.WriteString(ev.Text)
	} else {
		w.text.WriteString(ev.Text)
	}
	v.stream(ev, w)
}

// streams reports whether a response is printed line by line: not beside others,
// and not if it is for a program to read.
func (v *Viewer) streams(w *openResponse) bool {
	return v.tally.account().Busy() <= 1 && !structured(w.text.String())
}

// structured reports whether a text is, or begins like, JSON.
func structured(text string) bool {
	text = strings.TrimLeft(text, " \n")
	return text == "" || strings.ContainsAny(text[:1], "{[<") || strings.HasPrefix(text, "```json")
}

// stream prints the lines that are complete; the last line of the screen has the
// one that is not.
func (v *Viewer) stream(ev event.Event, w *openResponse) {
	if w.text.Len()+w.thought.Len() > 0 {
		v.setPlace(ev)
		v.retriesDone(ev)
	}
	if !v.streams(w) {
		return
	}
	for {
		line, _, whole := strings.Cut(w.text.String()[w.shown:], "\n")
		if !whole {
			return
		}
		if w.md == nil {
			v.recalled()
			v.fold(w)
			w.md = kit.NewMarkdown(v.Screen, kit.Plain, "     "+v.parts.place)
		}
		first := w.shown == 0
		w.shown += len(line) + 1
		v.clear()
		if !first || strings.TrimSpace(line) != "" { // no empty line before the first
			fmt.Fprint(v, w.md.Line(line))
		}
	}
}

// fold mentions what was thought before an answer.
func (v *Viewer) fold(w *openResponse) {
	if n := len(strings.Fields(w.thought.String())); n > 0 && !w.folded {
		text := "thought, "
		if d := time.Since(w.began); d >= time.Second {
			text = "thought for " + kit.Duration(d) + ", "
		}
		v.aside(kit.Dim, text+kit.Plural(n, "word"))
	}
	w.folded = true
}

// unfinished is the line that a model is writing.
func (v *Viewer) unfinished() string {
	for _, w := range v.responses.open {
		text := w.text.String()
		if len(v.responses.open) > 1 || structured(text) {
			continue
		}
		line := []rune(kit.SanitizeLine(text[w.shown:]))
		if n := v.Width() - 8; n > 0 && len(line) > n {
			line = line[len(line)-n:]
		}
		return string(line)
	}
	return ""
}

// thinking counts the words of open responses that have reasoning but no text yet.
func (t *responses) thinking() (words int) {
	for _, w := range t.open {
		if w.text.Len() == 0 {
			words += len(strings.Fields(w.thought.String()))
		}
	}
	return words
}

// writing reports whether a model is writing its text.
func (t *responses) writing() bool {
	for _, w := range t.open {
		if strings.TrimSpace(w.text.String()) != "" {
			return true
		}
	}
	return false
}

// breakOff prints what was written of responses that will not end any more.
func (v *Viewer) breakOff() {
	t := &v.responses
	for _, path := range slices.Sorted(maps.Keys(t.open)) {
		w := t.open[path]
		rest := strings.TrimSpace(w.text.String()[w.shown:])
		delete(t.open, path)
		if w.shown == 0 && (rest == "" || structured(rest)) {
			continue
		}
		v.fold(w)
		if w.md == nil {
			w.md = kit.NewMarkdown(v.Screen, kit.Plain, "     "+v.parts.place)
		}
		v.clear()
		fmt.Fprint(v, w.md.Text(rest))
		v.aside(kit.Dim, "the answer broke off here")
	}
}

// broken forgets a response that ended early: it is asked for again.
func (v *Viewer) broken(path string) {
	w := v.responses.open[path]
	if w == nil {
		return
	}
	if w.shown > 0 {
		v.aside(kit.Dim, "the answer broke off here")
	}
	v.responses.open[path] = &openResponse{began: time.Now()}
}

// response shows the rest of a response that is complete.
func (v *Viewer) response(ev event.Event) {
	t := &v.responses
	w := cmp.Or(t.open[ev.Path], &openResponse{folded: true})
	delete(t.open, ev.Path)
	if t.ended == nil {
		t.ended = map[string]bool{}
	}
	t.ended[ev.Path] = true
	if ev.Error != "" {
		if v.log || v.parts.place != "" {
			v.aside(kit.Red, "model: "+v.tally.interrupted(ev))
		} else {
			t.failed = v.tally.interrupted(ev)
		}
		return
	}
	var d struct {
		Text  string
		Calls []string
	}
	if json.Unmarshal(ev.Data, &d) != nil {
		return
	}
	v.fold(w)
	text := strings.TrimSpace(d.Text)
	if structured(text) && (text == "" || json.Valid([]byte(text))) {
		return
	}
	indent := "     " + v.parts.place
	if w.shown == 0 {
		if len(d.Calls) == 0 && !v.log && v.feed == nil && v.parts.place == "" {
			t.pending = &pendingText{text, indent}
			return
		}
		style := kit.Dim
		if len(d.Calls) == 0 {
			style = kit.Plain
		}
		v.clear()
		fmt.Fprint(v, kit.NewMarkdown(v.Screen, style, indent).Text(text))
		t.last = text
		return
	}
	rest, ok := strings.CutPrefix(text, strings.TrimLeft(w.text.String()[:w.shown], " \n"))
	if !ok { // pieces were lost
		rest = text
		if strings.TrimSpace(w.text.String()[:w.shown]) == text {
			rest = ""
		}
	}
	v.clear()
	for l := range strings.Lines(rest) {
		fmt.Fprint(v, w.md.Line(strings.TrimSuffix(l, "\n")))
	}
	t.last = text
}

// answered shows an answer without calls, or why there is none, once another event
// follows, unless it is the job's last and is printed with the outcome.
func (v *Viewer) answered(ev event.Event) {
	p, failed := v.responses.pending, v.responses.failed
	v.responses.pending, v.responses.failed = nil, ""
	var f jobs.Final
	if ev.Kind == event.JobFinished && json.Unmarshal(ev.Data, &f) != nil {
		f = jobs.Final{}
	}
	if failed != "" && !strings.Contains(f.Reason, failed) {
		v.aside(kit.Red, "model: "+failed)
	}
	if p == nil || f.Status.Final() && f.Summary != "" && strings.HasPrefix(p.text, strings.TrimSpace(f.Summary)) {
		return
	}
	v.clear()
	fmt.Fprint(v, kit.NewMarkdown(v.Screen, kit.Plain, p.indent).Text(p.text))
	v.responses.last = p.text
}
