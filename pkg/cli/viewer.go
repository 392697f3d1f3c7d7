package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A viewer shows a job's events to people: a numbered line for each tool
// call, and on a terminal a last line that says what is going on. Its sink
// never blocks: one goroutine, owned by the viewer, does the writing.
type viewer struct {
	*screen
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
	told   bool
	tally  tally
	now    string // the step in progress
	start  time.Time
	drawn  bool
	place  string          // stands before what is told of sub-agents
	opened map[string]bool // sub-agents that were mentioned
}

// newViewer starts a viewer. past is what the log holds already of a resumed job.
func newViewer(s *screen, past history) *viewer {
	v := &viewer{screen: s, wake: make(chan struct{}, 1), quit: make(chan struct{}), gone: make(chan struct{}),
		number: past.calls, past: past.calls, seen: past.paths, tally: past.tally, start: time.Now()}
	if v.seen == nil {
		v.seen = map[string]bool{}
	}
	go v.loop()
	return v
}

// sink takes an event. It is safe for concurrent use.
func (v *viewer) sink(ev event.Event) {
	v.mu.Lock()
	v.queue = append(v.queue, ev)
	v.mu.Unlock()
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// close shows what is still queued, clears the last line and waits.
func (v *viewer) close() {
	close(v.quit)
	<-v.gone
}

func (v *viewer) loop() {
	defer close(v.gone)
	var tick <-chan time.Time
	if v.live {
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
func (v *viewer) pause(do func()) {
	v.hold.Lock()
	defer v.hold.Unlock()
	do()
}

func (v *viewer) drain() {
	v.mu.Lock()
	evs := v.queue
	v.queue = nil
	v.mu.Unlock()
	for _, ev := range evs {
		v.show(ev)
	}
}

func (v *viewer) show(ev event.Event) {
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
		if ev.Step == stepTool {
			v.now = ev.Name
		}
	case event.StepFinished:
		v.now = ""
		v.recalled()
		if ev.Step == stepTool {
			v.call(ev)
		} else if ev.Step == flow.Awaiting {
			v.answer(ev)
		} else if ev.Step == stepCompact && ev.Error == "" && ev.Text != "" {
			v.aside(plain, ev.Text)
		} else if ev.Step == stepWorktree && ev.Name == "join" {
			v.aside(plain, "a sub-agent's worktree: "+cmp.Or(ev.Error, ev.Text))
		} else if ev.Error != "" && ev.Step == stepModel {
			text := ev.Error
			if strings.HasPrefix(text, "interrupted:") {
				text += "; told the model"
			}
			v.aside(red, "model: "+text)
		}
	case event.StepRetried:
		v.recalled()
		v.aside(plain, fmt.Sprintf("%s: %s; %s", nameOf(ev), ev.Error, ev.Text))
	case event.Activity:
		v.recalled()
		v.activity(ev)
	case event.Note:
		v.recalled()
		text, _, _ := strings.Cut(ev.Text, "\n")
		v.aside(plain, text)
	}
}

// log shows an event of a log that is read back.
func (v *viewer) log(ev event.Event) {
	switch ev.Kind {
	case event.JobStarted:
		v.aside(plain, ev.Text)
	case event.StepRecalled:
		if ev.Step == "" { // of many
			v.aside(dim, ev.Text)
		}
	case event.JobFinished, event.JobWaiting:
		var f jobs.Final
		if json.Unmarshal(ev.Data, &f) == nil {
			v.aside(plain, strings.TrimSuffix(fmt.Sprintf("%s: %s", f.Status, f.Reason), ": "))
		}
	}
	v.show(ev)
}

// recalled mentions once, before the first news, what the journal remembered.
func (v *viewer) recalled() {
	if v.told || v.past == 0 {
		return
	}
	v.told = true
	if v.past == 1 {
		v.aside(dim, "step 1 recalled, no model calls")
		return
	}
	v.aside(dim, fmt.Sprintf("steps 1-%d recalled, no model calls", v.past))
}

// call shows a finished tool call.
func (v *viewer) call(ev event.Event) {
	if v.seen[ev.Path] || asks(ev) {
		return
	}
	v.seen[ev.Path] = true
	v.number++
	style, text := plain, ev.Text
	if ev.Error != "" {
		style, text = red, ev.Error
		if strings.HasPrefix(text, "interrupted:") {
			text += "; told the model"
		}
	} else if failed(ev) {
		style = red
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	took := ""
	if ev.Took >= 500*time.Millisecond {
		took = span(ev.Took)
	}
	head := fmt.Sprintf("%3d  %s%s  ", v.number, v.place, pad(line(ev.Name), 12))
	text = cut(line(text), 200)
	column := 50 // where times stand
	if w := v.width(); w > 0 {
		head = cut(head, w)
		room := w - len([]rune(head)) - 8
		text, column = cut(text, room), min(column, room)
		if room < 0 {
			took = "" // the name fills the line
		}
	}
	if took != "" {
		text = pad(text, column)
	}
	v.print(head, style, text, took)
}

// answer shows what somebody told the job.
func (v *viewer) answer(ev event.Event) {
	var sig flow.Signal
	if json.Unmarshal(ev.Data, &sig) != nil || sig.Name == "" {
		return
	}
	text := "answer: " + bare(sig.Name)
	if len(sig.Value) > 0 {
		text += " " + readable(sig.Value)
	}
	v.aside(plain, text)
}

func (v *viewer) aside(style, text string) {
	text = v.place + line(text)
	if w := v.width(); w > 0 {
		text = cut(text, w-5)
	}
	v.print("     ", style, text, "")
}

func (v *viewer) print(head, style, text, took string) {
	v.clear()
	s := head + v.paint(style, text)
	if took != "" {
		s += "  " + v.paint(dim, took)
	}
	fmt.Fprintln(v, strings.TrimRight(s, " "))
}

// draw renews the last line on a terminal.
func (v *viewer) draw() {
	if !v.live {
		return
	}
	all := v.tally.all()
	parts := []string{fmt.Sprintf("turn %d", all.Turns+1)}
	if t := all.Usage.In + all.Usage.Out; t > 0 {
		parts = append(parts, count(t)+" tokens")
	}
	if all.Cost > 0 {
		parts = append(parts, fmt.Sprintf("%.2f USD", all.Cost))
	}
	if n := v.tally.books().Busy(); n > 1 {
		parts = append(parts, fmt.Sprintf("%d at work", n))
	}
	parts = append(parts, span(time.Since(v.start).Truncate(time.Second)))
	if v.now != "" {
		parts = append(parts, line(v.now))
	}
	// One column stays free: some terminals wrap when the last is written.
	s := cut("     "+strings.Join(parts, "  "), v.width()-1)
	v.clear()
	fmt.Fprint(v, v.paint(dim, s))
	v.drawn = true
}

func (v *viewer) clear() {
	if v.drawn {
		fmt.Fprint(v, "\r\x1b[K")
		v.drawn = false
	}
}

// newLogViewer shows a log that is read back, on the caller's goroutine.
func newLogViewer(w io.Writer) *viewer {
	return &viewer{screen: plainScreen(w), seen: map[string]bool{}}
}

// interrupt runs do while the screen is still: what is queued is shown first,
// and the last line is cleared.
func (v *viewer) interrupt(do func()) {
	v.pause(func() { v.drain(); v.clear(); do() })
}
