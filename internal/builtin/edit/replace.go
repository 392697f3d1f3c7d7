package edit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A textChange is one replaced piece, for the report.
type textChange struct {
	At       int // line of the first changed line, from 1, in the new text
	Old, New string
}

// replaceText puts replacement where old is in text: at its only place, or at
// every one if all. It refuses with a *MatchError when old is nowhere or, but
// for all, in several places. A tolerant match re-indents replacement as the
// text is, and keeps the text's spelling of the lines that old and replacement
// share.
func replaceText(text, old, replacement string, all bool) (string, matchRule, []textChange, error) {
	if err := check(text, old, replacement); err != nil {
		return text, ruleNone, nil, err
	}
	spans, how := findText(text, old)
	var places []place
	switch {
	case len(spans) == 0:
		p, ok := loose(text, old, replacement)
		if !ok {
			return text, ruleNone, nil, &matchError{text: text, old: old}
		}
		places, how = []place{p}, p.how
	case len(spans) > 1 && !all:
		return text, how, nil, &matchError{text: text, old: old, Spans: spans, How: how}
	case !all && how == ruleExact:
		if part := cmp.Or(cutWord(text, spans[0], old, replacement), doubled(text, spans[0], old, replacement)); part != "" {
			return text, how, nil, &matchError{text: text, old: old, part: part, Spans: spans, How: how}
		}
	}
	for _, s := range spans {
		put, ok := fit(text, s, old, replacement, how)
		if !ok {
			return text, how, nil, &matchError{text: text, old: old}
		}
		places = append(places, place{s, put, how})
	}
	if len(places) == 1 && !all {
		if err := repeats(text, places[0]); err != nil {
			return text, how, nil, err
		}
	}
	if !slices.ContainsFunc(places, func(p place) bool { return !alreadyInserted(text, p) }) {
		return text, how, nil, errMade
	}
	out, changes := splice(text, places)
	if how == ruleExact && out == text || how != ruleExact && slices.Equal(ends(lines(out)), ends(lines(text))) {
		return text, how, nil, errSame
	}
	return out, how, changes, nil
}

var errSame = errors.New("the file already says what new says: nothing would change")

// splice puts what the places say where they say, in order.
func splice(text string, places []place) (string, []textChange) {
	var b strings.Builder
	var changes []textChange
	at, lines := 0, 1
	for _, p := range places {
		if p.span.Start < at { // an overlapping second place of an exact match
			continue
		}
		b.WriteString(text[at:p.span.Start])
		lines += strings.Count(text[at:p.span.Start], "\n")
		b.WriteString(p.put)
		changes = append(changes, whole(text, p.span, p.put, lines))
		lines += strings.Count(p.put, "\n")
		at = p.span.End
	}
	b.WriteString(text[at:])
	return b.String(), changes
}

// inWord reports whether a place begins or ends in the middle of a word: then
// what was quoted is hardly what is there.
func inWord(text string, s textSpan) bool {
	if s.Start == s.End {
		return false
	}
	word := func(r rune, _ int) bool { return wordRune(r) }
	before, first := text[:s.Start], text[s.Start:]
	last, after := text[:s.End], text[s.End:]
	return word(utf8.DecodeLastRuneInString(before)) && word(utf8.DecodeRuneInString(first)) ||
		word(utf8.DecodeLastRuneInString(last)) && word(utf8.DecodeRuneInString(after))
}

// cutWord reports which word of the text the one place of old cuts in two, "" if
// what is put there may do that: the replacement keeps the part that old quotes, or
// old has several lines, which stand nowhere by chance. A number is never cut so: 1 is not 10.
func cutWord(text string, s textSpan, old, replacement string) string {
	const minKept = 3 // a shorter part may be anything: the 1 in "x = 1" and in "x = 10"
	if !inWord(text, s) {
		return ""
	}
	if strings.Contains(strings.TrimSuffix(old, "\n"), "\n") && !cutsNumber(text, s) {
		return ""
	}
	notWord := func(r rune) bool { return !wordRune(r) }
	before, after := text[strings.LastIndexFunc(text[:s.Start], notWord)+1:s.Start], text[s.End:]
	if i := strings.IndexFunc(after, notWord); i >= 0 {
		after = after[:i]
	}
	first, last := old, old[strings.LastIndexFunc(old, notWord)+1:]
	if i := strings.IndexFunc(old, notWord); i >= 0 {
		first = old[:i]
	}
	switch {
	case before != "" && first != "" && (len(first) < minKept || !strings.HasPrefix(replacement, first)):
		return fmt.Sprintf("begins inside the word %q", before+first+ifWhole(first == old, after))
	case after != "" && last != "" && (len(last) < minKept || !strings.HasSuffix(replacement, last)):
		return fmt.Sprintf("ends inside the word %q", ifWhole(last == old, before)+last+after)
	}
	return ""
}

// cutsNumber reports whether a place begins or ends between two digits.
func cutsNumber(text string, s textSpan) bool {
	digits := func(at int) bool {
		return at > 0 && at < len(text) && text[at-1] >= '0' && text[at-1] <= '9' && text[at] >= '0' && text[at] <= '9'
	}
	return digits(s.Start) || digits(s.End)
}

func ifWhole(whole bool, part string) string {
	if whole {
		return part
	}
	return ""
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// doubles reports whether replacement brings along what stands before or after
// the place on its line: the model quoted a part of a line and wrote all of it.
func doubles(text string, s textSpan, old, replacement string) bool {
	return doubled(text, s, old, replacement) != ""
}

// doubled is doubles with what would be there twice, or alone, as the end of a
// sentence that begins with old.
func doubled(text string, s textSpan, old, replacement string) string {
	const minText = 3
	before := text[strings.LastIndexByte(text[:s.Start], '\n')+1 : s.Start]
	if before != "" && trim(before) == "" && lead(old) == "" && strings.HasPrefix(replacement, before) {
		return "begins behind the indentation of its line, and new brings it along"
	}
	before = strings.TrimLeft(before, " \t")
	rest, _, _ := strings.Cut(text[s.End:], "\n")
	if strings.HasSuffix(old, "\n") || s.End == s.Start {
		rest = ""
	}
	alone := fmt.Sprintf("leaves out the end of its last line, %q, which would stand alone", clip(trim(rest)))
	if strings.Contains(old+strings.TrimSuffix(replacement, "\n"), "\n") && strings.HasSuffix(replacement, "\n") && trim(rest) != "" {
		return alone
	}
	if strings.Contains(old, "\n") && trim(rest) != "" && strings.HasPrefix(replacement, old+"\n") {
		return alone
	}
	if strings.Contains(old, "\n") && before != "" && strings.HasSuffix(replacement, "\n"+old) {
		return fmt.Sprintf("leaves out the beginning of its first line, %q, which would stand alone", clip(before))
	}
	if added, ok := strings.CutPrefix(replacement, old+"\n"); ok && before == "" && strings.ContainsFunc(rest, wordRune) && trim(added) != "" {
		return fmt.Sprintf("leaves out the end of its line, %q, which would come behind the lines that new adds", clip(trim(rest)))
	}
	if len(trim(before)) >= minText && strings.HasPrefix(strings.TrimLeft(replacement, " \t"), before) && !strings.HasPrefix(old, before) {
		return fmt.Sprintf("begins behind %q on its line, and new repeats that", clip(trim(before)))
	}
	if len(trim(rest)) >= minText && strings.HasSuffix(trimRight(replacement), trimRight(rest)) && !strings.HasSuffix(old, trimRight(rest)) {
		return fmt.Sprintf("ends before %q on its line, and new repeats that", clip(trim(rest)))
	}
	return ""
}

// fit is the replacement as it goes into s.
func fit(text string, s textSpan, old, replacement string, how matchRule) (string, bool) {
	if how == ruleExact {
		// Whole lines were quoted, and new lost its last newline: what follows
		// must not end up on its last line.
		if strings.HasSuffix(old, "\n") && replacement != "" && !strings.HasSuffix(replacement, "\n") &&
			(s.Start == 0 || text[s.Start-1] == '\n') {
			replacement += "\n"
		}
		return replacement, true
	}
	got, want, with := split(text[s.Start:s.End]), split(old), split(replacement)
	var in *indents
	if how != ruleTrailing {
		var ok bool
		if in, ok = newIndents(got, want); !ok {
			return "", false
		}
		in.guess(text, replacement)
		if in.placed(with) {
			in = nil
		}
	}
	put := graft(texts(got), texts(want), texts(with), in)
	nl := text[s.End-1] == '\n'
	if !nl && !want[len(want)-1].nl && len(with) > 0 {
		nl = with[len(with)-1].nl // asked for, and not there: an empty line
	}
	return closed(put, nl), true
}

// whole widens a change to whole lines, so that it can be read as a diff.
func whole(text string, s textSpan, put string, at int) textChange {
	from := strings.LastIndexByte(text[:s.Start], '\n') + 1
	to := len(text)
	if s.End > 0 && s.End > s.Start && text[s.End-1] == '\n' && (put == "" || strings.HasSuffix(put, "\n")) {
		to = s.End
	} else if i := strings.IndexByte(text[s.End:], '\n'); i >= 0 {
		to = s.End + i + 1
	}
	return textChange{At: at, Old: text[from:to], New: text[from:s.Start] + put + text[s.End:to]}
}

// Hunk is the change as a unified diff hunk, without the lines both sides
// share at its ends, cut after max lines. Added and removed count lines.
func (c textChange) Hunk(max int) (hunk string, added, removed int) {
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

// clip keeps a minified line from filling the model's window, and shows a
// carriage return, which is no line end here, as it is quoted.
func clip(s string) string {
	const most = 300
	s = strings.ReplaceAll(s, "\r", `\r`)
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf(" [%d more bytes]", len(s)-most)
}

// pairs aligns two lists of lines: the indices of equal ones, in order, as
// many as possible. Beyond a bound only what is alike at both ends is paired.
func pairs(a, b []string) [][2]int {
	var head, tail [][2]int
	lo := 0
	for lo < len(a) && lo < len(b) && a[lo] == b[lo] {
		head = append(head, [2]int{lo, lo})
		lo++
	}
	na, nb := len(a), len(b)
	for na > lo && nb > lo && a[na-1] == b[nb-1] {
		na, nb = na-1, nb-1
		tail = append(tail, [2]int{na, nb})
	}
	head = append(head, middle(a[lo:na], b[lo:nb], lo)...)
	for i := len(tail) - 1; i >= 0; i-- {
		head = append(head, tail[i])
	}
	return head
}

// mostCells bounds the table of middle, and with it time and memory.
const mostCells = 4 << 20

func middle(a, b []string, off int) [][2]int {
	if len(a) == 0 || len(b) == 0 || len(a)*len(b) > mostCells {
		return nil
	}
	w := len(b) + 1
	long := make([]int32, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				long[i*w+j] = long[(i+1)*w+j+1] + 1
			} else {
				long[i*w+j] = max(long[(i+1)*w+j], long[i*w+j+1])
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			out = append(out, [2]int{off + i, off + j})
			i, j = i+1, j+1
		case long[(i+1)*w+j] >= long[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// graft makes the change from want to with on got, the lines the file has where
// those of want were quoted: a line that the change keeps stays as the file has
// it, however it was quoted.
func graft(got, want, with []string, in *indents) []string {
	// Blanks at line ends that the model put where the file has none are not
	// what it wants in new lines either.
	stray := false
	for i, w := range want {
		stray = stray || w != trimRight(w) && got[i] == trimRight(got[i])
	}
	var out []string
	k := 0
	for _, p := range append(pairs(ends(want), ends(with)), [2]int{len(want), len(with)}) {
		for _, l := range with[k:p[1]] {
			if stray {
				l = trimRight(l)
			}
			out = append(out, in.line(l))
		}
		if p[0] < len(got) {
			out = append(out, got[p[0]])
		}
		k = p[1] + 1
	}
	return out
}

func ends(ls []string) []string {
	out := make([]string, len(ls))
	for i, l := range ls {
		out[i] = trimRight(l)
	}
	return out
}

// texts are the lines without where they are.
func texts(ls []line) []string {
	out := make([]string, len(ls))
	for i, l := range ls {
		out[i] = l.s
	}
	return out
}

// closed joins lines, with a newline at the end if nl is set and there are any.
func closed(ls []string, nl bool) string {
	s := strings.Join(ls, "\n")
	if nl && len(ls) > 0 {
		s += "\n"
	}
	return s
}
