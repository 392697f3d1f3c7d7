package coordinator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"
)

// move is what the strategy of a name does next about p. ok is false if it is at its
// end. The error is that of a Decide.
func (c *Coordinator) move(p *Problem, name string, s Strategy) (act Action, ok bool, err error) {
	for i := range s {
		m, n := &s[i], c.count(name, i)
		if m.Progress && n > 0 {
			if why := c.stuck(p, m.Agent); why != "" {
				return Action{Decision: Fail, By: Rule("progress"), Reasoning: p.Message + "; " + why}, true, nil
			}
		}
		if n >= m.times() || m.Agent != "" && c.o.Repair == nil && !c.may(m.Agent) {
			continue
		}
		c.used[moveKey(name, i)]++
		if m.Undo {
			if err := c.undoAll(); err != nil {
				return act, true, err
			}
		}
		switch {
		case m.Retry:
			return m.retry(p, n), true, nil
		case m.End != "":
			return Action{Decision: m.End, By: Rule("strategy"), Reasoning: "the strategy ends here: " + p.Message, Hint: m.Hint}, true, nil
		case m.Decide:
			act, err = c.ruling(p, n)
			return act, true, err
		}
		act = Action{Decision: Delegate, By: Rule("strategy"), Agent: m.Agent, Run: m.Run, Instructions: m.Instructions, Diagnose: m.Diagnose}
		if act.Reasoning = fmt.Sprintf("the strategy has %s repair it", m.Agent); m.Run != "" {
			act.Reasoning = "the strategy has a command repair it: " + m.Run
		} else if m.times() > 1 {
			act.Reasoning += fmt.Sprintf(", attempt %d of %d", n+1, m.times())
		}
		return act, true, nil
	}
	return act, false, nil
}

// retryMove is the next retry that the strategy begins with: whoever asks for
// retries means them before anybody thinks.
func (c *Coordinator) retryMove(p *Problem) (Action, bool) {
	for i := range c.o.Strategy {
		m := &c.o.Strategy[i]
		if !m.Retry {
			return Action{}, false
		}
		if n := c.count("given", i); n < m.times() {
			c.used[moveKey("given", i)]++
			return m.retry(p, n), true
		}
	}
	return Action{}, false
}

// ruling is what the one who decides has decided.
func (c *Coordinator) ruling(p *Problem, n int) (Action, error) {
	if c.o.Decide != nil {
		return c.o.Decide(p, n)
	}
	return c.analyse(p, p.Signature(), c.offered(p, p.Signature()))
}

// spent is what is decided after all moves of a strategy that stands alone.
func (c *Coordinator) spent(p *Problem) Action {
	n := 0
	for _, a := range c.res.Attempts {
		if a.Repair != nil && a.Repair.Agent != "" {
			n++
		}
	}
	why := p.Message
	if n > 0 {
		why = strings.TrimSuffix(why, ".") + fmt.Sprintf(", also after %d attempts to fix it", n)
	}
	return Action{Decision: Fail, By: Rule("strategy"), Reasoning: why}
}

func (c *Coordinator) count(name string, i int) int { return c.used[moveKey(name, i)] }

// may reports whether a strategy can give a repair to an agent.
func (c *Coordinator) may(name string) bool {
	return slices.ContainsFunc(c.all, func(a repairer) bool { return a.Name == name })
}

// stuck is why an agent that has worked on p is not asked again, "" if it is.
func (c *Coordinator) stuck(p *Problem, agent string) string {
	last := c.res.Attempts[len(c.res.Attempts)-1]
	switch {
	case last.Repair == nil || last.Repair.Agent != agent:
	case last.Repair.Status != executor.Done:
		return fmt.Sprintf("the agent %s: %s: %s", agent, last.Repair.Status, last.Repair.Reason)
	case len(last.Repair.Changed) == 0 && p.Signature() == last.Signature:
		return fmt.Sprintf("the agent %s has changed nothing, and it fails as before", agent)
	}
	return ""
}

// undoAll takes back what repairs have changed that is still there.
func (c *Coordinator) undoAll() error {
	for i := len(c.res.Attempts) - 1; i >= 0; i-- {
		at := &c.res.Attempts[i]
		if at.Repair == nil || at.Repair.Path == "" || len(at.Repair.Changed) == 0 || at.Undone != nil || at.Kept != nil {
			continue
		}
		got, err := c.undo(at.Repair.Path)
		if err != nil {
			return err
		}
		at.Undone, at.Kept = got.Undone, got.Kept
	}
	return nil
}

func moveKey(name string, i int) string { return fmt.Sprintf("%s %d", name, i) }
