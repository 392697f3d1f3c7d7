package coordinator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
)

// delegate has an agent repair p, and reports whether anything was changed, so
// that running it again makes sense.
func (c *coordinator) delegate(p *Problem, at *Attempt) (bool, error) {
	in, err := c.material(p, nil)
	if err != nil {
		return false, err
	}
	delete(in, "agents")
	if at.Action.By == byMemory {
		if in["diagnosis"], err = quoted(c.past.known[at.Signature].Worked); err != nil {
			return false, err
		}
	}
	words := at.Action.Instructions
	if at.Action.Diagnose {
		found, err := c.diagnose(in, words)
		if err != nil {
			return false, err
		}
		if found != "" {
			in["diagnosis"], err = json.Marshal(found)
			if err != nil {
				return false, err
			}
		}
	}
	spec, err := c.bounded(at.Action.Agent)
	if err != nil {
		return false, err
	}
	order := executor.SubAgentRequest{Agent: at.Action.Agent, Spec: spec, Inputs: in, Prompt: "A command fails. " + words + c.advice()}
	if order.After = c.goesOn(at.Action.Agent); order.After != nil {
		delete(in, "tried") // it knows
		order.Prompt = "With your change it fails in another way now. " + words + c.advice()
	}
	rep, r, err := Delegated(c.sc, order)
	c.last, at.Repair = &rep, r
	r.Path, r.Changed = r.Step, nil // the ledger says it
	if err := hard(err); err != nil {
		return false, err
	}
	r.Changed, err = c.changed(r.Path)
	return len(r.Changed) > 0, err
}

// goesOn is the report of the agent that has just repaired a part, if it is to go on: it
// knows what it has read and changed.
func (c *coordinator) goesOn(agent string) *executor.Report {
	n := len(c.res.Attempts)
	if c.sc.Task.Revision < continuesRepairs || n == 0 || c.last == nil || c.last.Agent != agent {
		return nil
	}
	if at := &c.res.Attempts[n-1]; at.Outcome != failsOtherwise || at.Undone != nil || at.Repair == nil || at.Repair.Agent != agent {
		return nil
	}
	return c.last
}

// repaired returns an agent's report about a problem, with the files that its own diff
// names.
func repaired(agent string, rep executor.Report) *Repair {
	r := &Repair{Agent: agent, Status: rep.Status, Reason: clip(rep.Reason, 1000), Summary: clip(rep.Summary, 2000),
		Tokens: rep.Usage.Usage.In + rep.Usage.Usage.Out, Cost: rep.Usage.Cost}
	var diff string
	if json.Unmarshal(rep.Artifacts["diff"], &diff) == nil {
		r.Changed, r.diff = changedBy(diff), diff
	}
	if len(rep.Artifacts["diff"]) > 0 && r.Changed == nil {
		r.Changed = []string{"files"} // which it only deleted, or does not name
	}
	return r
}

// command has a command repair, which the strategy names: whether it did, the next
// run shows.
func (c *coordinator) command(at *Attempt) (bool, error) {
	tool := "shell"
	if c.sc.Has("rerun") {
		tool = "rerun"
	}
	interrupted := turn.Recognized
	if at.Action.Outside {
		tool, interrupted = outsideTool, turn.Again // to install twice is to install
	}
	got, err := Call{Command: at.Action.Run, Tool: tool, Args: map[string]any{"command": at.Action.Run}, Interrupted: interrupted, Twice: true}.Make(c.sc)
	at.Repair = got.repair("")
	if err != nil {
		return false, err
	}
	if at.Action.Outside && got.Inconclusive == tools.CannotCheck {
		c.pending, c.missed = append(c.pending, at.Action.Run), "what would get it was not approved"
		c.left++ // nothing was tried
		return false, nil
	}
	if c.missed, c.missedHint = "", ""; at.Action.Outside && got.Failed {
		c.notInstalled(got.Problem)
	}
	at.Repair.Changed, err = c.changed(got.Path)
	return true, err
}

// repair is the call as what was done about a failure.
func (k *Called) repair(by string) *Repair {
	r := &Repair{Agent: by, Status: executor.Done, Summary: clip(k.Summary, 500), Path: k.Path}
	if k.Failed {
		r.Status, r.Reason = executor.Failed, clip(k.Text, 1000)
	}
	return r
}

// diagnose has the agent diagnostic look at a problem, if there is one.
func (c *coordinator) diagnose(in map[string]json.RawMessage, words string) (string, error) {
	for _, a := range c.all {
		if a.Name != diagnostic {
			continue
		}
		spec, err := c.bounded(diagnostic)
		if err != nil {
			return "", err
		}
		rep, err := c.sc.Spawn(executor.SubAgentRequest{Agent: diagnostic, Spec: spec, Inputs: in, Prompt: "A command fails. Find out why. " + words})
		return clip(rep.Summary, 4000), hard(err)
	}
	return "", nil
}

// most bounds the capabilities of an agent's tools if it grants itself nothing.
const most = tools.Read | tools.Write | tools.Exec | tools.Think

// bounded is an agent as it was pinned, with no shell, network or publishing
// unless its own file grants them. Tools that need more are taken from it.
func (c *coordinator) bounded(name string) (json.RawMessage, error) {
	for _, a := range c.all {
		if a.Name != name || a.Grant != nil {
			continue
		}
		grant := most
		a.Grant = &grant
		a.Deny = append(append([]string{}, a.Deny...), beyond(c.sc.Task.Spawn.Agents[name], a)...)
		return json.Marshal(a)
	}
	return nil, nil
}

// beyond names tools that an agent lists and that need what it was not granted.
func beyond(who executor.Spawnable, a agents.DynamicAgent) (out []string) {
	if who.Needs&^most == 0 {
		return nil
	}
	for _, t := range a.Tools {
		switch t {
		case "shell", "shell_online", "shell_output", "shell_kill", "web_fetch", "web_search", "git_push":
			out = append(out, t)
		}
	}
	return out
}

// Kind of the steps that look at, or take back, what a repair has changed.
const changesStep = "changes"

const (
	listChanges = "list"
	undoChanges = "undo"
)

// A scope is the input of a step about changes: those of the step at Path and of
// all below it, in the work tree At.
type scope struct {
	Path string `json:"path"`
	At   string `json:"at,omitempty"`
}

// A Changes is the result of a step about changes.
type Changes struct {
	Changed []string `json:"changed,omitempty"`
	Undone  []string `json:"undone,omitempty"`
	Kept    []string `json:"kept,omitempty"` // with the reason
}

func (c *coordinator) changed(path string) ([]string, error) {
	got, err := stored.Do[Changes](c.sc.Run, changesStep, listChanges, scope{path, c.sc.Task.At})
	return got.Changed, err
}

func (c *coordinator) undo(path string) (Changes, error) {
	got, err := stored.Do[Changes](c.sc.Run, changesStep, undoChanges, scope{path, c.sc.Task.At})
	if se, ok := errors.AsType[*flow.StepError](err); ok {
		return Changes{Kept: []string{"nothing could be undone: " + se.Message}}, nil
	}
	return got, err
}

// A Ledger knows what steps have changed. Undo leaves what somebody else has
// changed since.
type Ledger interface {
	Changed(ctx context.Context, at, path string) (Changes, error)
	Undo(ctx context.Context, at, path string) (Changes, error)
}

// Routes performs the steps of coordinators. Detectors are the coded ones.
func Routes(l Ledger, detectors []Detector) flow.Mux {
	return flow.Mux{detectStep: {
		Safe: flow.Always,
		Handler: func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			var p Problem
			if err := json.Unmarshal(s.Input, &p); err != nil {
				return nil, fmt.Errorf("detect: decoding input: %w", err)
			}
			name := ""
			for _, d := range detectors {
				if name == "" && d.Match != nil && d.Match(p.Command, p.Output, p.Code) {
					name = d.Name
				}
			}
			return json.Marshal(name)
		},
	}, changesStep: {
		Safe: flow.Always, // an undo that was cut short goes on where it stopped
		Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			var in scope
			if err := json.Unmarshal(s.Input, &in); err != nil {
				return nil, fmt.Errorf("changes: decoding input: %w", err)
			}
			if l == nil {
				return nil, errors.New("there is no record of changes here")
			}
			do := l.Changed
			if s.Name == undoChanges {
				do = l.Undo
			}
			got, err := do(ctx, in.At, in.Path)
			if err != nil {
				return nil, err
			}
			return json.Marshal(got)
		},
		Describe: func(s flow.Step, out json.RawMessage) (string, json.RawMessage) {
			var got Changes
			if json.Unmarshal(out, &got) != nil {
				return "", nil
			}
			if s.Name == undoChanges {
				return fmt.Sprintf("%d files are as before, %d are left", len(got.Undone), len(got.Kept)), out
			}
			return fmt.Sprintf("%d files were changed", len(got.Changed)), out
		},
	}}
}

// mostOutput bounds, in bytes, what a problem has of an output.
const mostOutput = 16 << 10

// plainOutput is the first revision that reads outputs without the control sequences of a
// terminal, which results of commands have spelled out: rules and detectors look for words.
const plainOutput = 11

// problemOf reads a failed call of a tool that runs commands or checks something.
func problemOf(t *executor.Task, reply executor.ToolResult) *Problem {
	p := failed(t, reply)
	if t.Revision >= plainOutput {
		p.Output = problem.Displayed(p.Output)
	}
	return p
}

func failed(t *executor.Task, reply executor.ToolResult) *Problem {
	p := &Problem{Message: cmp.Or(reply.Summary, spelling.FirstLine(reply.Text)), Interrupted: reply.Interrupted, Sandbox: reply.Sandbox}
	var r struct {
		Code     int  `json:"exit_code"`
		TimedOut bool `json:"timed_out"`
		Output   string
		Sandbox  string
		Facts    map[string]string
		Files    []string
		Installs []string
	}
	if json.Unmarshal(reply.Artifacts["run"], &r) == nil {
		p.Code, p.TimedOut, p.Output, p.Facts, p.Files, p.Sandbox, p.Installs = r.Code, r.TimedOut, r.Output, r.Facts, r.Files, r.Sandbox, r.Installs
		return p
	}
	p.Output, p.Inconclusive = reply.Text, string(reply.Inconclusive)
	if t.Revision < turn.TypedResults {
		end := turn.ParseEnding(p.Message)
		p.Code, p.TimedOut, p.Killed = end.Code, end.TimedOut, end.Killed
		if end.NotStarted {
			p.Inconclusive = cmp.Or(p.Inconclusive, "not run")
		}
		return p
	}
	var c turn.CommandResult
	if json.Unmarshal(reply.Value, &c) != nil {
		return p
	}
	p.Code, p.TimedOut, p.Killed = c.Code, c.TimedOut, c.Killed
	if c.ID != "" { // of a command, and not of a check, which has words of its own
		p.Output = Excerpt(c.Output, mostOutput, 4)
	}
	return p
}

// Tools for what a repair may need beside changed files. A person approves each call. A
// task that was pinned before there were any does without.
const (
	outsideTool  = "run_outside"  // a command that needs the network, or credentials
	continueTool = "git_continue" // a merge whose conflicts are resolved
	statusTool   = "git_status"   // what a person has to stage who does that
)

// install is the next command of a package manager that may get what p misses. It takes no
// word of an output: problem has all of them.
func (c *coordinator) install(p *Problem, sig string) (act Action, ok bool) {
	if p.Type != problem.Dependency || c.o.Repair != nil {
		return act, false
	}
	for _, run := range p.Installs {
		if !problem.IsInstall(run) || run == p.Command || slices.Contains(c.pending, run) || !c.first(sig, "install "+run) {
			continue
		}
		if !c.sc.Has(outsideTool) { // a rule denies it
			c.pending, c.missed = append(c.pending, run), "the tool run_outside, which would get it, may not be called"
			break
		}
		return Action{Decision: Delegate, Run: run, Outside: true, By: Rule("install"), Reasoning: "a package is missing, and this gets what the project declares: " + run}, true
	}
	if c.missed == "" || c.sc.Task.Model != NoModel {
		return act, false
	}
	return Action{Decision: Escalate, By: c.missedBy(), Reasoning: "a package is missing, and " + c.missed, Hint: c.missedHint}, true
}

// missedBy is the rule by which a person has to get a package.
func (c *coordinator) missedBy() By {
	if len(c.pending) > 0 {
		return Rule("not-approved")
	}
	return Rule("install")
}

// notInstalled notes why a command of a package manager has not got a package.
func (c *coordinator) notInstalled(p *Problem) {
	why := p.Message
	c.missedHint = "See why it fails."
	if act, _, _ := Classify(p); act != nil {
		why = act.Reasoning
		if act.Decision == Escalate {
			c.missedHint = act.Hint
		}
	} else if line := gist(p.Output); line != "" {
		why += ": " + clip(line, 300)
	}
	c.missed = p.Command + " could not get it: " + why
}

// gist is the line of an output to show where there is room for one: the first with the
// word error, else the last.
func gist(output string) (line string) {
	for l := range strings.Lines(problem.Plain(output)) {
		if l = strings.TrimSpace(l); strings.Contains(strings.ToLower(l), "error") {
			return l
		} else if l != "" {
			line = l
		}
	}
	return line
}

// unapproved has a decision that hands p to a person say what was not approved and would
// go on.
func (c *coordinator) unapproved(act Action) Action {
	if act.Decision == Escalate && len(c.pending) > 0 {
		act.Hint = strings.TrimSpace(fmt.Sprintf("Run it yourself: %s. %s", strings.Join(c.pending, ", or "), act.Hint))
	}
	return act
}
