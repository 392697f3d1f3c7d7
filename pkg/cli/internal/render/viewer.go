package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/pkg/cli/internal/term"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A Viewer shows a job's events to people: a numbered line for each tool
// call, and on a terminal a last line that says what is going on. Its sink
// never blocks: one goroutine, owned by the viewer, does the writing.
type Viewer struct {
	*term.Screen
	mu    sync.Mutex
	queue []event.Event
	wake  chan struct{}
	quit  chan struct{}
	gone  chan struct{}

	// What follows belongs to the goroutine, and to whoever holds it.
	hold   sync.Mutex
	number int             // of the last tool call shown
	seen   map[string]bool // paths of calls that have a number
	past   int             // calls shown in an earlier run, not mentioned yet
	hinted bool            // that earlier calls were recalled
	tally  UsageTotals
	now    string // the step in progress
	start  time.Time
	drawn  bool
	place  string          // prefix of lines about sub-agents
	opened map[string]bool // sub-agents that were mentioned
}

// NewViewer starts a viewer. past is what the log holds already of a resumed job.
func NewViewer(s *term.Screen, past History) *Viewer {
	v := &Viewer{Screen: s, wake: make(chan struct{}, 1), quit: make(chan struct{}), gone: make(chan struct{}),
		number: past.calls, past: past.calls, seen: past.paths, tally: past.Usage, start: time.Now()}
	if v.seen == nil {
		v.seen = map[string]bool{}
	}
	go v.loop()
	return v
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

// Close shows what is still queued, clears the last line and waits.
func (v *Viewer) Close() {
	close(v.quit)
	<-v.gone
}

func (v *Viewer) loop() {
	defer close(v.gone)
	var tick <-chan time.Time
	if v.Live {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-v.wake:
			v.pause(func() { v.drain(); v.draw() })
		case <-tick:
			v.pause(v.draw)
		case <-v.quit:
			v.pause(func() { v.drain(); v.clear() })
			return
		}
	}
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
}

func (v *Viewer) show(ev event.Event) {
	v.tally.add(ev)
	if ev.Kind != event.StepStarted {
		v.stand(ev)
	}
	if v.stage(ev) || v.agent(ev) {
		return
	}
	switch ev.Kind {
	case event.StepStarted:
		v.now = ev.Step
		if ev.Step == StepTool {
			v.now = ev.Name
		}
	case event.StepFinished:
		v.now = ""
		v.recalled()
		if ev.Step == StepTool {
			v.call(ev)
		} else if ev.Step == flow.KindAwait {
			v.answer(ev)
		} else if ev.Step == stepCompact && ev.Error == "" && ev.Text != "" {
			v.aside(term.Plain, ev.Text)
		} else if ev.Step == StepWorktree && ev.Name == "join" {
			v.aside(term.Plain, "a sub-agent's worktree: "+cmp.Or(ev.Error, ev.Text))
		} else if ev.Error != "" && ev.Step == StepModel {
			text := ev.Error
			if strings.HasPrefix(text, "interrupted:") {
				text += "; reported to the model"
			}
			v.aside(term.Red, "model: "+text)
		}
	case event.StepRetried:
		v.recalled()
		v.aside(term.Plain, fmt.Sprintf("%s: %s; %s", nameOf(ev), ev.Error, ev.Text))
	case event.Activity:
		v.recalled()
		v.activity(ev)
	case event.Note:
		v.recalled()
		text, _, _ := strings.Cut(ev.Text, "\n")
		v.aside(term.Plain, text)
	}
}

// Log shows an event of a log that is read back.
func (v *Viewer) Log(ev event.Event) {
	switch ev.Kind {
	case event.JobStarted:
		v.aside(term.Plain, ev.Text)
	case event.StepRecalled:
		if ev.Step == "" { // of many
			v.aside(term.Dim, ev.Text)
		}
	case event.JobFinished, event.JobWaiting:
		var f jobs.Final
		if json.Unmarshal(ev.Data, &f) == nil {
			v.aside(term.Plain, strings.TrimSuffix(fmt.Sprintf("%s: %s", f.Status, f.Reason), ": "))
		}
	}
	v.show(ev)
}

// recalled mentions once, before the first news, what the journal remembered.
func (v *Viewer) recalled() {
	if v.hinted || v.past == 0 {
		return
	}
	v.hinted = true
	if v.past == 1 {
		v.aside(term.Dim, "step 1 recalled, no model calls")
		return
	}
	v.aside(term.Dim, fmt.Sprintf("steps 1-%d recalled, no model calls", v.past))
}

// call shows a finished tool call.
func (v *Viewer) call(ev event.Event) {
	if v.seen[ev.Path] || asks(ev) {
		return
	}
	v.seen[ev.Path] = true
	v.number++
	style, text := term.Plain, ev.Text
	if ev.Error != "" {
		style, text = term.Red, ev.Error
		if strings.HasPrefix(text, "interrupted:") {
			text += "; reported to the model"
		}
	} else if failed(ev) {
		style = term.Red
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	took := ""
	if ev.Took >= 500*time.Millisecond {
		took = Duration(ev.Took)
	}
	head := fmt.Sprintf("%3d  %s%s  ", v.number, v.place, pad(SanitizeLine(ev.Name), 12))
	text = Cut(SanitizeLine(text), 200)
	column := 50 // where times stand
	if w := v.Width(); w > 0 {
		head = Cut(head, w)
		room := w - len([]rune(head)) - 8
		text, column = Cut(text, room), min(column, room)
		if room < 0 {
			took = "" // the name fills the line
		}
	}
	if took != "" {
		text = pad(text, column)
	}
	v.print(head, style, text, took)
}

// answer shows a signal that the job received.
func (v *Viewer) answer(ev event.Event) {
	var sig flow.Signal
	if json.Unmarshal(ev.Data, &sig) != nil || sig.Name == "" {
		return
	}
	text := "answer: " + SignalName(sig.Name)
	if len(sig.Value) > 0 {
		text += " " + Readable(sig.Value)
	}
	v.aside(term.Plain, text)
}

func (v *Viewer) aside(style, text string) {
	text = v.place + SanitizeLine(text)
	if w := v.Width(); w > 0 {
		text = Cut(text, w-5)
	}
	v.print("     ", style, text, "")
}

func (v *Viewer) print(head, style, text, took string) {
	v.clear()
	s := head + v.Paint(style, text)
	if took != "" {
		s += "  " + v.Paint(term.Dim, took)
	}
	fmt.Fprintln(v, strings.TrimRight(s, " "))
}

// draw renews the last line on a terminal.
func (v *Viewer) draw() {
	if !v.Live {
		return
	}
	all := v.tally.all()
	parts := []string{fmt.Sprintf("turn %d", all.Turns+1)}
	if t := all.Usage.In + all.Usage.Out; t > 0 {
		parts = append(parts, Count(t)+" tokens")
	}
	if all.Cost > 0 {
		parts = append(parts, fmt.Sprintf("%.2f USD", all.Cost))
	}
	if n := v.tally.account().Busy(); n > 1 {
		parts = append(parts, fmt.Sprintf("%d at work", n))
	}
	parts = append(parts, Duration(time.Since(v.start).Truncate(time.Second)))
	if v.now != "" {
		parts = append(parts, SanitizeLine(v.now))
	}
	// One column stays free: some terminals wrap when the last is written.
	s := Cut("     "+strings.Join(parts, "  "), v.Width()-1)
	v.clear()
	fmt.Fprint(v, v.Paint(term.Dim, s))
	v.drawn = true
}

func (v *Viewer) clear() {
	if v.drawn {
		fmt.Fprint(v, "\r\x1b[K")
		v.drawn = false
	}
}

// NewLogViewer shows a log that is read back, on the caller's goroutine.
func NewLogViewer(w io.Writer) *Viewer {
	return &Viewer{Screen: term.NewPlain(w), seen: map[string]bool{}}
}

// Interrupt runs do while the screen is still: what is queued is shown first,
// and the last line is cleared.
func (v *Viewer) Interrupt(do func()) {
	v.pause(func() { v.drain(); v.clear(); do() })
}
