package edit

import "strings"

// A textSpan is a piece of a text, in bytes, end excluded.
type textSpan struct{ Start, End int }

// matchRule names the rule by which a text was found, for the model.
type matchRule string

const (
	ruleNone     matchRule = ""
	ruleExact    matchRule = "exactly"
	ruleTrailing matchRule = "ignoring trailing space"
	ruleIndent   matchRule = "with another indentation"
	ruleSpacing  matchRule = "with other spacing"
)

// findText finds old in text and returns every place, in order, and the rule
// that found them. Rules are tried from strict to tolerant and the first that
// finds anything decides: a tolerant match never competes with a strict one.
// The tolerant rules compare whole lines. One place is a match; several are
// candidates, and it is for the caller to refuse them.
func findText(text, old string) ([]textSpan, matchRule) {
	if old == "" {
		return nil, ruleNone
	}
	if spans := exact(text, old); len(spans) > 0 {
		return spans, ruleExact
	}
	if strings.TrimSpace(old) == "" {
		return nil, ruleNone
	}
	ls, want := split(text), split(old)
	for _, rule := range tolerant {
		if spans := byLine(ls, want, rule.how, rule.same); len(spans) > 0 {
			return spans, rule.how
		}
	}
	return nil, ruleNone
}

// tolerant are the rules that compare whole lines, from strict to loose.
var tolerant = [...]struct {
	how  matchRule
	same func(a, b string) bool
}{
	{ruleTrailing, func(a, b string) bool { return trimRight(a) == trimRight(b) }},
	{ruleIndent, func(a, b string) bool { return trim(a) == trim(b) }},
	{ruleSpacing, func(a, b string) bool { return squeeze(a) == squeeze(b) }},
}

// exact returns the places of old that do not overlap, and one that overlaps
// the only one if there is such: "aa" is in "aaa" twice, and that is
// ambiguous.
func exact(text, old string) []textSpan {
	var out []textSpan
	for at := 0; ; {
		i := strings.Index(text[at:], old)
		if i < 0 {
			break
		}
		out = append(out, textSpan{at + i, at + i + len(old)})
		at += i + len(old)
	}
	if len(out) == 1 {
		from := out[0].Start + 1
		if i := strings.Index(text[from:], old); i >= 0 {
			out = append(out, textSpan{from + i, from + i + len(old)})
		}
	}
	return out
}

// A line is a line of a text without its newline, and where it is.
type line struct {
	s          string
	start, end int  // of s
	nl         bool // a newline follows
}

func split(text string) []line {
	var out []line
	for at := 0; at < len(text); {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			out = append(out, line{text[at:], at, len(text), false})
			break
		}
		out = append(out, line{text[at : at+i], at, at + i, true})
		at += i + 1
	}
	return out
}

func byLine(ls, want []line, how matchRule, same func(a, b string) bool) []textSpan {
	var out []textSpan
	for at := 0; at+len(want) <= len(ls); at++ {
		ok := true
		for i, w := range want {
			if !same(ls[at+i].s, w.s) {
				ok = false
				break
			}
		}
		if !ok || tooLong(ls[at:at+len(want)], want) {
			continue
		}
		if how != ruleTrailing && how != ruleExact {
			if _, uniform := newIndents(ls[at:at+len(want)], want); !uniform {
				continue
			}
		}
		last := ls[at+len(want)-1]
		end := last.end
		if want[len(want)-1].nl && last.nl {
			end++
		}
		out = append(out, textSpan{ls[at].start, end})
		at += len(want) - 1
	}
	return out
}

// tooLong guards against a tolerant match that would swallow far more than
// was asked for. Indentation does not count: it may differ by design.
func tooLong(got, want []line) bool {
	n := func(ls []line) (sum int) {
		for _, l := range ls {
			sum += len(strings.TrimLeft(l.s, " \t")) + 1
		}
		return sum
	}
	return n(got) > 2*n(want)
}

func trimRight(s string) string { return strings.TrimRight(s, " \t\r") }
func trim(s string) string      { return strings.Trim(s, " \t\r") }

// squeeze makes every run of blanks one blank. Space that is absent stays
// absent: "ab" and "a b" are different code. A form feed is no blank: it would
// be lost unseen.
func squeeze(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' }), " ")
}
