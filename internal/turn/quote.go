package turn

import (
	"fmt"
	"strconv"
	"strings"
)

// Bounds of the text that is attached to a message, in bytes.
const (
	MaxText = 48 << 10 // of one file
	MaxAll  = 128 << 10
)

// Quote puts text that is data into an element that it cannot end itself. what names
// the data, as attributes: pairs of a name and a value.
func Quote(text string, what ...string) string {
	tag := "attached"
	for n := 2; strings.Contains(strings.ToLower(text), "</"+tag); n++ {
		tag = "attached-" + strconv.Itoa(n)
	}
	var b strings.Builder
	b.WriteString("<" + tag)
	for i := 0; i+1 < len(what); i += 2 {
		if what[i+1] != "" {
			fmt.Fprintf(&b, " %s=%q", what[i], what[i+1])
		}
	}
	fmt.Fprintf(&b, ">\n%s\n</%s>", strings.TrimRight(text, "\n"), tag)
	return b.String()
}
