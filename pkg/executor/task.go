package executor

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/internal/executor/toolcall"
	"github.com/adroit-run/adroit/internal/llm/schema"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/price"
	"github.com/adroit-run/adroit/pkg/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Task is everything the loop needs, by value: it is journaled once, so
// that editing an agent never changes a run in flight. Its groups are one object
// in JSON, in this order: the digests of recorded inputs depend on it.
type Task struct {
	Instructions
	Work
	Permissions
	Options llm.Options `json:"options,omitzero"`
	taskModels
	Output json.RawMessage `json:"output,omitempty"` // JSON Schema of the final answer, for typed agents
	Inputs
	ShortenedTools []ShortenedTool `json:"fitted,omitempty"`   // tools that are too large for the window
	CallMode       toolcall.Mode   `json:"calling,omitempty"`  // empty is toolcall.Auto
	Spawn          *SpawnLimits    `json:"spawning,omitempty"` // the sub-agents that the task may have; nil is none
	location
	// Revision is how the loop talks to the model: a job keeps the one that it
	// began with, so that its journal replays. See [stepio.Revision].
	Revision int `json:"revision,omitempty"`

	turn turnTools
	part string // of the run that the task leads, as in "2."; "" for a sub-agent and a branch
	// Messages has the loop read messages: see [Message]. It is not pinned; a
	// sub-agent reads none.
	Messages bool `json:"-"`
}

// Instructions are the agent, its model and what they are asked.
type Instructions struct {
	Agent  string `json:"agent,omitempty"`
	Model  string `json:"model"` // provider/model
	System string `json:"system,omitempty"`
	Prompt string `json:"prompt"`
}

// Work is what the model may use, and when it is done.
type Work struct {
	Tools  []Tool    `json:"tools,omitempty"`
	Checks []Tool    `json:"checks,omitempty"` // tools that only criteria run
	Done   Criterion `json:"done,omitzero"`
	Limits Limits    `json:"limits,omitzero"`
}

// Permissions decide which tool calls run, and who is asked.
type Permissions struct {
	Mode     Mode          `json:"mode,omitempty"` // empty is ModeEdits
	Rules    []permit.Rule `json:"rules,omitempty"`
	Approve  Approve       `json:"approve,omitempty"`
	Patience time.Duration `json:"patience,omitempty"` // how long an approval is awaited; zero waits for ever
}

// taskModels are what the task's models cost, which ones stand in for them, and what a
// request to them may hold.
type taskModels struct {
	Budget    *stepio.Budget `json:"budget,omitempty"`
	Price     price.Price    `json:"price,omitzero"`
	Prices    price.Table    `json:"prices,omitempty"`    // of the other models that it names
	Fallbacks []Fallback     `json:"fallbacks,omitempty"` // for when Model does not answer
	Hedge     time.Duration  `json:"hedge_ns,omitempty"`  // see Route
	Think     *stepio.Think  `json:"think,omitempty"`     // for tools that ask a model
}

// Inputs are what the task begins with.
type Inputs struct {
	// Artifacts are there from the start. They stay with the task rather than
	// the state, which is written every turn.
	Artifacts map[string]json.RawMessage `json:"given,omitempty"`
	projectInput
	// Test is the command line that runs the project's tests, if one was
	// configured: tools with test_command in Uses are given it.
	Test string `json:"test,omitempty"`
	// NothingToCheck lists checks of Done, by label, for which the workspace had
	// nothing when the job began, as in "not tested: no tests found".
	NothingToCheck map[string]string `json:"lacking,omitempty"`
	Taint          tools.Taint       `json:"taint,omitempty"` // of the prompt and the artifacts
	// Images go with Prompt, whose text names them.
	Images []llm.Image `json:"images,omitempty"`
	// History follows the prompt: the conversation of another job, see [stepio.Branch].
	History []llm.Message `json:"history,omitempty"`
	// Problems are the types, detectors and strategies that users have added to what
	// coordinators know.
	Problems json.RawMessage `json:"problems,omitempty"`
	// Memory is what the task recalls of earlier jobs: project, user, off; empty is
	// nothing. Recalled are facts, quoted, as Prompt has them: what other jobs remember
	// meanwhile does not change it.
	Memory   string   `json:"memory,omitempty"`
	Recalled []string `json:"recalled,omitempty"`
}

// projectInput is what the workspace says about itself.
type projectInput struct {
	Project *stepio.Project `json:"project,omitempty"`
}

// location is where the task works.
type location struct {
	// Dir is the workspace. If it is the worktree of a sub-agent, At is its name
	// and Home the directory of the job.
	Dir        string `json:"dir,omitempty"`
	At         string `json:"at,omitempty"`
	Home       string `json:"home,omitempty"`
	ForceModel bool   `json:"force,omitempty"` // sub-agents use Model, too
}

// value gives an artifact that the run has produced or was given.
func (t *Task) value(s *State, name string) json.RawMessage {
	if v := s.Value(name); v != nil {
		return v
	}
	return t.Artifacts[name]
}

// A Tool is what a pinned task knows of a tool: what the model is shown and
// what decides about order, offers and approval. The body stays where the
// work is done.
type Tool struct {
	llm.ToolSpec
	Needs    tools.Caps   `json:"needs,omitempty"`
	Effect   tools.Effect `json:"effect,omitempty"` // as declared; "" follows from Needs
	Consumes []string     `json:"consumes,omitempty"`
	Uses     []string     `json:"uses,omitempty"`
	Produces []string     `json:"produces,omitempty"`

	Proves     string   `json:"proves,omitempty"` // see tools.Metadata
	ProvesWith []string `json:"proves_with,omitempty"`
}

// changesFiles reports whether changing files is all that the tool does.
func (t Tool) changesFiles() bool { return t.Needs&^tools.Read == tools.Write }

// edits reports whether the task changes files by tools, which quote their text.
func (t *Task) edits() bool {
	return t.Revision >= 3 && slices.ContainsFunc(t.Tools, Tool.changesFiles)
}

// A ShortenedTool is a tool that a task describes in short, or not at all,
// because its window is small.
type ShortenedTool struct {
	Tool    string `json:"tool"`
	Removed bool   `json:"out,omitempty"`
	Why     string `json:"why"`
}

// Short is the tool described in a line and by a schema without words, or as it is
// if that is no longer.
func (t Tool) Short(line string) (Tool, error) {
	input, err := schema.Bare(t.Input)
	if err != nil {
		return t, fmt.Errorf("tool %s: shortening its schema: %w", t.Name, err)
	}
	if len(line)+len(input) >= len(t.Description)+len(t.Input) {
		return t, nil
	}
	t.Description, t.Input, t.Brief = line, input, true
	return t, nil
}

// Limits bound a run. A zero field means its default; -1 means no bound.
type Limits struct {
	Turns   int            `json:"turns,omitempty"`    // model calls; default 50
	Tokens  int            `json:"tokens,omitempty"`   // in and out together; default 2,000,000
	CostUSD float64        `json:"cost_usd,omitempty"` // default none; needs Task.Price
	Time    time.Duration  `json:"time,omitempty"`     // spent in steps, waiting for people not counted; default one hour
	Calls   map[string]int `json:"calls,omitempty"`    // of a tool, by its name; default none
	Rejects int            `json:"rejects,omitempty"`  // how often the model may claim to be done when it is not; default 5
}

// Or gives l with its zero fields taken from d.
func (l Limits) Or(d Limits) Limits {
	if l.Turns == 0 {
		l.Turns = d.Turns
	}
	if l.Tokens == 0 {
		l.Tokens = d.Tokens
	}
	if l.CostUSD == 0 {
		l.CostUSD = d.CostUSD
	}
	if l.Time == 0 {
		l.Time = d.Time
	}
	if l.Calls == nil {
		l.Calls = d.Calls
	}
	if l.Rejects == 0 {
		l.Rejects = d.Rejects
	}
	return l
}

// DefaultLimits bound a run that names no limits.
var DefaultLimits = Limits{Turns: 50, Tokens: 2_000_000, CostUSD: -1, Time: time.Hour, Rejects: 5}

// exceeded names the first limit that a run has reached, with the figure.
func (l Limits) exceeded(used Limits) (limit, words string) {
	l = l.Or(DefaultLimits)
	switch {
	case l.Turns > 0 && used.Turns >= l.Turns:
		return "turns", fmt.Sprintf("the limit of %d turns", l.Turns)
	case l.Tokens > 0 && used.Tokens >= l.Tokens:
		return "tokens", fmt.Sprintf("the limit of %d tokens", l.Tokens)
	case l.CostUSD > 0 && used.CostUSD >= l.CostUSD:
		return "cost", fmt.Sprintf("the limit of %.2f USD", l.CostUSD)
	case l.Time > 0 && used.Time >= l.Time:
		return "time", fmt.Sprintf("the time limit of %s", l.Time)
	}
	return "", ""
}

// Approve states how questions about tool calls are answered.
type Approve string

const (
	ApproveAsk   Approve = "ask"   // by a person, who is asked about every change of a file, too
	ApproveEdits Approve = "edits" // by a person; the default
	ApproveAll   Approve = "all"   // with yes; what rules deny stays denied
	ApproveNone  Approve = "none"  // with no: nobody is there
)

// permissionContext is what decides about the next call besides the call itself, nil where
// there is nothing to say: it is part of every tool step.
func (t *Task) permissionContext(now callContext) *stepio.PermissionContext {
	m := stepio.PermissionContext{Rules: append(slices.Clip(t.Rules), now.rules...)}
	if len(m.Rules) > 0 {
		m.Agent = t.Agent
	}
	if t.Mode != ModeEdits {
		m.Mode = string(t.Mode)
	}
	if t.Approve != ApproveEdits {
		m.Approve = string(t.Approve)
	}
	if now.taint.Has(stepio.ExfiltrationTaint) || now.taint.Has(tools.Unconfirmed) {
		m.Taint = now.taint
	}
	if len(m.Rules) == 0 && m.Mode == "" && m.Approve == "" && m.Taint == 0 {
		return nil
	}
	return &m
}
