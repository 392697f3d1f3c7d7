package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A SpawnLimits states which agents a task may have work for it, and how many. It
// is pinned with the task: agents are there by value.
type SpawnLimits struct {
	Agents  map[string]Spawnable `json:"agents"` // by name, those of its agents included
	Allowed []string             `json:"may"`    // names of agents that the task itself may spawn
	Depth   int                  `json:"depth"`  // how many levels there may be below the task
	FanOut  int                  `json:"fan_out"`
	Total   int                  `json:"total"` // sub-agents in all, at every level below together
}

// A Spawnable is an agent that may be spawned: the workflow that runs it, and
// itself as pkg/agents encodes it.
type Spawnable struct {
	Workflow    string          `json:"workflow"`
	Description string          `json:"description,omitempty"`
	Needs       tools.Caps      `json:"needs,omitempty"` // of its tools
	Spec        json.RawMessage `json:"spec"`
}

// An SubAgentRequest is work for a sub-agent.
type SubAgentRequest struct {
	Agent  string // an agent that the task may spawn
	Prompt string
	Inputs map[string]json.RawMessage
	// Model is provider/model or a role, instead of the agent's own.
	Model string
	// Limits narrow the agent's own; what the task has left bounds them anyway.
	Limits Limits
	// Spec is the agent itself, as pkg/agents encodes it, in place of the one
	// that Agent names: with another prompt, or fewer tools. What it may need
	// is bounded by what that one needs.
	Spec json.RawMessage
	// Worktree gives the sub-agent a copy of the work tree to itself. What it
	// changed there is brought back when it is done; what somebody else has
	// changed meanwhile is a conflict, and reported instead of overwritten.
	Worktree bool
	// After has the sub-agent go on with the conversation of an earlier one of the same
	// agent: Prompt and Inputs are its next message.
	After *Report
}

// A Parent is the part of a task that a sub-agent inherits. None of it widens what the
// sub-agent's own definition and the operator allow.
type Parent struct {
	Agent  string        `json:"agent"`
	Model  string        `json:"model"`              // of a sub-agent that names none
	Force  bool          `json:"force,omitempty"`    // Model also replaces its own
	At     string        `json:"at,omitempty"`       // the worktree to work in, empty for the job's directory
	Home   string        `json:"home,omitempty"`     // the job's directory, of one in a worktree
	Limits Limits        `json:"limits,omitzero"`    // what the task has left
	Rules  []permit.Rule `json:"rules,omitempty"`    // of the task
	Grant  *tools.Caps   `json:"grant,omitempty"`    // what its tools may need, of one made on the fly
	Test   string        `json:"test,omitempty"`     // the command that runs the project's tests
	Spawn  *SpawnLimits  `json:"spawning,omitempty"` // of the task, with Depth and Total as they are below it
	Memory string        `json:"memory,omitempty"`   // off, if the task has none
}

// A subAgentInput is the input of a sub-agent's workflow: of the shape of
// agents.Input.
type subAgentInput struct {
	Spec     json.RawMessage            `json:"spec"`
	Prompt   string                     `json:"prompt,omitempty"`
	Inputs   map[string]json.RawMessage `json:"inputs,omitempty"`
	Model    string                     `json:"model,omitempty"`
	Limits   Limits                     `json:"limits,omitzero"`
	Approve  Approve                    `json:"approve,omitempty"`
	Mode     Mode                       `json:"mode,omitempty"`
	Patience time.Duration              `json:"patience_ns,omitempty"`
	Dir      string                     `json:"dir,omitempty"`
	Taint    tools.Taint                `json:"taint,omitempty"`
	Parent   *Parent                    `json:"parent"`
	// Conversation is the conversation of an earlier sub-agent.
	Conversation *turn.Conversation `json:"conversation,omitempty"`
}

// About returns the beginning of the prompt.
func (e subAgentInput) About() string {
	text := []rune(spelling.FirstLine(e.Prompt))
	if len(text) > 60 {
		return string(text[:59]) + "…"
	}
	return string(text)
}

// A SpawnError is a sub-agent that is not done, or was not spawned. What there
// is of a result is in the Report.
type SpawnError struct {
	Report Report
	Err    error // what it ended with; nil for conflicts
}

func (e *SpawnError) Error() string {
	return fmt.Sprintf("agent %s: %s: %s", e.Report.Agent, e.Report.Status, e.Report.Reason)
}

func (e *SpawnError) Unwrap() error { return e.Err }

// A Report is the result of a sub-agent request.
type Report struct {
	Agent     string                     `json:"agent"`
	Status    string                     `json:"status"` // of an Outcome
	Reason    string                     `json:"reason,omitempty"`
	Limit     string                     `json:"limit,omitempty"`   // that was reached: turns, tokens, cost, time
	Summary   string                     `json:"summary,omitempty"` // its last words, or those of its finish
	Output    json.RawMessage            `json:"output,omitempty"`  // of an agent with typed output
	Artifacts map[string]json.RawMessage `json:"artifacts,omitempty"`
	Turns     int                        `json:"turns,omitempty"`
	Took      time.Duration              `json:"took_ns,omitempty"` // its work, waiting for people not counted
	Usage     SubAgentUsage              `json:"below"`             // what it has taken, its own sub-agents included
	Joined    *Joined                    `json:"joined,omitempty"`  // of one with a worktree
	Taint     tools.Taint                `json:"taint,omitempty"`

	conversation *turn.Conversation

	raisedRest Limits // of limits that were raised for it: see Reopener
}

// OK reports whether the sub-agent is done and what it changed is here.
func (r *Report) OK() bool {
	return r.Status == Done && (r.Joined == nil || len(r.Joined.Conflicts) == 0)
}

// As decodes the typed output.
func (r *Report) As(v any) error {
	if len(r.Output) == 0 {
		return fmt.Errorf("agent %s has given no output", r.Agent)
	}
	if err := json.Unmarshal(r.Output, v); err != nil {
		return fmt.Errorf("the output of agent %s: %w", r.Agent, err)
	}
	return nil
}

// text renders the report for the agent that requested it.
func (r *Report) text() string {
	var b strings.Builder
	if r.Status != Done {
		fmt.Fprintf(&b, "%s is not done: %s\n", r.Agent, r.Reason)
	}
	switch {
	case len(r.Output) > 0:
		b.Write(r.Output)
	case r.Summary != "":
		b.WriteString(r.Summary)
	case r.Status == Done:
		fmt.Fprintf(&b, "%s is done and has said nothing", r.Agent)
	}
	return strings.TrimSpace(b.String())
}

// line renders the outcome and the usage in a line.
func (r *Report) line() string {
	text := r.Status
	if r.Status != Done && r.Reason != "" {
		text += ": " + spelling.FirstLine(r.Reason)
	}
	return fmt.Sprintf("%s, %d turns, %d tokens", text, r.Usage.Turns, r.Usage.Usage.In+r.Usage.Usage.Out)
}

// eventData is the report as an event carries it.
func (r *Report) eventData() any {
	return struct {
		Status  string        `json:"status"`
		Reason  string        `json:"reason,omitempty"`
		Summary string        `json:"summary,omitempty"`
		Took    time.Duration `json:"took_ns,omitempty"`
		Below   SubAgentUsage `json:"below"`
	}{r.Status, r.Reason, turn.Excerpt(r.Summary), r.Took, r.Usage}
}

// A SubAgentUsage is the usage of all sub-agents together.
type SubAgentUsage struct {
	Agents  int                  `json:"agents,omitempty"`
	Turns   int                  `json:"turns,omitempty"`
	Calls   int                  `json:"calls,omitempty"`
	Usage   llm.Usage            `json:"usage,omitzero"`
	Cost    float64              `json:"cost_usd,omitempty"`
	ByModel map[string]llm.Usage `json:"used,omitempty"` // by provider/model
}

func (b SubAgentUsage) add(o SubAgentUsage) SubAgentUsage {
	if len(o.ByModel) > 0 {
		b.ByModel = maps.Clone(b.ByModel)
		if b.ByModel == nil {
			b.ByModel = map[string]llm.Usage{}
		}
		for _, m := range slices.Sorted(maps.Keys(o.ByModel)) {
			b.ByModel[m] = b.ByModel[m].Add(o.ByModel[m])
		}
	}
	b.Agents, b.Turns, b.Calls = b.Agents+o.Agents, b.Turns+o.Turns, b.Calls+o.Calls
	b.Usage, b.Cost = b.Usage.Add(o.Usage), b.Cost+o.Cost
	return b
}

// A Joined reports how the changes in a worktree were brought back.
type Joined struct {
	Name  string   `json:"name"`
	Paths []string `json:"paths,omitempty"` // that have changed here
	// Conflicts are paths that are as they were here, most of them because
	// somebody else has changed them too: Why has the reason for each. Kept is the place of the
	// other version, and Branch has it if there is a repository. Of an
	// unfinished sub-agent, Kept has what it left.
	Conflicts []string        `json:"conflicts,omitempty"`
	Why       []string        `json:"why,omitempty"`
	Kept      string          `json:"kept,omitempty"`
	Branch    string          `json:"branch,omitempty"`
	Diff      json.RawMessage `json:"diff,omitempty"` // the artifact "diff" after it
	// DiffOmitted is the number of bytes that Diff lacks; nil if none ever was left out.
	DiffOmitted json.RawMessage `json:"diff_omitted,omitempty"`
}

// ConflictList names the paths in conflict, each with the reason.
func (j *Joined) ConflictList() string {
	var parts []string
	for i, p := range j.Conflicts {
		if i < len(j.Why) {
			p += " (" + j.Why[i] + ")"
		}
		parts = append(parts, p)
	}
	return strings.Join(parts, ", ")
}

// join brings back what a sub-agent has changed.
func (sc *Scope) join(rep *Report) error {
	got, err := sc.JoinTree(rep.Joined.Name)
	if se, ok := errors.AsType[*flow.StepError](err); ok {
		rep.Status, rep.Reason = Failed, "what it changed could not be brought back: "+se.Message
		return &SpawnError{*rep, err}
	}
	if err != nil {
		return err
	}
	if got.Diff != nil {
		bound := map[string]json.RawMessage{"diff": got.Diff}
		if got.DiffOmitted != nil {
			bound[turn.DiffOmitted] = got.DiffOmitted
		}
		sc.State.bind(turn.WorktreeStep, bound)
	}
	rep.Joined = &got
	if len(got.Conflicts) == 0 {
		return nil
	}
	rep.Reason = fmt.Sprintf("not brought back: %s; its version is in %s", got.ConflictList(), got.Kept)
	return &SpawnError{Report: *rep}
}

// addTree makes a copy of the work tree, with a name that follows from the place in the run.
func (sc *Scope) addTree() (turn.Tree, error) {
	name := "w" + strings.ReplaceAll(sc.Run.Next(), ".", "-")
	got, err := stored.Do[turn.Tree](sc.Run, turn.WorktreeStep, turn.AddWorktree, turn.Tree{Name: name, Of: sc.Task.At})
	got.Name = name
	return got, err
}

// InTree makes a copy of the work tree, and returns a scope like sc whose tools and
// sub-agents work there. It belongs to the same branch. A step error says why there
// is none.
func (sc *Scope) InTree() (*Scope, error) {
	got, err := sc.addTree()
	if err != nil {
		return nil, err
	}
	t := *sc.Task
	if t.Home == "" {
		t.Home = t.Dir
	}
	t.At, t.Dir = got.Name, got.Dir
	return &Scope{Run: sc.Run, Task: &t, State: sc.State}, nil
}

// JoinTree brings back what was changed in a copy of InTree, as one step.
func (sc *Scope) JoinTree(name string) (Joined, error) {
	return stored.Do[Joined](sc.Run, turn.WorktreeStep, turn.JoinWorktree, turn.Tree{Name: name, Of: sc.Task.At})
}

// DropTree removes a copy of InTree with all that is in it.
func (sc *Scope) DropTree(name string) error {
	_, err := stored.Do[turn.Tree](sc.Run, turn.WorktreeStep, turn.DropWorktree, turn.Tree{Name: name, Of: sc.Task.At})
	return err
}

// minFileLines is the least number of lines of a fence that may be a whole file.
const minFileLines = 3

// fenceNote asks the model to write a file with a tool that it put into its answer
// instead. It is "" if there is no such file or no tool to write it with.
func (t *Task) fenceNote(s *State, answer llm.Message) string {
	const tool = "write_file"
	if t.Revision < 7 || s.noFinish || len(answer.Calls) > 0 || t.tool(tool) == nil {
		return ""
	}
	name := fencedFile(answer.Text)
	if name == "" {
		return ""
	}
	return fmt.Sprintf("\nThe text of %s in your answer changed no file: call %s with path %q and the whole text as content.", name, tool, name)
}

// fencedFile is the name of the first file that text has in a closed fence: in the line that
// opens the fence, or at the end of the line before it. "" is none.
func fencedFile(text string) string {
	name, before, lines, open := "", "", 0, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open:
			if name != "" && lines >= minFileLines {
				return name
			}
			name, before, open = "", "", false
		case fence:
			if name, lines, open = fileName(info), 0, true; name == "" {
				name = fileName(before)
			}
		case open:
			lines++
		case line != "":
			before = line
		}
	}
	return ""
}

// fileName is the last word of a line if it has the form of a file's name.
func fileName(line string) string {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t`*\"'()[]:=", r) })
	if len(words) == 0 {
		return ""
	}
	name := words[len(words)-1]
	if ext := path.Ext(name); len(ext) < 2 || len(ext) == len(name) || strings.Contains(name, "//") {
		return ""
	}
	return name
}

// shownChange returns the name of the first file whose change is shown in text in a form
// that programs apply: a unified diff, a patch or a block to search and replace. It is ""
// if there is none.
func shownChange(text string) string {
	var file, last string
	hunk, search, apart := false, false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case strings.HasPrefix(line, "<<<<<<< SEARCH"):
			file, search, apart = last, true, false
		case search && line == "=======":
			apart = true
		case search && apart && strings.HasPrefix(line, ">>>>>>> REPLACE") && file != "":
			return file
		case strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ "):
			name, _, _ := strings.Cut(line[4:], "\t")
			if name != "/dev/null" {
				file = strings.TrimPrefix(strings.TrimPrefix(name, "a/"), "b/")
			}
			hunk = false
		case strings.HasPrefix(line, "*** Update File: ") || strings.HasPrefix(line, "*** Add File: "):
			_, file, _ = strings.Cut(line, ": ")
			hunk = true
		case strings.HasPrefix(line, "@@"):
			hunk = file != ""
		case hunk && (strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-")):
			return path.Clean(file)
		}
		if name := fileName(strings.TrimLeft(line, "`")); !search && name != "" {
			last = name
		}
	}
	return ""
}
