package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
)

// A Criterion is a condition on a State that can say why it does not hold.
// One of Signal, Artifact, Tool, Check, Run, All and Any is set; the zero
// Criterion holds as soon as the model stops calling tools. In JSON it is
// written as in agent files: see docs/agents.md for Check, With and Run.
type Criterion struct {
	Signal   string          // the model called finish, or said the word on a line of its own
	Artifact string          // this artifact exists …
	Where    json.RawMessage // … and satisfies this JSON Schema
	Tool     string          // this tool was called with success at least once
	Check    string          // this tool, run by the executor itself, succeeds …
	With     json.RawMessage // … with these arguments
	Run      string          // this command line, run by the executor itself, ends with exit code 0
	// IfMissing goes with Check. It must hold instead where there was nothing to
	// check when the job began, and still is nothing: tests in a project without
	// any. Nil: the run ends, since no work of the model makes the check pass.
	IfMissing *Criterion
	// When narrows the rest to runs of which it holds: an artifact or a call. It
	// decides by what was done, without a check. Any other kind always holds, so
	// that the rest is never left out by mistake.
	When *Criterion
	All  []Criterion
	Any  []Criterion
}

// changedFiles is the condition that a file was changed.
const changedFiles = "diff"

// conditional reports whether a part of c applies only to runs that change a file.
func (c Criterion) conditional() bool {
	return c.When != nil && c.When.Artifact == changedFiles || slices.ContainsFunc(c.parts(), Criterion.conditional)
}

// unconditional is c without the parts that do not apply to every run.
func (c Criterion) unconditional() Criterion {
	if c.When != nil {
		return Criterion{}
	}
	strip := func(list []Criterion) (out []Criterion) {
		for _, part := range list {
			if part = part.unconditional(); !part.Zero() {
				out = append(out, part)
			}
		}
		return out
	}
	c.All, c.Any = strip(c.All), strip(c.Any)
	return c
}

// Zero reports whether c is the zero Criterion.
func (c Criterion) Zero() bool { return reflect.ValueOf(c).IsZero() }

// A criterionKind is a kind of condition. A Criterion has exactly one.
type criterionKind struct {
	key    string   // in JSON and agent files
	fields []string // of Criterion: its own, and those that go with it
	set    func(Criterion) bool
}

// criterionKinds is the list that everything made of criteria is checked against: JSON,
// words, verdicts (judge, below), agent files (criterion in pkg/agents/parse.go), lint, and
// the schema (criterionSchema in pkg/agents/schema_test.go). See criteriontest.
var criterionKinds = []criterionKind{
	{"signal", []string{"Signal"}, func(c Criterion) bool { return c.Signal != "" }},
	{"artifact", []string{"Artifact", "Where"}, func(c Criterion) bool { return c.Artifact != "" }},
	{"tool", []string{"Tool"}, func(c Criterion) bool { return c.Tool != "" }},
	{"check", []string{"Check", "With", "Run", "IfMissing"}, Criterion.IsCheck},
	{"all", []string{"All"}, func(c Criterion) bool { return c.All != nil }},
	{"any", []string{"Any"}, func(c Criterion) bool { return c.Any != nil }},
}

// anyKind are the fields that go with each kind.
var anyKind = []string{"When"}

// Kinds lists, by their keys in JSON, the conditions of c: one, or none for the zero
// Criterion. More than one is a mistake of its author.
func (c Criterion) Kinds() (keys []string) {
	for _, k := range criterionKinds {
		if k.set(c) {
			keys = append(keys, k.key)
		}
	}
	return keys
}

// fault reports what of c is in no row of criterionKinds, and what goes with no
// condition. Such a criterion is never held to be met: what is not understood may be what
// must hold.
func (c Criterion) fault() error {
	if err := c.unwritable(); err != nil {
		return err
	}
	if kinds := c.Kinds(); len(kinds) > 1 {
		return fmt.Errorf("one condition holds %s; put them into all: [{…}, {…}]", strings.Join(kinds, " and "))
	}
	if !c.Zero() && len(c.Kinds()) == 0 {
		return errors.New("the condition lacks what must hold: give it signal, artifact, tool, check, all or any")
	}
	return nil
}

// unwritable reports the part of c that JSON could not represent. All else is written,
// faults too, so that a list of agents shows a faulty one unchanged.
func (c Criterion) unwritable() error {
	known := slices.Clone(anyKind)
	for _, k := range criterionKinds {
		known = append(known, k.fields...)
	}
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; !v.Field(i).IsZero() && !slices.Contains(known, name) {
			return fmt.Errorf("the condition has %s, which this version of adroit does not know", name)
		}
	}
	switch {
	case c.Check != "" && c.Run != "":
		return errors.New("check has either tool or run")
	case len(c.With) > 0 && c.Check == "":
		return errors.New("the condition lacks what must hold: with has the arguments of a check, which it does not have")
	}
	return nil
}

func (c Criterion) parts() []Criterion { return slices.Concat(c.All, c.Any) }

func (c Criterion) checks() bool {
	return c.IsCheck() || slices.ContainsFunc(c.parts(), Criterion.checks)
}

// Signals lists the words that c listens for, and Checks the tools it runs;
// each once, in order of appearance.
func (c Criterion) Signals() []string {
	return c.collect(func(c Criterion) string { return c.Signal })
}

// Tools lists the tools that c needs: those that must have been called and those
// that are checks.
func (c Criterion) Tools() []string {
	return append(c.collect(func(c Criterion) string { return c.Tool }), c.Checks()...)
}

// Checks lists the tools that c has the executor run, also in place of checks
// that have nothing to check.
func (c Criterion) Checks() []string {
	return c.collect(func(c Criterion) string {
		tool, _ := c.Call()
		return tool
	})
}

// Artifacts lists the artifacts that c cannot hold without.
func (c Criterion) Artifacts() []string {
	return c.unconditional().collect(func(c Criterion) string { return c.Artifact })
}

func (c Criterion) collect(f func(Criterion) string) []string {
	var out []string
	if v := f(c); v != "" {
		out = append(out, v)
	}
	parts := c.parts()
	if c.IfMissing != nil {
		parts = append(parts, *c.IfMissing)
	}
	for _, part := range parts {
		for _, v := range part.collect(f) {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// Describe states in one line each what must hold, for prompts and listings.
func (c Criterion) Describe() []string {
	if w := c.When; w != nil {
		rest := c
		rest.When = nil
		return []string{"if " + strings.Join(w.Describe(), " and ") + ": " + strings.Join(rest.Describe(), "; ")}
	}
	switch {
	case c.Signal != "":
		return []string{"you call finish, or say " + c.Signal + " on a line of its own"}
	case c.Artifact == "diff":
		return []string{"a file was changed"}
	case c.Artifact != "" && len(c.Where) > 0:
		return []string{fmt.Sprintf("artifact %q exists and satisfies %s", c.Artifact, c.Where)}
	case c.Artifact != "":
		return []string{fmt.Sprintf("artifact %q exists", c.Artifact)}
	case c.Tool != "":
		return []string{c.Tool + " was called with success"}
	case c.IsCheck():
		return []string{c.Label() + " passes; it is run for you when all else holds"}
	case c.All != nil:
		var out []string
		for _, part := range c.All {
			out = append(out, part.Describe()...)
		}
		return out
	case c.Any != nil:
		var out []string
		for _, part := range c.Any {
			out = append(out, strings.Join(part.Describe(), " and "))
		}
		return []string{"one of: " + strings.Join(out, "; or ")}
	case !c.Zero():
		return []string{"a condition that this version of adroit does not know"}
	}
	return nil
}

// shellTool is the tool that runs the command lines of checks.
const shellTool = "shell"

// checkTimeout bounds the command line of a check, in seconds.
const checkTimeout = 600

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

// errCheck explains the syntax of a check.
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
	var typ *json.UnmarshalTypeError
	switch err := dec.Decode(&object); {
	case errors.As(err, &typ):
		return c, fmt.Errorf("%s cannot be %s; %w", strings.TrimSuffix("check."+typ.Field, "."), typ.Value, errCheck)
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
// have it. Without With and Run it is as before these existed.
type criterionJSON struct {
	Signal    string          `json:"signal,omitempty"`
	Artifact  string          `json:"artifact,omitempty"`
	Where     json.RawMessage `json:"where,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Check     json.RawMessage `json:"check,omitempty"`
	IfMissing *Criterion      `json:"if_missing,omitempty"`
	When      *Criterion      `json:"when,omitempty"`
	All       []Criterion     `json:"all,omitzero"` // empty ones are faults, and stay
	Any       []Criterion     `json:"any,omitzero"`
}

// MarshalJSON implements [json.Marshaler].
func (c Criterion) MarshalJSON() ([]byte, error) {
	if err := c.unwritable(); err != nil {
		return nil, err
	}
	var check any
	switch {
	case c.Run != "":
		check = map[string]string{"run": c.Run}
	case len(c.With) > 0:
		check = map[string]any{"tool": c.Check, "with": c.With}
	case c.Check != "":
		check = c.Check
	}
	j := criterionJSON{c.Signal, c.Artifact, c.Where, c.Tool, nil, c.IfMissing, c.When, c.All, c.Any}
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
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields() // what is not understood may be what must hold
	if err := dec.Decode(&j); err != nil {
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
		Check: check.Check, With: check.With, Run: check.Run, IfMissing: j.IfMissing, When: j.When, All: j.All, Any: j.Any}
	return nil
}

// A verdict reports of each part of a criterion whether it holds, in words fit
// for the model and for people. Unchecked has the checks that neither passed
// nor failed; checks that nothing is accepted for are in Unmet, too.
type verdict struct{ Met, Unmet, Unchecked []string }

func (v *verdict) add(w verdict) {
	v.Met = append(v.Met, w.Met...)
	v.Unmet = append(v.Unmet, w.Unmet...)
	v.Unchecked = append(v.Unchecked, w.Unchecked...)
}

func met(format string, args ...any) verdict {
	return verdict{Met: []string{fmt.Sprintf(format, args...)}}
}

func unmet(format string, args ...any) verdict {
	return verdict{Unmet: []string{fmt.Sprintf(format, args...)}}
}

// onlyInconclusive reports whether only checks that cannot be judged keep the criterion
// from being met: no work of the model changes that.
func (v verdict) onlyInconclusive() bool {
	return len(v.Unmet) > 0 && !slices.ContainsFunc(v.Unmet, func(u string) bool { return !slices.Contains(v.Unchecked, u) })
}

// An inconclusiveError is the error of a check that has neither passed nor
// failed. Missing reports that there was nothing to check when the job began and
// there is nothing now, for which a criterion may have an IfMissing.
type inconclusiveError struct {
	Missing bool
	Reason  string
}

func (e *inconclusiveError) Error() string { return e.Reason }

// Unmet returns nil if c holds of s, or else an error fit to show the model.
// It calls check with each part that is a check, and only if nothing else is
// amiss.
func (c Criterion) Unmet(s *State, check func(Criterion) error) error {
	v := c.judge(s, check)
	if len(v.Unmet) == 0 {
		return nil
	}
	return errors.New(strings.Join(v.Unmet, "\n"))
}

// judge is Unmet with the parts that hold.
func (c Criterion) judge(s *State, check func(Criterion) error) verdict {
	if err := c.fault(); err != nil {
		return unjudged(err.Error())
	}
	if c.When != nil && !c.When.applies(s) {
		return verdict{}
	}
	switch {
	case c.Signal != "":
		if s.planOnly && s.signalOptional {
			return verdict{} // a plan has nothing else to show
		}
		if s.Claim == nil || s.Claim.Word != c.Signal && s.Claim.Word != finish {
			if s.finishOffered {
				return unmet("call finish when you are done")
			}
			if s.noFinish {
				return unmet("say %s on a line of its own when you are done", c.Signal)
			}
			return unmet("say %s on a line of its own, or call finish, when you are done", c.Signal)
		}
		if s.Claim.Word == finish {
			return met("finish called")
		}
		return met("%s said", c.Signal)
	case c.Artifact != "":
		return c.artifact(s)
	case c.Tool != "":
		if s.called(c.Tool) == 0 {
			return unmet("%s has not been called with success", c.Tool)
		}
		return met("%s called", c.Tool)
	case c.IsCheck():
		return c.judgeCheck(s, check)
	case c.All != nil:
		return c.all(s, check)
	case c.Any != nil:
		return c.any(s, check)
	case !c.Zero():
		return unjudged(strings.Join(c.Kinds(), " and ") + ": this version of adroit cannot judge such a condition")
	}
	return verdict{}
}

// unjudged is the verdict on a criterion that cannot be judged: it is never met, and no
// work of the model changes that.
func unjudged(why string) verdict { return verdict{Unmet: []string{why}, Unchecked: []string{why}} }

// applies reports whether c, a condition, holds of s: if that cannot be said, it does.
func (c Criterion) applies(s *State) bool {
	if c.Artifact == "" && c.Tool == "" || c.Signal != "" || c.IsCheck() || c.All != nil || c.Any != nil {
		return true
	}
	if c.Artifact == changedFiles && (changed(s.Value(changedFiles)) || c.uncertain(s) != "") {
		return true
	}
	v := c.judge(s, func(Criterion) error { return nil })
	return len(v.Unmet) == 0 && (c.Artifact != changedFiles || changed(s.Value(changedFiles)))
}

func (c Criterion) artifact(s *State) verdict {
	v := s.Value(c.Artifact)
	nothing := c.Artifact == "diff" && s.plain && !changed(v) && c.uncertain(s) == ""
	if v == nil && nothing {
		return unmet("no file has been changed")
	}
	if by := s.toolsByArtifact[c.Artifact]; v == nil && by != "" && c.Artifact != changedFiles {
		return unmet("%s has not produced %q%s", by, c.Artifact, c.uncertain(s))
	}
	if v == nil {
		return unmet("artifact %q has not been produced%s", c.Artifact, c.uncertain(s))
	}
	if len(c.Where) > 0 {
		schema, err := schema.Compile(c.Where)
		if err != nil {
			return unmet("artifact %q: its schema cannot be used: %v", c.Artifact, err)
		}
		if faults := schema.Validate(v); len(faults) > 0 {
			if nothing {
				return unmet("no file has been changed")
			}
			var w verdict
			for _, f := range faults {
				w.add(unmet("artifact %q: %s%s", c.Artifact, f, c.uncertain(s)))
			}
			return w
		}
	}
	return met("%s produced", c.Artifact)
}

// changed reports whether the artifact diff has a change.
func changed(diff json.RawMessage) bool {
	var text string
	return diff != nil && (json.Unmarshal(diff, &text) != nil || text != "")
}

// uncertain states why changes that are there do not count.
func (c Criterion) uncertain(s *State) string {
	var paths []string
	if c.Artifact != "diff" || json.Unmarshal(s.Value(turn.UncertainChanges), &paths) != nil || len(paths) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s changed while a command ran, which does not show who changed it, and does not count: make changes with the tools for files, or with commands at sandbox level full or bubblewrap", spelling.List(paths, 5))
}

// all judges the cheap parts first: checks cost time and are run only when
// they are all that is left.
func (c Criterion) all(s *State, check func(Criterion) error) verdict {
	var v verdict
	wordless := s.signalOptional && slices.ContainsFunc(c.All, Criterion.evidence)
	for _, part := range c.All {
		if !part.checks() && (!wordless || part.Signal == "") {
			v.add(part.judge(s, check))
		}
	}
	if len(v.Unmet) > 0 {
		return v
	}
	for _, part := range c.All {
		if part.checks() {
			v.add(part.judge(s, check))
		}
	}
	return v
}

// evidence reports whether c holds by what was made or proved, whatever the model says. That a
// tool was called shows nothing: the word beside it may be a verdict.
func (c Criterion) evidence() bool {
	return len(c.Signals()) == 0 && (len(c.Artifacts()) > 0 || c.checks())
}

func (c Criterion) any(s *State, check func(Criterion) error) verdict {
	var lacks []string
	inconclusive := len(c.Any) > 0
	for _, part := range c.Any {
		v := part.judge(s, check)
		if len(v.Unmet) == 0 {
			return v
		}
		inconclusive = inconclusive && v.onlyInconclusive()
		lacks = append(lacks, strings.Join(v.Unmet, " and "))
	}
	v := unmet("one of these must hold: %s", strings.Join(lacks, "; or "))
	if inconclusive {
		v.Unchecked = v.Unmet
	}
	return v
}

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

// lacksAction reports whether an artifact or a call is missing for c, so that no answer
// in words can meet it. Whether a check would pass is not asked.
func (c Criterion) lacksAction(s *State) bool {
	lacks := func(p Criterion) bool { return p.lacksAction(s) }
	switch {
	case c.Artifact != "":
		return s.Value(c.Artifact) == nil
	case c.Tool != "":
		return s.called(c.Tool) == 0
	case c.All != nil:
		return slices.ContainsFunc(c.All, lacks)
	case c.Any != nil:
		return !slices.ContainsFunc(c.Any, func(p Criterion) bool { return !p.lacksAction(s) })
	}
	return false
}
