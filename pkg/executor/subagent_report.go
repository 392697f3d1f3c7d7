package executor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/executor/compaction"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Report is what became of an order.
type Report struct {
	Agent     string                     `json:"agent"`
	Status    string                     `json:"status"` // of an Outcome
	Reason    string                     `json:"reason,omitempty"`
	Limit     string                     `json:"limit,omitempty"`   // that was reached: turns, tokens, cost, time
	Summary   string                     `json:"summary,omitempty"` // its last words, or those of its finish
	Output    json.RawMessage            `json:"output,omitempty"`  // of an agent with typed output
	Artifacts map[string]json.RawMessage `json:"artifacts,omitempty"`
	Turns     int                        `json:"turns,omitempty"`
	Took      time.Duration              `json:"took_ns,omitempty"` // its work, waiting for people not counted
	Usage     SubAgentUsage              `json:"below"`             // what it has taken, its own sub-agents included
	Joined    *Joined                    `json:"joined,omitempty"`  // of one with a worktree
	Taint     tools.Taint                `json:"taint,omitempty"`

	raisedRest Limits // of limits that were raised for it: see Reopener
}

// OK reports whether the sub-agent is done and what it changed is here.
func (r *Report) OK() bool {
	return r.Status == Done && (r.Joined == nil || len(r.Joined.Conflicts) == 0)
}

// As decodes the typed output.
func (r *Report) As(v any) error {
	if len(r.Output) == 0 {
		return fmt.Errorf("agent %s has given no output", r.Agent)
	}
	if err := json.Unmarshal(r.Output, v); err != nil {
		return fmt.Errorf("the output of agent %s: %w", r.Agent, err)
	}
	return nil
}

// read takes a report from how a sub-agent's workflow has ended.
func (r *Report) read(out json.RawMessage, err error) {
	s := new(State)
	if len(out) > 0 && json.Unmarshal(out, s) != nil {
		s = new(State)
	}
	r.Turns, r.Took, r.Summary, r.Taint, r.raisedRest = s.Turns, s.Elapsed, s.Last, s.Taint, s.left()
	r.Usage = SubAgentUsage{Agents: 1, Turns: s.Turns, Calls: s.Calls, Usage: s.Usage, Cost: s.Cost, ByModel: s.ByModel}.add(s.SubAgents)
	for _, name := range s.Names() {
		if name == "output" {
			r.Output = s.Value(name)
			continue
		}
		if r.Artifacts == nil {
			r.Artifacts = map[string]json.RawMessage{}
		}
		r.Artifacts[name] = s.Value(name)
	}
	switch o := s.Outcome; {
	case o != nil:
		r.Status, r.Reason, r.Limit = o.Status, o.Reason, o.Limit
		if o.Summary != "" {
			r.Summary = o.Summary
		}
	case err != nil:
		r.Status, r.Reason = Failed, stepMessage(err)
	default:
		r.Status = Done
	}
	if r.Status != Done && r.Joined != nil {
		r.Reason += "; what it changed was not brought back, and is in " + r.Joined.Kept
	}
}

// line tell in a line what became of it.
func (r *Report) line() string {
	text := r.Status
	if r.Status != Done && r.Reason != "" {
		text += ": " + spelling.FirstLine(r.Reason)
	}
	return fmt.Sprintf("%s, %d turns, %d tokens", text, r.Usage.Turns, r.Usage.Usage.In+r.Usage.Usage.Out)
}

// eventData is the report as an event carries it.
func (r *Report) eventData() any {
	return struct {
		Status  string        `json:"status"`
		Reason  string        `json:"reason,omitempty"`
		Summary string        `json:"summary,omitempty"`
		Took    time.Duration `json:"took_ns,omitempty"`
		Below   SubAgentUsage `json:"below"`
	}{r.Status, r.Reason, compaction.Excerpt(r.Summary), r.Took, r.Usage}
}

// A SubAgentUsage is what sub-agents have taken, all together.
type SubAgentUsage struct {
	Agents  int                  `json:"agents,omitempty"`
	Turns   int                  `json:"turns,omitempty"`
	Calls   int                  `json:"calls,omitempty"`
	Usage   llm.Usage            `json:"usage,omitzero"`
	Cost    float64              `json:"cost_usd,omitempty"`
	ByModel map[string]llm.Usage `json:"used,omitempty"` // by provider/model
}

func (b SubAgentUsage) add(o SubAgentUsage) SubAgentUsage {
	if len(o.ByModel) > 0 {
		b.ByModel = maps.Clone(b.ByModel)
		if b.ByModel == nil {
			b.ByModel = map[string]llm.Usage{}
		}
		for _, m := range slices.Sorted(maps.Keys(o.ByModel)) {
			b.ByModel[m] = b.ByModel[m].Add(o.ByModel[m])
		}
	}
	b.Agents, b.Turns, b.Calls = b.Agents+o.Agents, b.Turns+o.Turns, b.Calls+o.Calls
	b.Usage, b.Cost = b.Usage.Add(o.Usage), b.Cost+o.Cost
	return b
}

// addReports adds what an order has taken to the accounts. Whoever reads what the
// sub-agent returns has read what it has.
func (s *State) addReports(reps ...Report) {
	for i := range reps {
		s.SubAgents = s.SubAgents.add(reps[i].Usage)
		s.Taint |= reps[i].Taint
	}
	for i := range reps {
		s.inherit(reps[i].raisedRest)
	}
}
