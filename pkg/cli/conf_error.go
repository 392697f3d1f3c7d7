package cli

// A configError is a mistake in the configuration and what to do about it.
type configError struct {
	err  error
	hint string
}

func (e *configError) Error() string { return e.err.Error() }
func (e *configError) Unwrap() error { return e.err }

// Hint is what to do about it.
func (e *configError) Hint() string { return e.hint }

func fail(err error, hint string) error { return &configError{err, hint} }
