package executor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A fingerprint is the fingerprint of one turn's calls.
type fingerprint struct {
	Call string `json:"call"`          // which calls, with which arguments
	Full string `json:"full"`          // and with which results
	Err  string `json:"err,omitempty"` // the errors, if every call failed
}

// maxFingerprints is how many turns are remembered; enough for every rule below.
const maxFingerprints = 24

var digits = lazyregexp.New(`[0-9]+`)

func (s *State) recordCalls(calls []llm.Call, replies []ToolResult) {
	if len(calls) == 0 {
		return
	}
	var asked, got, wrong strings.Builder
	failures := 0
	for i, c := range calls {
		asked.WriteString(c.Name)
		asked.Write(c.Args)
		asked.WriteString(c.Raw + "\n")
		got.WriteString(replies[i].Text)
		got.WriteByte('\n')
		if replies[i].Failed {
			failures++
			fmt.Fprintf(&wrong, "%s %s\n", c.Name, digits.ReplaceAllString(replies[i].Text, "0"))
		}
	}
	m := fingerprint{Call: short(asked.String()), Full: short(asked.String() + got.String())}
	if failures == len(calls) {
		m.Err = short(wrong.String())
		if s.paused(calls[0].Name, s.Turns) {
			m.Err = s.Failing[calls[0].Name].Err // it only was not let through
		}
	}
	s.Recent = append(s.Recent, m)
	if n := len(s.Recent) - maxFingerprints; n > 0 {
		s.Recent = s.Recent[n:]
	}
}

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// loopRules define a loop: a pattern of period turns that was seen remind times
// gets a reminder, and seen stop times ends the run.
var loopRules = []struct {
	period, remind, stop int
	by                   func(fingerprint) string
	words                string
}{
	{1, 3, 6, func(m fingerprint) string { return m.Full }, "the same call with the same result"},
	{1, 6, 12, func(m fingerprint) string { return m.Call }, "the same call"},
	{1, 3, 6, func(m fingerprint) string { return m.Err }, "the same error"},
	{2, 3, 5, func(m fingerprint) string { return m.Full }, "the same two calls in turn"},
	{3, 3, 5, func(m fingerprint) string { return m.Full }, "the same three calls in turn"},
}

// detectLoop reminds the model when it repeats itself, and ends the run when
// that did not help.
func (s *State) detectLoop() {
	for _, rule := range loopRules {
		n := repeats(s.Recent, rule.period, rule.by)
		switch {
		case n >= rule.stop:
			s.wrapUp(&Outcome{Status: Stuck, Reason: fmt.Sprintf("%s, %d times over", rule.words, n)})
			return
		case n >= rule.remind && s.Turns-s.LastReminder >= rule.remind:
			s.LastReminder = s.Turns
			s.addUserMessage("You have made %s %d times now. It will not help to go on like this. Read the results again and try something else, or say what blocks you.", rule.words, n)
			return
		}
	}
}

// repeats counts how often the last period marks have come in a row.
func repeats(ms []fingerprint, period int, by func(fingerprint) string) int {
	n := 0
	for end := len(ms); end >= period; end -= period {
		for i := range period {
			v := by(ms[end-period+i])
			if v == "" || v != by(ms[len(ms)-period+i]) {
				return n
			}
		}
		n++
	}
	return n
}
