package turn

import (
	"encoding/json"

	"github.com/adroit-run/adroit/pkg/guard/permit"
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
	// Approved is the digest of the question that a person said yes to.
	Approved string `json:"approved,omitempty"`
	// Accepted is the digest of a tool that was changed by its server, if a person
	// said yes to calling it as it is now.
	Accepted string `json:"accepted,omitempty"`
	// Checked is the digest of what the checks that the tool demands have passed on.
	Checked string `json:"checked,omitempty"`
	// Answers are what the user said to what the tool asked.
	Answers []UserAnswer `json:"answers,omitempty"`
	// At is the worktree that the call is made in; empty is the job's directory.
	At string `json:"at,omitempty"`
	// Room is how many bytes of the result the model is shown; 0 for no bound.
	MaxResultBytes int `json:"room,omitempty"`
	// Share is how many bytes the model is shown in any case if other results need the rest:
	// the whole of a longer text is kept. 0 is all of it.
	Share int `json:"share,omitempty"`
	// Whole is set if a workflow asks, which reads the result's value.
	Whole bool `json:"whole,omitempty"`
	// PlainText has files shown without the numbers of their lines.
	PlainText bool `json:"plain,omitempty"`
}

// Unchecked is what must be checked before a call is made. Digest stands for all that
// the call would make visible to others; that the checks have passed holds for nothing
// else.
type Unchecked struct {
	Checks []tools.Precondition `json:"checks"`
	Tools  []CheckTool          `json:"tools"` // of the checks
	Digest string               `json:"digest"`
}

// A CheckTool is what the loop has to know of the tool of a check.
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

// A PermissionContext is what decides about a call besides the call itself. It travels with
// the step, so that the decision is made where the tool is and needs nothing
// but what was pinned. Nil is a May without rules in ModeEdits.
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

// Text is the text that arguments have by a name, "" if it is none.
func StepioText(args json.RawMessage, name string) string {
	var fields map[string]json.RawMessage
	var text string
	if json.Unmarshal(args, &fields) == nil && json.Unmarshal(fields[name], &text) == nil {
		return text
	}
	return ""
}

// ExfiltrationTaint is what makes sending dangerous.
const ExfiltrationTaint = tools.Untrusted | tools.Secret

// A UserAnswer is what the user said to a UserQuestion.
type UserAnswer struct {
	ID      string          `json:"id"`
	Call    string          `json:"call,omitempty"`
	Action  string          `json:"action"` // accept, decline or cancel
	Content json.RawMessage `json:"content,omitempty"`
}

// A CommandResult is how a command line ended: the Value of the tools that run one.
type CommandResult struct {
	ID       string `json:"id,omitempty"` // as shell_output takes it
	Code     int    `json:"exit_code"`    // -1 while it runs
	TimedOut bool   `json:"timed_out,omitempty"`
	Killed   bool   `json:"killed,omitempty"`
	// Output is what it printed, only where tools.Env has MaxValueBytes; Dropped is how many bytes
	// of its middle are left out.
	Output  string `json:"output,omitempty"`
	Dropped int64  `json:"dropped,omitempty"`
}
