// Package route decides which model answers: it finds what a role or a pattern
// stands for, says which failures another model can make good, and hedges a
// request that gets no answer.
//
//	for i, m := range chain {
//		resp, err := m.Generate(ctx, req, emit)
//		if err == nil || i == len(chain)-1 || !route.Passes(err) {
//			return resp, err
//		}
//	}
//
// It keeps no state and calls nobody but the models it is given. Retries are
// not its business: whoever runs the request retries first.
package route

import (
	"errors"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Passes reports whether a failure is the model's or its server's, so that
// another model may do better. What is wrong with the request, with a key or
// with a script stays wrong, and must be seen.
func Passes(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && Kind(e.Kind)
}

// Kind is Passes for the kind of an error.
func Kind(k llm.ErrorKind) bool {
	switch k {
	case llm.Unreachable, llm.Overloaded, llm.RateLimit, llm.Timeout, llm.Cut, llm.Garbled, llm.NoModel, llm.Unsupported, extagent.NoResult, extagent.NoProgram:
		return true
	}
	return false
}
