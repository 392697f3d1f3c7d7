package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/lazyregexp"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// An attempt is one run of a stage's command.
type attempt struct {
	passed   bool
	mendable bool   // by a change of files
	why      string // in a line
	output   string
}

// tryStage runs the stage's command. What was cut short when the process died is
// run again: that it can be is what a check is.
func tryStage(sc *executor.Scope, st Stage) (attempt, error) {
	reply, err := sc.Tool(st.tool(), st.args())
	if err == nil && reply.Interrupted {
		reply, err = sc.Tool(st.tool(), st.args())
	}
	if err != nil {
		return attempt{}, err
	}
	return attemptOf(reply), nil
}

// runRepair runs what may mend the stage without a model. Whether it did, the next
// run of the stage shows.
func runRepair(sc *executor.Scope, st Stage) error {
	st = Stage{Run: st.Repair, Timeout: st.Timeout, Check: st.Check}
	if st.Check != "" {
		st.Check = st.Run
	}
	_, err := tryStage(sc, st)
	return err
}

var exitCode = lazyregexp.New(`^exit code (\d+)`)

// attemptOf reads a reply of shell or of a check.
func attemptOf(reply executor.ToolResult) attempt {
	why := reply.Summary
	if why == "" {
		why = headOf(reply.Text)
	}
	a := attempt{passed: !reply.Failed, mendable: true, why: why, output: excerpt(reply.Text)}
	code := exitCode.FindStringSubmatch(why)
	switch {
	case a.passed:
	case code != nil && code[1] == "127":
		a.mendable, a.why = false, "a command was not found (exit code 127)"
	case code != nil && code[1] == "126":
		a.mendable, a.why = false, "a command cannot be run (exit code 126)"
	case reply.WhyInconclusive() != "", strings.HasPrefix(why, "stopped after "), why == "killed", reply.Interrupted,
		strings.Contains(why, "could not be started"), strings.Contains(why, "is not installed"):
		a.mendable = false
	}
	return a
}

var varying = lazyregexp.New(`\(c\d+, \d+ bytes of output\)|\d+(\.\d+)?(ms|s)\b|0x[0-9a-f]+|c\d+\.log`)

// signature is what is the same of two failures that are: without times,
// addresses and the numbers of commands.
func (a attempt) signature() string { return varying.ReplaceAllString(a.why+"\n"+a.output, "#") }

// mostExcerpt bounds, in bytes, what a result keeps of an output.
const mostExcerpt = 6000

func excerpt(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= mostExcerpt {
		return s
	}
	return strings.ToValidUTF8(s[:mostExcerpt/3], "") + "\n[...]\n" + strings.ToValidUTF8(s[len(s)-mostExcerpt*2/3:], "")
}

// repairStage has the stage's agent repair what has failed. Whatever becomes of the
// agent is in the result; the error is the engine's.
func repairStage(sc *executor.Scope, st Stage, got attempt, n, most int) (Repair, error) {
	order := executor.SubAgentRequest{
		Agent:  string(st.Fix),
		Prompt: fmt.Sprintf("The stage %s of the validation fails: %s. This is attempt %d of %d.", st.Name, got.why, n, most),
		Inputs: map[string]json.RawMessage{"command": jsonText(st.what()), "output": jsonText(got.output)},
	}
	var err error
	if order.Spec, err = bounded(sc, order.Agent); err != nil {
		return Repair{Agent: order.Agent, Status: executor.Failed, Reason: err.Error()}, nil
	}
	rep, err := sc.Spawn(order)
	m := Repair{Agent: order.Agent, Status: rep.Status, Reason: rep.Reason, Summary: excerpt(rep.Summary),
		Changed: len(rep.Artifacts["diff"]) > 0,
		Usage:   StageUsage{rep.Usage.Turns, rep.Usage.Usage.In, rep.Usage.Usage.Out, rep.Usage.Cost}}
	if errors.As(err, new(*executor.SpawnError)) {
		return m, nil
	}
	return m, err
}

func jsonText(s string) json.RawMessage {
	b, err := json.Marshal(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		panic(err) // a string
	}
	return b
}

// mayFix is what a fixer's tools may need at most.
var mayFix = tools.Read | tools.Write | tools.Exec | tools.Think

// bounded is the agent as it may fix: with a grant that has no shell, no
// network and no publishing. Tools that need these make it fail before its
// first turn.
func bounded(sc *executor.Scope, agent string) (json.RawMessage, error) {
	sp := sc.Task.Spawn
	if sp == nil || !slices.Contains(sp.Allowed, agent) || len(sp.Agents[agent].Spec) == 0 {
		return nil, nil // Spawn returns what is wrong
	}
	var spec map[string]json.RawMessage
	if err := json.Unmarshal(sp.Agents[agent].Spec, &spec); err != nil {
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
