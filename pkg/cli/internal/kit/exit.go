package kit

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/adroit-run/adroit/pkg/jobs"
)

// Exit codes. They are a contract: scripts branch on them.
const (
	Done      = 0
	Failed    = 1
	Usage     = 2
	Limit     = 3 // stopped short of being done: by a limit, stuck, or by the model's account
	Waiting   = 4 // for a person
	Cancelled = 5
	Signal    = 128 // plus the signal's number
)

// An Error ends the program with a code. Without Err nothing more is printed.
type Error struct {
	Code int
	Err  error
	Hint string
}

func (f *Error) Error() string {
	if f.Err == nil {
		return fmt.Sprintf("exit %d", f.Code)
	}
	return f.Err.Error()
}

func (f *Error) Unwrap() error { return f.Err }

// Usagef is a usage error: the command line itself is wrong.
func Usagef(hint, format string, args ...any) error {
	return &Error{Usage, fmt.Errorf(format, args...), hint}
}

// Fail is an error with a hint for what to do about it.
func Fail(err error, hint string) error { return &Error{Failed, err, hint} }

// With ends the program with a code and prints nothing more; nil for [Done].
func With(code int) error {
	if code == Done {
		return nil
	}
	return &Error{Code: code}
}

// A StopError is a signal from the operator, the cause why a command's context
// ended. The job it stops is interrupted, not cancelled.
type StopError struct{ Signal syscall.Signal }

func (e *StopError) Error() string { return "stopped by " + e.Signal.String() }
func (e *StopError) Unwrap() error { return jobs.ErrStopped }

// OfSignal is the exit code for a signal. A terminal that went away is the same
// request as SIGTERM.
func OfSignal(s syscall.Signal) int {
	if s == syscall.SIGHUP {
		s = syscall.SIGTERM
	}
	return Signal + int(s)
}

// Stopped is the error of a command whose context has ended.
func Stopped(ctx context.Context) error {
	if s, ok := errors.AsType[*StopError](context.Cause(ctx)); ok {
		return With(OfSignal(s.Signal))
	}
	return context.Cause(ctx)
}

// OfJob is the exit code for the status of a job that a command with ctx ran or
// waited for.
func OfJob(ctx context.Context, status jobs.Status) int {
	switch {
	case status.Succeeded():
		return Done
	case status.Halted():
		return Limit
	case status == jobs.Waiting:
		return Waiting
	case status == jobs.Cancelled:
		return Cancelled
	}
	if s, ok := errors.AsType[*StopError](context.Cause(ctx)); ok {
		return OfSignal(s.Signal)
	}
	return Failed
}
