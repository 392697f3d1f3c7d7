package coordinator

import (
	"testing"
	"time"
)

func TestSummarise(t *testing.T) {
	repaired := func(agent, outcome string) Attempt {
		return Attempt{Type: "build", Action: Action{Decision: Delegate, By: "rule build", Agent: agent}, Repair: &Repair{Agent: agent}, Outcome: outcome}
	}
	s := Summarise([]Handled{
		{Result: Result{Status: Fixed, Solved: true, Attempts: []Attempt{repaired("a", "same"), repaired("b", "works")}}, Took: 3 * time.Second, Tokens: 10, Cost: 1},
		{Result: Result{Status: Fixed, Solved: true, Attempts: []Attempt{repaired("b", "works")}}, Took: time.Second},
		{Result: Result{Status: Escalated, Attempts: []Attempt{{Type: "test", Action: Action{Decision: Escalate, By: "model x"}}}}, Took: time.Hour, Tokens: 5},
	})
	if s.Jobs != 3 || s.Fixed.Well != 2 || s.Status[Escalated] != 1 || s.Tokens != 15 || s.Median != 3*time.Second || s.Deciders["code"] != 3 || s.Deciders["model"] != 1 {
		t.Errorf("%+v", s)
	}
	if len(s.Agents) != 2 || s.Agents[0].Name != "b" || s.Agents[0].Well != 2 || s.Agents[1].Well != 0 || len(s.Problems) != 2 {
		t.Errorf("agents %+v, problems %+v", s.Agents, s.Problems)
	}
	// Two of three: the interval of Wilson, as in tables.
	if f := s.Fixed; f.Low < 0.20 || f.Low > 0.21 || f.High < 0.93 || f.High > 0.95 {
		t.Errorf("the interval of 2 of 3 is %.3f to %.3f", f.Low, f.High)
	}
	if s := Summarise(nil); s.Jobs != 0 || s.Fixed.High != 0 {
		t.Errorf("of nothing: %+v", s)
	}
}
