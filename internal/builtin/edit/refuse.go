package edit

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
)

// A matchError reports why old could not be located, with what the model needs
// to try again: the candidates, or the lines that come nearest.
type matchError struct {
	Spans     []textSpan // every candidate; none if old is nowhere
	How       matchRule
	text, old string
	what      string // how old is called where every occurrence cannot be replaced
	part      string // why the one place, a part of a line, cannot be replaced alone
}

func (e *matchError) Error() string {
	switch {
	case e.part != "":
		s := e.Spans[0]
		first := strings.Count(e.text[:s.Start], "\n") + 1
		ls := strings.Split(e.text, "\n")
		n := strings.Count(e.text[s.Start:s.End], "\n") + 1
		quoted := "old"
		if e.what != "" && e.what != quoted {
			quoted = "the text to replace" // as blocks have it
		}
		return fmt.Sprintf("%s %s; nothing was changed. Quote the whole line, if this is what you mean:\n%s", quoted, e.part, numbered(ls[first-1:min(first-1+n, len(ls))], first))
	case len(e.Spans) > 0:
		return e.many()
	}
	return e.nothing()
}

const (
	mostCandidates = 5
	mostLines      = 8 // of one candidate
)

func (e *matchError) many() string {
	var b strings.Builder
	all := ""
	if e.what == "" {
		all = ", or set all to replace each"
	}
	fmt.Fprintf(&b, "%s in the file %d times (%s); nothing was changed. Add lines around the one you mean%s:\n", e.subject(), len(e.Spans), e.How, all)
	for i, s := range e.Spans {
		if i == mostCandidates {
			fmt.Fprintf(&b, "[%d more]\n", len(e.Spans)-i)
			break
		}
		first := strings.Count(e.text[:s.Start], "\n") + 1
		from := strings.LastIndexByte(e.text[:s.Start], '\n') + 1
		to := s.End
		if !strings.HasSuffix(e.text[s.Start:s.End], "\n") {
			if i := strings.IndexByte(e.text[s.End:], '\n'); i >= 0 {
				to = s.End + i
			} else {
				to = len(e.text)
			}
		}
		fmt.Fprintf(&b, "line %d:\n%s", first, numbered(lines(e.text[from:to]), first))
	}
	return b.String()
}

func (e *matchError) subject() string {
	if e.what == "" || e.what == "old" {
		return "old is"
	}
	return e.what + " are"
}

// called renames what err reports about old to the form's name for it, where
// that has no all.
func called(what string, err error) error {
	if me, ok := errors.AsType[*matchError](err); ok {
		me.what = what
	}
	return err
}

var gutter = lazyregexp.New(`^\s*\d+\t`)

func (e *matchError) nothing() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s not in the file (0 matches). ", e.subject())
	switch {
	case e.text == "":
		b.WriteString("The file is empty: use write_file.")
		return b.String()
	case hasGutter(e.old):
		b.WriteString("It carries the line numbers read_file shows: leave out the number and the tab. ")
	case strings.Contains(e.old, `\n`) && strings.Contains(e.text, strings.ReplaceAll(strings.ReplaceAll(e.old, `\n`, "\n"), `\t`, "\t")):
		b.WriteString(`It is escaped twice: send newlines and tabs as they are. `)
	}
	from, n := near(e.text, e.old)
	if n == 0 {
		b.WriteString("No line comes near it: read the file and copy the text to replace.")
		return b.String()
	}
	ls := strings.Split(e.text, "\n")
	b.WriteString(why(ls[from:min(from+n, len(ls))], lines(e.old), from+1))
	fmt.Fprintf(&b, "Nearest lines:\n%s", numbered(ls[from:min(from+n, len(ls))], from+1))
	return b.String()
}

// why reports what keeps want from being the lines got, which begin at line
// first, in a sentence that ends in a blank; "" if it finds no reason.
func why(got, want []string, first int) string {
	n := min(len(got), len(want))
	for i := range n {
		if got[i] == want[i] || squeeze(want[i]) == "" && squeeze(got[i]) == "" {
			continue
		}
		g, w := got[i], want[i]
		at := fmt.Sprintf("At line %d ", first+i)
		switch {
		case trim(g) == trim(w) && lead(g) != lead(w):
			return at + fmt.Sprintf("the file is indented by %s, old by %s, and no one rule makes the lines of old those of the file. ", blanks(lead(g)), blanks(lead(w)))
		case squeeze(g) == squeeze(w):
			return at + "the blanks differ. "
		case trim(w) != "" && strings.Contains(g, trim(w)):
			return at + "old has only a part of the line: quote whole lines when there are several. "
		case i > 0 && similar(g, w):
			return at + "old differs for the first time" + odd(w, g) + ". "
		case i > 0:
			return at + "the file goes on otherwise than old. "
		case similar(g, w):
			return at + "old is not quite what the file has" + odd(w, g) + ". "
		}
		return ""
	}
	return ""
}

// odd quotes the part in which a line differs from that of the file, to the
// ends of words, if it is short.
func odd(wrote, has string) string {
	a, b := []rune(trim(wrote)), []rune(trim(has))
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	to := 0 // from the end
	for to < len(a)-from && to < len(b)-from && a[len(a)-1-to] == b[len(b)-1-to] {
		to++
	}
	for from > 0 && !unicode.IsSpace(a[from-1]) {
		from--
	}
	for to > 0 && !unicode.IsSpace(a[len(a)-to]) {
		to--
	}
	const most = 80
	x, y := string(a[from:len(a)-to]), string(b[from:len(b)-to])
	if len(x) > most || len(y) > most {
		return ""
	}
	return fmt.Sprintf(": it has %q, the file %q", x, y)
}

func similar(a, b string) bool { return similarity(bigrams(trim(a)), bigrams(trim(b))) > 0.5 }

func blanks(s string) string {
	t, n := strings.Count(s, "\t"), strings.Count(s, " ")
	switch {
	case s == "":
		return "nothing"
	case n == 0:
		return spelling.Plural(t, "tab")
	case t == 0:
		return spelling.Plural(n, "blank")
	}
	return spelling.Plural(t, "tab") + " and " + spelling.Plural(n, "blank")
}

func hasGutter(old string) bool {
	for l := range strings.SplitSeq(strings.TrimSuffix(old, "\n"), "\n") {
		if !gutter.MatchString(l) {
			return false
		}
	}
	return true
}

func numbered(ls []string, first int) string {
	var b strings.Builder
	for i, l := range ls {
		if i == mostLines {
			fmt.Fprintf(&b, "[%d more lines]\n", len(ls)-i)
			break
		}
		fmt.Fprintf(&b, "%d\t%s\n", first+i, clip(l))
	}
	return b.String()
}

// near finds the place in text with most of old's lines, or else the line most like old's
// longest one. It returns the first line, from 0, and the number of lines to show; n is 0
// if nothing resembles old. Work is bounded: only parts of long files and long lines are
// examined.
func near(text, old string) (from, n int) {
	const mostText, mostOld = 50_000, 60
	have, want := strings.Split(text, "\n"), lines(old)
	have, want = have[:min(len(have), mostText)], want[:min(len(want), mostOld)]
	where := map[string][]int{}
	for i, l := range have {
		if k := squeeze(l); len(k) > 2 && len(where[k]) < 50 {
			where[k] = append(where[k], i)
		}
	}
	votes := map[int]int{}
	best, score := -1, 0
	for i, l := range want {
		for _, j := range where[squeeze(l)] {
			at := max(j-i, 0)
			votes[at] += len(squeeze(l))
			if v := votes[at]; v > score || v == score && at < best {
				best, score = at, v
			}
		}
	}
	if best >= 0 {
		return best, len(want)
	}
	longest, at := "", 0
	for i, l := range want {
		if len(trim(l)) > len(longest) {
			longest, at = trim(l), i
		}
	}
	line, top := -1, 0.4
	pairs := bigrams(longest)
	for i, l := range have {
		if s := similarity(pairs, bigrams(trim(l))); s > top {
			line, top = i, s
		}
	}
	if line < 0 {
		return 0, 0
	}
	return max(line-at, 0), len(want)
}

func bigrams(s string) map[string]int {
	s = s[:min(len(s), 200)]
	out := make(map[string]int, len(s))
	for i := 0; i+2 <= len(s); i++ {
		out[s[i:i+2]]++
	}
	return out
}

// similarity is the Dice coefficient of two bags of letter pairs.
func similarity(a, b map[string]int) float64 {
	both, all := 0, 0
	for k, n := range a {
		both += min(n, b[k])
		all += n
	}
	for _, n := range b {
		all += n
	}
	if all == 0 {
		return 0
	}
	return 2 * float64(both) / float64(all)
}
