package search

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
)

// translate writes a Go pattern in ripgrep's dialect, so that every line the
// former matches the latter matches too. The dialects look alike and differ
// in what \w, \b, (?i) and an invalid byte mean; going through the parse tree
// leaves no room for that. It reports false where it cannot promise.
func translate(pattern string) (string, bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	ok := emit(&b, re)
	return b.String(), ok
}

// stray matches a byte that is no UTF-8, which Go takes for U+FFFD.
const stray = `(?-u:[\x80-\xFF])`

func emit(b *strings.Builder, re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch:
		b.WriteString("(?:)")
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == unicode.ReplacementChar || r == '\n' {
				return false
			}
			if re.Flags&syntax.FoldCase != 0 {
				class := []rune{r, r}
				for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
					class = append(class, o, o)
				}
				emitClass(b, class)
				continue
			}
			fmt.Fprintf(b, `\x{%X}`, r)
		}
	case syntax.OpCharClass:
		if len(re.Rune) == 0 {
			return false
		}
		emitClass(b, re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteString("(?:.|" + stray + ")")
	case syntax.OpBeginLine, syntax.OpBeginText:
		// A line is searched by itself: its start is the text's. The first one
		// may carry a byte order mark that Go does not get to see.
		b.WriteString(`(?:(?m:^)\x{FEFF}?)`)
	case syntax.OpEndLine, syntax.OpEndText:
		b.WriteString(`(?:\r?(?m:$))`)
	case syntax.OpWordBoundary:
		b.WriteString(`(?-u:\b)`)
	case syntax.OpNoWordBoundary:
		b.WriteString(`(?-u:\B)`)
	case syntax.OpCapture:
		return group(b, re.Sub[0], "")
	case syntax.OpStar:
		return group(b, re.Sub[0], "*")
	case syntax.OpPlus:
		return group(b, re.Sub[0], "+")
	case syntax.OpQuest:
		return group(b, re.Sub[0], "?")
	case syntax.OpRepeat:
		if re.Max < 0 {
			return group(b, re.Sub[0], fmt.Sprintf("{%d,}", re.Min))
		}
		return group(b, re.Sub[0], fmt.Sprintf("{%d,%d}", re.Min, re.Max))
	case syntax.OpConcat:
		for _, s := range re.Sub {
			if !group(b, s, "") {
				return false
			}
		}
	case syntax.OpAlternate:
		b.WriteString("(?:")
		for i, s := range re.Sub {
			if i > 0 {
				b.WriteByte('|')
			}
			if !group(b, s, "") {
				return false
			}
		}
		b.WriteByte(')')
	default: // OpNoMatch and what may come
		return false
	}
	return true
}

func group(b *strings.Builder, re *syntax.Regexp, suffix string) bool {
	b.WriteString("(?:")
	if !emit(b, re) {
		return false
	}
	b.WriteString(")" + suffix)
	return true
}

func emitClass(b *strings.Builder, ranges []rune) {
	odd := false
	b.WriteString("(?:[")
	for i := 0; i+1 < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		odd = odd || lo <= unicode.ReplacementChar && unicode.ReplacementChar <= hi
		// Surrogates are runes to Go's tables and no characters to ripgrep.
		if lo < 0xD800 && hi > 0xDFFF {
			fmt.Fprintf(b, `\x{%X}-\x{D7FF}\x{E000}-\x{%X}`, lo, hi)
			continue
		}
		if lo >= 0xD800 && lo <= 0xDFFF {
			lo = 0xE000
		}
		if hi >= 0xD800 && hi <= 0xDFFF {
			hi = 0xD7FF
		}
		if lo <= hi {
			fmt.Fprintf(b, `\x{%X}-\x{%X}`, lo, hi)
		}
	}
	b.WriteByte(']')
	if odd {
		b.WriteString("|" + stray)
	}
	b.WriteByte(')')
}
