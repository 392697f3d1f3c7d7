package llm

import (
	"encoding/json"
	"slices"
)

// A Role is the author of a message.
type Role string

const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Known reports whether r is one of those that there are.
func (r Role) Known() bool { return slices.Contains([]Role{System, User, Assistant, Tool}, r) }

// A Call is a model's request to run a tool. Args is what the model wrote, with
// its blanks; it is valid JSON unless Malformed says otherwise.
type Call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
	// Malformed explains why the arguments could not be read. Such a call is
	// never run: its explanation is its result. Args is then "{}", so that
	// the history stays valid for every provider; Raw keeps what was written.
	Malformed string `json:"malformed,omitempty"`
	Raw       string `json:"raw,omitempty"`
}

// A Message is one entry of a conversation. Once it is part of a transcript
// it is never changed: adapters keep its encoded form (see [Request.History]).
type Message struct {
	Role     Role    `json:"role"`
	Text     string  `json:"text,omitempty"`
	Thinking string  `json:"thinking,omitempty"`
	Images   []Image `json:"images,omitempty"` // Role User or Tool
	Calls    []Call  `json:"calls,omitempty"`
	CallID   string  `json:"call_id,omitempty"` // Role Tool: the call this answers
	Name     string  `json:"name,omitempty"`    // Role Tool: the tool's name
	Failed   bool    `json:"failed,omitempty"`  // Role Tool: the tool reported failure
	// Whole is the id under which all of Text is kept if it is a part of a longer one. Role Tool.
	Whole string `json:"whole,omitempty"`
	// Written is the whole answer as the model wrote it, where its calls and its text were parts
	// of one form; empty elsewhere.
	Written string `json:"written,omitempty"`
	// State is data that the provider wants back with this message. Other
	// providers ignore it.
	State *ProviderState `json:"echo,omitempty"`
}

// A ProviderState is an extra field of a message in one dialect of a protocol.
// Other dialects leave it out.
type ProviderState struct {
	Dialect string          `json:"dialect"`
	Field   string          `json:"field"`
	Value   json.RawMessage `json:"value"`
}
