package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
)

// What is known follows from the last outcome of each thing that was done.
func TestKnown(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	type f = problem.Failure
	agent := func(name, outcome, fix string) f {
		return f{Project: "/p", Outcome: outcome, Action: problem.Action{Decision: "DELEGATE", Agent: name, Fix: fix}}
	}
	again := func(of, outcome string) f {
		return f{Project: "/p", Outcome: outcome, Action: problem.Action{Decision: "RETRY", Agent: "a", Of: of, Fix: map[bool]string{true: "diff"}[outcome == problem.Works]}}
	}
	retry := func(outcome string) f {
		return f{Project: "/p", Outcome: outcome, Action: problem.Action{Decision: "RETRY"}}
	}
	elsewhere := agent("a", problem.Works, "diff")
	elsewhere.Project = "/q"
	person := f{Project: "/p", Outcome: problem.Person, Action: problem.Action{Decision: "ESCALATE"}}
	for _, tt := range []struct {
		name string
		same []f // the newest first; J1 is the oldest
		want string
	}{
		{"nothing", nil, "  []"},
		{"an agent's repair", []f{agent("a", problem.Works, "diff")}, "a diff []"},
		{"that cannot be made here", []f{agent("a", problem.Works, "unfit")}, "a  []"},
		{"without a diff", []f{agent("a", problem.Works, "")}, "a  []"},
		{"of another project", []f{elsewhere}, "a  []"},
		{"that helped again", []f{again("J1/1", problem.Works), agent("a", problem.Works, "diff")}, "a diff []"},
		{"that did not help again", []f{again("J1/1", problem.Same), agent("a", problem.Works, "diff")}, "a  []"},
		{"and then the agent did", []f{agent("a", problem.Works, "diff"), again("J1/1", problem.Same), agent("a", problem.Works, "diff")}, "a diff []"},
		{"one that did not help", []f{agent("a", problem.Same, "")}, "  [a]"},
		{"one that changed nothing", []f{agent("a", problem.NoChange, "")}, "  [a]"},
		{"one that changed the failure", []f{agent("a", problem.Changed, "")}, "  []"},
		{"one that was stopped", []f{agent("a", problem.Unfinished, "")}, "  []"},
		{"helped once, not since", []f{agent("a", problem.Same, ""), agent("a", problem.Works, "")}, "  [a]"},
		{"helped since", []f{agent("a", problem.Works, ""), agent("a", problem.Same, "")}, "a  []"},
		{"another helped", []f{agent("b", problem.Works, ""), agent("a", problem.Same, "")}, "b  [a]"},
		{"a retry", []f{retry(problem.Works)}, "RETRY  []"},
		{"a retry that does not help any more", []f{retry(problem.Same), retry(problem.Works)}, "  []"},
		{"a person", []f{person, agent("a", problem.Same, "")}, "person  [a]"},
		{"given up", []f{{Project: "/p", Outcome: problem.Given}, agent("a", problem.Same, "")}, "given up  [a]"},
		{"a person, before an agent", []f{agent("a", problem.Works, "diff"), person}, "a diff []"},
	} {
		for i := range tt.same {
			tt.same[i].Key, tt.same[i].At = fmt.Sprintf("J%d/1", len(tt.same)-i), now.Add(-time.Duration(i)*time.Hour)
		}
		k := knownOf(tt.same, nil, "/p", now, func(diff string) bool { return diff == "diff" })
		who := ""
		switch {
		case k.Worked != nil && k.Worked.Agent != "":
			who = k.Worked.Agent
		case k.Worked != nil:
			who = k.Worked.Decision
		case k.Person != nil:
			who = "person"
		case k.GivenUp != nil:
			who = "given up"
		}
		if got := fmt.Sprint(who, " ", k.Fix, " ", append([]string{}, k.Failed...)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if len(k.Shown) > problem.MostShown {
			t.Errorf("%s: shows %d", tt.name, len(k.Shown))
		}
	}
}

// The side of a job is always the same, and sides are about as frequent.
func TestAssign(t *testing.T) {
	p := Policy{Compare: map[string][]string{"memory": {On, Off}}}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for i := range 2000 {
		job := fmt.Sprintf("J1M82EHJAH%05d", i)
		s := p.Setup(job, Choice{})
		if s.Arms["memory"] != p.Setup(job, Choice{}).Arms["memory"] || s.Recall != (s.Arms["memory"] == On) || !s.Remember {
			t.Fatalf("%s: %+v", job, s)
		}
		n[s.Arms["memory"]]++
	}
	if n[On] < 850 || n[Off] < 850 || n[On]+n[Off] != 2000 {
		t.Errorf("the sides have %v jobs", n)
	}
	// Who chose is part of no comparison, and off keeps nothing.
	if s := p.Setup("J1", Choice{Memory: Off}); s.Arms != nil || s.Recall || s.Remember {
		t.Errorf("chosen off: %+v", s)
	}
	if s := (Policy{Memory: Off}).Setup("J1", Choice{}); s.Recall || s.Remember {
		t.Errorf("off: %+v", s)
	}
	if s := (Policy{Memory: OfUser}).Setup("J1", Choice{}); !s.Recall || !s.Everywhere || s.Arms != nil {
		t.Errorf("of the user: %+v", s)
	}
	// Strategies are assigned apart from the memory, and who chose is part of no comparison.
	both := Policy{Compare: map[string][]string{"memory": {On, Off}, "strategy": {"quick", DefaultStrategy}}}
	if err := both.Check(); err != nil {
		t.Fatal(err)
	}
	cells := map[string]int{}
	for i := range 2000 {
		s := both.Setup(fmt.Sprintf("J1M82EHJAH%05d", i), Choice{})
		cells[s.Arms["memory"]+" "+s.Strategy]++
	}
	for cell, n := range cells {
		if len(cells) != 4 || n < 400 {
			t.Errorf("%s has %d jobs of %v", cell, n, cells)
		}
	}
	if s := both.Setup("J1", Choice{Strategy: "slow"}); s.Strategy != "slow" || s.Strategies != nil {
		t.Errorf("chosen: %+v", s)
	}
	for _, bad := range []Policy{{Compare: map[string][]string{"strategy": {"quick"}}}, {Compare: map[string][]string{"strategy": {"quick", "Quick!"}}}, {Compare: map[string][]string{"strategy": {"quick", "quick"}}}, {Memory: "some"}, {Compare: map[string][]string{"weather": {On, Off}}}, {Compare: map[string][]string{"memory": {On}}},
		{Compare: map[string][]string{"memory": {On, On}}}, {Compare: map[string][]string{"memory": {On, "up"}}}, {Memory: Off, Compare: map[string][]string{"memory": {On, Off}}}} {
		if bad.Check() == nil {
			t.Errorf("%+v can be meant", bad)
		}
	}
}

// A detector that is code is asked by its code alone: a pattern beside it would be lost.
func TestCodedDetectors(t *testing.T) {
	good := Detector{Name: "x", Type: "license", Decision: "retry", Match: func(string, string, int) bool { return true }}
	if d, err := NewDetector(good); err != nil || d.Decision != Retry {
		t.Errorf("%+v, %v", d, err)
	}
	for _, change := range []func(*Detector){
		func(d *Detector) { d.Pattern = "LIC" },
		func(d *Detector) { d.Codes = []int{9} },
		func(d *Detector) { d.Match = nil },
		func(d *Detector) { d.Decision = "delegate" },
	} {
		d := good
		change(&d)
		if _, err := NewDetector(d); err == nil {
			t.Errorf("%q %v %q is taken", d.Pattern, d.Codes, d.Decision)
		}
	}
}
