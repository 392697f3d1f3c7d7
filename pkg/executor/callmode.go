package executor

import (
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/pkg/executor/toolcall"
)

// steer notes how the way of an answer worked out.
func (s *State) steer(t *Task, a *Answer) {
	if a.Calling == "" || a.Slip == "" {
		if len(a.Message.Calls) > 0 {
			s.Slips = 0
		}
		return
	}
	s.Slips++
	if s.Slips < toolcall.MaxMalformed || t.Calling != "" && t.Calling != toolcall.Auto || a.Calling == toolcall.Text {
		return
	}
	s.Slips = 0
	if !slices.ContainsFunc(s.Setbacks, func(b toolcall.ModeFailure) bool { return b.Mode == a.Calling }) {
		s.Setbacks = append(s.Setbacks, toolcall.ModeFailure{Mode: a.Calling, Why: fmt.Sprintf("%s, %d times in a row", a.Slip, toolcall.MaxMalformed)})
	}
}
