package executor

import (
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/internal/executor/toolcall"
)

// noteCallMode notes how the way of an answer worked out.
func (s *State) noteCallMode(t *Task, a *stepio.ModelResponse) {
	if a.CallMode == "" || a.Malformed == "" {
		if len(a.Message.Calls) > 0 {
			s.Malformed = 0
		}
		return
	}
	s.Malformed++
	if s.Malformed < toolcall.MaxMalformed || t.CallMode != "" && t.CallMode != toolcall.Auto || a.CallMode == toolcall.Text {
		return
	}
	s.Malformed = 0
	if !slices.ContainsFunc(s.ModeFailures, func(b toolcall.ModeFailure) bool { return b.Mode == a.CallMode }) {
		s.ModeFailures = append(s.ModeFailures, toolcall.ModeFailure{Mode: a.CallMode, Why: fmt.Sprintf("%s, %d times in a row", a.Malformed, toolcall.MaxMalformed)})
	}
}
