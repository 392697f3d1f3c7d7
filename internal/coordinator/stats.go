package coordinator

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Stats are what coordinated jobs came to.
type Stats struct {
	Jobs      int            `json:"jobs"`
	Status    map[string]int `json:"status"`    // by how they ended
	Decisions map[string]int `json:"decisions"` // RETRY, DELEGATE, ESCALATE, FAIL
	Deciders  map[string]int `json:"deciders"`  // code, memory, model: who made them
	Problems  []Share        `json:"problems"`  // by type of the first failure: how many were fixed
	Agents    []Share        `json:"agents"`    // after whose repair it worked
	Fixed     Share          `json:"fixed"`
	Median    time.Duration  `json:"median_ns"` // from the failure to where it worked
	Tokens    int            `json:"tokens"`
	Cost      float64        `json:"cost_usd"`
	Escalated Share          `json:"escalated"` // jobs that came to need a person
	Compared  []Comparison   `json:"compared"`
}

// Summarise counts.
func Summarise(all []Handled) Stats {
	s := Stats{Jobs: len(all), Status: map[string]int{}, Decisions: map[string]int{}, Deciders: map[string]int{}}
	problems, agents := map[string]*Share{}, map[string]*Share{}
	var took []time.Duration
	for _, h := range all {
		s.Status[h.Result.Status]++
		s.Tokens, s.Cost = s.Tokens+h.Tokens, s.Cost+h.Cost
		s.Fixed.count(h.Result.Solved)
		s.Escalated.count(h.Result.escalated())
		if h.Result.Status == Fixed {
			took = append(took, h.Took)
		}
		for i, a := range h.Result.Attempts {
			if i == 0 {
				share(problems, a.Type).count(h.Result.Solved)
			}
			s.Decisions[string(a.Action.Decision)]++
			by := "model"
			if a.Action.By == byMemory {
				by = "memory"
			} else if a.Action.By.Code() {
				by = "code"
			}
			s.Deciders[by]++
			for _, r := range a.Others {
				if r.Status == "done" { // the others were stopped
					share(agents, r.Agent).count(false)
				}
			}
			if a.Repair != nil {
				share(agents, a.Repair.Agent).count(a.Outcome == "works")
			}
		}
	}
	if len(took) > 0 {
		slices.Sort(took)
		s.Median = took[len(took)/2]
	}
	s.Fixed.bound()
	s.Escalated.bound()
	s.Compared = compare(all)
	s.Problems, s.Agents = ranked(problems), ranked(agents)
	return s
}

func share(in map[string]*Share, name string) *Share {
	if in[name] == nil {
		in[name] = &Share{Name: name}
	}
	return in[name]
}

// ranked lists shares, the most frequent first.
func ranked(m map[string]*Share) []Share {
	out := []Share{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		m[name].bound()
		out = append(out, *m[name])
	}
	slices.SortStableFunc(out, func(a, b Share) int { return cmp.Compare(b.All, a.All) })
	return out
}
