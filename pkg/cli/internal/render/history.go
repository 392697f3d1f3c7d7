package render

import (
	"encoding/json"
	"iter"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Kinds of steps that are shown.
const (
	StepModel    = "model"
	StepTool     = "tool"
	stepCompact  = "compact"
	StepWorktree = "worktree"
)

// UsageTotals sums what a job has used so far, from its events.
type UsageTotals struct {
	log  *jobs.UsageReport
	rate func(model string, u llm.Usage) float64 // USD, 0 for a model without a price; may be nil
}

func (t *UsageTotals) add(ev event.Event) { t.account().Add(ev) }

func (t *UsageTotals) account() *jobs.UsageReport {
	if t.log == nil {
		t.log = &jobs.UsageReport{Rate: t.rate}
	}
	return t.log
}

// own reports whether an event is of the job itself rather than of a sub-agent.
func (t *UsageTotals) own(ev event.Event) bool { return len(t.account().Around(ev.Path)) == 0 }

func (t *UsageTotals) all() jobs.Figures { return t.account().All() }

// A History summarises a job's event log.
type History struct {
	calls map[string]int // numbers of the tool calls that were shown, by path

	context int // tokens of the context window that the job's last request took
	Usage   UsageTotals
	Last    int64       // number of the last event
	End     event.Event // the last job.finished or job.waiting
	Final   *jobs.Final // what it says
}

// ReadHistory reads a job's events. rate, which may be nil, is what a model's tokens cost.
func ReadHistory(events iter.Seq2[event.Event, error], rate func(string, llm.Usage) float64) (History, error) {
	h := History{calls: map[string]int{}, Usage: UsageTotals{rate: rate}}
	for ev, err := range events {
		if err != nil {
			return h, err
		}
		h.add(ev)
	}
	return h, nil
}

func (h *History) add(ev event.Event) {
	h.Usage.add(ev)
	if n := contextOf(ev); n > 0 && h.Usage.own(ev) {
		h.context = n
	}
	h.Last = ev.Seq
	if ev.Kind == event.JobFinished || ev.Kind == event.JobWaiting {
		f := new(jobs.Final)
		if json.Unmarshal(ev.Data, f) == nil {
			h.End, h.Final = ev, f
		}
	}
	if ev.Step == StepTool && ev.Kind == event.StepFinished && !asks(ev) && h.calls[ev.Path] == 0 {
		h.calls[ev.Path] = len(h.calls) + 1
	}
}

// asks reports whether a finished tool step did nothing but find that a person
// must be asked.
func asks(ev event.Event) bool {
	var d struct {
		Asks bool `json:"asks"`
	}
	return json.Unmarshal(ev.Data, &d) == nil && d.Asks
}

// nameOf is what a step is called in a line about it.
func nameOf(ev event.Event) string {
	if ev.Step == StepTool {
		return ev.Name
	}
	return ev.Step
}
