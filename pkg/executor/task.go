package executor

import (
	"encoding/json"
	"time"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/llm"
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
	CallMode       turn.Mode       `json:"calling,omitempty"`  // empty is turn.Auto
	Spawn          *SpawnLimits    `json:"spawning,omitempty"` // the sub-agents that the task may have; nil is none
	location
	// Revision is how the loop talks to the model: a job keeps the one that it
	// began with, so that its journal replays. See [turn.Revision].
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
	// PlanOnly reports that Done lacks what only a change could prove, or that the mode
	// has taken tools away that act: the run ends as planned.
	PlanOnly bool `json:"plan_only,omitempty"`
}

// taskModels are what the task's models cost, which ones stand in for them, and what a
// request to them may hold.
type taskModels struct {
	Budget    *turn.Budget  `json:"budget,omitempty"`
	Price     llm.Price     `json:"price,omitzero"`
	Prices    llm.Prices    `json:"prices,omitempty"`    // of the other models that it names
	Fallbacks []Fallback    `json:"fallbacks,omitempty"` // for when Model does not answer
	Hedge     time.Duration `json:"hedge_ns,omitempty"`  // see Route
	Think     *turn.Think   `json:"think,omitempty"`     // for tools that ask a model
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
	// History follows the prompt: the conversation of another job, see [turn.Branch].
	History []llm.Message `json:"history,omitempty"`
	conversationInput
	// Problems are the types, detectors and strategies that users have added to what
	// coordinators know.
	Problems json.RawMessage `json:"problems,omitempty"`
	// Memory is what the task recalls of earlier jobs: project, user, off; empty is
	// nothing. Recalled are facts, quoted, as Prompt has them: what other jobs remember
	// meanwhile does not change it.
	Memory   string   `json:"memory,omitempty"`
	Recalled []string `json:"recalled,omitempty"`
}

// conversationInput is what comes before the prompt: the conversation of an earlier
// sub-agent of the job.
type conversationInput struct {
	Conversation *turn.Conversation `json:"conversation,omitempty"`
}

// projectInput is what the workspace says about itself.
type projectInput struct {
	Project *turn.Project `json:"project,omitempty"`
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

// turnTools is what one turn of a workflow takes from the tools of the task
// without changing the list of those that are offered.
type turnTools struct {
	none   bool     // no calls at all
	refuse []string // names, with wildcards
}

// modelAt is the model that a run has got to, and its window.
func (t *Task) modelAt(n int) (model string, window int) {
	if n == 0 || n > len(t.Fallbacks) {
		return t.Model, t.Options.Window
	}
	f := t.Fallbacks[n-1]
	return f.Model, f.Window
}

// price is what a model of the task costs.
func (t *Task) price(model string) llm.Price {
	if model == t.Model {
		return t.Price
	}
	return t.Prices[model]
}
