package turn

import (
	"encoding/json"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A AgentGrant is what a model that works on its own may do for one answer: see
// [extagent.Model]. It follows from the task, so that the step has all of it.
type AgentGrant struct {
	Rights extagent.Access `json:"may,omitzero"`
	Bounds extagent.Limits `json:"bounds,omitzero"`
	// Needs are those of the task's tools together, Permit what decides: both
	// are for models that ask before they do something.
	Needs  tools.Caps         `json:"needs,omitempty"`
	Permit *PermissionContext `json:"permit,omitempty"`
}

const (
	AgentTimeout = 2 * time.Hour
)

// A ModelRequest is the input of a model step: what the model has not been sent yet,
// and a reference to what it has. Asks form a chain by digest, so that each
// message is stored once however long the run gets.
type ModelRequest struct {
	Head        string          `json:"head,omitempty"` // digest of the previous Ask
	New         []llm.Message   `json:"new"`
	Model       string          `json:"model"`
	Tools       []llm.ToolSpec  `json:"tools,omitempty"` // in place of those so far; nil leaves them
	HideTools   bool            `json:"bare,omitempty"`  // offer no tools this time
	RequireCall bool            `json:"must,omitempty"`  // an answer without a call would be refused
	Compacted   int             `json:"gone,omitempty"`  // answers that a compaction has taken out
	Options     llm.Options     `json:"options,omitzero"`
	Output      json.RawMessage `json:"output,omitempty"`
	// At is the worktree that a model that works itself is to work in; empty is
	// the job's directory.
	At string `json:"at,omitempty"`
	Chain
	// Calling is the way that is set for the job, Setbacks what did not work
	// in it so far.
	CallMode     Mode          `json:"calling,omitempty"`
	ModeFailures []ModeFailure `json:"setbacks,omitempty"`
	// Stay is for a model that works on its own.
	Grant *AgentGrant `json:"stay,omitempty"`
}

// A ModelResponse is the output of a model step.
type ModelResponse struct {
	llm.Response
	Took time.Duration `json:"took_ns"`
	// Spent was paid for beside it, by a hedge.
	ModelCosts []ModelCost `json:"spent,omitempty"`
	Ref        string      `json:"-"` // the provider/model that was asked
	// Calling is the way in which it was asked, Why why not in the first one;
	// Slip what was wrong with the form of the answer.
	CallMode   Mode   `json:"calling,omitempty"`
	ModeReason string `json:"why,omitempty"`
	Malformed  string `json:"slip,omitempty"`
	// Changed and Artifacts are what a model that works on its own has left: the
	// files that the ledger saw change, and what the host binds.
	Changed   []string                   `json:"changed,omitempty"`
	Artifacts map[string]json.RawMessage `json:"artifacts,omitempty"`
	Grant     *AgentGrant                `json:"-"` // that it was asked with
}

// A ModelCost is what was paid a model for within a step, beside what the step's
// answer has: by the requests of a tool, by a hedge.
type ModelCost struct {
	Model    string    `json:"model"` // provider/model
	Usage    llm.Usage `json:"usage"`
	Requests int       `json:"requests"`
	// Estimated reports that the provider did not get to count: what could have
	// been read and written was.
	Estimated bool `json:"guessed,omitempty"`
}
