package show

import (
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A feed is what a viewer keeps for an owner that draws the screen itself.
type feed struct {
	call string // the tool of the last call
	data callData
}

// NewFeed is a viewer for an owner that draws the screen: what Feed returns is
// printed once, above what Tail and Meter return. The owner is one goroutine.
// rate, which may be nil, is what a model's tokens cost.
func NewFeed(s *kit.Screen, rate func(string, llm.Usage) float64) *Viewer {
	return &Viewer{Screen: s, calls: numbering{of: map[string]int{}}, tally: usageTotals{rate: rate}, status: progress{start: time.Now()}, feed: new(feed)}
}

// Feed returns what events add to the text on the screen.
func (v *Viewer) Feed(evs ...event.Event) string {
	return v.capture(func() {
		for _, ev := range evs {
			v.show(ev)
		}
	})
}

// Replay returns what an event of a log that is read back adds to the text.
func (v *Viewer) Replay(ev event.Event) string {
	v.log = true
	defer func() { v.log = false }()
	return v.capture(func() { v.show(ev) })
}

// Begin starts the clock of a turn.
func (v *Viewer) Begin() { v.status.start, v.responses.last = time.Now(), "" }

// Took is how long the turn has lasted.
func (v *Viewer) Took() time.Duration { return time.Since(v.status.start) }

// Known sets the model's context window in tokens, 0 if it is not known.
func (v *Viewer) Known(window int) { v.status.window = window }

// Tail is the line that the model is writing, or why it is asked again.
func (v *Viewer) Tail() string {
	for _, a := range v.status.failing {
		return kit.SanitizeLine(a.last)
	}
	return v.unfinished()
}

// Meter is the step in progress and what the job has used.
func (v *Viewer) Meter() string { return v.meter() }

// Context is how much of the context window is in use, "" if that is not known.
func (v *Viewer) Context() string { return v.status.inUse() }

// maxUnfolded bounds the lines of a call that is shown whole.
const maxUnfolded = 2000

// Unfold returns the last call whole, "" if there was none.
func (v *Viewer) Unfold() string {
	f := v.feed
	if f.call == "" {
		return ""
	}
	return v.capture(func() {
		v.parts.place = ""
		v.print("     ", kit.Bold, kit.SanitizeLine(f.call), "")
		if command := commandOf(f.call, f.data.Args); command != "" {
			v.lines(kit.Head(strings.Split(command, "\n"), maxUnfolded), kit.Plain, "$ ")
		}
		if diff := editLines(f.call, f.data.Args); len(diff) > 0 && !f.data.Failed {
			for _, l := range kit.Head(diff, maxUnfolded) {
				v.lines([]string{l}, kit.DiffStyle(l), "")
			}
			return
		}
		v.lines(kit.Head(strings.Split(strings.TrimSpace(f.data.Text), "\n"), maxUnfolded), kit.Dim, "")
	})
}
