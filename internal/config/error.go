package config

// A fileError is a mistake in the configuration and what to do about it.
type fileError struct {
	err  error
	hint string
}

func (e *fileError) Error() string { return e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// Hint is what to do about it.
func (e *fileError) Hint() string { return e.hint }

func fail(err error, hint string) error { return &fileError{err, hint} }
