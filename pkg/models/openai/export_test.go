package openai

import (
	"testing"
	"time"
)

const FormatStrict = formatStrict

var Dialects = dialects

// WaitForWindow sets how long a server is asked for a window.
func WaitForWindow(t *testing.T, d time.Duration) {
	was := windowPatience
	windowPatience = d
	t.Cleanup(func() { windowPatience = was })
}
