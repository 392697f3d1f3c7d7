package coordinator

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Workflow runs commands and coordinates what fails: the workflow of the agent
// coordinator, which adroit fix asks for. The artifact "fix" is the [Result],
// "report" the same in Markdown.
var Workflow = agents.Define("coordinate", func(sc *executor.Scope) error {
	j, err := jobOf(sc)
	if err != nil {
		return err
	}
	res, err := j.run(sc)
	if stop := new(executor.StopError); err != nil && !errors.As(err, &stop) {
		return err // the engine's: the job waits or was interrupted, and there is no result yet
	}
	res.Command = j.about()
	report := res.Markdown(sc.Run.Job())
	if berr := errors.Join(sc.Bind("fix", res), sc.Bind("report", report)); berr != nil {
		return errors.Join(err, berr)
	}
	if !res.Solved {
		sc.State.Last = report
	}
	if err != nil || res.Solved {
		return err
	}
	return &executor.StopError{Outcome: executor.Outcome{Status: executor.Failed, Code: decided + res.Status, Reason: res.Reason, Summary: sc.State.Last}}
})

// decided begins the code of an outcome that was decided, by rules or a person.
const decided = "fix."

// Decided reports whether a job that failed with this code was ended by a decision, and
// by no step: a resume would only come to the same end.
func Decided(code string) bool { return strings.HasPrefix(code, decided) }

// A Step is a command that has to work.
type Step struct {
	Name string `json:"name"`
	Run  string `json:"run"`
	// Repeatable is set if running the command twice does no harm.
	Repeatable bool `json:"repeatable,omitempty"`
}

// A job is a request to the agent coordinator.
type job struct {
	steps   []Step
	problem *Problem // of the step from, if it was run already
	from    int      // the step to begin with
	o       Options
	timeout int // seconds
}

const problemInput = "problem"

// AnewInputs are the inputs of a job that does the same again: how its command failed is
// not known before it has run.
func AnewInputs(in map[string]json.RawMessage) { delete(in, problemInput) }

func jobOf(sc *executor.Scope) (*job, error) {
	var in struct {
		command, wait, keep, timeout, supervise string
		attempts, parallel                      json.RawMessage
	}
	j := &job{}
	var errs []error
	get := func(name string, v any) bool {
		ok, err := sc.Value(name, v)
		errs = append(errs, err)
		return ok
	}
	if get("command", &in.command) {
		j.steps = []Step{{Name: "command", Run: in.command}}
	}
	get("steps", &j.steps)
	get(problemInput, &j.problem)
	get("from", &j.from)
	get("escalate", &j.o.Escalate)
	get("wait", &in.wait)
	get("keep", &in.keep)
	get("supervise", &in.supervise)
	get("timeout", &in.timeout)
	get("memory", &j.o.Memory)
	get("strategy", &j.o.Named)
	number := func(name string, raw *json.RawMessage, to *int) {
		if !get(name, raw) {
			return
		}
		if _, err := fmt.Sscan(strings.Trim(string(*raw), `"`), to); err != nil {
			errs = append(errs, fmt.Errorf("%s is %s; write a number", name, *raw))
		}
	}
	number("attempts", &in.attempts, &j.o.Attempts)
	if len(in.attempts) > 0 && j.o.Attempts == 0 && sc.Task.Revision >= 8 {
		errs = append(errs, fmt.Errorf("attempts is %s; it is 1 to %d", in.attempts, mostAttempts))
	}
	number("parallel", &in.parallel, &j.o.Parallel)
	var err error
	if in.wait != "" {
		if j.o.Wait, err = time.ParseDuration(in.wait); err != nil {
			errs = append(errs, fmt.Errorf("wait is %q; write it as in 2h", in.wait))
		}
	}
	if in.timeout != "" {
		d, err := time.ParseDuration(in.timeout)
		if err != nil || d < time.Second || d > time.Hour {
			errs = append(errs, fmt.Errorf("timeout is %q; write it as in 10m, an hour at most", in.timeout))
		}
		j.timeout = int(d / time.Second)
	}
	j.o.Keep = in.keep == "true"
	if in.supervise == "true" {
		j.o.Supervise = Supervisor
	}
	errs = append(errs, j.o.Check())
	for i, s := range j.steps {
		if strings.TrimSpace(s.Run) == "" {
			errs = append(errs, fmt.Errorf("step %d has no command", i+1))
		}
	}
	if j.from < 0 || j.from > 0 && j.from >= len(j.steps) {
		errs = append(errs, fmt.Errorf("from is %d; there are %d steps", j.from, len(j.steps)))
	}
	if len(j.steps) == 0 {
		errs = append(errs, errors.New("there is no command; give the input command, or steps"))
	}
	return j, errors.Join(errs...)
}

// about names what has to work.
func (j *job) about() string {
	var out []string
	for _, s := range j.steps {
		out = append(out, s.Run)
	}
	return strings.Join(out, " && ")
}

// run runs the steps in order and coordinates what fails. After a repair the steps
// before it are run again, too.
func (j *job) run(sc *executor.Scope) (Result, error) {
	var commands []string
	for _, s := range j.steps {
		commands = append(commands, s.Run)
	}
	more, err := repairCommands(sc)
	if err != nil {
		return Result{Status: Failed, Reason: err.Error()}, err
	}
	commands = append(commands, more...)
	if err := sc.Bind("commands", commands); err != nil {
		return Result{Status: Failed}, err
	}
	if sc.Has(outsideTool) {
		if err := sc.Bind("outside", j.outside()); err != nil {
			return Result{Status: Failed}, err
		}
	}
	p := j.problem
	res := Result{Status: Passed, Solved: true}
	for at := j.from; at < len(j.steps); at++ {
		if p == nil {
			var err error
			if p, err = j.try(sc, at); err != nil {
				return Result{Status: Failed, Reason: err.Error(), Attempts: res.Attempts}, err
			}
		}
		if p == nil {
			continue
		}
		p.Step, p.Command = j.steps[at].Name, j.steps[at].Run
		o := j.o
		o.Works = func(sc *executor.Scope) (bool, error) {
			q, err := j.try(sc, at)
			return q == nil && err == nil, err
		}
		c, err := newCoordinator(sc, o)
		if err != nil {
			return Result{Status: Failed, Reason: err.Error()}, err
		}
		c.res.Attempts, c.res.Arms = res.Attempts, res.Arms
		res, err = c.run(p, func(Action) (*Problem, error) {
			if q, done, err := j.goOn(sc, c.res.Problem); q != nil || done || err != nil {
				return q, err
			}
			for k := range j.steps[:at+1] {
				if k < at && publishes(j.steps[k]) {
					continue // what was published is not published again
				}
				if q, err := j.try(sc, k); q != nil || err != nil {
					return q, err
				}
			}
			return nil, nil
		})
		if err != nil || !res.Solved {
			return res, err
		}
		p = nil
	}
	return res, nil
}

func publishes(s Step) bool { return byCommand(s.Name+" "+s.Run) == problem.Publish }

// interrupted returns what to do about the step if the process dies while it runs.
func (s Step) interrupted() turn.Interruption {
	return Interruption(publishes(s) || permit.Publishes(s.Name), s.Repeatable || permit.Checks(s.Name))
}

// try runs a step again.
func (j *job) try(sc *executor.Scope, at int) (*Problem, error) {
	s := j.steps[at]
	if len(j.steps) > 1 {
		if err := sc.Note("%s: %s", s.Name, s.Run); err != nil {
			return nil, err
		}
	}
	args, tool := map[string]any{"command": s.Run}, "rerun"
	if j.timeout > 0 {
		args["timeout_s"] = j.timeout
	}
	if s.publishesOutside() && sc.Has(outsideTool) {
		tool = outsideTool
	}
	got, err := Call{Step: s.Name, Command: s.Run, Tool: tool, Args: args, Interrupted: s.interrupted(), Twice: true}.Make(sc)
	if err != nil {
		return nil, err
	}
	p := got.Problem
	if p == nil {
		sc.State.Last = outputOf(got.ToolResult)
		return nil, nil
	}
	if tool == outsideTool && got.Inconclusive == tools.CannotCheck {
		p.Pending = s.Run
		p.Message, p.Output = "what comes before it works, and to run it outside the sandbox was not approved", ""
	}
	return p, nil
}

// publishesOutside reports whether the step needs the network and the user's credentials to
// make something visible to others: by its name, or the command's first words.
func (s Step) publishesOutside() bool {
	var words []string
	for w := range strings.FieldsSeq(s.Run) {
		if !strings.HasPrefix(w, "-") {
			words = append(words, w)
		}
	}
	n := 2
	if len(words) > 1 && (words[1] == "run" || strings.HasPrefix(words[0], "python")) {
		n = 3
	}
	return permit.Publishes(s.Name) || permit.Publishes(strings.Join(words[:min(n, len(words))], " "))
}

// outside are the commands that the job may run outside the sandbox, each as approved.
func (j *job) outside() []string {
	out := problem.AllInstalls()
	for _, s := range j.steps {
		if s.publishesOutside() {
			out = append(out, s.Run)
		}
	}
	return out
}

// goOn continues the merge whose conflicts were repaired. done reports that what the person
// ran was this merge, which is at its end: to run it again would begin another. The problem
// keeps it from its end.
func (j *job) goOn(sc *executor.Scope, p *Problem) (next *Problem, done bool, err error) {
	if p == nil || p.Type != problem.Merge {
		return nil, false, nil
	}
	if !sc.Has(continueTool) { // a rule denies it, or the job is older
		run, err := byHand(sc, p)
		if run == "" || err != nil {
			return nil, false, err
		}
		return &Problem{Step: p.Step, Command: p.Command, Type: problem.Merge, Files: p.Files, Pending: run, Message: "git_continue, which would go on, may not be called"}, false, nil
	}
	reply, err := Call{Step: p.Step, Command: p.Command, Tool: continueTool, Args: struct{}{}, Interrupted: turn.AskPerson}.Make(sc)
	if err != nil {
		return nil, false, err
	}
	if next = reply.Problem; next == nil {
		sc.State.Last = reply.Text
		return nil, isMerge(p.Command), nil
	}
	next.Type, next.Files = problem.Merge, p.Files
	var m struct { // of git.Merging
		Files     []string
		Continued bool
	}
	switch {
	case reply.Inconclusive == tools.CannotCheck:
		if next.Pending, err = byHand(sc, p); err != nil {
			return nil, false, err
		}
		next.Pending = cmp.Or(next.Pending, goesOnBy(p.Command))
		next.Message, next.Output = "the conflicts are resolved, and to go on was not approved", ""
	case json.Unmarshal(reply.Value, &m) == nil && len(m.Files) > 0:
		next.Inconclusive, next.Files = "", m.Files
		if next.further = m.Continued; next.further { // git names it as the one before
			next.Sign = problem.Signature(problem.Merge, next.Output+" after "+p.Signature())
		}
	default:
		next.Pending = goesOnBy(p.Command)
	}
	return next, false, nil
}

// byHand is the command by which a person stages what git names as in conflict, and nothing
// else, and goes on; "" if git names nothing, or cannot be asked.
func byHand(sc *executor.Scope, p *Problem) (string, error) {
	if !sc.Has(statusTool) {
		return "", nil
	}
	reply, err := sc.Tool(statusTool, struct{}{})
	if err != nil {
		return "", err
	}
	var s struct { // of git.Status
		Entries []struct {
			Path     string
			Conflict bool
		}
	}
	if reply.Failed || json.Unmarshal(reply.Value, &s) != nil {
		return "", nil
	}
	add := "git add --"
	for _, e := range s.Entries {
		if e.Conflict {
			add += " " + hint.Quote(e.Path)
		}
	}
	switch {
	case add == "git add --":
		return "", nil
	case goesOnBy(p.Command) == "":
		return add, nil
	}
	return add + " && " + goesOnBy(p.Command), nil
}

// merges are the commands of git that stop at conflicts.
var merges = []string{"merge", "rebase", "cherry-pick", "revert", "pull", "stash"}

func isMerge(command string) bool {
	f := strings.Fields(command)
	return len(f) > 1 && f[0] == "git" && slices.Contains(merges, f[1]) && !strings.ContainsAny(command, ";&|")
}

// goesOnBy is the command that goes on with what stopped, "" for a stash: there is nothing
// to go on with.
func goesOnBy(command string) string {
	word := "merge"
	if f := strings.Fields(command); isMerge(command) && f[1] == "stash" {
		return ""
	} else if isMerge(command) && slices.Contains(merges[:4], f[1]) {
		word = f[1]
	}
	return "git " + word + " --continue"
}

func outputOf(reply executor.ToolResult) string {
	var r struct{ Output string }
	_ = json.Unmarshal(reply.Artifacts["run"], &r) // a failed call has none
	return strings.TrimRight(r.Output, "\n")
}
