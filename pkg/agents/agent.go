// Package agents has agents, which are data: what one is, how files of them are read and
// checked, and how an agent and a request become a task.
//
// An agent is a Markdown file: front matter that states what it may use and when it is
// done, and a prompt. The format is a superset of the Claude Code sub-agent file.
//
//	---
//	name: counter
//	description: Count the words of a file.
//	tools: [word_count, finish]
//	done: {all: [{signal: COUNTED}, {artifact: words}]}
//	limits: {turns: 10, time: 5m}
//	---
//	You count words with word_count. You never guess.
//
// A Go program builds the same with a [DynamicAgent] literal. A job pins the resolved
// task by value, so that editing a file never changes a run in flight. The package runs
// nothing: see pkg/executor for the loop, pkg/jobs for jobs and pkg/adroit for all of it
// in one place.
package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A DynamicAgent states what a model is shown, what it may use and when it is
// done. There is one type for every agent, whether loaded or built in Go.
type DynamicAgent struct {
	Name         string             `json:"name"` // lower case, with - or _
	Description  string             `json:"description"`
	Model        string             `json:"model,omitempty"`       // provider/model or a role; empty leaves it to the caller
	ThinkModel   string             `json:"think_model,omitempty"` // of tools that ask one; empty leaves it to the caller
	Tools        []string           `json:"tools,omitempty"`       // names, with wildcards as in git_*; none for a generator
	Deny         []string           `json:"deny,omitempty"`        // taken from Tools again
	MCPServers   []string           `json:"mcp_servers,omitempty"` // servers whose tools it has besides
	Auto         []string           `json:"auto,omitempty"`        // names of more tools, in mode auto where commands are confined
	Skills       []string           `json:"skills,omitempty"`      // names, with wildcards; read_skill comes with them
	Done         executor.Criterion `json:"done,omitzero"`         // zero: when the model stops calling tools
	Limits       executor.Limits    `json:"limits,omitzero"`
	Capabilities []string           `json:"capabilities,omitempty"`  // what it is good at, for a coordinator
	ProblemTypes []string           `json:"problem_types,omitempty"` // what it can repair, for a coordinator
	Priority     int                `json:"priority,omitempty"`      // among agents for the same problem; more is tried first
	Inputs       []Field            `json:"inputs,omitempty"`        // none declared: anything is taken
	Grant        *tools.Caps        `json:"grant,omitempty"`         // what its tools may need at most; nil: whatever they need
	Mode         executor.Mode      `json:"mode,omitempty"`          // narrows the mode that a job is run in
	Permissions  []permit.Rule      `json:"permissions,omitempty"`   // beside those of whoever runs it
	Aliases      []string           `json:"aliases,omitempty"`       // former names
	Output       json.RawMessage    `json:"output,omitempty"`        // JSON Schema of the final answer
	Memory       string             `json:"memory,omitempty"`        // what it recalls of earlier jobs: project, user, or nothing
	Options      llm.Options        `json:"options,omitzero"`
	Expose       bool               `json:"expose,omitempty"` // other programs may call it as a tool
	Hidden       bool               `json:"hidden,omitempty"` // workflows and other agents call it; lists for people leave it out
	Prompt       string             `json:"prompt"`           // a text/template over Data
	// DefaultPrompt is the request of a run that gives neither a prompt nor inputs; empty:
	// such a run is refused.
	DefaultPrompt string `json:"default_prompt,omitempty"`

	// Calling states how its model calls tools; empty is auto.
	Calling turn.Mode `json:"calling,omitempty"`
	// Workflow is the one that runs it, a name of [Define]; empty is the loop, in
	// which the model decides.
	Workflow string `json:"workflow,omitempty"`
	// Spawn states which agents it may have work for it; nil is none.
	Spawn *Spawn `json:"spawn,omitempty"`

	Source Source `json:"-"`
}

// A Field is a declared input.
type Field struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Optional    bool            `json:"optional,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"` // of an optional one
	// Artifact names the artifact that its value is bound to from the start, for
	// tools to use. The prompt then has it only where the template places it.
	Artifact string `json:"artifact,omitempty"`
	// Bytes bounds a text in the prompt, to its beginning, its end and what is between in
	// short; 0 is all.
	Bytes int `json:"bytes,omitempty"`
}

// A Source is an agent's origin; the zero value means it was built.
type Source struct {
	Text  string `json:"-"` // the file as it was read
	Layer string `json:"layer,omitempty"`
	File  string `json:"file,omitempty"`
	// Claude is set if the file has the form of Claude Code: its prompt is text and no
	// template, and tools that this program does not have are left out.
	Claude bool `json:"claude,omitempty"`

	// Places has the places of its keys, as in done.all.2.check, and of the first line of
	// the prompt, for problems.
	Places plainyaml.Places `json:"-"`
}

// OutputOf is the Output of an agent that answers with a T, a struct, as inferred from its
// fields and their json and jsonschema tags.
func OutputOf[T any]() (json.RawMessage, error) {
	s, err := schema.Infer[T]()
	if err != nil {
		return nil, fmt.Errorf("an answer of type %s: %w", reflect.TypeFor[T](), err)
	}
	return s.JSON(), nil
}

// A Spawn states which agents an agent may have work for it. A sub-agent gets no
// more than the job has left to spend, and no rights that its own file and the
// operator do not give it.
type Spawn struct {
	Agents []string `json:"agents"` // names, with wildcards
	// Problems adds the agents that name one of these types of problems; * is all.
	Problems []string `json:"problems,omitempty"`
	Depth    int      `json:"depth,omitempty"`   // levels of agents below this one; default 1
	FanOut   int      `json:"fan_out,omitempty"` // sub-agents at once; default 8
	Total    int      `json:"total,omitempty"`   // sub-agents of a job, at all levels; default 50
}

// An Input is a request to an agent: the input of the workflow "agent". All
// of it is journaled; secrets have no place in it.
type Input struct {
	Agent    string                     `json:"agent,omitempty"` // a name in the catalog
	Spec     *DynamicAgent              `json:"spec,omitempty"`  // or the agent itself, by value
	Prompt   string                     `json:"prompt,omitempty"`
	Inputs   map[string]json.RawMessage `json:"inputs,omitempty"`
	Model    string                     `json:"model,omitempty"`   // instead of the agent's
	Limits   executor.Limits            `json:"limits,omitzero"`   // non-zero fields instead of the agent's
	Approve  executor.Approve           `json:"approve,omitempty"` // instead of the default
	Mode     executor.Mode              `json:"mode,omitempty"`    // instead of the default; an agent may narrow it
	Patience time.Duration              `json:"patience_ns,omitempty"`
	Dir      string                     `json:"dir,omitempty"` // the workspace, as the prompt may name it
	Options  llm.Options                `json:"options,omitzero"`
	// Test is the command line that runs the project's tests, instead of what
	// is configured or the tool run_tests finds.
	Test string `json:"test,omitempty"`
	// Worktree asks for a git worktree of Dir's repository, so that the job
	// disturbs nobody. Runners see to it; Resolve does not read it.
	Worktree bool `json:"worktree,omitempty"`
	// Pipeline names the pipeline that the request is to, in place of an agent;
	// Resolve does not read it. See pkg/workflows/pipeline.
	Pipeline string `json:"pipeline,omitempty"`
	// Calling states how tools are called, instead of the agent's.
	Calling turn.Mode `json:"calling,omitempty"`
	// Taint describes Prompt and Inputs: that others wrote them, that they have secrets.
	// Inputs are taken for what others wrote in any case: an issue, a report, what an
	// agent has made of a page.
	Taint tools.Taint `json:"taint,omitempty"`
	// Memory is the scope of recall from earlier jobs, over the agent's own: project,
	// user, or off.
	Memory string `json:"memory,omitempty"`
	// ForAll has sub-agents use Model too, whatever they name.
	ForAll bool `json:"model_for_all,omitempty"`
	// Parent is set for a sub-agent.
	Parent *executor.Parent `json:"parent,omitempty"`
	// Attached goes with Prompt, as a runtime has read it; Resolve reads no files.
	executor.Attached
	branchInput
}

// Name is the agent's name.
func (in Input) Name() string {
	if in.Agent == "" && in.Spec != nil {
		return in.Spec.Name
	}
	return in.Agent
}

// branchInput is the conversation that the job goes on with, in place of one that
// begins with Prompt.
type branchInput struct {
	Branch *turn.Branch `json:"branch,omitempty"`
	// Conversation continues an earlier sub-agent of the same agent.
	Conversation *turn.Conversation `json:"conversation,omitempty"`
}

// A Budget is the part of Defaults about the room of a job's conversation.
type Budget struct {
	// Windows has the windows of models for which the client sets none, by provider/model
	// or by a pattern in which * stands for any text; the longest decides.
	Windows map[string]int
	Model   string // whose window holds; empty is the job's, which a recording stands in for
	Result  int    // bytes of a result that are shown at once
	Cheap   string // names the model that summarises; empty is Defaults.Think, else the job's own
}

// Defaults hold where neither the request nor the agent states anything.
type Defaults struct {
	Model    string
	Limits   executor.Limits
	Approve  executor.Approve
	Mode     executor.Mode
	Rules    []permit.Rule // what may run; the agent's own are added
	Patience time.Duration
	Options  llm.Options
	Prices   llm.Prices // by provider/model or a pattern of it
	// Think names the model for tools that ask one, of agents that do not;
	// empty is the job's own.
	Think  string
	Budget Budget // of conversations

	// Substitutes gives, for a model, the names of tools to offer in place of one
	// that an agent names, so that each model edits in the form it does best.
	// Nil, or no entry, leaves the agent's choice.
	Substitutes func(model string) map[string][]string
}

// A Layer is a directory of agent files.
type Layer struct {
	Name   string // built in, user, project: for people
	FS     fs.FS  // *.md at its top; nil, or a directory that is not there, is an empty layer
	Dir    string // where FS is, for the file names in problems; may be empty
	Claude bool   // written for Claude Code: a file that names no tools gets the usual ones
}

// A Skill is a folder with a SKILL.md: what it is for, which is shown to every
// agent that has it, and how it is done, which is read when it is needed. A
// job pins the skills it begins with.
type Skill struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Body        string            `json:"body"`
	Files       map[string]string `json:"files,omitempty"` // texts by path below the folder

	Source Source `json:"-"`
}

// Size is the bytes a job pins of it.
func (s Skill) Size() int {
	n := len(s.Name) + len(s.Description) + len(s.Body)
	for name, text := range s.Files {
		n += len(name) + len(text)
	}
	return n
}

// Workflow runs one agent on one request. Its input is an [Input], its output
// an executor.State.
var Workflow = define("agent", executor.Loop)

// Define makes a workflow of a function that decides by itself what comes next
// instead of leaving it to the model: body gets the task that the agent's file
// and the request make. An agent names it by its front matter, as
// workflow: NAME. The job is done if body returns nil and the agent's
// definition of done holds.
func Define(name string, body func(*executor.Scope) error) flow.Workflow {
	return define(name, func(r *flow.Run, t executor.Task) (*executor.State, error) {
		sc := executor.NewScope(r, t)
		return sc.Finish(body(sc))
	})
}

func define(name string, body func(*flow.Run, executor.Task) (*executor.State, error)) flow.Workflow {
	return stored.Define(name, func(r *flow.Run, in Input) (*executor.State, error) {
		task, err := stored.Do[executor.Task](r, turn.ResolveStep, in.Name(), in)
		if err != nil {
			return nil, err
		}
		if err := stored.Unknown("its revision", strconv.Itoa(task.Revision), task.Revision <= turn.Revision); err != nil {
			return nil, err
		}
		for _, words := range announce(&task) {
			if err := r.Note("%s", words); err != nil {
				return nil, err
			}
		}
		task.Messages, task.Changes = in.Parent == nil, turn.ChangesSignal(r.Next())
		own, err := r.Part(task.Agent)
		if err != nil {
			return nil, err
		}
		s, err := body(own, task)
		if s != nil && in.Parent != nil {
			s.Attribute(task.Model)
		}
		return s, err
	})
}

// announce lists in words what the task lacks, for watchers.
func announce(t *executor.Task) []string {
	lines := slices.Collect(maps.Values(t.NothingToCheck))
	slices.Sort(lines)
	return slices.Compact(lines)
}

// Runs is the name of the workflow that runs the agent.
func (a *DynamicAgent) Runs() string { return cmp.Or(a.Workflow, Workflow.Name) }
