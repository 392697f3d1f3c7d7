package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Kinds of steps that are shown.
const (
	stepModel    = "model"
	stepTool     = "tool"
	stepCompact  = "compact"
	stepWorktree = "worktree"
)

// A tally is what a job has used so far, as its events tell.
type tally struct {
	account *jobs.Account
	rate    func(model string, u llm.Usage) float64 // USD, 0 for a model without a price; may be nil
}

func (t *tally) add(ev event.Event) { t.books().Add(ev) }

func (t *tally) books() *jobs.Account {
	if t.account == nil {
		t.account = new(jobs.Account)
		if t.rate != nil {
			t.account.Rate = func(model string, u jobs.Usage) float64 { return t.rate(model, llm.Usage(u)) }
		}
	}
	return t.account
}

func (t *tally) all() jobs.Figures { return t.books().All() }

// A history is what a job's log tells of earlier runs.
type history struct {
	calls int // tool calls that were shown
	paths map[string]bool
	tally tally
	last  int64       // number of the last event
	open  string      // name of the tool that was at work last and has not finished
	end   event.Event // the last job.finished or job.waiting
	final *jobs.Final // what it says
}

// read takes a log in. rate, if not nil, says what models cost.
func read(ctx context.Context, log jobs.Store, id string, rate func(string, llm.Usage) float64) (history, error) {
	h := history{paths: map[string]bool{}, tally: tally{rate: rate}}
	for ev, err := range log.Events(ctx, id, 0, false) {
		if err != nil {
			return h, err
		}
		h.add(ev)
	}
	return h, nil
}

func (h *history) add(ev event.Event) {
	h.tally.add(ev)
	h.last = ev.Seq
	if ev.Kind == event.JobFinished || ev.Kind == event.JobWaiting {
		f := new(jobs.Final)
		if json.Unmarshal(ev.Data, f) == nil {
			h.end, h.final = ev, f
		}
	}
	if ev.Step != stepTool {
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

// failed reports whether a finished tool call says that it failed.
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
	if ev.Step == stepTool {
		return ev.Name
	}
	return ev.Step
}

// place says where an interrupted job stands.
func (h history) place() string {
	turns := h.tally.all().Turns
	if h.calls == 0 && turns == 0 {
		return string(jobs.Interrupted)
	}
	if h.open != "" {
		return fmt.Sprintf("interrupted at step %d of turn %d", h.calls+1, turns)
	}
	return fmt.Sprintf("interrupted after step %d of turn %d", h.calls, turns)
}

// subAgents are the sub-agents and pipeline steps of a job, with what each took.
func (h *history) subAgents(status jobs.Status, most int) ([]jobs.Part, int) {
	return h.tally.books().Parts(most, status)
}

// tell says what a job has taken that has not ended.
func (t *tally) tell(put func(label, value string)) {
	all := t.all()
	if all.Turns > 0 {
		put("turns", count(all.Turns))
	}
	if u := all.Usage; u.In+u.Out > 0 {
		put("tokens", fmt.Sprintf("%s in (%s cached), %s out", count(u.In), count(u.Cached), count(u.Out)))
	}
	if all.Cost > 0 {
		put("cost", fmt.Sprintf("%.4f USD", all.Cost))
	}
}
