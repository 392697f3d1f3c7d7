package turn

// Failing has the tools whose last calls failed, by name.
type Failing map[string]FailingTool

// A FailingTool is how a tool has failed last.
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
