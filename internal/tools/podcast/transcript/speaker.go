package transcript

import (
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// speakerLine is a line that begins with its speaker.
var speakerLine = lazyregexp.New(`^(?:(>>|-)\s*)?([\p{Lu}\p{Lo}][\p{L}\p{M}\d.'’-]{0,30}(?: [\p{Lu}\p{Lo}\d][\p{L}\p{M}\d.'’-]{0,30}){0,3})\s?:\s+(.*)$`)

// split finds speakers that are written into the text, as in "Ann: Hello". A
// name counts if it comes back, or if most of the text is written that way: a
// single "Note: …" is no speaker.
func split(list []Cue) {
	count := map[string]int{}
	begun := 0
	for _, q := range list {
		if m := speakerLine.FindStringSubmatch(firstLine(q.Text)); m != nil {
			count[m[2]]++
			begun++
		}
	}
	current := ""
	for i := range list {
		q := &list[i]
		line := firstLine(q.Text)
		m := speakerLine.FindStringSubmatch(line)
		switch {
		case m != nil && (m[1] == ">>" || count[m[2]] > 1 || begun*2 >= len(list)):
			current = m[2]
			q.Text = m[3] + q.Text[len(line):]
		case strings.HasPrefix(line, ">>"):
			current = "" // another speaker, without a name
			q.Text = strings.TrimSpace(strings.TrimLeft(q.Text, ">"))
		}
		q.Speaker = current
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
