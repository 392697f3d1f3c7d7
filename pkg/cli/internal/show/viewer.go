package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// A Viewer shows a job's events to people: a numbered line for each tool call
// with the end of its output or its diff, what the model writes, and on a
// terminal a last line that says what is going on. Its sink never blocks: one
// goroutine, owned by the viewer, does the writing.
type Viewer struct {
	*kit.Screen
	eventQueue

	// The following fields belong to the goroutine, and to code that has locked it.
	calls     numbering
	tally     usageTotals
	status    progress
	parts     subAgents
	responses responses
	log       bool // it is read back, and no outcome is printed behind it
	feed      *feed
}

// An eventQueue passes events to the goroutine that shows them.
type eventQueue struct {
	mu    sync.Mutex
	queue []event.Event
	wake  chan struct{}
	quit  chan struct{}
	gone  chan struct{}
	hold  sync.Mutex // while something is written
}

// A numbering numbers the tool calls.
type numbering struct {
	number   int            // of the last one shown
	of       map[string]int // those of paths; a call that is performed again keeps its own
	recalled int            // the highest number of a call that was recalled
	hinted   bool           // that earlier calls were recalled
	column   int            // how wide names are
}

// NewViewer starts a viewer. past is the history of a resumed job,
// window the context window of its model in tokens, 0 if it is not known.
func NewViewer(s *kit.Screen, past History, window int) *Viewer {
	v := &Viewer{Screen: s, eventQueue: eventQueue{wake: make(chan struct{}, 1), quit: make(chan struct{}), gone: make(chan struct{})},
		calls: numbering{number: len(past.calls), of: past.calls}, tally: past.usage, status: progress{start: time.Now(), window: window, context: past.context}}
	if v.calls.of == nil {
		v.calls.of = map[string]int{}
	}
	go v.loop()
	return v
}

// NewLog shows a log that is read back, on the caller's goroutine.
func NewLog(s *kit.Screen) *Viewer {
	return &Viewer{Screen: s, calls: numbering{of: map[string]int{}}, log: true}
}

// Sink takes an event. It is safe for concurrent use.
func (v *Viewer) Sink(ev event.Event) {
	v.mu.Lock()
	v.queue = append(v.queue, ev)
	v.mu.Unlock()
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// Close shows the events that are still queued, clears the last line and waits.
func (v *Viewer) Close() {
	close(v.quit)
	<-v.gone
}

// Interrupt runs do while the screen is still: what is queued is shown first,
// and the last line is cleared.
func (v *Viewer) Interrupt(do func()) {
	v.pause(func() { v.frame(func() { v.drain(); v.clear() }); do() })
}

// Last is the text of the model that stands last on the screen, whole. It is for
// after Close.
func (v *Viewer) Last() string { return v.responses.last }

func (v *Viewer) loop() {
	defer close(v.gone)
	var tick, soon <-chan time.Time
	if v.Live {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-v.wake:
			if soon == nil {
				soon = time.After(frame)
			}
		case <-soon:
			soon = nil
			v.pause(func() { v.frame(func() { v.drain(); v.draw() }) })
		case <-tick:
			v.pause(func() { v.frame(v.draw) })
		case <-v.quit:
			v.pause(func() { v.frame(func() { v.drain(); v.breakOff(); v.clear() }) })
			return
		}
	}
}

// frame is the time between two changes of the screen: a burst of events is one.
const frame = 30 * time.Millisecond

// frame writes what f prints at once.
func (v *Viewer) frame(f func()) {
	if text := v.capture(f); text != "" {
		_, _ = io.WriteString(v.Screen, text) // a closed pipe ends the program elsewhere
	}
}

// capture returns what f prints.
func (v *Viewer) capture(f func()) string {
	var b strings.Builder
	out := v.Screen.Writer
	v.Screen.Writer = &b
	f()
	v.Screen.Writer = out
	return b.String()
}

// pause does something while nothing else is written.
func (v *Viewer) pause(do func()) {
	v.hold.Lock()
	defer v.hold.Unlock()
	do()
}

func (v *Viewer) drain() {
	v.mu.Lock()
	evs := v.queue
	v.queue = nil
	v.mu.Unlock()
	for _, ev := range evs {
		v.show(ev)
	}
	v.lay()
}

func (v *Viewer) show(ev event.Event) {
	if ev.Kind == event.Delta {
		v.delta(ev)
		return
	}
	v.lay()
	v.tally.add(ev)
	if ev.Kind != event.StepStarted {
		v.setPlace(ev)
	}
	if v.stage(ev) || v.agent(ev) {
		return
	}
	switch ev.Kind {
	case event.StepRecalled:
		v.calls.recall(ev)
	case event.StepStarted:
		v.answered(ev)
		v.status.begin(ev)
		v.begun(ev)
	case event.StepFinished:
		v.recalled()
		v.finished(ev)
	case event.StepRetried:
		v.recalled()
		v.retried(ev)
	case event.Activity:
		v.recalled()
		v.activity(ev)
	case event.Note:
		v.recalled()
		text, _, _ := strings.Cut(ev.Text, "\n")
		v.aside(kit.Plain, text)
	case event.JobQueued:
		v.aside(kit.Dim, ev.Text)
	case event.JobFinished, event.JobWaiting:
		v.answered(ev)
	}
}

// finished shows a step that has ended.
func (v *Viewer) finished(ev event.Event) {
	v.status.end(ev, v.tally.own(ev))
	switch {
	case ev.Step == turn.ToolStep:
		v.call(ev)
	case ev.Step == flow.KindAwait:
		v.answer(ev)
	case ev.Step == turn.ModelStep:
		v.retriesDone(ev)
		v.response(ev)
	case ev.Step == turn.CompactStep && ev.Error == "" && ev.Text != "":
		v.aside(kit.Plain, ev.Text)
	case ev.Step == turn.WorktreeStep && ev.Name == "join":
		v.aside(kit.Plain, "a sub-agent's worktree: "+cmp.Or(ev.Error, ev.Text))
	}
}

// retried shows that an attempt failed and another follows: on a terminal in the
// last line, and once they are over in one line for all of them.
func (v *Viewer) retried(ev event.Event) {
	v.broken(ev.Path)
	text := fmt.Sprintf("%s: %s; %s", nameOf(ev), ev.Error, ev.Text)
	if !v.Live || v.log || ev.Step != turn.ModelStep {
		v.aside(kit.Plain, text)
		return
	}
	v.status.retry(ev.Path, text)
}

// retriesDone mentions how often a step was tried that was not mentioned before.
func (v *Viewer) retriesDone(ev event.Event) {
	n, last := v.status.retries(ev.Path)
	if n == 0 {
		return
	}
	what, _, _ := strings.Cut(last, "; ")
	again := "once"
	if n > 1 {
		again = fmt.Sprintf("%d times", n)
	}
	v.aside(kit.Plain, what+"; asked again "+again)
}

// Log shows an event of a log that is read back.
func (v *Viewer) Log(ev event.Event) {
	switch ev.Kind {
	case event.JobStarted:
		v.aside(kit.Plain, ev.Text)
	case event.StepRecalled:
		if ev.Step == "" { // of many
			v.aside(kit.Dim, ev.Text)
		}
	case event.JobFinished, event.JobWaiting:
		v.answered(ev)
		var f jobs.Final
		if json.Unmarshal(ev.Data, &f) == nil {
			v.aside(kit.Plain, strings.TrimSuffix(fmt.Sprintf("%s: %s", f.Status, f.Reason), ": "))
		}
	}
	v.show(ev)
}

// recall notes the calls that were recalled: the one at the event's path, or all up to a
// path if the event stands for many.
func (c *numbering) recall(ev event.Event) {
	var many struct{ To string }
	if ev.Step != "" || json.Unmarshal(ev.Data, &many) != nil {
		c.recalled = max(c.recalled, c.of[ev.Path])
		return
	}
	for path, n := range c.of {
		if flow.Compare(path, many.To) <= 0 {
			c.recalled = max(c.recalled, n)
		}
	}
}

// recalled mentions once, before the first news, what the journal remembered. An
// owner that draws the screen has shown those steps already.
func (v *Viewer) recalled() {
	c := &v.calls
	if c.hinted || c.recalled == 0 || v.log || v.feed != nil {
		return
	}
	c.hinted = true
	text := "step 1 recalled, no model calls"
	if c.recalled > 1 {
		text = fmt.Sprintf("steps 1-%d recalled, no model calls", c.recalled)
	}
	v.aside(kit.Dim, text)
}

// answer shows a signal that the job received.
func (v *Viewer) answer(ev event.Event) {
	if ev.Error != "" {
		v.aside(kit.Plain, "the question is withdrawn: "+ev.Error)
		return
	}
	var sig flow.Signal
	if json.Unmarshal(ev.Data, &sig) != nil || sig.Name == "" {
		return
	}
	if SignalName(sig.Name) == turn.MessageSignal {
		v.message(sig.Value)
		return
	}
	text := "answer: " + SignalName(sig.Name)
	var how struct{ Always bool }
	switch {
	case json.Unmarshal(sig.Value, &how) == nil && how.Always:
		text += ", always"
	case len(sig.Value) > 0:
		text += " " + Readable(sig.Value)
	}
	v.aside(kit.Plain, text)
}

// message shows a message that a person has added to the conversation.
func (v *Viewer) message(value json.RawMessage) {
	var m executor.Message
	if json.Unmarshal(value, &m) != nil {
		return
	}
	if m.Model != "" {
		v.aside(kit.Plain, "model from here on: "+m.Model)
	}
	if m.Text != "" {
		v.aside(kit.Bold, "message: "+m.Text)
	}
	for _, l := range Beside(m.Attached) {
		v.aside(kit.Dim, l)
	}
	if m.Changed != "" {
		v.aside(kit.Dim, m.Changed)
	}
}

func (v *Viewer) aside(style, text string) {
	for _, row := range kit.Wrap(v.parts.place+kit.SanitizeLine(text), kit.RowWidth(v.Screen, 5)) {
		v.print("     ", style, row, "")
	}
}

func (v *Viewer) print(head, style, text, took string) {
	v.clear()
	s := head + v.Paint(style, text)
	if took != "" {
		s += "  " + v.Paint(kit.Dim, took)
	}
	fmt.Fprintln(v, strings.TrimRight(s, " "))
}

// stage shows events of a pipeline's steps; it reports whether ev is one.
func (v *Viewer) stage(ev event.Event) bool {
	switch ev.Kind {
	case event.PipelineStarted:
	case event.StageStarted:
		var d struct {
			Name, Kind, Agent string
			Round             int
		}
		if json.Unmarshal(ev.Data, &d) != nil {
			return true
		}
		text := "step " + ev.Text
		if d.Name != "" && d.Name != ev.Text {
			text += " (" + d.Name + ")"
		}
		text += ": " + d.Kind
		if d.Agent != "" {
			text += " " + d.Agent
		}
		if d.Round > 1 {
			text += fmt.Sprintf(", run %d", d.Round)
		}
		v.recalled()
		v.aside(kit.Bold, text)
	case event.StageRetried:
		var d struct {
			Error       string
			Attempt, Of int
			Wait        time.Duration `json:"wait_ns"`
		}
		if json.Unmarshal(ev.Data, &d) != nil {
			return true
		}
		text := fmt.Sprintf("step %s: attempt %d of %d", ev.Text, d.Attempt, d.Of)
		if d.Wait > 0 {
			text += " in " + d.Wait.String()
		}
		v.recalled()
		v.aside(kit.Plain, text+": "+kit.FirstSentence(d.Error))
	case event.StageRecovery:
		v.recalled()
		v.aside(kit.Plain, "recovery: "+ev.Text)
	case event.StageFinished:
		var r pipeline.Row
		if json.Unmarshal(ev.Data, &r) != nil {
			return true
		}
		v.recalled()
		style, text := kit.Plain, "step "+r.ID+": "+r.Status
		if r.Status == pipeline.Failed {
			style = kit.Red
		}
		if r.Error != "" {
			text += ": " + kit.FirstSentence(r.Error)
		}
		v.aside(style, text)
	case event.PipelineFinished:
		var r pipeline.Result
		if json.Unmarshal(ev.Data, &r) != nil || r.Within {
			return true
		}
		v.recalled()
		v.clear()
		stages(r.Rows).Write(v)
	default:
		return false
	}
	return true
}

// stages renders the results of a pipeline's steps as a table.
func stages(rows []pipeline.Row) *kit.Table {
	t := new(kit.Table)
	t.Row("     step", "status", "attempts", "turns", "tokens in", "out", "cost", "time")
	var add func(rows []pipeline.Row, indent string)
	add = func(rows []pipeline.Row, indent string) {
		for i := range rows {
			r := &rows[i]
			id := r.ID
			if r.Round > 1 {
				id += fmt.Sprintf(" (run %d)", r.Round)
			}
			cost := "-"
			if r.Cost > 0 {
				cost = fmt.Sprintf("%.4f USD", r.Cost)
			}
			t.Row("     "+indent+id, r.Status, kit.Count(r.Attempts), kit.Count(r.Turns), kit.Count(r.In), kit.Count(r.Out), cost, strings.TrimSpace(kit.Duration(r.Took)))
			add(r.Rows, indent+"  ")
		}
	}
	add(rows, "")
	return t
}
