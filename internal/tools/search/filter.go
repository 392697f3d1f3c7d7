package search

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// A filter decides about whole files, which costs far less than line by line.
// It never rejects a file with a line that matches.
type filter struct {
	literal []byte         // that every match contains; may be empty
	whole   *regexp.Regexp // that matches a text if the pattern matches one of its lines; nil if unknown or if there is a literal
}

func newFilter(re *regexp.Regexp) filter {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return filter{}
	}
	f := filter{literal: []byte(requiredLiteral(tree))}
	if len(f.literal) > 0 {
		return f // only lines that have it are matched: see file
	}
	f.whole, _ = regexp.Compile(anchorLines(tree).String())
	return f
}

func (f filter) matches(text []byte) bool {
	return bytes.Contains(text, f.literal) && (f.whole == nil || f.whole.Match(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
}

// requiredLiteral returns the longest text that is in every match, as far as it
// is easily known.
func requiredLiteral(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == utf8.RuneError { // it matches bytes that are no UTF-8, too
				return ""
			}
		}
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiteral(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredLiteral(re.Sub[0])
		}
	case syntax.OpConcat:
		longest := ""
		for _, sub := range re.Sub {
			if s := requiredLiteral(sub); len(s) > len(longest) {
				longest = s
			}
		}
		return longest
	}
	return ""
}

// anchorLines makes the anchors of a pattern for one line match at the lines of
// a text. A carriage return at the end of a line is not part of the line.
func anchorLines(re *syntax.Regexp) *syntax.Regexp {
	switch re.Op {
	case syntax.OpBeginText, syntax.OpBeginLine:
		return &syntax.Regexp{Op: syntax.OpBeginLine}
	case syntax.OpEndText, syntax.OpEndLine:
		cr := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\r'}}
		return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{{Op: syntax.OpQuest, Sub: []*syntax.Regexp{cr}}, {Op: syntax.OpEndLine}}}
	}
	out := *re
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = anchorLines(sub)
	}
	return &out
}
