package coordinator

import (
	"fmt"
	"time"
)

// A Strategy is what is done about a failure, one move after another: data, so that
// a file can give it.
type Strategy []Move

// A Move is one way to go about a failure: one of Retry, Run, Agent, Decide and End.
type Move struct {
	Retry  bool   `json:"retry,omitempty"`  // run it again as it is
	Run    string `json:"run,omitempty"`    // this command may repair it
	Agent  string `json:"agent,omitempty"`  // this agent repairs it
	Decide bool   `json:"decide,omitempty"` // who decides is asked: the analyst
	// End ends it: ESCALATE or FAIL, with Hint for the person.
	End  Decision `json:"end,omitempty"`
	Hint string   `json:"hint,omitempty"`

	Times        int           `json:"times,omitempty"`   // 0 is 1
	Wait         time.Duration `json:"wait_ns,omitempty"` // before a retry, doubled each time
	Instructions string        `json:"instructions,omitempty"`
	Diagnose     bool          `json:"diagnose,omitempty"`
	Undo         bool          `json:"undo,omitempty"` // first what the moves before it have changed
	// Progress ends the moves where the agent gave up, or has changed nothing and it
	// fails as before.
	Progress bool `json:"progress,omitempty"`
}

func (m *Move) times() int {
	if m.Times == 0 {
		return 1
	}
	return m.Times
}

func (m *Move) retry(p *Problem, n int) Action {
	return Action{Decision: Retry, By: Rule("retries"), Wait: m.Wait << min(n, 20), Reasoning: fmt.Sprintf("%s; attempt %d of %d", p.Message, n+2, m.times()+1)}
}

// DefaultStrategy is what is done about a type of problem where no strategy is named.
const DefaultStrategy = "default"
