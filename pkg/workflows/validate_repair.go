package workflows

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// tryStage runs the stage's command, and returns no problem if it passes. A check
// cut short when the process died is run again: checks are repeatable.
func tryStage(sc *executor.Scope, st Stage) (*coordinator.Problem, error) {
	return tryThen(sc, turn.Again, st)
}

func tryThen(sc *executor.Scope, interrupted turn.Interruption, st Stage) (*coordinator.Problem, error) {
	reply, err := coordinator.Call{Step: st.Name, Command: st.what(), Tool: st.tool(), Args: st.args(), Interrupted: interrupted, Twice: true}.Make(sc)
	if err != nil || !reply.Failed {
		return nil, err
	}
	p := reply.Problem
	p.Output = excerpt(p.Output)
	if !coordinator.Coded(sc.Task) {
		before(p, reply.ToolResult)
	}
	return p, nil
}

// before makes of a problem what it was in jobs that began before code decided: its
// message, its signature, and whether a change of files could repair it.
func before(p *coordinator.Problem, reply executor.ToolResult) {
	switch {
	case p.Code == 127:
		p.Inconclusive, p.Message = "not found", "a command was not found (exit code 127)"
	case p.Code == 126:
		p.Inconclusive, p.Message = "not run", "a command cannot be run (exit code 126)"
	case p.TimedOut, p.Killed, reply.Interrupted:
		p.Inconclusive = "cut short"
	}
	p.Sign = varying.ReplaceAllString(p.Message+"\n"+p.Output, "#")
}

var varying = lazyregexp.New(`\(c\d+, \d+ bytes of output\)|\d+(\.\d+)?(ms|s)\b|0x[0-9a-f]+|c\d+\.log`)

// runRepair runs what may mend the stage without a model. Whether it did, the next
// run of the stage shows.
func runRepair(sc *executor.Scope, st Stage) error {
	st = Stage{Run: st.Repair, Timeout: st.Timeout, Check: st.Check}
	if st.Check != "" {
		st.Check = st.Run
	}
	_, err := tryThen(sc, turn.Recognized, st)
	return err
}

// mostExcerpt bounds, in bytes, what a result keeps of an output.
const mostExcerpt = 6000

func excerpt(s string) string {
	return coordinator.Excerpt(strings.TrimSpace(s), mostExcerpt, 3)
}

// repairStage has the stage's agent repair what has failed. What becomes of the agent
// is in the result.
func repairStage(sc *executor.Scope, st Stage, p *coordinator.Problem, n, most int, at *coordinator.Attempt) (repair, error) {
	order := executor.SubAgentRequest{
		Agent:  string(st.Fix),
		Prompt: fmt.Sprintf("The stage %s of the validation fails: %s. This is attempt %d of %d.", st.Name, p.Message, n, most),
		Inputs: map[string]json.RawMessage{"command": jsonText(st.what()), "output": jsonText(p.Output)},
	}
	var err error
	if order.Spec, err = bounded(sc, order.Agent); err != nil {
		at.Repair = &coordinator.Repair{Agent: order.Agent, Status: executor.Failed, Reason: err.Error()}
		return repair{Agent: order.Agent, Status: executor.Failed, Reason: err.Error()}, nil
	}
	rep, done, err := coordinator.Delegated(sc, order)
	at.Repair = done
	return repair{Agent: order.Agent, Status: rep.Status, Reason: rep.Reason, Summary: excerpt(rep.Summary),
		Changed: len(rep.Artifacts["diff"]) > 0,
		Usage:   stageUsage{rep.Usage.Turns, rep.Usage.Usage.In, rep.Usage.Usage.Out, rep.Usage.Cost}}, err
}

func jsonText(s string) json.RawMessage {
	b, err := json.Marshal(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		panic(err) // a string
	}
	return b
}

// mayFix bounds the capabilities of a fixer's tools.
var mayFix = tools.Read | tools.Write | tools.Exec | tools.Think

// bounded is the agent as it may fix: with a grant that has no shell, no
// network and no publishing. Tools that need these make it fail before its
// first turn.
func bounded(sc *executor.Scope, agent string) (json.RawMessage, error) {
	if !coordinator.May(sc.Task, agent) || len(sc.Task.Spawn.Agents[agent].Spec) == 0 {
		return nil, nil // Spawn returns what is wrong
	}
	var spec map[string]json.RawMessage
	if err := json.Unmarshal(sc.Task.Spawn.Agents[agent].Spec, &spec); err != nil {
		return nil, fmt.Errorf("reading the agent: %w", err)
	}
	grant := mayFix
	if own := spec["grant"]; len(own) > 0 && string(own) != "null" {
		var c tools.Caps
		if err := json.Unmarshal(own, &c); err != nil {
			return nil, fmt.Errorf("reading its grant: %w", err)
		}
		grant &= c
	}
	raw, err := json.Marshal(grant)
	if err != nil {
		return nil, err
	}
	spec["grant"] = raw
	return json.Marshal(spec)
}
