package executor

import (
	"errors"

	"github.com/adroit-run/adroit/pkg/flow"
)

// An Outcome is how a run ended and why.
type Outcome struct {
	Status string   `json:"status"` // one of those below
	Reason string   `json:"reason"`
	Code   string   `json:"code,omitempty"`  // of a failure
	Limit  string   `json:"limit,omitempty"` // turns, tokens, cost, time
	Met    []string `json:"met,omitempty"`
	Unmet  []string `json:"unmet,omitempty"`
	// Unchecked has the checks that neither passed nor failed, as in "not tested:
	// no tests found". A run may be done nevertheless: see Criterion.IfMissing.
	Unchecked []string `json:"unchecked,omitempty"`
	Summary   string   `json:"summary,omitempty"`
	Evidence  string   `json:"evidence,omitempty"`
}

// Statuses of an Outcome.
const (
	Done              = "done"
	Answered          = "answered"            // in words: what a change would have to prove was not asked for
	Planned           = "planned"             // a plan: nothing was changed or tested
	NotNeeded         = "not_needed"          // nothing has to be changed by the model's account, and the checks pass
	NotNeededUnproven = "not_needed_unproven" // by the model's account alone
	CannotBeDone      = "cannot_be_done"      // by the model's account
	Silent            = "went_silent"         // the model answers with nothing
	Limit             = "limit"
	Stuck             = "stuck"
	Failed            = "failed"
)

// outcomeStatuses has every status of an Outcome.
var outcomeStatuses = []string{Done, Answered, Planned, NotNeeded, NotNeededUnproven, CannotBeDone, Silent, Limit, Stuck, Failed}

// Succeeded reports whether a run with this outcome did what was asked.
func (o *Outcome) Succeeded() bool {
	switch o.Status {
	case Done, Answered, Planned, NotNeeded:
		return true
	}
	return false
}

// goesOn reports whether a message of a person makes a run with this outcome go
// on by itself.
func (o *Outcome) goesOn() bool {
	return o.Status != Limit && o.Status != Failed
}

// A StopError is the error of a run that ended without being done. The state
// that comes with it has the partial result.
type StopError struct{ Outcome Outcome }

func (e *StopError) Error() string { return e.Outcome.Status + ": " + e.Outcome.Reason }

// Status is the outcome's status, for whoever keeps the job.
func (e *StopError) Status() string { return e.Outcome.Status }

// Reason is the outcome's reason.
func (e *StopError) Reason() string { return e.Outcome.Reason }

// A Claim is the model saying that it is done, in one turn.
type Claim struct {
	Word     string `json:"word,omitempty"`   // the signal it said, or finish
	Result   string `json:"result,omitempty"` // not_needed or cannot_be_done, "" for done
	Summary  string `json:"summary,omitempty"`
	Evidence string `json:"evidence,omitempty"`
}

// stepMessage is what a provider said when it refused.
func stepMessage(err error) string {
	if se, ok := errors.AsType[*flow.StepError](err); ok {
		return se.Message
	}
	return err.Error()
}
