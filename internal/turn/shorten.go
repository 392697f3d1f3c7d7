package turn

import (
	"fmt"
	"strings"
)

// Thousands writes n as people read it.
func Thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// eventText bounds what an event carries of a result; the whole is in the
// journal.
const eventText = 4 << 10

// Excerpt is s, or what an event carries of it: its beginning, and its end, where
// commands print what matters.
func Excerpt(s string) string {
	if len(s) <= eventText {
		return s
	}
	const end = eventText / 4
	return strings.ToValidUTF8(s[:eventText-end], "") + fmt.Sprintf("\n… (%d bytes in all)\n", len(s)) + strings.ToValidUTF8(s[len(s)-end:], "")
}
