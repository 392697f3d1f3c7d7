package executor

import (
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// lastCall is the highest number of a call in what a run began with: those of the
// run are numbered from there, since ids are unique in a conversation.
func lastCall(history []llm.Message) int {
	last := 0
	for i := range history {
		for _, c := range history[i].Calls {
			if digits, ok := strings.CutPrefix(c.ID, "call"); ok {
				if n, err := strconv.Atoi(digits); err == nil {
					last = max(last, n)
				}
			}
		}
	}
	return last
}
