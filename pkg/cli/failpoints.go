//go:build failpoints

package cli

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/adroit-run/adroit/pkg/flow"
)

func init() { killHook = killAt }

// killAt makes the process kill itself at the point of its run whose number
// ADROIT_KILL_AT holds, counted from 1. Behind the number may stand which points
// count: 2 performed shell is the second of those. Only programs built with the tag
// failpoints have it: tests of what a power cut leaves behind.
func killAt() func(string, flow.Step) {
	number, which, _ := strings.Cut(os.Getenv("ADROIT_KILL_AT"), " ")
	at, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return nil
	}
	var n atomic.Int64
	return func(point string, s flow.Step) {
		if which != "" && which != point+" "+s.Name {
			return
		}
		if n.Add(1) == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way; nothing more may happen
		}
	}
}
