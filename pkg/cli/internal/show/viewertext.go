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
	tail    []string // rows that may still change
	thought strings.Builder
	began   time.Time // of the thinking
	folded  bool      // the thinking was mentioned
	md      *kit.Markdown
	due     *event.Event // the last piece, if what it adds is not laid out yet
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
	if w.due == nil {
		v.lay() // what another response has goes before
	}
	if len(ev.Data) > 0 {
		if w.thought.Len() == 0 {
			w.began = time.Now()
		}
		w.thought.WriteString(ev.Text)
	} else {
		w.text.WriteString(ev.Text)
	}
	w.due = &ev
}

// lay lays out the pieces that have come since the last time, all at once: a paragraph is laid
// out whole, and one of thousands of rows takes longer than its next piece takes to come.
func (v *Viewer) lay() {
	for _, w := range v.responses.open {
		if ev := w.due; ev != nil { // of one response: others wait until it is laid out
			w.due = nil
			v.stream(*ev, w)
		}
	}
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

// stream prints the rows that are finished; those that are not are the last of the screen.
func (v *Viewer) stream(ev event.Event, w *openResponse) {
	if w.text.Len()+w.thought.Len() > 0 {
		v.setPlace(ev)
		v.retriesDone(ev)
	}
	if !v.streams(w) {
		return
	}
	if w.md == nil {
		v.recalled()
		v.fold(w)
		w.md = kit.NewMarkdown(v.Screen, kit.Plain, "     "+v.parts.place)
	}
	v.flow(w, strings.TrimLeft(w.text.String(), " \n"), false)
}

// flow prints what is finished of a response's text.
func (v *Viewer) flow(w *openResponse, text string, end bool) {
	var finished string
	if finished, w.tail = w.md.Flow(text, end); finished != "" {
		v.clear()
		fmt.Fprint(v, finished)
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
		v.keep(fold{name: "thought", thought: w.thought.String()})
	}
	w.folded = true
}

// unfinished are the rows that a model is writing.
func (v *Viewer) unfinished() []string {
	for _, w := range v.responses.open {
		if len(v.responses.open) == 1 {
			return w.tail
		}
	}
	return nil
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
	for _, path := range slices.Sorted(maps.Keys(v.responses.open)) {
		v.broken(path)
		delete(v.responses.open, path)
	}
}

// broken ends a response that broke off; if it is asked for again, it begins anew.
func (v *Viewer) broken(path string) {
	w := v.responses.open[path]
	if w == nil {
		return
	}
	if w.md != nil {
		v.flow(w, strings.TrimSpace(w.text.String()), true)
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
	began := w.md != nil && w.md.Began()
	if !began && len(d.Calls) == 0 && !v.log && v.feed == nil && v.parts.place == "" {
		t.pending = &pendingText{text, indent}
		return
	}
	v.clear()
	switch streamed := strings.TrimSpace(w.text.String()); {
	case began && strings.HasPrefix(text, streamed):
		v.flow(w, text, true)
	case began: // pieces were lost
		v.flow(w, streamed, true)
		fmt.Fprint(v, kit.NewMarkdown(v.Screen, kit.Plain, indent).Text(text))
	case len(d.Calls) > 0:
		fmt.Fprint(v, kit.NewMarkdown(v.Screen, kit.Dim, indent).Text(text))
	default:
		fmt.Fprint(v, kit.NewMarkdown(v.Screen, kit.Plain, indent).Text(text))
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
