package show

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A progress is the content of the last line on a terminal.
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

// attempts counts the failed attempts of one step.
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

// statusLine describes the current activity: the last error while a request is retried,
// the last row of the model's text while it writes, else the step and the usage.
func (v *Viewer) statusLine() string {
	for _, a := range v.status.failing {
		return kit.SanitizeLine(a.last)
	}
	if rows := v.unfinished(); len(rows) > 0 {
		return strings.TrimSpace(kit.Unpaint(rows[len(rows)-1]))
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
			} else if v.responses.writing() {
				what = "writing"
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

// inUse renders how full the context window is, "" if that is not known.
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

// usageTotals sums what a job has used so far, from its events.
type usageTotals struct {
	log  *jobs.UsageReport
	rate func(model string, u llm.Usage) float64 // USD, 0 for a model without a price; may be nil

	models map[string][]string // the calls of the last answer of a model, by scope
}

func (t *usageTotals) add(ev event.Event) {
	t.account().Add(ev)
	if ev.Step == turn.ModelStep {
		if t.models == nil {
			t.models = map[string][]string{}
		}
		var answer struct{ Calls []string }
		if json.Unmarshal(ev.Data, &answer) == nil {
			t.models[scopeOf(ev.Path)] = answer.Calls
		}
	}
}

// interrupted renders the error of an interrupted step. A step that a model asked for is
// reported to the model; about others, as checks, a person is asked instead.
func (t *usageTotals) interrupted(ev event.Event) string {
	if ev.Code == flow.Interrupted && slices.Contains(t.models[scopeOf(ev.Path)], ev.Name) {
		return ev.Error + "; reported to the model"
	}
	return ev.Error
}

func scopeOf(path string) string { return path[:strings.LastIndexByte(path, '.')+1] }

func (t *usageTotals) account() *jobs.UsageReport {
	if t.log == nil {
		t.log = &jobs.UsageReport{Rate: t.rate}
	}
	return t.log
}

// own reports whether an event is of the job itself rather than of a sub-agent.
func (t *usageTotals) own(ev event.Event) bool { return len(t.account().Around(ev.Path)) == 0 }

func (t *usageTotals) all() jobs.Figures { return t.account().All() }

// A History summarises a job's event log.
type History struct {
	calls map[string]int // numbers of the tool calls that were shown, by path

	context int // tokens of the context window that the job's last request took
	usage   usageTotals
	Last    int64       // number of the last event
	End     event.Event // the last job.finished or job.waiting
	Final   *jobs.Final // what it says
}

// ReadHistory reads a job's events. rate, which may be nil, prices a model's tokens.
func ReadHistory(events iter.Seq2[event.Event, error], rate func(string, llm.Usage) float64) (History, error) {
	h := History{calls: map[string]int{}, usage: usageTotals{rate: rate}}
	for ev, err := range events {
		if err != nil {
			return h, err
		}
		h.add(ev)
	}
	return h, nil
}

func (h *History) add(ev event.Event) {
	h.usage.add(ev)
	if n := contextOf(ev); n > 0 && h.usage.own(ev) {
		h.context = n
	}
	h.Last = ev.Seq
	if ev.Kind == event.JobFinished || ev.Kind == event.JobWaiting {
		f := new(jobs.Final)
		if json.Unmarshal(ev.Data, f) == nil {
			h.End, h.Final = ev, f
		}
	}
	if ev.Step == turn.ToolStep && ev.Kind == event.StepFinished && !viewerAsks(ev) && h.calls[ev.Path] == 0 {
		h.calls[ev.Path] = len(h.calls) + 1
	}
}

// viewerAsks reports whether a finished tool step only found that a person must be asked.
func viewerAsks(ev event.Event) bool {
	var d struct {
		Asks bool `json:"asks"`
	}
	return json.Unmarshal(ev.Data, &d) == nil && d.Asks
}

// nameOf returns the name of a step in a line about it: the tool's for a call.
func nameOf(ev event.Event) string {
	if ev.Step == turn.ToolStep {
		return ev.Name
	}
	return ev.Step
}

// contextOf returns the number of tokens of the context window that a request to a model
// took, 0 for any other step.
func contextOf(ev event.Event) int {
	var d struct {
		Usage struct{ In, Out int }
	}
	if ev.Step != turn.ModelStep || json.Unmarshal(ev.Data, &d) != nil || d.Usage.In == 0 {
		return 0
	}
	return d.Usage.In + d.Usage.Out
}
