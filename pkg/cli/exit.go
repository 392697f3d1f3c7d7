package cli

import "fmt"

// Exit codes. They are a contract: scripts branch on them.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitLimit     = 3 // stopped by a limit or stuck, not done
	exitWaiting   = 4 // for a person
	exitCancelled = 5
	exitSignal    = 128 // plus the signal's number
)

// A fault ends the program with a code. Without err it says nothing, because
// everything was said already.
type fault struct {
	code int
	err  error
	hint string
}

func (f *fault) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit %d", f.code)
	}
	return f.err.Error()
}

func (f *fault) Unwrap() error { return f.err }

// usage reports a command line that cannot be meant.
func usage(hint, format string, args ...any) error {
	return &fault{exitUsage, fmt.Errorf(format, args...), hint}
}

// broken reports something that went wrong, and what to do.
func broken(err error, hint string) error { return &fault{exitFailed, err, hint} }

// exit ends the program with code and says nothing more.
func exit(code int) error {
	if code == exitDone {
		return nil
	}
	return &fault{code: code}
}
