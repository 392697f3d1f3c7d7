package executor

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A ToolResult is the output of a tool step.
type ToolResult struct {
	tools.Result
	Took time.Duration `json:"took_ns,omitempty"`
	// Sandbox is the level that the tool's commands ran at, if it may run any.
	Sandbox string `json:"sandbox,omitempty"`
	// Spent is what the tool has paid models for.
	ModelCosts []ModelCost `json:"spent,omitempty"`
	// Repairs are what the arguments were taken for, in words for the model.
	Repairs []string `json:"repairs,omitempty"`
	// Kept is set if the whole of Text is kept, of which the model is shown a part.
	Kept *struct {
		ID    string `json:"id"` // for read_result
		Bytes int    `json:"bytes"`
	} `json:"kept,omitempty"`
	// Ask is set if nothing was done because a person must approve it first.
	Question *Question `json:"ask,omitempty"`
	// UserQuestion is set if the call waits for an answer of the user.
	UserQuestion *UserQuestion `json:"asks_user,omitempty"`
	// Unchecked is set if nothing was done because checks must pass first, for the loop.
	Unchecked json.RawMessage `json:"unchecked,omitempty"`
	// Held are files that the call's commands made and that a person is asked about before
	// they come into the workspace, for the loop.
	Held json.RawMessage `json:"held,omitempty"`
	// Interrupted is set if the process died during the call: it may or may not
	// have happened. It follows from the journal and is not part of it.
	Interrupted bool `json:"-"`
	// Denied is set if a person was asked about the call and denied it. It follows from
	// their signal and is not part of the journal.
	Denied bool `json:"-"`

	unknown    string        // the path of an attempt of which nobody knows whether it happened
	rules      []permit.Rule // that the person who approved has added
	report     *Report       // of a sub-agent
	concurrent bool          // it ran at once with the one before it
	shown      string        // to the model in place of Text, if it is not ""
}

// A UserQuestion is what a tool asks the user in the middle of a call, as the
// tools of MCP servers do.
type UserQuestion struct {
	ID   string `json:"id"`
	Call string `json:"call,omitempty"` // that waits for the answer
	// Server and Tool ask.
	Server   string          `json:"server"`
	Tool     string          `json:"asked_by"`
	Question string          `json:"question"`
	Schema   json.RawMessage `json:"schema,omitempty"` // of the answer; nil if it is yes or no
	URL      string          `json:"url,omitempty"`    // that the user is asked to open
	Fault    string          `json:"fault,omitempty"`  // what is wrong with the answer before
}

// An asked is who wants a call: a model, unless workflow is set.
type asked struct {
	workflow    bool
	interrupted turn.Interruption
	whole       bool // it reads the result's value
}

// A callContext is what earlier calls have to do with whether the next may run.
type callContext struct {
	taint     tools.Taint
	rules     []permit.Rule              // added by people in the course of the job
	artifacts map[string]json.RawMessage // by the calls before, in the same answer
	calls     int                        // that share the room for results; 0 is one
	// before is how many sub-agents the calls before, in the same answer, have
	// been given.
	subAgents int
	// undecided are the paths of those before, in the same answer, of which nobody
	// knows whether they had their effect.
	undecided map[string]string
	// last is the digest of the call just before, in the same answer, "" if that only read.
	last string
	// failed is the tool of a change that failed before, in the same answer.
	failed string
	// asked is who wants the call, and what becomes of it if it is interrupted.
	asked asked
}

func refuse(format string, args ...any) ToolResult {
	return ToolResult{Result: tools.Result{Failed: true, Text: fmt.Sprintf(format, args...)}}
}
