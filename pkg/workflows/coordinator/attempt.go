package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// Pipelines, shipped workflows and coordinators make an attempt as follows: a call
// that has to succeed, or an agent that is asked to repair.

// A Call is one of a tool that has to succeed: of a command, or of a check.
type Call struct {
	Step, Command string // of the Problem, if it fails
	Tool          string
	Args          any
	Interrupted   turn.Interruption // what becomes of it if the process dies meanwhile
	// Twice has an interrupted call made again at once, as the journals have it of versions
	// that asked nobody.
	Twice bool
}

// A Called is the result of a Call.
type Called struct {
	executor.ToolResult
	Path    string   // of its step
	Problem *Problem // nil if it succeeded
}

// Make makes the call. The error comes from the engine, or a limit.
func (k Call) Make(sc *executor.Scope) (got Called, err error) {
	for range 2 {
		got.Path = sc.Run.Next()
		if got.ToolResult, err = sc.Tool(k.Tool, k.Args, k.Interrupted); err != nil {
			return got, err
		}
		if !k.Twice || !got.Interrupted {
			break
		}
	}
	if got.Failed {
		got.Problem = problemOf(sc.Task, got.ToolResult)
		got.Problem.Step, got.Problem.Command = k.Step, k.Command
	}
	return got, nil
}

// Interruption returns what to do about a command during which the process died: a person is
// asked whether to publish again, and nobody about one that is known to do no harm.
func Interruption(publishes, repeatable bool) turn.Interruption {
	switch {
	case publishes:
		return turn.AskPerson
	case repeatable:
		return turn.Again
	}
	return turn.Recognized
}

// Delegated has an agent work on a problem. The error comes from Spawn: see [Survived].
func Delegated(sc *executor.Scope, o executor.SubAgentRequest) (executor.Report, *Repair, error) {
	path := sc.Run.Next()
	rep, err := sc.Spawn(o)
	r := repaired(o.Agent, rep)
	r.Step = path
	return rep, r, err
}

// Reported is err without that of a sub-agent, which its report has.
func Reported(err error) error {
	if errors.As(err, new(*executor.SpawnError)) {
		return nil
	}
	return err
}

// May reports whether a task may spawn an agent.
func May(t *executor.Task, agent string) bool {
	return t.Spawn != nil && slices.Contains(t.Spawn.Allowed, agent)
}

// Pinned is an agent as the task has it by value; ok is false if it has none of that name.
func Pinned(t *executor.Task, agent string) (a agents.DynamicAgent, ok bool, err error) {
	if t.Spawn == nil || len(t.Spawn.Agents[agent].Spec) == 0 {
		return a, false, nil
	}
	if err = json.Unmarshal(t.Spawn.Agents[agent].Spec, &a); err != nil {
		err = fmt.Errorf("agent %s as it was pinned: %w", agent, err)
	}
	return a, true, err
}

// Moves are the options of a coordinator that makes these moves and asks nobody else.
func Moves(t *executor.Task, s ...Move) Options {
	return Options{Bounds: Bounds{Escalate: Never}, Only: true, NoRules: !Coded(t), Strategy: s}
}

// A Record lists the decisions of coordinators about a part of a job, and how they ended:
// for the result of that part, and the statistics.
type Record struct {
	Decisions   []Attempt `json:"decisions,omitempty"`
	Coordinated []Ended   `json:"coordinated,omitempty"`
}

// Add enters what a coordinator came to.
func (r *Record) Add(res Result) {
	r.Decisions = append(r.Decisions, res.Attempts...)
	if res.Status != "" {
		r.Coordinated = append(r.Coordinated, res.ended)
	}
}

// Handled are the failures that the coordinators have handled, each with its decisions.
func (r *Record) Handled() (out []Handled) {
	at := 0
	for _, c := range r.Coordinated {
		until := min(at+max(c.Decisions, 0), len(r.Decisions))
		out = append(out, Handled{Took: c.Took, Tokens: c.Tokens, Cost: c.Cost,
			Result: Result{Status: c.Status, Solved: c.Status == Fixed, Arms: c.Arms, Attempts: r.Decisions[at:until]}})
		at = until
	}
	return out
}

// Excerpt keeps of a long text the head and, n-1 times as long, the tail.
func Excerpt(s string, most, n int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most/n], "") + "\n[...]\n" + strings.ToValidUTF8(s[len(s)-most*(n-1)/n:], "")
}
