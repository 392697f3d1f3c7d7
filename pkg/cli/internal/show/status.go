package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
)

// A progress is what the last line on a terminal reports.
type progress struct {
	start   time.Time
	now     string    // the step in progress
	path    string    // its own
	since   time.Time // when it began
	doing   string    // what a step is doing, by its own account
	doer    string    // the path of that step: its account may come before its begin
	failing map[string]attempts
	window  int // of the model, in tokens; 0 if it is not known
	context int // tokens of it that are in use
	drawn   bool
}

// attempts are those of one step that failed.
type attempts struct {
	n    int
	last string // what is wrong, and when it is tried again
}

func (s *progress) begin(ev event.Event) {
	s.now, s.path, s.since = ev.Step, ev.Path, time.Now()
	if ev.Step == turn.ToolStep {
		s.now = ev.Name
	}
}

// end takes note of a step that has ended, own of one that is not a sub-agent's.
func (s *progress) end(ev event.Event, own bool) {
	s.now = ""
	if s.doer == ev.Path {
		s.doing = ""
	}
	if n := contextOf(ev); own && n > 0 {
		s.context = n
	}
}

func (s *progress) retry(path, text string) {
	if s.failing == nil {
		s.failing = map[string]attempts{}
	}
	s.failing[path] = attempts{s.failing[path].n + 1, text}
}

// retries forgets the failed attempts of a step, and returns them.
func (s *progress) retries(path string) (n int, last string) {
	a := s.failing[path]
	delete(s.failing, path)
	return a.n, a.last
}

// draw renews the last line on a terminal.
func (v *Viewer) draw() {
	if !v.Live {
		return
	}
	// One column stays free: some terminals wrap when the last is written.
	s := kit.Cut("     "+v.statusLine(), v.Width()-1)
	v.clear()
	fmt.Fprint(v, v.Paint(kit.Dim, s))
	v.status.drawn = true
}

// statusLine is what is going on: the end of what the model is writing, or else
// the step and what the job has used.
func (v *Viewer) statusLine() string {
	for _, a := range v.status.failing {
		return kit.SanitizeLine(a.last)
	}
	if s := v.unfinished(); s != "" {
		return s
	}
	return v.meter()
}

// meter is the step and what the job has used.
func (v *Viewer) meter() string {
	st := &v.status
	all := v.tally.all()
	var parts []string
	if st.now != "" {
		what := kit.SanitizeLine(st.now)
		if what == turn.ModelStep {
			what = "waiting for the model"
			if n := v.responses.thinking(); n > 0 {
				what = "thinking, " + kit.Plural(n, "word")
			}
		}
		if st.doing != "" && st.doer == st.path {
			what += ": " + kit.SanitizeLine(st.doing)
		}
		if d := time.Since(st.since); d >= time.Second {
			what += " " + kit.Duration(d.Truncate(time.Second))
		}
		parts = append(parts, what)
	}
	parts = append(parts, fmt.Sprintf("turn %d", all.Turns+1))
	if n := v.tally.account().Busy(); n > 1 {
		parts = append(parts, fmt.Sprintf("%d at work", n))
	}
	if c := st.inUse(); c != "" {
		parts = append(parts, c)
	}
	if t := all.Usage.In + all.Usage.Out; t > 0 {
		parts = append(parts, kit.Count(t)+" tokens")
	}
	if all.Cost > 0 {
		parts = append(parts, fmt.Sprintf("%.2f USD", all.Cost))
	}
	return strings.Join(append(parts, kit.Duration(time.Since(st.start).Truncate(time.Second))), "  ")
}

// inUse is how much of the context window is in use, "" if that is not known.
func (s *progress) inUse() string {
	switch {
	case s.context > 0 && s.window > 0:
		return fmt.Sprintf("context %d%% of %s", min(100, 100*s.context/s.window), kit.Count(s.window))
	case s.context > 0:
		return "context " + kit.Count(s.context)
	}
	return ""
}

func (v *Viewer) clear() {
	if v.status.drawn {
		fmt.Fprint(v, "\r\x1b[K")
		v.status.drawn = false
	}
}
