package jobs

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Final is the data of the last event of a run, job.finished or
// job.waiting: what scripts read to know how it went. What the workflow's
// output does not have is left out.
type Final struct {
	Status    Status               `json:"status"`
	Stopped   string               `json:"stopped"` // one word: the limit that was reached (turns, tokens, cost, time), else the status
	Reason    string               `json:"reason,omitempty"`
	Code      string               `json:"code,omitempty"` // of a failure
	Met       []string             `json:"met,omitempty"`
	Unmet     []string             `json:"unmet,omitempty"`
	Summary   string               `json:"summary,omitempty"`
	Evidence  string               `json:"evidence,omitempty"`
	Turns     int                  `json:"turns,omitempty"`
	Calls     int                  `json:"calls,omitempty"`
	Agents    int                  `json:"agents,omitempty"` // sub-agents, whose figures are in these
	Parts     []Part               `json:"parts,omitempty"`  // sub-agents and steps of pipelines, no more than 100
	More      int                  `json:"more,omitempty"`   // parts that are not listed, the innermost
	Own       *Figures             `json:"own,omitempty"`    // what was taken outside of parts, if there are parts
	Usage     llm.Usage            `json:"usage,omitzero"`
	Cost      float64              `json:"cost_usd,omitempty"`
	Used      map[string]llm.Usage `json:"used,omitempty"`      // Usage by provider/model, if it was not one alone
	Artifacts []string             `json:"artifacts,omitempty"` // names, sorted
	Waiting   *Question            `json:"waiting,omitempty"`   // of job.waiting
}

// maxParts bounds the number of parts that a [Final] lists.
const maxParts = 100

// own returns the usage of a job's own model, by the model's name.
func own(used map[string]llm.Usage, all llm.Usage, model string) map[string]llm.Usage {
	if used == nil && all != (llm.Usage{}) {
		return map[string]llm.Usage{model: all}
	}
	return used
}

// result has the fields that a Final takes from a workflow's output. Workflows are free
// to return anything; the executor's State has these fields.
type result struct {
	Turns int                  `json:"turns"`
	Calls int                  `json:"calls"`
	Usage llm.Usage            `json:"usage"`
	Cost  float64              `json:"cost_usd"`
	Used  map[string]llm.Usage `json:"used"`
	Last  string               `json:"last"`
	Below struct {
		Agents int                  `json:"agents"`
		Turns  int                  `json:"turns"`
		Calls  int                  `json:"calls"`
		Usage  llm.Usage            `json:"usage"`
		Cost   float64              `json:"cost_usd"`
		Used   map[string]llm.Usage `json:"used"`
	} `json:"below"`
	Artifacts map[string]json.RawMessage `json:"artifacts"`
	Outcome   struct {
		Code     string   `json:"code"`
		Limit    string   `json:"limit"`
		Met      []string `json:"met"`
		Unmet    []string `json:"unmet"`
		Summary  string   `json:"summary"`
		Evidence string   `json:"evidence"`
	} `json:"outcome"`
}

// final builds the Final of j from its status, reason and output at the end.
func final(j *Job, parked *flow.ParkedError) Final {
	f := Final{Status: j.Status, Stopped: string(j.Status), Reason: j.Reason}
	if parked != nil {
		f.Waiting = &Question{Path: parked.Path, Signals: parked.Signals, About: parked.About}
	}
	var out result
	if json.Unmarshal(j.Output, &out) != nil {
		return f // an output of another shape has nothing to add
	}
	if j.Status == Limit && out.Outcome.Limit != "" {
		f.Stopped = out.Outcome.Limit
	}
	f.Code, f.Met, f.Unmet = out.Outcome.Code, out.Outcome.Met, out.Outcome.Unmet
	f.Summary, f.Evidence = out.Outcome.Summary, out.Outcome.Evidence
	f.Summary = cmp.Or(f.Summary, out.Last)
	f.Turns, f.Calls, f.Usage, f.Cost, f.Used = out.Turns, out.Calls, out.Usage, out.Cost, out.Used
	if below := out.Below; below.Agents > 0 {
		f.Agents, f.Turns, f.Calls = below.Agents, f.Turns+below.Turns, f.Calls+below.Calls
		f.Usage, f.Cost = f.Usage.Add(below.Usage), f.Cost+below.Cost
		f.Used = maps.Clone(below.Used)
		for m, u := range own(out.Used, out.Usage, j.Model) {
			if f.Used == nil {
				f.Used = map[string]llm.Usage{}
			}
			f.Used[m] = f.Used[m].Add(u)
		}
	}
	f.Artifacts = slices.Sorted(maps.Keys(out.Artifacts))
	return f
}

// bare reports whether the output has no figures.
func (f *Final) bare() bool {
	return f.Turns == 0 && f.Calls == 0 && f.Usage == (llm.Usage{}) && !f.Status.Succeeded()
}

// addUsage adds to f what the job's events have: its parts, and its figures if the
// output has none.
func (f *Final) addUsage(a *UsageReport) {
	if all := a.All(); f.bare() {
		f.Turns, f.Calls, f.Usage, f.Cost = all.Turns, all.Calls, all.Usage, all.Cost
	}
	if f.Parts, f.More = a.Parts(maxParts, f.Status); f.Parts != nil {
		own := a.Own()
		own.Calls = f.Calls // not every call is a step: those that spawn are not
		for i := range f.Parts {
			if f.Parts[i].Within == "" {
				own.Calls -= f.Parts[i].Calls
			}
		}
		f.Own = &own
	}
}
