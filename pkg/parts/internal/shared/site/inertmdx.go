package site

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// An mdx is a text of MDX that is written anew.
type mdx struct {
	body, old string
	code      []bool // by byte: it is code to MDX
	found     []string
}

// inertMDX quotes what MDX runs: expressions in braces, tags, and lines of import and
// export. What it takes for code stays as it is, and nothing else: it divides a text as
// no parser of ours does. It knows no code by indentation, a fence ends at any
// indentation, and sites add extensions to it. Code that it may end elsewhere is an error.
func inertMDX(body, old string) (safe string, found []string, err error) {
	m := &mdx{body: strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body), old: old}
	m.code = make([]bool, len(m.body))
	if err := m.divide(); err != nil {
		return "", nil, err
	}
	var b strings.Builder
	for i, n := 0, 0; i < len(m.body); i += n {
		var with string
		switch line := firstLine(m.body[i:]); {
		case m.code[i]:
			n, with = 1, m.body[i:i+1]
		case m.body[i] == '\\' && strings.HasPrefix(m.body[i+1:], "<") && !m.code[i+1]:
			n, with = 2, "&lt;"
		case m.body[i] == '{' || m.body[i] == '<':
			n, with = m.quote(i)
		case (i == 0 || m.body[i-1] == '\n') && (strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "export ")) && !strings.Contains("\n"+old+"\n", "\n"+line+"\n"):
			m.found = append(m.found, line)
			n, with = 1, fmt.Sprintf("&#%d;", line[0])
		default:
			n, with = 1, m.body[i:i+1]
		}
		b.WriteString(with)
	}
	return b.String(), m.found, nil
}

var (
	fenceStart = lazyregexp.New("^(?:(`{3,})[^`]*|(~{3,}).*)$")
	// beforeFence matches the text before a fence. If it is more than spaces, the line
	// may belong to a paragraph.
	beforeFence = lazyregexp.New(`^[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)]|\[[^\]]*\]:)[ \t>]+)*`)
	// extension begins or ends what extensions of MDX read without regard to fences:
	// directives, formulas.
	extension = lazyregexp.New(`(?m)^[ \t>]*(?::::|\$\$)`)
)

// divide finds the parts that are code. A fence behind nothing but spaces always begins
// code.
func (m *mdx) divide() error {
	paragraph := 0
	for at := 0; at < len(m.body); {
		line := firstLine(m.body[at:])
		next := min(at+len(line)+1, len(m.body))
		before := beforeFence.FindString(line)
		f := fenceStart.FindStringSubmatch(line[len(before):])
		if f == nil {
			if at = next; strings.TrimSpace(line) == "" {
				m.spans(paragraph, at)
				paragraph = at
			}
			continue
		}
		m.spans(paragraph, at)
		end, whole := fenceEnd(m.body, next, before, f[1]+f[2])
		if strings.Trim(before, " ") != "" || !whole || extension.MatchString(m.body[next:end]) && extension.MatchString(m.body[:at]) {
			if strings.Contains(m.old, line) {
				return nil // from here on nothing is known to be code
			}
			return fmt.Errorf("line %d of the text begins code that MDX may end elsewhere, so that it would run what follows: put its fences on lines of their own, its lines at least as far to the right as they are, and no line with ::: or $$ into it", 1+strings.Count(m.body[:at], "\n"))
		}
		for i := at; i < end; i++ {
			m.code[i] = true
		}
		at, paragraph = end, end
	}
	m.spans(paragraph, len(m.body))
	return nil
}

// fenceEnd returns the end of fenced code, and whether it is the end in any context.
func fenceEnd(body string, at int, before, fence string) (end int, whole bool) {
	whole = true
	for at < len(body) {
		line := firstLine(body[at:])
		at = min(at+len(line)+1, len(body))
		whole = whole && (strings.HasPrefix(line, before) || strings.TrimSpace(line) == "")
		if l := strings.Trim(line, " \t"); len(l) >= len(fence) && strings.Trim(l, fence[:1]) == "" {
			return at, whole
		}
	}
	return at, before == ""
}

// spans finds the spans of code in lines between empty ones. They count if each ends in
// its line: then they are the same, whatever the lines are parts of.
func (m *mdx) spans(from, end int) {
	var all [][2]int
	for at := from; at < end; {
		line := firstLine(m.body[at:end])
		for i := 0; i < len(line); {
			n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			if n == 0 {
				if line[i] == '$' { // it may begin a formula
					return
				}
				i++
				continue
			}
			length := spanEnd(line[i+n:], n)
			word := line[strings.LastIndexAny(line[:i], " \t")+1 : i]
			switch {
			case length < 0, strings.HasSuffix(word, `\`),
				strings.Contains(line[i:i+n+length], "|") && tableRule.MatchString(m.body[from:end]), // a cell ends
				strings.Contains(word, "://"), strings.Contains(word, "www."), // an address goes on
				linkTo.MatchString(plainLink.ReplaceAllString(m.body[from:at+i], "")): // it is part of a link
				return
			}
			all = append(all, [2]int{at + i, at + i + n + length})
			i += n + length
		}
		at += len(line) + 1
	}
	for _, s := range all {
		for i := s[0]; i < s[1]; i++ {
			m.code[i] = true
		}
	}
}

// spanEnd is behind the next run of n backticks, -1 without one.
func spanEnd(s string, n int) int {
	for i := 0; i < len(s); i++ {
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if i += run; run == n {
			return i
		}
	}
	return -1
}

var (
	tableRule = lazyregexp.New(`(?m)^[ \t>|:*+0-9.)-]*-[ \t|:-]*$`)
	linkTo    = lazyregexp.New(`\]\(|\[[^\]^][^\]]*\]:`)
	plainLink = lazyregexp.New("\\]\\([^\\s()`\"'<]*\\)")

	mdxAddress = lazyregexp.New("^<((?:https?://|mailto:)[^\\s<>\"'`{}|\\\\^\\[\\]()*_]+|[A-Za-z0-9.+-]+@[A-Za-z0-9.-]+)>")
	mdxTarget  = lazyregexp.New("^<([^\\s<>\"'`{}|\\\\^\\[\\]()&]*)>")
	noTag      = lazyregexp.New(`^<[ \t]+[^\s]`)
	mdxComment = lazyregexp.New("^<!--(?:[^<>`-]|-[^<>`-])*-->")
)

// quote writes what begins with a brace or an angle bracket.
func (m *mdx) quote(i int) (n int, with string) {
	before, rest := m.body[:i], m.body[i:]
	one := mdxExpression(rest)
	switch {
	case rest[0] == '{' && (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1: // it is text
		return 1, "{"
	case len(one) > 2 && strings.Contains(m.old, one):
		return len(one), one
	case noTag.MatchString(rest):
		return 1, "<"
	}
	if to := mdxAddress.FindStringSubmatch(rest); to != nil {
		link := to[1]
		if !strings.Contains(link, ":") {
			link = "mailto:" + link
		}
		return len(to[0]), "[" + to[1] + "](" + link + ")"
	}
	if to := mdxTarget.FindStringSubmatch(rest); to != nil && to[1] != "" && strings.HasSuffix(before, "](") {
		return len(to[0]), to[1]
	}
	m.found = append(m.found, one)
	if hidden := mdxComment.FindString(rest); hidden != "" {
		return len(hidden), "{/* */}" // no reader of another page sees it
	}
	if rest[0] == '<' {
		return 1, "&lt;" // a backslash may be part of an address before it
	}
	return 1, `\{`
}

// mdxExpression returns the expression or tag at the beginning of text, up to its end.
func mdxExpression(text string) string {
	depth := 0
	for i := range min(len(text), maxTag) {
		switch {
		case text[0] == '<' && text[i] == '>':
			return text[:i+1]
		case text[0] == '{' && text[i] == '{':
			depth++
		case text[0] == '{' && text[i] == '}':
			if depth--; depth == 0 {
				return text[:i+1]
			}
		}
	}
	return text[:1]
}

// maxTag bounds how far the end of an expression is looked for.
const maxTag = 4 << 10
