package executor

import (
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/llm"
)

// window is that of the model that the run has got to, in tokens; 0 if it is
// unknown.
func (t *Task) window(fell int) int {
	_, w := t.modelAt(fell)
	if w == 0 && t.Budget != nil {
		w = t.Budget.Window
	}
	return w
}

// knownWindow is the window if it is not a guess.
func (t *Task) knownWindow(s *State) int {
	if _, asked := t.modelAt(s.Fallback); asked > 0 {
		return asked
	}
	if t.Budget.Guess {
		return 0
	}
	return t.Budget.Window
}

// limit is how many tokens a request may have; 0 is no limit.
func (t *Task) limit(s *State) int { return s.Context.Room(t.window(s.Fallback), t.Options.MaxTokens) }

// resultRoom is how many bytes of the result of a call are shown at most, and how many
// in any case if those of the same answer need the rest; 0 is no bound.
func (t *Task) resultRoom(s *State, now callContext) (most, share int) {
	if t.Budget == nil || t.Budget.Result < 0 || t.tool(turn.ReadResult) == nil {
		return 0, 0
	}
	bytes := func(n int) int { return s.Context.ResultBytes(t.Budget.Result, t.limit(s), n) }
	if now.asked.workflow || t.Revision < turn.SharedRoom {
		return bytes(now.calls), 0
	}
	if most, share = bytes(1), bytes(now.calls); share == most {
		share = 0
	}
	return most, share
}

// need estimates the next request in tokens.
func (s *State) need(t *Task) int {
	g := &s.Context
	if g.Tools == 0 {
		for i := range t.Tools {
			g.Tools += turn.WeighTool(&t.Tools[i].ToolSpec)
		}
		g.Opening = turn.Weigh(llm.Message{Text: t.System}, llm.Message{Text: t.Prompt})
	}
	if s.Head == "" {
		return g.Beginning(s.New)
	}
	return g.Continued(s.New)
}
