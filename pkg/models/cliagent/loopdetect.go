package cliagent

// maxPeriod is the longest loop that is detected: the same call, or the same
// two or three calls in turn.
const maxPeriod = 3

// A loopDetector counts how often the last calls were repeated in a row.
type loopDetector struct {
	recent []string // the newest last
	runs   [maxPeriod + 1]int
}

// add records a call and reports a loop: same identical calls in a row, or as
// many repetitions of a pattern of two or three calls.
func (c *loopDetector) add(call string, same int) bool {
	closed := false
	for p := 1; p <= maxPeriod; p++ {
		if len(c.recent) >= p && c.recent[len(c.recent)-p] == call {
			c.runs[p]++
		} else {
			c.runs[p] = 0
		}
		// Calls that repeat with period p, the first p of them included.
		if same > 0 && c.runs[p]+p >= same*p {
			closed = true
		}
	}
	c.recent = append(c.recent, call)
	if len(c.recent) > maxPeriod {
		c.recent = c.recent[1:]
	}
	return closed
}
