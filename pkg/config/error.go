package config

// An Error is a mistake in the configuration and what to do about it.
type Error struct {
	err  error
	hint string
}

func (e *Error) Error() string { return e.err.Error() }
func (e *Error) Unwrap() error { return e.err }

// Hint is what to do about it.
func (e *Error) Hint() string { return e.hint }

func fail(err error, hint string) error { return &Error{err, hint} }
