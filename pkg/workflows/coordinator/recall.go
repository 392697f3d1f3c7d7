package coordinator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

// ReplayTool makes a known change again. A task that has it remembers; one without, such
// as one that was pinned before there was a memory, does not.
const ReplayTool = "replay_fix"

// begin fixes, once for a coordinator, whether it remembers and what it is part of. One
// that only retries, or that asks somebody of its own what to do, has no memory.
func (c *coordinator) begin() error {
	if c.past.begun || c.o.NoRules || c.o.Decide != nil || !c.sc.Has(ReplayTool) {
		return nil
	}
	setup, err := stored.Do[Setup](c.sc.Run, memoryStep, beginMemory, Choice{c.o.Memory, c.o.Named})
	if err = ignore(err); err != nil {
		return err
	}
	c.past = experience{begun: true, Setup: setup, known: map[string]*Known{}}
	c.arm(setup.Arms)
	return c.strategies()
}

// recall looks up, once for each signature, what is known of p.
func (c *coordinator) recall(p *Problem, sig string) error {
	if !c.past.Recall || c.past.known[sig] != nil {
		return nil
	}
	k, err := stored.Do[Known](c.sc.Run, memoryStep, recallStep, asked{Signature: sig, Text: p.essence(), At: c.sc.Task.At, Everywhere: c.past.Everywhere})
	if err = ignore(err); err != nil {
		return err
	}
	c.past.known[sig] = &k
	return nil
}

// essence returns the text that finds similar failures.
func (p *Problem) essence() string {
	return clip(problem.Essence(p.Message+"\n"+p.Output), 4000)
}

// failedElsewhere reports whether an agent did not help with the same failure in
// another job.
func (c *coordinator) failedElsewhere(sig, agent string) bool {
	k := c.past.known[sig]
	return k != nil && slices.Contains(k.Failed, agent)
}

// remembered returns an action that helped before: each is tried once, before any model
// is asked.
func (c *coordinator) remembered(sig string) (act Action, ok bool) {
	k := c.past.known[sig]
	if k == nil {
		return act, false
	}
	if w := k.Worked; w != nil {
		what := "the same failure was gone after a " + w.Decision + " " + w.Age
		if w.Agent != "" {
			what = fmt.Sprintf("%s repaired the same failure %s", w.Agent, w.Age)
		}
		what += " (job " + keyJob(w.Key) + ")"
		switch {
		case k.Fix != "" && c.first(sig, "replay"):
			return Action{Decision: Retry, By: byMemory, Replay: w.Key, Reasoning: what + "; its change is made again, in " + strings.Join(w.Files, ", ")}, true
		case w.Decision == string(Retry) && w.Agent == "" && c.first(sig, "retry"):
			return Action{Decision: Retry, By: byMemory, Reasoning: what}, true
		case w.Agent != "" && c.may(w.Agent) && c.first(sig, w.Agent):
			return Action{Decision: Delegate, Agent: w.Agent, By: byMemory, Instructions: "Repair the cause with the smallest change.", Reasoning: what}, true
		}
		return act, false
	}
	if c.o.Only {
		return act, false // whoever names who repairs has it asked, and nobody else is there
	}
	if p := k.Person; p != nil && c.first(sig, "person") {
		return Action{Decision: Escalate, By: byMemory, Reasoning: fmt.Sprintf("%s: the same failure was repaired by a person %s (job %s)", p.Message, p.Age, keyJob(p.Key)),
			Hint: "Repair it as then. " + c.tryAgain()}, true
	}
	if p := k.GivenUp; p != nil && len(k.Failed) > 0 && c.exhausted(sig) && c.first(sig, "given up") {
		return Action{Decision: Escalate, By: byMemory, Reasoning: fmt.Sprintf("%s: no agent has helped with the same failure, %s for the last time (job %s)", p.Message, p.Age, keyJob(p.Key)),
			Hint: "Look at the output; repair it. " + c.tryAgain()}, true
	}
	return act, false
}

// tryAgain advises a person how to have agents try again in spite of earlier failures.
func (c *coordinator) tryAgain() string {
	if c.o.Works != nil { // adroit fix
		return "With --memory off agents are tried again."
	}
	return "With memory: off agents are tried again."
}

// exhausted reports that no agent is left that may still help.
func (c *coordinator) exhausted(sig string) bool {
	return !slices.ContainsFunc(c.all, func(a repairer) bool {
		return a.Name != diagnostic && !c.seen(sig, a.Name) && !c.failedElsewhere(sig, a.Name)
	})
}

// replay makes the change again that helped with the same failure before.
func (c *coordinator) replay(at *Attempt) (bool, error) {
	k := c.past.known[at.Signature]
	got, err := Call{Tool: ReplayTool, Args: map[string]any{"diff": k.Fix}, Interrupted: turn.Recognized}.Make(c.sc)
	if err != nil {
		return false, err
	}
	at.Repair = got.repair("memory")
	at.Repair.Changed, err = c.changed(got.Path)
	return len(at.Repair.Changed) > 0, err
}

// remember keeps an attempt whose outcome is known.
func (c *coordinator) remember(p *Problem, at *Attempt, outcome string) error {
	if !c.past.Remember || at.Action.By == Rule("interrupted") {
		return nil
	}
	in := lesson{Tree: c.sc.Task.At, Failure: problem.Failure{Signature: at.Signature, Type: at.Type, Message: at.Message, Text: p.essence(), Outcome: outcome,
		Action: problem.Action{Decision: string(at.Action.Decision), By: at.Action.By.String(), Agent: at.Action.Agent, Diagnose: at.Action.Diagnose, Of: at.Action.Replay}}}
	if r := at.Repair; r != nil {
		in.Path, in.Tokens, in.Cost = cmp.Or(r.Path, r.Step), r.Tokens, r.Cost
		in.Action.Summary, in.Action.Files = clip(r.Summary, 1000), r.Changed
		if at.Action.Replay != "" {
			in.Action.Agent = c.past.known[at.Signature].Worked.Agent
		} else if r.Status != executor.Done && in.Failed() {
			in.Outcome = problem.Unfinished // it was stopped: that says nothing about what it could do
		}
	}
	if c.past.Commands {
		in.Action.Run, in.Action.Command = at.Action.Run, c.ran(p)
	}
	if at.Answer == "continue" && in.Worked() {
		in.Outcome = problem.Person
	}
	_, err := flow.Do[struct{}](c.sc.Run, memoryStep, rememberOne, in)
	return ignore(err)
}

// ran is the command line of what failed, "" if that is none.
func (c *coordinator) ran(p *Problem) string {
	switch word, _, _ := strings.Cut(p.Command, " "); {
	case p.Command == "run_tests":
		return c.sc.Task.Test
	case c.sc.Has(word), len(p.Command) > mostCommand:
		return ""
	}
	return p.Command
}

// mostCommand bounds the command lines that are kept, in bytes.
const mostCommand = 4 << 10

func keyJob(key string) string {
	job, _, _ := strings.Cut(key, "/")
	return job
}

// keep ends an attempt after which it still fails: the result has it, and the memory
// what was learned of it.
func (c *coordinator) keep(p *Problem, at *Attempt, learned string) error {
	c.res.Attempts = append(c.res.Attempts, *at)
	return c.remember(p, at, learned)
}

// showPast adds what is known of p to what the analyst is given, as data, if its file
// takes it.
func (c *coordinator) showPast(p *Problem, in map[string]json.RawMessage) error {
	k := c.past.known[p.Signature()]
	if k == nil || len(k.Shown) == 0 {
		return nil
	}
	a, _, err := Pinned(c.sc.Task, Analyst)
	if err != nil {
		return err
	}
	if len(a.Inputs) > 0 && !slices.ContainsFunc(a.Inputs, func(f agents.Field) bool { return f.Name == "known" }) {
		return nil
	}
	in["known"], err = quoted(k.Shown)
	return err
}
