package turn

import (
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
)

// Names of the steps of kind [CompactStep]: how they make a conversation smaller.
const (
	CompactResults = "results" // by dropping and shortening results of earlier turns
	CompactSummary = "summary" // by notes of a model in place of earlier turns
	CompactRecord  = "record"  // by notes made from the record of calls
)

// A CompactRequest is the input of a step of kind "compact": a conversation, by its
// last Ask and what came since, and how small it has to get.
type CompactRequest struct {
	Head   string        `json:"head,omitempty"`
	New    []llm.Message `json:"new"` // also what is left of an earlier step
	Task   string        `json:"task,omitempty"`
	Notes  *Notes        `json:"notes,omitempty"` // those so far
	Fixed  int           `json:"fixed"`           // tokens of what is kept in any case
	Target int           `json:"target"`          // tokens to get down to
	Limit  int           `json:"limit"`           // tokens that fit
	Rate   int           `json:"rate"`            // thousandths of weight a token
	// Refused reports that the provider has refused what there is: whatever the
	// estimate is, it has to get smaller by a good part.
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
