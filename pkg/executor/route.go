package executor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/calling/route"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// useFallback moves the run to the model behind the one that failed, and notes it. It
// reports false if the failure is for the run to end with. The run stays with
// the new model: going to and fro would lose the cache of both.
func (s *State) useFallback(r *flow.Run, t *Task, err error) (bool, error) {
	var se *flow.StepError
	if !errors.As(err, &se) || s.Fallback >= len(t.Fallbacks) {
		return false, nil
	}
	kind, ours := strings.CutPrefix(se.Code, "model.")
	if se.Code != flow.TimedOut && (!ours || !route.Kind(llm.ErrorKind(kind))) {
		return false, nil
	}
	from, _ := t.modelAt(s.Fallback)
	s.Fallback++
	to, _ := t.modelAt(s.Fallback)
	words := fmt.Sprintf("%s does not answer (%s); going on with %s", from, spelling.FirstLine(se.Message), to)
	if _, priced := t.Prices[to]; !priced && t.Limits.CostUSD > 0 {
		words += ", which has no price and is not counted"
	}
	return true, r.Note("%s", words)
}

// retry prepares a for another try after a failure: with the model that was
// interrupted, or with the one behind it. It reports false if there is none.
func (t *Task) retry(r *flow.Run, s *State, a *turn.ModelRequest, err error) (bool, error) {
	if interrupted(err, a.Model) {
		a.New = withMessage(a.New, interruptedMessage)
		return true, nil
	}
	again, noted := s.useFallback(r, t, err)
	if again && extagent.IsAgent(a.Model) {
		a.New = withMessage(a.New, takeoverMessage(a.Model, err))
	}
	return again, noted
}
