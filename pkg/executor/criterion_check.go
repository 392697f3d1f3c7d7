package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
)

// shellTool is the tool that runs the command lines of checks.
const shellTool = "shell"

// checkTimeout bounds the command line of a check, in seconds.
const checkTimeout = 600

// errCheck is how a check is written.
var errCheck = errors.New(`write check: TOOL, check: {tool: TOOL, with: {…}} or check: {run: "COMMAND"}`)

// parseCheck reads the one form in which agents, pipelines and validations
// write a check: the name of a tool, {"tool": …, "with": {…}} or {"run": …}. Of
// the criterion that it returns only Check, With and Run are set.
func parseCheck(raw json.RawMessage) (c Criterion, err error) {
	if json.Unmarshal(raw, &c.Check) == nil {
		return c, nil
	}
	var object struct {
		Tool string          `json:"tool"`
		With json.RawMessage `json:"with"`
		Run  string          `json:"run"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	switch err := dec.Decode(&object); {
	case err != nil:
		return c, fmt.Errorf("check: %s; %w", strings.TrimPrefix(err.Error(), "json: "), errCheck)
	case (object.Tool != "") == (strings.TrimSpace(object.Run) != ""):
		return c, fmt.Errorf("check has either tool or run; %w", errCheck)
	case object.Run != "" && object.With != nil:
		return c, fmt.Errorf("with has the arguments of a tool; write those of a command into run; %w", errCheck)
	case object.With != nil && !bytes.HasPrefix(bytes.TrimSpace(object.With), []byte("{")):
		return c, fmt.Errorf("with is not an object of arguments; %w", errCheck)
	}
	return Criterion{Check: object.Tool, With: object.With, Run: object.Run}, nil
}

// criterionJSON is a Criterion as it is written in JSON, which is as agent files
// have it. Without With and Run it is what it was before these existed.
type criterionJSON struct {
	Signal    string          `json:"signal,omitempty"`
	Artifact  string          `json:"artifact,omitempty"`
	Where     json.RawMessage `json:"where,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Check     json.RawMessage `json:"check,omitempty"`
	IfMissing *Criterion      `json:"if_missing,omitempty"`
	All       []Criterion     `json:"all,omitempty"`
	Any       []Criterion     `json:"any,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (c Criterion) MarshalJSON() ([]byte, error) {
	var check any
	switch {
	case c.Run != "":
		check = map[string]string{"run": c.Run}
	case len(c.With) > 0:
		check = map[string]any{"tool": c.Check, "with": c.With}
	case c.Check != "":
		check = c.Check
	}
	j := criterionJSON{c.Signal, c.Artifact, c.Where, c.Tool, nil, c.IfMissing, c.All, c.Any}
	if check != nil {
		var err error
		if j.Check, err = json.Marshal(check); err != nil {
			return nil, fmt.Errorf("check %s: %w", c.Label(), err)
		}
	}
	return json.Marshal(j)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Criterion) UnmarshalJSON(b []byte) error {
	var j criterionJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	var check Criterion
	if len(j.Check) > 0 {
		var err error
		if check, err = parseCheck(j.Check); err != nil {
			return err
		}
	}
	*c = Criterion{Signal: j.Signal, Artifact: j.Artifact, Where: j.Where, Tool: j.Tool,
		Check: check.Check, With: check.With, Run: check.Run, IfMissing: j.IfMissing, All: j.All, Any: j.Any}
	return nil
}

// IsCheck reports whether c is a check: one that the executor itself runs.
func (c Criterion) IsCheck() bool { return c.Check != "" || c.Run != "" }

// Call returns the tool that the check c runs and its arguments: shell for a
// command line.
func (c Criterion) Call() (tool string, args json.RawMessage) {
	switch {
	case c.Run != "":
		args, err := json.Marshal(map[string]any{"command": c.Run, "timeout_s": checkTimeout})
		if err != nil {
			panic(err) // a string and a number
		}
		return shellTool, args
	case len(c.With) > 0:
		return c.Check, c.With
	}
	return c.Check, json.RawMessage("{}")
}

// Label names the check for people and models: the tool with its arguments, or
// the command line.
func (c Criterion) Label() string {
	switch {
	case c.Run != "":
		return c.Run
	case len(c.With) > 0:
		var b bytes.Buffer
		if json.Compact(&b, c.With) != nil {
			return c.Check
		}
		return c.Check + " " + b.String()
	}
	return c.Check
}

// An inconclusiveError is the error of a check that has neither passed nor
// failed. Missing reports that there was nothing to check when the job began and
// there is nothing now, for which a criterion may have an IfMissing.
type inconclusiveError struct {
	Missing bool
	Reason  string
}

func (e *inconclusiveError) Error() string { return e.Reason }

// judgeCheck judges a check by the error of running it.
func (c Criterion) judgeCheck(s *State, check func(Criterion) error) verdict {
	err := check(c)
	none := new(inconclusiveError)
	switch {
	case err == nil:
		return met("%s passed", c.Label())
	case !errors.As(err, &none):
		return unmet("%v", err)
	case none.Missing && c.IfMissing != nil:
		v := c.IfMissing.judge(s, check)
		v.Unchecked = append([]string{none.Reason}, v.Unchecked...)
		if len(v.Unmet) == 0 {
			v.Met = []string{none.Reason}
		}
		return v
	}
	return verdict{Unmet: []string{none.Reason}, Unchecked: []string{none.Reason}}
}

// hopeless reports whether nothing but checks that cannot be judged keeps the
// criterion from holding: no work of the model changes that.
func (v verdict) hopeless() bool {
	return len(v.Unmet) > 0 && !slices.ContainsFunc(v.Unmet, func(u string) bool { return !slices.Contains(v.Unchecked, u) })
}

// WhyInconclusive returns why the reply to a check is neither a pass nor a fault that
// a change of the workspace could repair, "" if it is one of them.
func (r *ToolResult) WhyInconclusive() tools.Inconclusive {
	if r.Inconclusive == "" && r.Failed && strings.HasPrefix(r.Text, "not run: ") {
		return tools.CannotCheck // a rule, a person or the mode forbids it
	}
	return r.Inconclusive
}

// checkError is what became of a check: nil if it passed.
func (t *Task) checkError(c Criterion, reply *ToolResult) error {
	words := reply.Summary
	if words == "" {
		words = spelling.FirstLine(reply.Text)
	}
	switch _, lacked := t.NothingToCheck[c.Label()]; {
	case reply.WhyInconclusive() == tools.NothingToCheck && lacked:
		return &inconclusiveError{Missing: true, Reason: words}
	case reply.WhyInconclusive() == tools.NothingToCheck:
		// There was something when the job began, or nobody looked: that it is
		// gone proves nothing, and the model may bring it back.
		return fmt.Errorf("check %s: %s", c.Label(), reply.Text)
	case reply.WhyInconclusive() != "":
		return &inconclusiveError{Reason: fmt.Sprintf("check %s: %s", c.Label(), spelling.FirstLine(reply.Text))}
	case reply.Failed:
		return fmt.Errorf("check %s: %s", c.Label(), reply.Text)
	}
	return nil
}
