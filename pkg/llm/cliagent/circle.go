package cliagent

// longest is the period of circles that are noticed: the same call, the same
// two or three calls in turn.
const longest = 3

// A circle counts how often the last calls have come in a row.
type circle struct {
	recent []string // the newest last
	runs   [longest + 1]int
}

// add takes a call and reports whether it closes a circle: with same identical
// calls in a row, or same calls that make a pattern of two or three.
func (c *circle) add(call string, same int) bool {
	closed := false
	for p := 1; p <= longest; p++ {
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
	if len(c.recent) > longest {
		c.recent = c.recent[1:]
	}
	return closed
}
