package stepio

import "github.com/adroit-run/adroit/pkg/llm"

// A Branch is a part of another job's conversation, with which a run begins.
type Branch struct {
	Job     string      `json:"job"`
	Turn    int         `json:"turn"` // of the transcript, the last one of the part
	Opening llm.Message `json:"opening"`
	// History is what follows, from the first answer on; the last message is the
	// user's.
	History []llm.Message `json:"history"`
}
