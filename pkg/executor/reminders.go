package executor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Guidance is what the loop says beside results and what is unmet. It is
// short, comes only when it is of use, and never twice in one turn: see ADR
// 0028.

// A failing is how a tool has failed last.
type failing struct {
	Why string `json:"why"` // digest of the words
	Err string `json:"err"` // of the turn's mark
	N   int    `json:"n"`   // times in a row
	// Rests is the last turn in which the tool is not offered; 0 if it is.
	Rests int `json:"rests,omitempty"`
}

const (
	sameFailures = 3 // after which a tool rests
	restTurns    = 3 // for so many turns
)

// nudged reports whether the model is told something in this turn already.
func (s *State) nudged() bool {
	return len(s.New) > 0 && s.New[len(s.New)-1].Role == llm.User
}

// tried notes how the calls of a turn went, for budgets of calls and for tools
// that only fail. Anything that changed files clears what failed: the same
// call may do better now.
func (s *State) tried(t *Task, calls []llm.Call, replies []Reply) {
	for i, c := range calls {
		if _, bounded := t.Limits.Calls[c.Name]; bounded {
			if s.Tried == nil {
				s.Tried = map[string]int{}
			}
			s.Tried[c.Name]++
		}
		tool := t.tool(c.Name)
		if tool == nil || s.resting(c.Name, s.Turns) {
			continue
		}
		if !replies[i].Failed {
			delete(s.Failing, c.Name)
			if tool.Needs&(tools.Write|tools.Shell|tools.Exec) != 0 {
				s.Failing = nil
			}
			continue
		}
		why := short(digits.ReplaceAllString(replies[i].Text, "0"))
		f := s.Failing[c.Name]
		if f.Why != why {
			f = failing{Why: why}
		}
		f.N++
		f.Err = s.Recent[len(s.Recent)-1].Err
		if s.Failing == nil {
			s.Failing = map[string]failing{}
		}
		s.Failing[c.Name] = f
	}
}

func (s *State) resting(name string, turn int) bool {
	f := s.Failing[name]
	return f.Rests > 0 && f.Rests >= turn
}

// spent says why a tool has no calls left, "" if it has.
func (t *Task) spent(s *State, name string) string {
	if most, ok := t.Limits.Calls[name]; ok && s.Tried[name] >= most {
		return fmt.Sprintf("%s may be called %d times in this job, and was", name, most)
	}
	return ""
}

// withheld says why a tool that could be offered is not in a turn, "" if it
// is.
func (t *Task) withheld(s *State, name string, turn int) string {
	if s.resting(name, turn) {
		return fmt.Sprintf("not run: %s failed %d times in the same way and may be called again in turn %d; find another way", name, s.Failing[name].N, s.Failing[name].Rests+1)
	}
	return t.spent(s, name)
}

// rest lets tools rest that failed in the same way again and again, and gives
// the words for it. What the task cannot be done without is never taken away.
func (s *State) rest(t *Task) string {
	var names []string
	for _, tool := range t.Tools {
		f, ok := s.Failing[tool.Name]
		if !ok || f.N < sameFailures || f.Rests > 0 || tool.Name == finish || slices.Contains(t.Done.Tools(), tool.Name) {
			continue
		}
		f.Rests = s.Turns + restTurns
		s.Failing[tool.Name] = f
		names = append(names, tool.Name)
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("%s failed %d times in the same way and is not offered for the next %d turns. Find another way, or say what blocks you.",
		strings.Join(names, ", "), sameFailures, restTurns)
}

// woken gives rested tools another chance.
func (s *State) woken() {
	for name, f := range s.Failing {
		if f.Rests > 0 && f.Rests <= s.Turns {
			delete(s.Failing, name)
		}
	}
}

// nearly is the share of a limit at which the model is told what is left, in
// per cent.
const nearly = 80

// guide says what helps after a turn, if anything does.
func (s *State) guide(t *Task) {
	s.woken()
	words := s.rest(t)
	if s.Landing != nil || s.Outcome != nil {
		return
	}
	if s.nudged() {
		if words != "" {
			s.New[len(s.New)-1].Text += " " + words
		}
		return
	}
	if words == "" {
		words = s.nearEnd(t)
	}
	if words != "" {
		s.Nudged = s.Turns
		s.tell("%s", words)
	}
}

// nearEnd tells once of each limit that little of it is left, and what is
// still to be done.
func (s *State) nearEnd(t *Task) string {
	l := t.limits(s)
	var left []string
	for _, x := range []struct {
		name       string
		used, most float64
		words      func() string
	}{
		{"turns", float64(s.Turns), float64(l.Turns), func() string { return fmt.Sprintf("%d of %d turns", l.Turns-s.Turns, l.Turns) }},
		{"tokens", float64(s.Usage.In + s.Usage.Out), float64(l.Tokens), func() string {
			return fmt.Sprintf("%d of %d tokens", l.Tokens-s.Usage.In-s.Usage.Out, l.Tokens)
		}},
		{"cost", s.Cost, l.CostUSD, func() string { return fmt.Sprintf("%.2f of %.2f USD", l.CostUSD-s.Cost, l.CostUSD) }},
		{"time", float64(s.Spent), float64(l.Time), func() string { return fmt.Sprintf("%s of %s", (l.Time - s.Spent).Round(1e9), l.Time) }},
	} {
		if x.most <= 0 || x.used*100 < x.most*nearly || slices.Contains(s.Warned, x.name) {
			continue
		}
		s.Warned = append(s.Warned, x.name)
		if x.name == "turns" && l.Turns < 5 {
			continue // it would be most of the conversation
		}
		left = append(left, x.words())
	}
	if left == nil {
		return ""
	}
	words := "Left: " + strings.Join(left, ", ") + "."
	// Checks are not run for this: they are judged when all else holds.
	v := t.Done.Judge(s, func(Criterion) error { return nil })
	if len(v.Unmet) > 0 {
		words += " Still to be done: " + strings.Join(v.Unmet, "; ") + "."
	}
	return words
}

// instead tells a model that called a tool too early what can run now to make
// the missing parts.
func (t *Task) instead(s *State, lacks []string) string {
	var makers []string
	for _, tool := range t.Tools {
		for _, a := range tool.Produces {
			if slices.Contains(lacks, a) && t.missing(&tool, s) == nil && t.withheld(s, tool.Name, s.Turns) == "" {
				makers = append(makers, fmt.Sprintf("%s makes %s", tool.Name, a))
			}
		}
	}
	if makers == nil {
		return ""
	}
	return "; " + strings.Join(makers, ", ")
}
