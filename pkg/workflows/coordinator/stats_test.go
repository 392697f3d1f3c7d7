package coordinator

import (
	"strings"
	"testing"
	"time"
)

func TestSummarise(t *testing.T) {
	repaired := func(agent, outcome string) Attempt {
		return Attempt{Type: "build", Action: Action{Decision: Delegate, By: Rule("build"), Agent: agent}, Repair: &Repair{Agent: agent}, Outcome: outcome}
	}
	s := Summarise([]Handled{
		{Result: Result{Status: Fixed, Solved: true, Attempts: []Attempt{repaired("a", "same"), repaired("b", "works")}}, Took: 3 * time.Second, Tokens: 10, Cost: 1},
		{Result: Result{Status: Fixed, Solved: true, Attempts: []Attempt{repaired("b", "works")}}, Took: time.Second},
		{Result: Result{Status: Escalated, Attempts: []Attempt{{Type: "test", Action: Action{Decision: Escalate, By: By{"model", "x"}}}}}, Took: time.Hour, Tokens: 5},
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

// A comparison of few jobs says so, one of many says what its intervals show, and
// no more.
func TestCompare(t *testing.T) {
	jobs := func(side string, fixed, escalated, tokens int) (out []Handled) {
		for i := range fixed + escalated {
			r := Result{Status: Fixed, Solved: true, Arms: map[string]string{"memory": side}}
			if i >= fixed {
				r.Status, r.Solved, r.Attempts = Escalated, false, []Attempt{{Action: Action{Decision: Escalate}}}
			}
			out = append(out, Handled{Result: r, Tokens: tokens})
		}
		return out
	}
	for _, tt := range []struct {
		name string
		all  []Handled
		want []string
	}{
		{"three and four", append(jobs(On, 4, 0, 1), jobs(Off, 0, 3, 9)...), []string{"too few jobs: on has 4 and off 3"}},
		{"one side", jobs(On, 30, 0, 1), []string{"too few jobs: only on has any"}},
		{"the same", append(jobs(On, 20, 10, 1), jobs(Off, 18, 10, 1)...), []string{"fixed: no difference is shown", "escalated: no difference is shown"}},
		{"much better", append(jobs(On, 38, 2, 1), jobs(Off, 15, 20, 9)...), []string{"fixed: more often with on than with off (+52 points", "escalated: less often with on than with off (-52 points"}},
	} {
		c := Summarise(tt.all).Compared
		if len(c) != 1 {
			t.Fatalf("%s: %+v", tt.name, c)
		}
		for _, w := range tt.want {
			if !strings.Contains(c[0].Verdict, w) {
				t.Errorf("%s: %q does not have %q", tt.name, c[0].Verdict, w)
			}
		}
	}
	s := Summarise(append(jobs(On, 38, 2, 1), jobs(Off, 15, 20, 9)...))
	if a := s.Compared[0].Sides[0]; a.Name != On || a.Jobs != 40 || a.Fixed.Well != 38 || a.Tokens != 40 || a.Median != 1 || a.MedianLow != 1 || a.MedianHigh != 1 || s.Escalated.Well != 22 {
		t.Errorf("%+v of %+v", a, s)
	}
	// As tables of the binomial distribution have it: of 20, between the 6th and the 15th.
	twenty := Side{}
	for i := range 20 {
		twenty.each = append(twenty.each, 20-i)
	}
	twenty.median()
	few := Side{each: []int{3, 9}}
	few.median()
	if twenty.MedianLow != 5 && twenty.MedianLow != 6 || twenty.MedianHigh != 21-twenty.MedianLow || few.MedianHigh != 0 {
		t.Errorf("of 20 the median lies between %d and %d, of two up to %d", twenty.MedianLow, twenty.MedianHigh, few.MedianHigh)
	}
	// As in Newcombe (1998): 56/70 and 48/80.
	p, q := Share{All: 70, Well: 56}, Share{All: 80, Well: 48}
	p.bound()
	q.bound()
	if d, low, high := difference(p, q); d < 0.199 || d > 0.201 || low < 0.052 || low > 0.053 || high < 0.333 || high > 0.335 {
		t.Errorf("the difference is %.4f, %.4f to %.4f; want 0.2, 0.0524 to 0.3339", d, low, high)
	}
}
