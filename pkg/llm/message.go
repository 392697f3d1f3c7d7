package llm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
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

// A Call is a model's request to run a tool. Args is the model's own text, with its
// blanks; it is valid JSON unless Malformed is set.
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

// An ErrorKind classifies what a provider did wrong, so that callers branch
// on kinds and never on text. Beside these, which any adapter may return, there are
// no_result and no_program of external agents, exhausted and mismatch of scripts, and
// overrun, where the loop holds an answer to a form that it has no room for.
type ErrorKind string

const (
	Auth        ErrorKind = "auth"        // 401, 403: the key is wrong or missing
	NoModel     ErrorKind = "no_model"    // the provider does not have the model
	BadRequest  ErrorKind = "bad_request" // the provider refuses what we sent; retrying is useless
	Unsupported ErrorKind = "unsupported" // the model cannot do this: tools, images, thinking
	TooLong     ErrorKind = "too_long"    // the prompt exceeds the context window
	RateLimit   ErrorKind = "rate_limit"  // 429; see RetryAfter
	Overloaded  ErrorKind = "overloaded"  // 500, 502, 503, 529
	Unreachable ErrorKind = "unreachable" // refused, DNS, TLS, proxy
	Timeout     ErrorKind = "timeout"     // idle or total time exceeded
	Cut         ErrorKind = "cut"         // the answer ended before it was complete
	Garbled     ErrorKind = "garbled"     // the answer is not what the protocol says: HTML, empty, broken
)

// An Error is the error of a Model that has no answer. Message names the cause in a
// sentence without secrets; Hint suggests a remedy, if one is known.
type Error struct {
	Kind       ErrorKind
	Provider   string // "ollama", "openai", the endpoint's name
	Status     int    // HTTP status, 0 if none
	Message    string
	Hint       string
	RetryAfter time.Duration // what the provider asked for, 0 if nothing
	Window     int           // with TooLong: the tokens that the refusal says fit, 0 if it does not; with Overloaded: what may be that
	Acted      bool          // an external agent had begun to work: the request must not be repeated
	Err        error         // the cause, may be nil
}

func (e *Error) Error() string {
	s := e.Message
	if e.Provider != "" {
		s = e.Provider + ": " + s
	}
	if e.Status != 0 {
		s = fmt.Sprintf("%s (HTTP %d)", s, e.Status)
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Busy reports whether the server serves nobody now and may do so in minutes: it
// loads the model, limits the rate or has too much to do.
func (e *Error) Busy() bool {
	return e.Retryable() && (e.Kind == RateLimit || e.Kind == Overloaded && (e.Status == 503 || e.Status == 529))
}

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	if e.Acted {
		return false
	}
	switch e.Kind {
	case RateLimit, Overloaded, Unreachable, Timeout, Cut, Garbled:
		return true
	}
	return false
}

// An Image is a picture in a message of the user or in the result of a tool. The
// message's text has its String,
// so that a model which does not get the picture knows that there is one.
type Image struct {
	Name   string `json:"name"` // as whoever attached it calls it
	Type   string `json:"type"` // image/png, image/jpeg, image/webp or image/gif
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
	Size   int    `json:"size"`   // bytes
	Digest string `json:"digest"` // of Data: SHA-256 in hex
	// Data is the picture itself. It is not part of the message's JSON: a store of
	// messages keeps it once, by its digest. Adapters leave out an image without Data.
	Data []byte `json:"-"`
}

// String describes the image in brackets, as in [image shot.png 1280x720 84 KB].
func (i Image) String() string {
	name := i.Name
	if strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) || r == ']' }) {
		name = strconv.Quote(name)
	}
	return fmt.Sprintf("[image %s %dx%d %d KB]", name, i.Width, i.Height, (i.Size+1023)/1024)
}
