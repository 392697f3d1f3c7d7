package llm

import (
	"fmt"
	"time"
)

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

// An Error is what a Model returns when it has no answer. Message names the
// cause in a sentence without secrets; Hint says what to do next, if known.
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
	s := e.Provider + ": " + e.Message
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
