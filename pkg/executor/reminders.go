package executor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Reminders are messages of the loop beside results and unmet criteria. They are short,
// come only when they are of use, and never twice in one turn: see ADR 0028.

// countCalls notes how the calls of a turn went, for budgets of calls and for tools
// that only fail. Anything that changed files clears what failed: the same
// call may do better now.
func (s *State) countCalls(t *Task, calls []llm.Call, replies []ToolResult) {
	for i, c := range calls {
		if _, bounded := t.Limits.Calls[c.Name]; bounded {
			if s.LimitedCalls == nil {
				s.LimitedCalls = map[string]int{}
			}
			s.LimitedCalls[c.Name]++
		}
		tool := t.tool(c.Name)
		if tool == nil || s.Failing.Paused(c.Name, s.Turns) {
			continue
		}
		if !replies[i].Failed {
			delete(s.Failing, c.Name)
			if tool.Needs&(tools.Write|tools.Shell|tools.Exec) != 0 {
				s.Failing = nil
			}
			continue
		}
		s.Failing = s.Failing.Add(c.Name, replies[i].Text, s.Recent[len(s.Recent)-1].Err)
	}
}

// callsExhausted states why a tool has no calls left, "" if it has.
func (t *Task) callsExhausted(s *State, name string) string {
	if most, ok := t.Limits.Calls[name]; ok && s.LimitedCalls[name] >= most {
		return fmt.Sprintf("%s may be called %d times in this job, and was", name, most)
	}
	return ""
}

// withheld states why a tool that could be offered is not in a turn, "" if it
// is.
func (t *Task) withheld(s *State, name string, turn int) string {
	if s.Failing.Paused(name, turn) {
		return fmt.Sprintf("not run: %s failed %d times in the same way and may be called again in turn %d; find another way", name, s.Failing[name].N, s.Failing[name].PausedUntil+1)
	}
	return t.callsExhausted(s, name)
}

// pauseFailing lets tools rest that failed in the same way again and again, and gives
// the words for it. What the task cannot be done without is never taken away.
func (s *State) pauseFailing(t *Task) string {
	var names []string
	for _, tool := range t.Tools {
		if tool.Name != finish && !slices.Contains(t.Done.Tools(), tool.Name) && s.Failing.Pause(tool.Name, s.Turns) {
			names = append(names, tool.Name)
		}
	}
	if names == nil {
		return ""
	}
	state := "is refused"
	if t.Revision == 0 {
		state = "is not offered"
	}
	return fmt.Sprintf("%s failed %d times in the same way and %s for the next %d turns. Find another way, or say what blocks you.",
		strings.Join(names, ", "), turn.SameFailures, state, turn.PauseTurns)
}

// recordCalls remembers a turn's calls for loop detection.
func (s *State) recordCalls(calls []llm.Call, replies []ToolResult) {
	if len(calls) == 0 {
		return
	}
	results := make([]tools.Result, len(replies))
	for i := range replies {
		results[i] = replies[i].Result
	}
	f := turn.Of(calls, results)
	if f.Err != "" && s.Failing.Paused(calls[0].Name, s.Turns) {
		f.Err = s.Failing[calls[0].Name].Err // the tool is paused; its error is the same
	}
	s.Recent = turn.Add(s.Recent, f)
}

// detectLoop reminds the model when it repeats itself, and ends the run when
// that did not help.
func (s *State) detectLoop() {
	loop := turn.Find(s.Recent, s.Turns-s.LastReminder)
	switch {
	case loop == nil:
	case loop.Stop:
		s.wrapUp(&Outcome{Status: Stuck, Reason: fmt.Sprintf("%s, %d times over", loop.Reason, loop.N)})
	default:
		s.LastReminder = s.Turns
		s.addUserMessage("You have made %s %d times now. It will not help to go on like this. Read the results again and try something else, or say what blocks you.", loop.Reason, loop.N)
	}
}

// warnPercent is the used share of a limit, in per cent, at which the model is warned.
const warnPercent = 80

// remind adds a reminder after a turn, if one helps.
func (s *State) remind(t *Task) {
	s.Failing.Resume(s.Turns)
	words := s.pauseFailing(t)
	if s.WrapUp != nil || s.Outcome != nil {
		return
	}
	if s.reminded() {
		if words != "" {
			s.New[len(s.New)-1].Text += " " + words
		}
		return
	}
	if words == "" {
		words = s.limitWarning(t)
	}
	if words != "" {
		s.LastReminder = s.Turns
		s.addUserMessage("%s", words)
	}
}

// limitWarning warns once for each limit of which little is left, and lists what is
// still to be done.
func (s *State) limitWarning(t *Task) string {
	l := t.limits(s)
	var left []string
	for _, x := range []struct {
		name       string
		used, most float64
	}{
		{"turns", float64(s.Turns), float64(l.Turns)}, {"tokens", float64(s.Usage.In + s.Usage.Out), float64(l.Tokens)},
		{"cost", s.Cost, l.CostUSD}, {"time", float64(s.Elapsed), float64(l.Time)},
	} {
		if x.most <= 0 || x.used*100 < x.most*warnPercent || slices.Contains(s.Warned, x.name) {
			continue
		}
		s.Warned = append(s.Warned, x.name)
		if x.name == "turns" && l.Turns < 5 {
			continue // it would be most of the conversation
		}
		words := fmt.Sprintf("%.0f of %.0f %s", x.most-x.used, x.most, x.name)
		switch x.name {
		case "cost":
			words = fmt.Sprintf("%.2f of %.2f USD", x.most-x.used, x.most)
		case "time":
			words = fmt.Sprintf("%s of %s", (l.Time - s.Elapsed).Round(1e9), l.Time)
		}
		left = append(left, words)
	}
	if left == nil {
		return ""
	}
	words := "Left: " + strings.Join(left, ", ") + "."
	// Checks are not run for this: they are judged when all else holds.
	v := t.Done.judge(s, func(Criterion) error { return nil })
	if len(v.Unmet) > 0 {
		words += " Still to be done: " + strings.Join(v.Unmet, "; ") + "."
	}
	return words
}

// producers lists, for a model that called a tool too early, what can run now to make
// the missing parts.
func (t *Task) producers(s *State, lacks []string) string {
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
