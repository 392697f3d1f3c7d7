package show

import (
	"encoding/json"
	"iter"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// usageTotals sums what a job has used so far, from its events.
type usageTotals struct {
	log  *jobs.UsageReport
	rate func(model string, u llm.Usage) float64 // USD, 0 for a model without a price; may be nil

	models map[string]bool // scopes in which a model is asked
}

func (t *usageTotals) add(ev event.Event) {
	t.account().Add(ev)
	if ev.Step == turn.ModelStep {
		if t.models == nil {
			t.models = map[string]bool{}
		}
		t.models[scopeOf(ev.Path)] = true
	}
}

// interrupted is what is shown of a step that was interrupted: its outcome, and where a
// model has asked for it, that the model learns that. A workflow has a person asked.
func (t *usageTotals) interrupted(ev event.Event) string {
	if ev.Code == flow.Interrupted && t.models[scopeOf(ev.Path)] {
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

// ReadHistory reads a job's events. rate, which may be nil, is what a model's tokens cost.
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

// asks reports whether a finished tool step did nothing but find that a person
// must be asked.
func viewerAsks(ev event.Event) bool {
	var d struct {
		Asks bool `json:"asks"`
	}
	return json.Unmarshal(ev.Data, &d) == nil && d.Asks
}

// nameOf is what a step is called in a line about it.
func nameOf(ev event.Event) string {
	if ev.Step == turn.ToolStep {
		return ev.Name
	}
	return ev.Step
}

// contextOf is how many tokens of the context window a request to a model took, 0 of
// another step.
func contextOf(ev event.Event) int {
	var d struct {
		Usage struct{ In, Out int }
	}
	if ev.Step != turn.ModelStep || json.Unmarshal(ev.Data, &d) != nil || d.Usage.In == 0 {
		return 0
	}
	return d.Usage.In + d.Usage.Out
}
