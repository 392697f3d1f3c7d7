package turn

import (
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Branch is a part of another job's conversation, with which a run begins.
type Branch struct {
	Job     string      `json:"job"`
	Turn    int         `json:"turn"` // of the transcript, the last one of the part
	Opening llm.Message `json:"opening"`
	// History is what follows, from the first answer on; the last message is the
	// user's.
	History []llm.Message `json:"history"`
}

// A Conversation is one of an earlier run of the same job, with which a sub-agent goes on.
type Conversation struct {
	Head    string        `json:"head"`
	New     []llm.Message `json:"new,omitempty"` // what the model has not been sent
	Offered string        `json:"offered,omitempty"`
	Context Usage         `json:"context,omitzero"`
	Calls   int           `json:"calls,omitempty"` // the highest number of a call in it
}
