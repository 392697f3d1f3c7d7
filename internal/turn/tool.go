// Package turn is shared by the loop of pkg/executor and its handlers in internal/host. It has the
// inputs and outputs of steps and their names in the journal, the three ways in which a model
// calls tools, the trimming of a conversation to a context window, attachments of messages, loop
// detection, and the interface to tool servers.
//
// It is text processing without I/O.
package turn

import (
	"encoding/json"
	"time"

	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A ToolCall is the input of a tool step: the arguments, and the artifacts that
// the tool consumes.
type ToolCall struct {
	Args       json.RawMessage            `json:"args"`
	Artifacts  map[string]json.RawMessage `json:"given,omitempty"`
	Permission *PermissionContext         `json:"may,omitempty"`
	// Think is the model for a tool that asks one.
	Think *Think `json:"think,omitempty"`
	// Approved is the digest of the question that a person has approved.
	Approved string `json:"approved,omitempty"`
	// Accepted is the digest of a tool that its server has changed, if a person has agreed to
	// calling it in its current form.
	Accepted string `json:"accepted,omitempty"`
	// Checked is the digest of the data for which the checks that the tool demands have passed.
	Checked string `json:"checked,omitempty"`
	// Answers are the user's answers to the questions of the tool.
	Answers []UserAnswer `json:"answers,omitempty"`
	// At names the worktree of the call; empty: the job's directory.
	At string `json:"at,omitempty"`
	// MaxResultBytes bounds the bytes of the result that the model is shown; 0 means no bound.
	MaxResultBytes int `json:"room,omitempty"`
	// Share is the number of bytes that the model is shown even if other results need the rest; a
	// longer text is kept whole. 0 means all of it.
	Share int `json:"share,omitempty"`
	// Whole is set by workflows that read the result's value.
	Whole bool `json:"whole,omitempty"`
	// PlainText omits line numbers where files are shown.
	PlainText bool `json:"plain,omitempty"`
}

// Bind returns a result with a value as its artifact.
func Bind(r tools.Result, name string, value any) (tools.Result, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return tools.Result{}, tools.Fatal(err)
	}
	r.Artifacts = map[string]json.RawMessage{name: raw}
	return r, nil
}

// WithValue returns a result with a value for workflows.
func WithValue(r tools.Result, value any) (tools.Result, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return tools.Result{}, tools.Fatal(err)
	}
	r.Value = raw
	return r, nil
}

// Unchecked lists the checks that must pass before a call is made. Digest identifies everything
// that the call would make visible to others; passed checks count only for that.
type Unchecked struct {
	Checks []tools.Precondition `json:"checks"`
	Tools  []CheckTool          `json:"tools"` // of the checks
	Digest string               `json:"digest"`
}

// A CheckTool has the data that the loop needs about the tool of a check.
type CheckTool struct {
	Name     string       `json:"name"`
	Needs    tools.Caps   `json:"needs,omitempty"`
	Effect   tools.Effect `json:"effect,omitempty"`
	Consumes []string     `json:"consumes,omitempty"`
	Uses     []string     `json:"uses,omitempty"`
}

// Gone is the code of a failure of Host.Env after which no call can do anything,
// such as a workspace that was deleted. It ends the job; other failures are shown
// to the model.
const Gone = "workspace.gone"

// A PermissionContext has everything that decides about a call besides the call itself. It travels
// with the step, so that the decision is made where the tool runs and needs only pinned data. Nil
// means no rules, in ModeEdits.
type PermissionContext struct {
	Agent   string       `json:"agent,omitempty"`
	Mode    string       `json:"mode,omitempty"`
	Approve string       `json:"approve,omitempty"`
	Rules   permit.Rules `json:"rules,omitempty"`
	Taint   tools.Taint  `json:"taint,omitempty"` // only if it matters: both kinds, or unconfirmed
	// Unknown is the path of an earlier attempt at this call of which nobody knows
	// whether it happened: a person decides about another one.
	Unknown string `json:"unknown,omitempty"`
}

// TextArgument returns the argument with a name if it is a string, else "".
func TextArgument(args json.RawMessage, name string) string {
	var fields map[string]json.RawMessage
	var text string
	if json.Unmarshal(args, &fields) == nil && json.Unmarshal(fields[name], &text) == nil {
		return text
	}
	return ""
}

// ExfiltrationTaint is the taint that makes sending data dangerous.
const ExfiltrationTaint = tools.Untrusted | tools.Secret

// A UserAnswer is the user's answer to a UserQuestion.
type UserAnswer struct {
	ID      string          `json:"id"`
	Call    string          `json:"call,omitempty"`
	Action  string          `json:"action"` // accept, decline or cancel
	Content json.RawMessage `json:"content,omitempty"`
}

// A CommandResult is a command line's result: the Value of the tools that run one.
type CommandResult struct {
	ID       string `json:"id,omitempty"` // as shell_output takes it
	Code     int    `json:"exit_code"`    // -1 while it runs
	TimedOut bool   `json:"timed_out,omitempty"`
	Killed   bool   `json:"killed,omitempty"`
	// Unjoined are files that it changed and that are not in the workspace so.
	Unjoined []string `json:"unjoined,omitempty"`
	// Output is the printed text, only where tools.Env has MaxValueBytes; Dropped counts the bytes
	// of its middle that are left out.
	Output  string `json:"output,omitempty"`
	Dropped int64  `json:"dropped,omitempty"`
}

// A Branch is a part of another job's conversation, with which a run begins.
type Branch struct {
	Job     string      `json:"job"`
	Turn    int         `json:"turn"` // of the transcript, the last one of the part
	Opening llm.Message `json:"opening"`
	// History is the rest, from the first answer on; the last message is the user's.
	History []llm.Message `json:"history"`
	// Said are the person's words in that message, which has notes before them.
	Said string `json:"said,omitempty"`
}

// A Conversation is one of an earlier run of the same job, with which a sub-agent goes on.
type Conversation struct {
	Head    string        `json:"head"`
	New     []llm.Message `json:"new,omitempty"` // what the model has not been sent
	Offered string        `json:"offered,omitempty"`
	Context Usage         `json:"context,omitzero"`
	Calls   int           `json:"calls,omitempty"` // the highest number of a call in it
}

// Names of the steps of kind [CompactStep]: how they make a conversation smaller.
const (
	CompactResults = "results" // by dropping and shortening results of earlier turns
	CompactSummary = "summary" // by notes of a model in place of earlier turns
	CompactRecord  = "record"  // by notes made from the record of calls
)

// A CompactRequest is the input of a step of kind "compact": a conversation, given by its last Ask
// and the messages since, and the size it has to shrink to.
type CompactRequest struct {
	Head   string        `json:"head,omitempty"`
	New    []llm.Message `json:"new"` // also what is left of an earlier step
	Task   string        `json:"task,omitempty"`
	Asked  []llm.Message `json:"asked,omitempty"` // what is kept in any case, at its place or in the opening
	Notes  *Notes        `json:"notes,omitempty"` // those so far
	Fixed  int           `json:"fixed"`           // tokens of what is kept in any case
	Target int           `json:"target"`          // tokens to get down to
	Limit  int           `json:"limit"`           // tokens that fit
	Rate   int           `json:"rate"`            // thousandths of weight a token
	// Refused reports that the provider has refused the conversation: whatever the estimate is, it
	// has to shrink considerably.
	Refused bool `json:"refused,omitempty"`
	Window  int  `json:"window,omitempty"` // of the model that summarises, where the client sets it
	Handle  bool `json:"handle,omitempty"` // the model can read what is left out
}

// A CompactResult is the output of a step of kind "compact".
type CompactResult struct {
	Messages  []llm.Message `json:"messages"` // from the first answer on
	Notes     *Notes        `json:"notes,omitempty"`
	Before    int           `json:"before"` // tokens
	After     int           `json:"after"`
	Dropped   int           `json:"dropped,omitempty"`
	Shortened int           `json:"shortened,omitempty"`
	Turns     int           `json:"turns,omitempty"` // that notes stand for now
	Model     string        `json:"model,omitempty"` // that was asked for notes
	Poor      string        `json:"poor,omitempty"`  // why what it wrote was not used
	Usage     llm.Usage     `json:"usage,omitzero"`
	Took      time.Duration `json:"took_ns,omitempty"`
}

// A Route is the model of a task, and the reaction if it does not answer.
type Route struct {
	Model string `json:"model"` // provider/model
	// Window is asked for where the client sets it; zero is the provider's.
	Window int `json:"window,omitempty"`
	// Fallbacks are turned to in this order when the one before cannot answer.
	Fallbacks []Fallback `json:"fallbacks,omitempty"`
	// Hedge, if not zero, bounds the wait for an answer to begin, before
	// the same is asked once more beside it.
	Hedge time.Duration `json:"hedge_ns,omitempty"`
}

// A Fallback is a model behind another.
type Fallback struct {
	Model  string `json:"model"`
	Window int    `json:"window,omitempty"`
}

// Refs lists the models of r in order.
func (r Route) Refs() []string {
	out := []string{r.Model}
	for _, f := range r.Fallbacks {
		out = append(out, f.Model)
	}
	return out
}

// A Chain describes the models after the model of a request.
type Chain struct {
	// Backed reports that another model follows this one, so that a server that does not listen is
	// not waited for.
	Backed bool          `json:"backed,omitempty"`
	Hedge  time.Duration `json:"hedge_ns,omitempty"`
}

// A Think is the model for tools that think, with the limits of one call of such a tool. It is
// pinned with the task and part of the call's step, with the job's remaining limits at that point.
type Think struct {
	Route
	MaxTokens int `json:"max_tokens,omitempty"` // of one answer; default 2048
	Requests  int `json:"requests,omitempty"`   // of one call of a tool; default 16
	// Tokens and USD are the job's remaining limits; -1 means no limit.
	Tokens int        `json:"tokens,omitempty"`
	USD    float64    `json:"usd,omitempty"`
	Prices llm.Prices `json:"prices,omitempty"`
}

// ResolveStep is the kind of the first step of every agent's job. It pins the task:
// from there on the job does not depend on agent files, configuration or the tools'
// prose.
const ResolveStep = "resolve"

// Kinds of the steps that the loop asks for.
const (
	ModelStep    = "model"    // one request to a model
	ToolStep     = "tool"     // one call of a tool
	CompactStep  = "compact"  // makes the conversation smaller
	WorktreeStep = "worktree" // copies the work tree for a sub-agent, or merges it back
)

// Data of the deltas of a tool that runs a command: the command, and a piece of its output. Other
// deltas describe in a line what a call is doing.
var (
	CommandDelta = json.RawMessage(`{"command":true}`)
	OutputDelta  = json.RawMessage(`{"output":true}`)
)
