package turn

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Loop detection finds repetitions of a model that make no progress: turns that repeat, and tools
// that fail in the same way. It does not decide what follows; the loop reminds the model,
// withholds the tool or ends the job.

// A Fingerprint identifies the tool calls of one turn, so that repetitions can be
// counted.
type Fingerprint struct {
	Call string `json:"call"`          // which calls, with which arguments
	Full string `json:"full"`          // and with which results
	Err  string `json:"err,omitempty"` // the errors, if every call failed
}

// maxFingerprints is the number of turns remembered; it is enough for every rule below.
const maxFingerprints = 24

var digits = lazyregexp.New(`[0-9]+`)

// Of returns the fingerprint of a turn's calls, at least one, and their results.
func Of(calls []llm.Call, results []tools.Result) Fingerprint {
	h := sha256.New()
	for _, c := range calls {
		fmt.Fprintf(h, "%s%s%s\n", c.Name, c.Args, c.Raw)
	}
	f := Fingerprint{Call: shortSum(h)}
	var wrong strings.Builder
	failures := 0
	for i, c := range calls {
		fmt.Fprintln(h, results[i].Text)
		if results[i].Failed {
			failures++
			fmt.Fprintf(&wrong, "%s %s\n", c.Name, digits.ReplaceAllString(results[i].Text, "0"))
		}
	}
	f.Full = shortSum(h)
	if failures == len(calls) {
		f.Err = short(wrong.String())
	}
	return f
}

// Add remembers one more turn, and forgets those that no rule needs.
func Add(turns []Fingerprint, f Fingerprint) []Fingerprint {
	turns = append(turns, f)
	return turns[max(0, len(turns)-maxFingerprints):]
}

func short(s string) string {
	h := sha256.New()
	h.Write([]byte(s))
	return shortSum(h)
}

func shortSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:6]) }

// loopRules define a loop: a pattern of period turns whose results of same are equal. After remind
// repetitions the model gets a reminder, after stop repetitions the run ends. The first rule that
// applies decides.
var loopRules = []struct {
	period, remind, stop int
	same                 func(Fingerprint) string
	reason               string
}{
	{period: 1, remind: 3, stop: 6, same: callsAndResults, reason: "the same call with the same result"},
	{period: 1, remind: 6, stop: 12, same: callsOnly, reason: "the same call"},
	{period: 1, remind: 3, stop: 6, same: errorsOnly, reason: "the same error"},
	{period: 2, remind: 3, stop: 5, same: callsAndResults, reason: "the same two calls in turn"},
	{period: 3, remind: 3, stop: 5, same: callsAndResults, reason: "the same three calls in turn"},
}

func callsAndResults(f Fingerprint) string { return f.Full }
func callsOnly(f Fingerprint) string       { return f.Call }
func errorsOnly(f Fingerprint) string      { return f.Err }

// A Loop describes the repetition in the last turns.
type Loop struct {
	Reason string
	N      int
	Stop   bool // reminders have not helped
}

// Find returns the loop that the last turns are in, nil if there is none or the last
// reminder, so many turns ago, is too fresh for another.
func Find(turns []Fingerprint, sinceReminder int) *Loop {
	for _, rule := range loopRules {
		n := repetitions(turns, rule.period, rule.same)
		if n >= rule.stop || n >= rule.remind && sinceReminder >= rule.remind {
			return &Loop{rule.reason, n, n >= rule.stop}
		}
	}
	return nil
}

// repetitions counts how often the last period turns have occurred in a row.
func repetitions(turns []Fingerprint, period int, same func(Fingerprint) string) int {
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

// Failing has the tools whose last calls failed, by name.
type Failing map[string]FailingTool

// A FailingTool is the last failure of a tool.
type FailingTool struct {
	Why string `json:"why"` // digest of the words
	Err string `json:"err"` // of the turn's fingerprint
	N   int    `json:"n"`   // times in a row
	// PausedUntil is the last turn in which the tool is refused; 0 if it is not.
	PausedUntil int `json:"rests,omitempty"`
}

const (
	SameFailures = 3 // after which a tool is paused
	PauseTurns   = 3 // for so many turns
)

// Paused reports whether a tool is refused in a turn.
func (f Failing) Paused(tool string, turn int) bool {
	at := f[tool].PausedUntil
	return at > 0 && at >= turn
}

// Add returns f with one more failure of a tool, in a turn whose fingerprint has err.
func (f Failing) Add(tool, text, err string) Failing {
	why := short(digits.ReplaceAllString(text, "0"))
	at := f[tool]
	if at.Why != why {
		at = FailingTool{Why: why}
	}
	at.N, at.Err = at.N+1, err
	if f == nil {
		f = Failing{}
	}
	f[tool] = at
	return f
}

// Pause pauses a tool from the turn after this one on, if it has failed often enough
// and is not paused already, and reports whether it did.
func (f Failing) Pause(tool string, turn int) bool {
	at, ok := f[tool]
	if !ok || at.N < SameFailures || at.PausedUntil > 0 {
		return false
	}
	at.PausedUntil = turn + PauseTurns
	f[tool] = at
	return true
}

// Resume gives paused tools another chance when their turns are over.
func (f Failing) Resume(turn int) {
	for name, at := range f {
		if at.PausedUntil > 0 && at.PausedUntil <= turn {
			delete(f, name)
		}
	}
}
