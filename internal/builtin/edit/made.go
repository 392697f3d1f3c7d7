package edit

import (
	"errors"
	"slices"
	"strings"
)

var errMade = errors.New("the file has the new text already, so the edit may have been made before; nothing was changed. If it is meant once more, quote the place exactly, with what is there now")

// An editStep is the effect of one edit of a call on a text.
type editStep struct {
	old, new []string // what it replaces by what, in order; nil if that is not known
	do       func(text string) (string, error)
}

// mostUndone bounds how many texts are made by undoing.
const mostUndone = 64

// alreadyApplied reports whether text, in which steps make changes, is their result
// from another text, which is found by undoing them: then they were made before.
// That they fit once more means nothing: a place that is like theirs but for
// blanks comes into its own when theirs is gone, and what is under a line after
// @@ grows when the line is removed that ended it. Steps that only take lines
// out, and are found exactly, are undone elsewhere only: that what they take out
// was there twice is no reason to leave it.
func alreadyApplied(text string, steps []editStep, changes []textChange, exactly bool) bool {
	var old, put []string
	says, more := false, false
	for _, s := range steps {
		if s.old == nil {
			return false
		}
		old, put = append(old, s.old...), append(put, s.new...)
		for i := range s.old {
			ls := lines(s.new[i])
			more = more || adds(lines(s.old[i]), ls)
			says = says || distinctive(ls, false)
		}
	}
	from := text
	if exactly && !more {
		from = marked(text, changes)
	}
	tries := mostUndone
	return (more || says) && acceptsReversal(from, old, put, &tries, func(was string) bool {
		was = strings.ReplaceAll(was, mark, "")
		for _, s := range steps {
			var err error
			if was, err = s.do(was); err != nil {
				return false
			}
		}
		return was == text
	})
}

const mark = "\x00" // no text has it

// marked is text with a mark on each line that changes replace.
func marked(text string, changes []textChange) string {
	ls := strings.SplitAfter(text, "\n")
	for i, c := range changes {
		at := c.At - 1
		for _, before := range slices.Backward(changes[:i]) {
			if at >= before.At {
				at -= len(lines(before.New)) - len(lines(before.Old))
			}
		}
		for n := range lines(c.Old) {
			if at+n >= 0 && at+n < len(ls) {
				ls[at+n] = mark + ls[at+n]
			}
		}
	}
	return strings.Join(ls, "")
}

// acceptsReversal reports whether is accepts a text that becomes text when each of old is
// replaced by the new one in its place, whole lines by whole lines.
func acceptsReversal(text string, old, put []string, tries *int, is func(was string) bool) bool {
	if len(old) == 0 {
		return is(text)
	}
	last := len(old) - 1
	o, n := old[last], put[last]
	if n == "" {
		return false
	}
	for at := 0; *tries > 0; at++ {
		i := strings.Index(text[at:], n)
		if i < 0 {
			break
		}
		at += i
		end := at + len(n)
		begins := at == 0 || text[at-1] == '\n'
		ends := text[end-1] == '\n' || end == len(text) || text[end] == '\n'
		if !begins || !ends {
			continue
		}
		*tries--
		if acceptsReversal(text[:at]+o+text[end:], old[:last], put[:last], tries, is) {
			return true
		}
	}
	return false
}

// adds reports whether new has a line that says something and is not in old.
func adds(old, new []string) bool {
	quoted := ends(old)
	return slices.ContainsFunc(ends(new), func(l string) bool { return trim(l) != "" && !slices.Contains(quoted, l) })
}

// alreadyInserted reports whether the text around p is already the text that p puts
// there.
func alreadyInserted(text string, p place) bool {
	old, put := text[p.span.Start:p.span.End], strings.TrimSuffix(p.put, "\n")
	for at := 0; at <= len(put) && old != ""; at++ {
		i := strings.Index(p.put[at:], old)
		if i < 0 {
			return false
		}
		at += i
		if from := p.span.Start - at; from >= 0 && strings.HasPrefix(text[from:], put) && (len(text) == from+len(put) || put == p.put || text[from+len(put)] == '\n') {
			return true
		}
	}
	return false
}
