package config

import (
	"errors"
	"strings"
)

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

// Faults are several mistakes of one configuration.
type Faults []error

// Error has the mistakes in one line, for where there is one.
func (f Faults) Error() string {
	var words []string
	for _, err := range f {
		words = append(words, err.Error())
	}
	return strings.Join(words, "; ")
}

// Unwrap returns the mistakes, each with its hint.
func (f Faults) Unwrap() []error { return f }

// all is nil, the one mistake, or all of them.
func all(errs ...error) error {
	var out Faults
	for _, err := range errs {
		var many Faults
		if errors.As(err, &many) {
			out = append(out, many...)
		} else if err != nil {
			out = append(out, err)
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	}
	return out
}
