package executor

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/text/spelling"
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
	// Revision is the version of the loop's conversation with the model. A job keeps the
	// one that it began with, so that its journal replays. See [turn.Revision].
	Revision int `json:"revision,omitempty"`
	// Modes has the differences of Work in the modes that a message may set.
	Modes map[Mode]ModeWork `json:"modes,omitempty"`

	turn  turnTools
	begun *begun // what a mode that a message has set takes the place of
	part  string // of the run that the task leads, as in "2."; "" for a sub-agent and a branch
	// Messages has the loop read messages: see [Message]. It is not pinned; a
	// sub-agent reads none.
	Messages bool `json:"-"`
	// Changes is the name of the signals by which a loop without Messages learns which files
	// changed under its hands, "" if by none. It is not pinned.
	Changes string `json:"-"`
}

// Instructions are the agent, its model and its prompts.
type Instructions struct {
	Agent  string `json:"agent,omitempty"`
	Model  string `json:"model"` // provider/model
	System string `json:"system,omitempty"`
	Prompt string `json:"prompt"`
}

// Work describes the tools that the model may use, and when the task is done.
type Work struct {
	Tools  []Tool    `json:"tools,omitempty"`
	Checks []Tool    `json:"checks,omitempty"` // tools that only criteria run
	Done   Criterion `json:"done,omitzero"`
	Limits Limits    `json:"limits,omitzero"`
	// PlanOnly reports that Done lacks what only a change could prove, or that the mode
	// has taken tools away that act: the run ends as planned.
	PlanOnly bool `json:"plan_only,omitempty"`
}

// A ModeWork is a task's work in another mode than its first.
type ModeWork struct {
	Tools    []Tool    `json:"tools,omitempty"` // that the task begins without
	Checks   []Tool    `json:"checks,omitempty"`
	Done     Criterion `json:"done,omitzero"`
	PlanOnly bool      `json:"plan_only,omitempty"`
}

// begun is a task's initial mode and work.
type begun struct {
	mode Mode
	Work
}

// taskModels are the prices of the task's models, their fallbacks, and the bounds of a
// request to them.
type taskModels struct {
	Budget    *turn.Budget  `json:"budget,omitempty"`
	Price     llm.Price     `json:"price,omitzero"`
	Prices    llm.Prices    `json:"prices,omitempty"`    // of the other models that it names
	Fallbacks []Fallback    `json:"fallbacks,omitempty"` // for when Model does not answer
	Hedge     time.Duration `json:"hedge_ns,omitempty"`  // see Route
	Think     *turn.Think   `json:"think,omitempty"`     // for tools that ask a model
}

// Inputs are the data with which the task begins.
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
	// Memory is the scope of memories of earlier jobs that the task recalls: project,
	// user or off; "" means off. Recalled lists the facts, quoted as in Prompt: what
	// other jobs remember meanwhile does not change it.
	Memory   string   `json:"memory,omitempty"`
	Recalled []string `json:"recalled,omitempty"`
}

// conversationInput is the conversation of an earlier sub-agent of the job, which
// precedes the prompt.
type conversationInput struct {
	Conversation *turn.Conversation `json:"conversation,omitempty"`
}

// projectInput is the workspace's description of itself.
type projectInput struct {
	Project *turn.Project `json:"project,omitempty"`
}

// location is the directory in which the task works.
type location struct {
	// Dir is the workspace. If it is the worktree of a sub-agent, At is its name
	// and Home the directory of the job.
	Dir        string `json:"dir,omitempty"`
	At         string `json:"at,omitempty"`
	Home       string `json:"home,omitempty"`
	ForceModel bool   `json:"force,omitempty"` // sub-agents use Model, too
}

// turnTools withholds tools of the task in one turn of a workflow without changing the
// list of tools that are offered.
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

// price returns the price of a model of the task.
func (t *Task) price(model string) llm.Price {
	if model == t.Model {
		return t.Price
	}
	return t.Prices[model]
}

// addUsage adds a model's tokens to the usage on which limits of tokens and cost are
// based.
func (s *State) addUsage(t *Task, model string, u llm.Usage) {
	if s.ByModel == nil && model != t.Model {
		s.ByModel = map[string]llm.Usage{}
		if s.Usage != (llm.Usage{}) {
			s.ByModel[t.Model] = s.Usage
		}
	}
	s.Usage = s.Usage.Add(u)
	if s.ByModel == nil {
		s.Cost = s.Reported + t.Price.Cost(s.Usage)
		return
	}
	s.ByModel[model] = s.ByModel[model].Add(u)
	s.Cost = s.Reported
	for _, m := range slices.Sorted(maps.Keys(s.ByModel)) {
		s.Cost += t.price(m).Cost(s.ByModel[m])
	}
}

// Attribute names the model that all of Usage is of, if it was one alone: the
// state of a sub-agent goes where nobody knows it.
func (s *State) Attribute(model string) {
	if s.ByModel == nil && s.Usage != (llm.Usage{}) {
		s.ByModel = map[string]llm.Usage{model: s.Usage}
	}
}

func (s *State) addCosts(t *Task, list []ModelCost) {
	for _, x := range list {
		s.addUsage(t, x.Model, x.Usage)
	}
}

// addReports adds what an order has taken to the accounts. A reader of what the
// sub-agent returns has read what it has.
func (s *State) addReports(reps ...Report) {
	for i := range reps {
		s.SubAgents = s.SubAgents.add(reps[i].Usage)
		s.Taint |= reps[i].Taint
	}
	for i := range reps {
		s.inherit(reps[i].raisedRest)
	}
}

// Types of internal packages that appear in the exported API.
type (
	// A CallMode is the mode in which a model calls tools: auto, native, constrained or
	// text.
	CallMode = turn.Mode
	// A Route is the model of a task and its fallbacks.
	Route = turn.Route
	// A Fallback is a model behind another.
	Fallback = turn.Fallback
	// A ModelCost is the cost of a model that a step called besides its answer.
	ModelCost = turn.ModelCost
)

func (t *Task) tool(name string) *Tool {
	for i := range t.Tools {
		if t.Tools[i].Name == name {
			return &t.Tools[i]
		}
	}
	for i := range t.Checks {
		if t.Checks[i].Name == name {
			return &t.Checks[i]
		}
	}
	if t.reach().Has(name) {
		return &Tool{ToolSpec: llm.ToolSpec{Name: name}, Needs: tools.Net} // as all tools of servers
	}
	return nil
}

func (t *Task) names() (out []string) {
	for _, tool := range t.Tools {
		out = append(out, tool.Name)
	}
	return out
}

// offers lists the tools, for a model that called another one.
func (t *Task) offers() string {
	if len(t.Tools) == 0 {
		return "you have no tools: answer in words"
	}
	return "you have: " + strings.Join(t.names(), ", ")
}

// callable are the tools that may be called in this turn.
func (t *Task) callable() []Tool {
	if t.turn.none {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.Tools), func(tool Tool) bool { return matches(t.turn.refuse, tool.Name) })
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

// edits reports whether the task changes files by tools, which quote their text.
func (t *Task) edits() bool {
	return t.Revision >= 3 && slices.ContainsFunc(t.Tools, Tool.changesFiles)
}

// reach lists the tools that the task can call through call_tool, nil if there are none.
func (t *Task) reach() *turn.Reach {
	if t.Artifacts[turn.ReachArtifact] == nil || !slices.ContainsFunc(t.Tools, func(x Tool) bool { return x.Name == turn.CallTool }) {
		return nil
	}
	return turn.ReadReach(t.Artifacts[turn.ReachArtifact])
}

func (t *Task) specs() (out []llm.ToolSpec) {
	for _, tool := range t.Tools {
		out = append(out, tool.ToolSpec)
	}
	return out
}

// resolveCalls returns the calls that an answer stands for: a call through call_tool
// becomes a call of the tool that it names, and a misspelt tool the one that it means,
// for rules, results and records. The transcript keeps the model's own calls.
func (t *Task) resolveCalls(calls []llm.Call) []llm.Call {
	calls = slices.Clone(calls)
	if t.Revision >= 4 {
		for i, c := range calls {
			if t.tool(c.Name) != nil {
				continue
			}
			name := c.Name
			if t.Revision >= 8 {
				name = turn.BareName(name)
			}
			if meant, ok := turn.Meant(name, t.specs()); ok && (meant != finish || t.Revision >= 8 || spelling.Fold(name) == finish) {
				calls[i].Name = meant
			}
		}
	}
	reach := t.reach()
	if reach == nil {
		return calls
	}
	for i, c := range calls {
		if c.Name != turn.CallTool || c.Malformed != "" {
			continue
		}
		if name, args, ok := reach.Meant(c.Args); ok {
			calls[i].Name, calls[i].Args = name, args
		}
	}
	return calls
}

// finish is the tool whose successful call is the completion signal.
const finish = "finish"

// spawnAgent is the tool that the loop performs itself: it runs an agent as
// part of the job.
const spawnAgent = "spawn_agent"

// A Tool is a pinned task's copy of a tool's description: what the model is shown, and
// what decides about order, offers and approval. The tool's code stays with the worker.
type Tool struct {
	llm.ToolSpec
	Needs    tools.Caps   `json:"needs,omitempty"`
	Effect   tools.Effect `json:"effect,omitempty"` // as declared; "" follows from Needs
	Consumes []string     `json:"consumes,omitempty"`
	Uses     []string     `json:"uses,omitempty"`
	Produces []string     `json:"produces,omitempty"`

	Online     bool     `json:"online,omitempty"` // see tools.Metadata
	Proves     string   `json:"proves,omitempty"` // likewise
	ProvesWith []string `json:"proves_with,omitempty"`
}

// changesFiles reports whether changing files is all that the tool does.
func (t Tool) changesFiles() bool { return t.Needs&^tools.Read == tools.Write }

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

// A ShortenedTool is a tool that a task describes in short, or not at all,
// because its window is small.
type ShortenedTool struct {
	Tool    string `json:"tool"`
	Removed bool   `json:"out,omitempty"`
	Why     string `json:"why"`
}
