package transcript

import (
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

var (
	// at is a line that begins with a time, in brackets or not.
	at = lazyregexp.New(`^[\[(]?((?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?)[\])]?(?:\s*[-–—]\s+|\s+|$)(.*)$`)
	// by is a line with a speaker and a time, as in "Ann Lee  00:01:02".
	by = lazyregexp.New(`^(\p{L}[\p{L}\p{M}\d .'’-]{0,60}?)[ \t]*[\[(]?((?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?)[\])]?$`)
)

// readPlain reads text: paragraphs, or lines with a time before them.
func readPlain(s string) Collector {
	c := Collector{Format: "text"}
	var q Cue
	timed := false
	flush := func() {
		if strings.TrimSpace(q.Text) != "" {
			c.Add(q)
		}
		q = Cue{}
	}
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimSpace(line)
		if m := at.FindStringSubmatch(line); m != nil {
			if t, ok := ParseTime(m[1]); ok {
				flush()
				q, timed = Cue{Start: t, Text: m[2] + "\n"}, true
				continue
			}
		}
		if m := by.FindStringSubmatch(line); m != nil {
			if t, ok := ParseTime(m[2]); ok {
				flush()
				q, timed = Cue{Start: t, Speaker: strings.TrimRight(m[1], " -:"), Text: "\n"}, true
				continue
			}
		}
		if line == "" && !timed || speakerLine.MatchString(line) && !timed {
			flush()
		}
		if len(q.Text) <= maxText {
			q.Text += line + "\n"
		}
	}
	flush()
	// A line has only its start; it lasts until the next one.
	for i := range c.List {
		if c.List[i].End = c.List[i].Start; timed && i+1 < len(c.List) {
			c.List[i].End = max(c.List[i].Start, c.List[i+1].Start)
		}
	}
	return c
}
