package workflows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// ValidateStages brings a project to where its stages pass: those of the input
// stages, of the project's .adroit/validation.yaml, or what run_check finds.
var ValidateStages = agents.Define("validate", func(sc *executor.Scope) error {
	stages, err := StagesOf(sc)
	if err != nil {
		return err
	}
	v, err := Validate(sc, stages)
	sc.State.Last = v.Table()
	if err == nil && !v.OK {
		err = errors.New(v.Headline())
	}
	return err
})

// CancelStages is the signal that ends a validation after the stage that runs.
const CancelStages = "cancel_stages"

// Validate runs the stages in order and has the fixers mend what fails, each
// stage apart: whatever goes wrong in one is kept in its result. The task needs
// the tools that the stages name, shell for commands, and may spawn the fixers.
// The result is bound as the artifact "validation".
//
// The error is nil although stages failed: see Validation.OK. It reports
// stages that make no sense, a *executor.StopError for a limit of the task, or
// the engine's; what there is of a result comes with it.
func Validate(sc *executor.Scope, stages Stages) (v Validation, err error) {
	if err := errors.Join(stages.Check(), stages.suits(sc)); err != nil {
		return v, err
	}
	rest := "" // what becomes of the stages that are left
	for _, st := range stages.List {
		res := stageResult{Name: st.Name, Command: st.what()}
		if rest == "" && err == nil {
			var stop bool
			if _, stop, err = flow.Poll(sc.Run, CancelStages); stop || err != nil {
				rest = stageCancelled
			}
		}
		if rest != "" {
			if res.Status = rest; err == nil {
				err = res.report(sc, 0)
			}
			v.Stages = append(v.Stages, res)
			continue
		}
		err = res.in(sc, st)
		v.Stages = append(v.Stages, res)
		switch {
		case errors.As(err, new(*executor.StopError)):
			rest = stageSkipped
		case err != nil:
			rest = stageCancelled
		case res.Status == stageFailed && !stages.GoOn:
			rest = stageSkipped
		}
	}
	v.OK = true
	for _, res := range v.Stages {
		v.OK = v.OK && (res.Status == stagePassed || res.Status == stageFixed)
	}
	return v, errors.Join(err, sc.Bind("validation", v))
}

// in has the stage run, in a scope of its own.
func (res *stageResult) in(sc *executor.Scope, st Stage) error {
	r, err := sc.Run.Part("stage " + st.Name)
	if err != nil {
		return err
	}
	own := &executor.Scope{Run: r, Task: sc.Task, State: sc.State}
	before := sc.State.Elapsed
	err = res.perform(own, st)
	res.Took = sc.State.Elapsed - before
	switch {
	case errors.As(err, new(*executor.StopError)):
		res.Status, res.Error = stageFailed, err.Error()
		return errors.Join(err, res.report(own, len(res.Fixes)))
	case err != nil:
		res.Status, res.Error = stageCancelled, err.Error()
		return err
	}
	return res.report(own, len(res.Fixes))
}

// perform runs the stage, and has a coordinator repair it where it has somebody to
// do it.
func (res *stageResult) perform(sc *executor.Scope, st Stage) error {
	p, err := res.try(sc, st)
	if err != nil || p == nil || st.Fix == "" && st.Repair == "" {
		return err
	}
	o := res.options(sc, st)
	if _, err := sc.Value("memory", &o.Memory); err != nil {
		return err
	}
	got, err := coordinator.Coordinate(sc, o, p, func(coordinator.Action) (*coordinator.Problem, error) { return res.try(sc, st) })
	res.coordinated(st, got)
	if err != nil || got.Solved {
		return err
	}
	res.Error = got.Reason
	return nil
}

// coordinated enters a coordinator's decisions, and the work of the agents that it
// picked.
func (res *stageResult) coordinated(st Stage, got coordinator.Result) {
	res.Add(got)
	for _, a := range got.Attempts {
		switch r := a.Repair; {
		case r == nil, st.Fix != fixCoordinate && a.Action.Replay == "": // was entered
		case r.Agent == "":
			res.Repair = st.Repair
		default:
			m := repair{Agent: r.Agent, Status: r.Status, Reason: r.Reason, Summary: r.Summary, Changed: len(r.Changed) > 0, Usage: stageUsage{In: r.Tokens, Cost: r.Cost}}
			res.Fixes = append(res.Fixes, m)
			res.Usage.add(m.Usage)
		}
	}
	if res.Status == stagePassed && len(res.Fixes) > 0 || res.Repair != "" && got.Solved {
		res.Status = stageFixed
	}
}

// options returns the stage's options for coordination: the command that may repair it, then its
// agent as often as it says.
func (res *stageResult) options(sc *executor.Scope, st Stage) coordinator.Options {
	most := max(st.Attempts, 0)
	most = cmp.Or(most, mendAttempts)
	o := coordinator.Moves(sc.Task)
	if st.Fix == fixCoordinate {
		o.Only, o.NoRules, o.Attempts = false, false, st.Attempts
		if st.Repair != "" {
			o.Strategy = coordinator.Strategy{{Run: st.Repair}}
		}
		return o
	}
	if st.Repair != "" {
		o.Strategy = append(o.Strategy, coordinator.Move{Run: st.Repair})
	}
	if st.Fix != "" {
		o.Strategy = append(o.Strategy, coordinator.Move{Agent: string(st.Fix), Times: most, Progress: true})
	}
	o.Show = func(p *coordinator.Problem, at *coordinator.Attempt) error {
		switch act := at.Action; {
		case act.Run != "":
			return sc.Note("stage %s: %s: %s; running %s", st.Name, res.Status, spelling.FirstLine(p.Message), st.Repair)
		case act.Agent != "":
			return res.report(sc, len(res.Fixes)+1)
		case o.NoRules || act.By == coordinator.Rule("strategy") || act.By == coordinator.Rule("progress"):
			return nil // the result of the stage says it
		}
		return coordinator.Announce(sc, at)
	}
	o.Repair = func(p *coordinator.Problem, at *coordinator.Attempt) (bool, error) {
		if at.Action.Run != "" {
			res.Repair = st.Repair
			return true, runRepair(sc, st)
		}
		m, err := repairStage(sc, st, p, len(res.Fixes)+1, most, at)
		if err = coordinator.Survived(sc.Task, err); err != nil {
			return false, err
		}
		res.Fixes = append(res.Fixes, m)
		res.Usage.add(m.Usage)
		return m.Status == executor.Done || m.Changed, nil
	}
	return o
}

// try runs the stage once. It returns no problem if it passes.
func (res *stageResult) try(sc *executor.Scope, st Stage) (*coordinator.Problem, error) {
	p, err := tryStage(sc, st)
	switch {
	case err != nil:
		return nil, err
	case p != nil:
		res.Status, res.Error, res.Output = stageFailed, p.Message, p.Output
		return p, nil
	}
	if res.Status = stagePassed; len(res.Fixes) > 0 || res.Repair != "" {
		res.Status = stageFixed
	}
	res.Error, res.Output = "", ""
	return nil, nil
}

// report reports how the stage stands; attempt is the one that begins, or how
// many there were.
func (res *stageResult) report(sc *executor.Scope, attempt int) error {
	text := fmt.Sprintf("stage %s: %s", res.Name, res.Status)
	if res.Error != "" {
		text += ": " + spelling.FirstLine(res.Error)
	}
	if res.Status == stageFailed && attempt > len(res.Fixes) {
		text += fmt.Sprintf("; attempt %d to fix it", attempt)
	}
	return sc.Run.Report(struct {
		Stage   string     `json:"stage"`
		Status  string     `json:"status"`
		Attempt int        `json:"attempt,omitempty"`
		Error   string     `json:"error,omitempty"`
		Usage   stageUsage `json:"usage,omitzero"`
	}{res.Name, res.Status, attempt, spelling.FirstLine(res.Error), res.Usage}, "%s", text)
}

// StagesOf are the stages that the task was given as the input stages, else what run_check finds to
// check in the project, repaired by the fixer that ships where the task may spawn
// it.
func StagesOf(sc *executor.Scope) (s Stages, err error) {
	return stagesOf(sc, func() (tools.Result, error) {
		reply, err := sc.Tool("run_check", nil)
		return reply.Result, err
	})
}

// PlannedStages are the lines about the stages that a task would have. look calls
// run_check without arguments.
func PlannedStages(t executor.Task, look func() (tools.Result, error)) (lines []string, err error) {
	sc := &executor.Scope{Task: &t, State: new(executor.State)}
	s, err := stagesOf(sc, func() (tools.Result, error) {
		res, err := look()
		for name, v := range res.Artifacts {
			err = errors.Join(err, sc.Bind(name, v))
		}
		return res, err
	})
	if err = errors.Join(err, s.Check()); err != nil {
		return nil, err
	}
	for _, st := range s.List {
		line := st.Name + ": " + st.what()
		if st.Repair != "" {
			line += ", repaired by " + st.Repair
		}
		if st.Fix != "" {
			line += ", fixed by " + string(st.Fix)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func stagesOf(sc *executor.Scope, look func() (tools.Result, error)) (s Stages, err error) {
	var auto string
	given, err := sc.Value("stages", &auto)
	if given && (err != nil || auto != "auto") {
		if _, err := sc.Value("stages", &s); err != nil {
			return s, fmt.Errorf("the stages cannot be read: %w", err)
		}
	}
	if auto == "auto" || !given || s.Test != "" && len(s.List) == 0 {
		if s.List, err = stagesFound(sc, look); err != nil {
			return s, err
		}
	}
	var stop any
	if given, err := sc.Value("stop_on_failure", &stop); given && err == nil {
		switch fmt.Sprint(stop) {
		case "true":
			s.GoOn = false
		case "false":
			s.GoOn = true
		default:
			return s, fmt.Errorf("stop_on_failure is %v; it is true or false", stop)
		}
	}
	return s, nil
}

// stagesFound asks the project.
func stagesFound(sc *executor.Scope, look func() (tools.Result, error)) ([]Stage, error) {
	if sc.Task.Mode == executor.ModePlan {
		return nil, errors.New("checks run the project's code, and a job that plans runs none; use --mode edits")
	}
	if !sc.Has("run_check") {
		return nil, fmt.Errorf("no stages are given, and agent %s has no tool run_check to look for some", sc.Task.Agent)
	}
	reply, err := look()
	if err != nil {
		return nil, err
	}
	var checks []struct{ Check, Tool, Command string }
	if _, err := sc.Value("checks", &checks); err != nil || len(checks) == 0 {
		return nil, fmt.Errorf("no stages are given, and none are found: %s", strings.TrimSpace(reply.Text))
	}
	fix := Fixer("")
	if coordinator.May(sc.Task, FixAgent) {
		fix = FixAgent
	}
	var out []Stage
	for _, c := range checks {
		st := Stage{Name: c.Check, Check: c.Tool, Fix: fix, shown: c.Command}
		if c.Tool == "run_check" {
			st.Args, _ = json.Marshal(args{"check": c.Check}) // a string
		}
		if c.Check == "format" && sc.Has("format_code") {
			st.Repair = "format_code"
		}
		if sc.Has(c.Tool) {
			out = append(out, st)
		}
	}
	return out, nil
}

// A Validation is the result of stages: the artifact "validation". It has all stages, whatever
// happened.
type Validation struct {
	OK     bool          `json:"ok"` // every stage passes
	Stages []stageResult `json:"stages"`
}

// A stageResult is the result of one stage.
type stageResult struct {
	Name    string        `json:"name"`
	Status  string        `json:"status"`
	Command string        `json:"command"`          // what was run
	Error   string        `json:"error,omitempty"`  // why it failed
	Output  string        `json:"output,omitempty"` // of its last failure: head and tail
	Repair  string        `json:"repair,omitempty"` // what was run to mend it, before any agent
	Fixes   []repair      `json:"fixes,omitempty"`  // attempts of agents, in order
	Took    time.Duration `json:"took_ns"`          // commands and fixers together
	Usage   stageUsage    `json:"usage,omitzero"`   // of the fixers

	coordinator.Record // of its coordinator
}

// A stageUsage is the usage of models.
type stageUsage struct {
	Turns int     `json:"turns,omitempty"`
	In    int     `json:"in,omitempty"`
	Out   int     `json:"out,omitempty"`
	Cost  float64 `json:"cost_usd,omitempty"`
}

func (u *stageUsage) add(o stageUsage) {
	u.Turns, u.In, u.Out, u.Cost = u.Turns+o.Turns, u.In+o.In, u.Out+o.Out, u.Cost+o.Cost
}

// What became of a stage.
const (
	stagePassed    = "passed"
	stageFixed     = "fixed"     // it failed, was repaired, and passes
	stageFailed    = "failed"    // see stageResult.Error
	stageSkipped   = "skipped"   // one before it has failed
	stageCancelled = "cancelled" // somebody asked to stop
)

// A repair is one attempt to fix a stage.
type repair struct {
	Agent   string     `json:"agent"`
	Status  string     `json:"status"` // of the agent: done, limit, stuck, failed
	Reason  string     `json:"reason,omitempty"`
	Summary string     `json:"summary,omitempty"`
	Changed bool       `json:"changed"` // files
	Usage   stageUsage `json:"usage,omitzero"`
}

// Headline sums up how the validation went.
func (v Validation) Headline() string {
	good := 0
	var bad []string
	cancelled := false
	for _, s := range v.Stages {
		switch s.Status {
		case stagePassed, stageFixed:
			good++
		case stageFailed:
			bad = append(bad, s.Name+" failed: "+spelling.FirstLine(s.Error))
		case stageCancelled:
			cancelled = true
		}
	}
	text := fmt.Sprintf("%d of %d stages pass", good, len(v.Stages))
	if cancelled {
		bad = append(bad, "the rest was cancelled")
	}
	if len(bad) > 0 {
		text += "; " + strings.Join(bad, "; ")
	}
	return text
}

// Table shows every stage, for people.
func (v Validation) Table() string {
	rows := make([][]string, len(v.Stages))
	var width [3]int
	for i, s := range v.Stages {
		what := ""
		switch {
		case len(s.Fixes) == 0 && s.Repair != "":
			what = "after " + s.Repair
		case len(s.Fixes) > 0:
			what = fmt.Sprintf("after %d", len(s.Fixes))
			if what += " attempts"; len(s.Fixes) == 1 {
				what = "after 1 attempt"
			}
		}
		if s.Took > 0 {
			what = strings.TrimPrefix(what+", "+s.Took.Round(10*time.Millisecond).String(), ", ")
		}
		if n := s.Usage.In + s.Usage.Out; n > 0 {
			what += fmt.Sprintf(", %d tokens", n)
		}
		rows[i] = []string{s.Name, s.Status, what, s.Command}
		for k := range width {
			width[k] = max(width[k], len([]rune(rows[i][k])))
		}
		if s.Error != "" {
			rows[i][3] += "\n    " + spelling.FirstLine(s.Error)
		}
	}
	var b strings.Builder
	for _, r := range rows {
		line := ""
		for k, w := range width {
			line += r[k] + strings.Repeat(" ", w-len([]rune(r[k]))+2)
		}
		b.WriteString(strings.TrimRight(line+r[3], " ") + "\n")
	}
	return b.String()
}
