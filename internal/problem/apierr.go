package problem

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Kind classifies an error for callers that branch on it.
type Kind string

// Kinds of errors.
const (
	Invalid     Kind = "invalid"   // the request cannot be meant
	NotFound    Kind = "not_found" // there is no such job, agent, artifact …
	Held        Kind = "held"      // another runner has the job
	Ended       Kind = "ended"     // the job has ended
	Running     Kind = "running"   // the job is running
	Blocked     Kind = "blocked"   // the job is blocked
	Answered    Kind = "answered"  // the question has its answer: a later one changes nothing
	Stale       Kind = "stale"     // the file is not as it was read
	Forbidden   Kind = "forbidden" // whoever asks may not
	Away        Kind = "away"      // the host that has to answer does not at the moment
	Failed      Kind = "failed"    // all else
	Interrupted Kind = "interrupted"
)

// UnknownAgent is the code of an error about an agent that there is none of.
const UnknownAgent = "unknown_agent"

// NoModel is the code of an error about a request that no model can answer.
const NoModel = "no_model"

// An Error describes a failure, with advice, in a form that survives JSON. It is the error of
// pkg/jobs of its kind.
type Error struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // one or more lines
	// Code identifies the error precisely, where callers act on it.
	Code string `json:"code,omitempty"`

	Err error `json:"-"` // the cause
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, which is nil for an error that came as JSON.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the error of pkg/jobs that the kind stands for.
func (e *Error) Is(target error) bool {
	i := slices.IndexFunc(kinds, func(k kindError) bool { return k.kind == e.Kind })
	return i >= 0 && kinds[i].err == target
}

// A kindError is an error of pkg/jobs that callers branch on, and the kind that it is of.
type kindError struct {
	kind Kind
	err  error
}

// kinds are all of them; the first of a kind stands for it.
var kinds = []kindError{
	{NotFound, jobs.ErrNotExist}, {Held, jobs.ErrHeld}, {Held, jobs.ErrLeaseLost}, {Ended, jobs.ErrFinal}, {Running, jobs.ErrRunning},
	{Blocked, jobs.ErrBlocked}, {Answered, jobs.ErrAnswered}, {Interrupted, jobs.ErrStopped},
}

// AsError returns err as an *Error, nil for nil. It keeps the cause.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) && e.Message == err.Error() {
		return e
	}
	out := &Error{Kind: Failed, Message: err.Error(), Hint: Hint(err), Err: err}
	if e != nil {
		out.Kind = e.Kind
		return out
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			out.Kind = k.kind
			break
		}
	}
	return out
}

// Hint returns the advice in an error, or "": the hint of an [Error], or of an error with a method
// Hint.
func Hint(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		help := ""
		switch e := err.(type) {
		case *Error:
			help = e.Hint
		case interface{ Hint() string }:
			help = e.Hint()
		case interface{ Unwrap() []error }:
			for _, e := range e.Unwrap() {
				if help = Hint(e); help != "" {
					break
				}
			}
		}
		if help != "" {
			return help
		}
	}
	return ""
}

// Invalidf refuses an invalid request.
func Invalidf(help, format string, args ...any) error {
	return &Error{Kind: Invalid, Message: fmt.Sprintf(format, args...), Hint: help}
}

// Coded returns an Invalidf error with a code.
func Coded(code, help, format string, args ...any) error {
	return &Error{Kind: Invalid, Code: code, Message: fmt.Sprintf(format, args...), Hint: help}
}

// Refuse turns an error about a name in a request into an error of the request. The hint of the
// error itself comes before help.
func Refuse(err error, help string) error {
	return &Error{Kind: Invalid, Message: err.Error(), Hint: cmp.Or(Hint(err), help), Err: err}
}

// WithHint adds advice for the user to err.
func WithHint(err error, help string) error {
	return &Error{Kind: AsError(err).Kind, Message: err.Error(), Hint: help, Err: err}
}

// ModelError adds advice to the error of a model, if there is any for its kind.
func ModelError(err error) error {
	e := new(llm.Error)
	if !errors.As(err, &e) {
		return err
	}
	if e.Hint == "" && e.Kind == llm.NoModel {
		return WithHint(err, hint.Command("models list")+" lists the models there are")
	}
	return WithHint(err, e.Hint)
}

// NoLast explains why the word last names no job in a directory: the newest job of all belongs to
// another project, or to a command that makes jobs of its own. newest is "" if there are no jobs.
func NoLast(newest, dir, here string) error {
	if newest != "" && dir == here {
		return &Error{Kind: NotFound, Message: fmt.Sprintf("%s was made by a command such as commit; last means none of those, and there is no other job of this directory", newest), Hint: "write its id to mean it; " + hint.Command("jobs") + " lists it"}
	}
	if newest == "" {
		return &Error{Kind: NotFound, Message: "there are no jobs", Hint: hint.Command("run AGENT PROMPT") + " starts one"}
	}
	return &Error{Kind: NotFound, Message: fmt.Sprintf("there is no job of this directory; the newest of all is %s in %s", newest, dir), Hint: "write its id to mean it; " + hint.Command("jobs --all") + " lists them all"}
}
