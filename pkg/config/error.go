package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// A fileError is a mistake in the configuration and what to do about it.
type fileError struct {
	err  error
	hint string
}

func (e *fileError) Error() string { return e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// Hint returns advice on how to correct the error.
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

// A place names a key: the file, and the line of the key or of the innermost one around
// it that is there.
type place func(keys ...string) string

// placeIn returns what names the keys of the file's text b.
func placeIn(path string, b []byte) place {
	return func(keys ...string) string {
		file, err := parser.ParseBytes(b, 0)
		if err != nil || len(file.Docs) == 0 {
			return path
		}
		line := 0
		for at, i := ast.Node(file.Docs[0].Body), 0; i < len(keys); i++ {
			if list, ok := at.(*ast.SequenceNode); ok {
				if n, err := strconv.Atoi(keys[i]); err == nil && n < len(list.Values) {
					at = list.Values[n]
					line = firstLine(at)
				}
				continue
			}
			entry := entryOf(at, keys[i])
			if entry == nil {
				break
			}
			line, at = entry.Key.GetToken().Position.Line, entry.Value
		}
		if line == 0 {
			return path
		}
		return fmt.Sprintf("%s:%d", path, line)
	}
}
