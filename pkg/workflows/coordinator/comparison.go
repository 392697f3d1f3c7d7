package coordinator

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// enough is the number of jobs that each side of a comparison needs for a result.
const enough = 20

// A Comparison is the result of a comparison's sides.
type Comparison struct {
	Name    string `json:"name"` // what is compared: memory, strategy
	Sides   []Side `json:"sides"`
	Verdict string `json:"verdict"` // in a sentence, about the first two sides
}

// A Side is the jobs that a comparison has assigned to it.
type Side struct {
	Name      string `json:"name"`
	Jobs      int    `json:"jobs"`
	Fixed     Share  `json:"fixed"`
	Escalated Share  `json:"escalated"`
	Tokens    int    `json:"tokens"` // in all
	Median    int    `json:"median_tokens"`
	// MedianLow and MedianHigh bound the true median with a probability of 95 %; both are
	// 0 where there are too few jobs to say.
	MedianLow  int     `json:"median_tokens_low"`
	MedianHigh int     `json:"median_tokens_high"`
	Cost       float64 `json:"cost_usd"`

	each []int // tokens
}

// escalated reports whether a job came to need a person.
func (r Result) escalated() bool {
	return slices.ContainsFunc(r.Attempts, func(a Attempt) bool { return a.Action.Decision == Escalate })
}

// compare counts the jobs of comparisons by their sides.
func compare(all []Handled) []Comparison {
	found := map[string]map[string]*Side{}
	for _, h := range all {
		for _, what := range slices.Sorted(maps.Keys(h.Result.Arms)) {
			name := h.Result.Arms[what]
			if found[what] == nil {
				found[what] = map[string]*Side{}
			}
			if found[what][name] == nil {
				found[what][name] = &Side{Name: name}
			}
			found[what][name].count(h)
		}
	}
	out := []Comparison{}
	for _, what := range slices.Sorted(maps.Keys(found)) {
		c := Comparison{Name: what}
		for _, name := range slices.Sorted(maps.Keys(found[what])) {
			s := found[what][name]
			s.Fixed.bound()
			s.Escalated.bound()
			s.median()
			c.Sides = append(c.Sides, *s)
		}
		slices.SortStableFunc(c.Sides, func(a, b Side) int { return b.Jobs - a.Jobs })
		c.Verdict = c.verdict()
		out = append(out, c)
	}
	return out
}

func (s *Side) count(h Handled) {
	s.Jobs++
	s.Fixed.count(h.Result.Solved)
	s.Escalated.count(h.Result.escalated())
	s.Tokens, s.Cost, s.each = s.Tokens+h.Tokens, s.Cost+h.Cost, append(s.each, h.Tokens)
}

// median computes the median of the tokens, and its interval: by the binomial
// distribution, it lies between the jobs of these ranks, whatever the tokens are like.
func (s *Side) median() {
	slices.Sort(s.each)
	n := float64(len(s.each))
	s.Median = s.each[len(s.each)/2]
	if low := int(math.Floor(n/2 - 1.96*math.Sqrt(n)/2)); low >= 1 {
		s.MedianLow, s.MedianHigh = s.each[low-1], s.each[len(s.each)-low]
	}
}

// verdict describes what the figures show, and no more.
func (c Comparison) verdict() string {
	if len(c.Sides) < 2 {
		return fmt.Sprintf("too few jobs: only %s has any", c.Sides[0].Name)
	}
	a, b := c.Sides[0], c.Sides[1]
	if a.Jobs < enough || b.Jobs < enough {
		return fmt.Sprintf("too few jobs: %s has %d and %s %d; below %d each, a difference is noise", a.Name, a.Jobs, b.Name, b.Jobs, enough)
	}
	text := ""
	if len(c.Sides) > 2 {
		text = "of the two with most jobs, "
	}
	for _, m := range []struct {
		name string
		a, b Share
	}{{"fixed", a.Fixed, b.Fixed}, {"escalated", a.Escalated, b.Escalated}} {
		d, low, high := difference(m.a, m.b)
		if m.name != "fixed" {
			text += "; "
		}
		if low <= 0 && high >= 0 {
			text += fmt.Sprintf("%s: no difference is shown (%+.0f points, %+.0f to %+.0f)", m.name, 100*d, 100*low, 100*high)
		} else {
			more := map[bool]string{true: "more", false: "less"}[d > 0]
			text += fmt.Sprintf("%s: %s often with %s than with %s (%+.0f points, %+.0f to %+.0f)", m.name, more, a.Name, b.Name, 100*d, 100*low, 100*high)
		}
	}
	return text
}

// difference returns the difference of two shares, with the interval of Newcombe (95 %),
// which combines those of Wilson.
func difference(a, b Share) (d, low, high float64) {
	p, q := float64(a.Well)/float64(a.All), float64(b.Well)/float64(b.All)
	d = p - q
	return d, d - math.Hypot(p-a.Low, b.High-q), d + math.Hypot(a.High-p, q-b.Low)
}

// A Share counts how many of some went well. Low and High bound the true share with a
// probability of 95 %: where they are far apart, the figure says little.
type Share struct {
	Name string  `json:"name,omitempty"`
	All  int     `json:"all"`
	Well int     `json:"well"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func (s *Share) count(well bool) {
	if s.All++; well {
		s.Well++
	}
}

// bound computes the interval of Wilson.
func (s *Share) bound() {
	if s.All == 0 {
		return
	}
	const z = 1.96
	n := float64(s.All)
	p := float64(s.Well) / n
	mid, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	s.Low, s.High = max(0, (mid-half)/(1+z*z/n)), min(1, (mid+half)/(1+z*z/n))
}

// A Handled is a coordinated job that has ended.
type Handled struct {
	Result Result
	Took   time.Duration
	Tokens int
	Cost   float64
}

// Stats are the statistics of coordinated jobs.
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
