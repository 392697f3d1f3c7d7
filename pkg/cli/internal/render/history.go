package render

import (
	"encoding/json"
	"fmt"
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
		t.log = new(jobs.UsageReport)
		if t.rate != nil {
			t.log.Rate = func(model string, u jobs.Usage) float64 { return t.rate(model, llm.Usage(u)) }
		}
	}
	return t.log
}

func (t *UsageTotals) all() jobs.Figures { return t.account().All() }

// A History summarises a job's event log.
type History struct {
	calls int // tool calls that were shown
	paths map[string]bool
	Usage UsageTotals
	Last  int64       // number of the last event
	open  string      // name of the tool that was at work last and has not finished
	End   event.Event // the last job.finished or job.waiting
	Final *jobs.Final // what it says
}

// ReadHistory reads a job's events. rate, which may be nil, is what a model's tokens cost.
func ReadHistory(events iter.Seq2[event.Event, error], rate func(string, llm.Usage) float64) (History, error) {
	h := History{paths: map[string]bool{}, Usage: UsageTotals{rate: rate}}
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
	h.Last = ev.Seq
	if ev.Kind == event.JobFinished || ev.Kind == event.JobWaiting {
		f := new(jobs.Final)
		if json.Unmarshal(ev.Data, f) == nil {
			h.End, h.Final = ev, f
		}
	}
	if ev.Step != StepTool {
		return
	}
	switch ev.Kind {
	case event.StepStarted:
		h.open = ev.Name
	case event.StepFinished:
		h.open = ""
		if asks(ev) {
			return
		}
		if !h.paths[ev.Path] {
			h.paths[ev.Path] = true
			h.calls++
		}
	}
}

// failed reports whether a finished tool call failed.
func failed(ev event.Event) bool {
	var d struct {
		Failed bool `json:"failed"`
	}
	return json.Unmarshal(ev.Data, &d) == nil && d.Failed
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

// Place is where an interrupted job stopped.
func (h History) Place() string {
	turns := h.Usage.all().Turns
	if h.calls == 0 && turns == 0 {
		return string(jobs.Interrupted)
	}
	if h.open != "" {
		return fmt.Sprintf("interrupted at step %d of turn %d", h.calls+1, turns)
	}
	return fmt.Sprintf("interrupted after step %d of turn %d", h.calls, turns)
}

// SubAgents are the sub-agents and pipeline steps of a job, with what each took.
func (h *History) SubAgents(status jobs.Status, most int) ([]jobs.Part, int) {
	return h.Usage.account().Parts(most, status)
}

// Rows lists the usage of a job that has not ended.
func (t *UsageTotals) Rows(put func(label, value string)) {
	all := t.all()
	if all.Turns > 0 {
		put("turns", Count(all.Turns))
	}
	if u := all.Usage; u.In+u.Out > 0 {
		put("tokens", fmt.Sprintf("%s in (%s cached), %s out", Count(u.In), Count(u.Cached), Count(u.Out)))
	}
	if all.Cost > 0 {
		put("cost", fmt.Sprintf("%.4f USD", all.Cost))
	}
}
