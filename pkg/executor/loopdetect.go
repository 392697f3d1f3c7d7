package executor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/adroit-run/adroit/internal/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Loop detection: what the model does again and again without getting anywhere ends
// its job, after warnings.

// maxFingerprints is how many turns are remembered; enough for every rule below.
const maxFingerprints = 24

var digits = lazyregexp.New(`[0-9]+`)

func (s *State) recordCalls(calls []llm.Call, replies []ToolResult) {
	if len(calls) == 0 {
		return
	}
	h := sha256.New()
	for _, c := range calls {
		fmt.Fprintf(h, "%s%s%s\n", c.Name, c.Args, c.Raw)
	}
	m := fingerprint{Call: shortSum(h)}
	var wrong strings.Builder
	failures := 0
	for i, c := range calls {
		fmt.Fprintln(h, replies[i].Text)
		if replies[i].Failed {
			failures++
			fmt.Fprintf(&wrong, "%s %s\n", c.Name, digits.ReplaceAllString(replies[i].Text, "0"))
		}
	}
	m.Full = shortSum(h)
	if failures == len(calls) {
		m.Err = short(wrong.String())
		if s.paused(calls[0].Name, s.Turns) {
			m.Err = s.Failing[calls[0].Name].Err // the tool is paused; its error is the same
		}
	}
	s.Recent = append(s.Recent, m)
	if n := len(s.Recent) - maxFingerprints; n > 0 {
		s.Recent = s.Recent[n:]
	}
}

func short(s string) string {
	h := sha256.New()
	h.Write([]byte(s))
	return shortSum(h)
}

func shortSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:6]) }

// loopRules define a loop: a pattern of period turns, equal in what same returns.
// After remind repetitions the model gets a reminder, after stop repetitions the
// run ends. The first rule that applies decides.
var loopRules = []struct {
	period, remind, stop int
	same                 func(fingerprint) string
	reason               string
}{
	{period: 1, remind: 3, stop: 6, same: callsAndResults, reason: "the same call with the same result"},
	{period: 1, remind: 6, stop: 12, same: callsOnly, reason: "the same call"},
	{period: 1, remind: 3, stop: 6, same: errorsOnly, reason: "the same error"},
	{period: 2, remind: 3, stop: 5, same: callsAndResults, reason: "the same two calls in turn"},
	{period: 3, remind: 3, stop: 5, same: callsAndResults, reason: "the same three calls in turn"},
}

func callsAndResults(f fingerprint) string { return f.Full }
func callsOnly(f fingerprint) string       { return f.Call }
func errorsOnly(f fingerprint) string      { return f.Err }

// detectLoop reminds the model when it repeats itself, and ends the run when
// that did not help.
func (s *State) detectLoop() {
	for _, rule := range loopRules {
		n := repetitions(s.Recent, rule.period, rule.same)
		switch {
		case n >= rule.stop:
			s.wrapUp(&Outcome{Status: Stuck, Reason: fmt.Sprintf("%s, %d times over", rule.reason, n)})
			return
		case n >= rule.remind && s.Turns-s.LastReminder >= rule.remind:
			s.LastReminder = s.Turns
			s.addUserMessage("You have made %s %d times now. It will not help to go on like this. Read the results again and try something else, or say what blocks you.", rule.reason, n)
			return
		}
	}
}

// repetitions counts how often the last period turns have occurred in a row.
func repetitions(turns []fingerprint, period int, same func(fingerprint) string) int {
	n := 0
	for end := len(turns); end >= period; end -= period {
		for i := range period {
			v := same(turns[end-period+i])
			if v == "" || v != same(turns[len(turns)-period+i]) {
				return n
			}
		}
		n++
	}
	return n
}

func (s *State) paused(name string, turn int) bool {
	f := s.Failing[name]
	return f.PausedUntil > 0 && f.PausedUntil >= turn
}
