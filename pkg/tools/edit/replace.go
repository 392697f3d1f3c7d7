package edit

import (
	"fmt"
	"strings"
)

// A Change is one replaced piece, for the report.
type Change struct {
	At       int // line of the first changed line, from 1, in the new text
	Old, New string
}

// Replace puts replacement where old is in text: at its only place, or at
// every one if all. It refuses with a *MatchError when old is nowhere or, but
// for all, in several places. A tolerant match re-indents replacement as the
// text is.
func Replace(text, old, replacement string, all bool) (string, How, []Change, error) {
	if err := Check(old, replacement); err != nil {
		return text, None, nil, err
	}
	spans, how := Match(text, old)
	switch {
	case len(spans) == 0:
		return text, None, nil, &MatchError{text: text, old: old}
	case len(spans) > 1 && !all:
		return text, how, nil, &MatchError{text: text, old: old, Spans: spans, How: how}
	}
	var b strings.Builder
	var changes []Change
	at, lines := 0, 1
	for _, s := range spans {
		if s.Start < at { // an overlapping second place of an exact match
			continue
		}
		b.WriteString(text[at:s.Start])
		lines += strings.Count(text[at:s.Start], "\n")
		put := fit(text, s, old, replacement, how)
		b.WriteString(put)
		changes = append(changes, whole(text, s, put, lines))
		lines += strings.Count(put, "\n")
		at = s.End
	}
	b.WriteString(text[at:])
	if b.String() == text {
		return text, how, nil, fmt.Errorf("the file already says what new says: nothing would change")
	}
	return b.String(), how, changes, nil
}

// fit is the replacement as it goes into s.
func fit(text string, s Span, old, replacement string, how How) string {
	if how == Exact {
		return replacement
	}
	got := text[s.Start:s.End]
	if strings.HasSuffix(old, "\n") && !strings.HasSuffix(got, "\n") {
		replacement = strings.TrimSuffix(replacement, "\n") // the file ends without one
	}
	if how == Trailing {
		return replacement
	}
	in, ok := newIndents(split(got), split(old))
	if !ok {
		return replacement
	}
	in.guess(text, replacement)
	return in.apply(replacement)
}

// whole widens a change to whole lines, so that it can be read as a diff.
func whole(text string, s Span, put string, at int) Change {
	from := strings.LastIndexByte(text[:s.Start], '\n') + 1
	to := len(text)
	if s.End > 0 && s.End > s.Start && text[s.End-1] == '\n' && (put == "" || strings.HasSuffix(put, "\n")) {
		to = s.End
	} else if i := strings.IndexByte(text[s.End:], '\n'); i >= 0 {
		to = s.End + i + 1
	}
	return Change{At: at, Old: text[from:to], New: text[from:s.Start] + put + text[s.End:to]}
}

// Hunk is the change as a unified diff hunk, without the lines both sides
// share at its ends, cut after max lines. Added and removed count lines.
func (c Change) Hunk(max int) (hunk string, added, removed int) {
	was, is := lines(c.Old), lines(c.New)
	at := c.At
	for len(was) > 0 && len(is) > 0 && was[0] == is[0] {
		was, is, at = was[1:], is[1:], at+1
	}
	for len(was) > 0 && len(is) > 0 && was[len(was)-1] == is[len(is)-1] {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "@@ line %d: -%d +%d @@\n", at, len(was), len(is))
	n := 0
	put := func(sign string, ls []string) {
		for _, l := range ls {
			if n++; n <= max {
				b.WriteString(sign + clip(l) + "\n")
			}
		}
	}
	put("-", was)
	put("+", is)
	if n > max {
		fmt.Fprintf(&b, "[%d more lines]\n", n-max)
	}
	return b.String(), len(is), len(was)
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// clip keeps a minified line from filling the model's window.
func clip(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf(" [%d more bytes]", len(s)-most)
}
