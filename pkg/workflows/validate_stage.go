package workflows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// Stages are the requirements of a project, in order. As JSON they are such an
// object, or only the list.
type Stages struct {
	List []Stage `json:"stages"`
	// Test is the command line that runs the project's tests, for the tool
	// run_tests. Alone it goes with the stages that are found.
	Test string `json:"test"`
	// GoOn runs the stages after one that has failed, instead of skipping them.
	GoOn bool `json:"-"`
}

// A Stage is one thing that must hold: that a command ends with exit code 0, or
// that a tool succeeds.
type Stage struct {
	Name  string          `json:"name"`
	Run   string          `json:"run,omitempty"`   // a command line, for the tool shell
	Check string          `json:"check,omitempty"` // or a tool; in JSON also {"tool": …, "with": …} or {"run": …}
	Args  json.RawMessage `json:"args,omitempty"`  // of the check
	// Repair fixes a failure without a model, tried once before any agent is
	// asked: a command where the stage runs one, a tool where it is a check.
	Repair string `json:"repair,omitempty"`
	// Fix is the agent that mends what fails, "" for nobody. Whatever its file
	// asks for, it gets no shell, no network and publishes nothing.
	Fix      Fixer `json:"fix,omitempty"`
	Attempts int   `json:"attempts,omitempty"` // of fixing; default 3
	Timeout  span  `json:"timeout,omitempty"`  // of a command; default 10 minutes

	shown string // what a check runs, for people
}

// A Fixer is an agent's name. As JSON it is that, or true for FixAgent.
type Fixer string

// FixAgent is the fixer that ships.
const FixAgent = "validation_fixer"

// fixCoordinate, in place of an agent, has a coordinator pick one by the problem.
const fixCoordinate Fixer = "coordinate"

// UnmarshalJSON implements json.Unmarshaler.
func (f *Fixer) UnmarshalJSON(b []byte) error {
	var on bool
	if json.Unmarshal(b, &on) == nil {
		if *f = ""; on {
			*f = FixAgent
		}
		return nil
	}
	if json.Unmarshal(b, (*string)(f)) != nil {
		return fmt.Errorf("fix is %s; it is true, false or the name of an agent", b)
	}
	return nil
}

// A span is a duration, written as in 90s or 10m.
type span time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (s *span) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		return fmt.Errorf("timeout is %s; write it like 90s or 10m", b)
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return fmt.Errorf("timeout is %q; write it like 90s or 10m", text)
	}
	*s = span(d)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (s span) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).String()) }

// UnmarshalJSON implements json.Unmarshaler. What it does not know is an error.
func (s *Stages) UnmarshalJSON(b []byte) error {
	whole := struct {
		List []Stage `json:"stages"`
		Test string  `json:"test"`
		Stop *bool   `json:"stop_on_failure"`
	}{}
	into := any(&whole)
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) {
		into = &whole.List
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	s.List, s.Test, s.GoOn = whole.List, strings.TrimSpace(whole.Test), whole.Stop != nil && !*whole.Stop
	return nil
}

// MarshalJSON implements json.Marshaler.
func (s Stages) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		List []Stage `json:"stages"`
		Test string  `json:"test,omitempty"`
		Stop bool    `json:"stop_on_failure"`
	}{s.List, s.Test, !s.GoOn})
}

// UnmarshalJSON implements json.Unmarshaler. A check has the form of those of
// agents, or is a tool's name with args beside it.
func (st *Stage) UnmarshalJSON(b []byte) error {
	type plain Stage
	read := struct {
		*plain
		Check json.RawMessage `json:"check"`
	}{plain: (*plain)(st)}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&read); err != nil {
		return err
	}
	if len(read.Check) == 0 {
		return nil
	}
	var c executor.Criterion
	err := json.Unmarshal(fmt.Appendf(nil, `{"check":%s}`, read.Check), &c)
	switch {
	case err != nil:
		return err
	case c.Check == "" && c.Run == "":
		return nil
	case c.Run != "" && st.Run != "", c.With != nil && st.Args != nil:
		return fmt.Errorf("stage %q says twice what it runs", st.Name)
	}
	st.Check = c.Check
	if c.Run != "" {
		st.Run = c.Run
	}
	if c.With != nil {
		st.Args = c.With
	}
	return nil
}

// TestCommand is the command line that runs the project's tests: Test, else
// that of a stage called tests or test, "" if there is neither.
func (s Stages) TestCommand() string {
	if s.Test != "" {
		return s.Test
	}
	for _, st := range s.List {
		if st.Name == "tests" || st.Name == "test" {
			return strings.TrimSpace(st.Run)
		}
	}
	return ""
}

const (
	mostStages   = 100
	mostAttempts = 20
	mendAttempts = 3
	stageTimeout = 10 * time.Minute
	maxTimeout   = time.Hour // that of the tool shell
)

var stageName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9 ._:/-]{0,63}$`)

// Check states all that is wrong with the stages.
func (s Stages) Check() error {
	var errs []error
	if len(s.List) == 0 && s.Test == "" {
		errs = append(errs, errors.New("there are no stages; write for example [{\"name\": \"lint\", \"run\": \"make lint\"}]"))
	}
	if len(s.List) > mostStages {
		errs = append(errs, fmt.Errorf("there are %d stages; %d are the most", len(s.List), mostStages))
	}
	seen := map[string]bool{}
	for i, st := range s.List {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("stage %d, %q: %s", i+1, st.Name, fmt.Sprintf(format, args...)))
		}
		switch {
		case !stageName.MatchString(st.Name):
			bad("a name has letters, digits, blanks and ._:/-, 64 at most")
		case seen[st.Name]:
			bad("another has this name")
		}
		seen[st.Name] = true
		run, check := strings.TrimSpace(st.Run) != "", st.Check != ""
		switch {
		case run == check:
			bad("it has either run, a command, or check, a tool")
		case run && len(st.Args) > 0:
			bad("args are those of a check; write those of a command into run")
		case check && st.Timeout > 0:
			bad("a check has the time limit of its tool; timeout is for run")
		case time.Duration(st.Timeout) > maxTimeout:
			bad("timeout is more than %s", maxTimeout)
		}
		if check && st.Repair != "" && st.Fix == fixCoordinate {
			bad("repair of a check goes with an agent as fix, or with none")
		}
		if st.Attempts < 0 || st.Attempts > mostAttempts {
			bad("attempts is %d; it is from 1 to %d, and left out %d", st.Attempts, mostAttempts, mendAttempts)
		}
		if st.Attempts > 0 && st.Fix == "" {
			bad("attempts are those of fixing, and fix is not set")
		}
	}
	return errors.Join(errs...)
}

// suits states what of the stages the task of sc cannot do.
func (s Stages) suits(sc *executor.Scope) error {
	var may []string
	if sp := sc.Task.Spawn; sp != nil {
		may = sp.Allowed
	}
	var errs []error
	for _, st := range s.List {
		tool := st.tool()
		switch {
		case !sc.Has(tool) && sc.Task.Mode == executor.ModePlan:
			errs = append(errs, fmt.Errorf("stage %s: a job that plans runs no commands; use --mode edits", st.Name))
		case !sc.Has(tool):
			errs = append(errs, fmt.Errorf("stage %s: agent %s has no tool %s, or this machine lacks what it needs", st.Name, sc.Task.Agent, tool))
		case st.Check != "" && sc.CheckFault(st.Check, st.Args) != "":
			errs = append(errs, fmt.Errorf("stage %s: %s", st.Name, sc.CheckFault(st.Check, st.Args)))
		case st.Repair != "" && st.Check != "" && !sc.Has(st.Repair):
			errs = append(errs, fmt.Errorf("stage %s: repair: agent %s has no tool %s", st.Name, sc.Task.Agent, st.Repair))
		case st.Fix == fixCoordinate && coordinator.May(sc.Task, coordinator.Analyst):
		case st.Fix != "" && !coordinator.May(sc.Task, string(st.Fix)):
			errs = append(errs, fmt.Errorf("stage %s: fix: agent %s may not spawn %s%s", st.Name, sc.Task.Agent, st.Fix, spelling.DidYouMean(string(st.Fix), may)))
		}
	}
	return errors.Join(errs...)
}

func (st Stage) tool() string {
	if st.Check != "" {
		return st.Check
	}
	return "shell"
}

// args returns the tool's arguments.
func (st Stage) args() any {
	if st.Check != "" {
		if len(st.Args) == 0 {
			return struct{}{}
		}
		return st.Args
	}
	d := stageTimeout
	if st.Timeout > 0 {
		d = time.Duration(st.Timeout)
	}
	return args{"command": st.Run, "timeout_s": max(1, int(d.Seconds()))}
}

// what the stage runs, for people.
func (st Stage) what() string {
	switch {
	case st.shown != "":
		return st.shown
	case st.Check == "":
		return st.Run
	case len(st.Args) > 0:
		return st.Check + " " + string(st.Args)
	}
	return st.Check
}
