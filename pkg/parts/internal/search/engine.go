package search

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

const (
	mostContext  = 10 // lines around a match
	usualMatches = 100
	mostMatches  = 1000

	patience  = 30 * time.Second
	mostFiles = 200_000
	maxFile   = 32 << 20 // bytes; larger files are named as not searched
)

// A query describes a search.
type query struct {
	re           *regexp.Regexp
	context, max int
	large        []string // files that are not searched
	glob         string   // that no file fits; empty if some do
}

// A line of the result: one that matched, or one around it.
type line struct {
	no    int // from 1
	text  string
	match bool
}

// A hit is a file with matches.
type hit struct {
	name  string
	lines []line
}

// found is all that was found.
type found struct {
	hits    []hit
	matches int
	full    bool // there are more matches than query.max
	late    bool // time ran out
	more    bool // there are more files than could be listed
}

// run searches the files with all processors, block by block, so that it
// returns the result of a search in the order of the names.
func (q *query) run(ctx context.Context, files *workspace.Files, names []string) found {
	const block = 256
	filter := newFilter(q.re)
	var f found
	bufs := make([][]byte, runtime.GOMAXPROCS(0)) // for the file that each worker reads
	for len(names) > 0 && !f.full && !f.late {
		part := names[:min(len(names), block)]
		names = names[len(part):]
		hits := make([]found, len(part))
		var next atomic.Int64
		var workers sync.WaitGroup
		for w := range min(len(bufs), len(part)) {
			workers.Go(func() {
				for i := next.Add(1) - 1; i < int64(len(part)) && ctx.Err() == nil; i = next.Add(1) - 1 {
					b, err := files.Peek(part[i], bufs[w], maxFile)
					if cap(b) > cap(bufs[w]) {
						bufs[w] = b
					}
					if err != nil || binary(b) || !filter.matches(b) {
						continue // gone meanwhile, not for us to read, not text, or without a match
					}
					q.file(part[i], b, filter.literal, &hits[i])
				}
			})
		}
		workers.Wait()
		f.late = ctx.Err() != nil
		for i, h := range hits {
			switch {
			case f.full:
			case !h.full && f.matches+h.matches <= q.max:
				f.hits, f.matches = append(f.hits, h.hits...), f.matches+h.matches
			default: // the limit is in this file
				if b, err := files.Peek(part[i], nil, maxFile); err == nil {
					q.file(part[i], b, filter.literal, &f)
				}
			}
		}
	}
	return f
}

func binary(b []byte) bool { return bytes.IndexByte(b[:min(len(b), 8000)], 0) >= 0 }

// file adds the matches in a file. literal is in each of them.
func (q *query) file(name string, b, literal []byte, f *found) {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	var before []line // the last lines that did not match
	after, no := 0, 0
	h := hit{name: name}
	for len(b) > 0 {
		l, rest, _ := bytes.Cut(b, []byte("\n"))
		b = rest
		no++
		l = bytes.TrimSuffix(l, []byte("\r"))
		switch {
		case bytes.Contains(l, literal) && q.re.Match(l):
			if f.matches == q.max {
				f.full = true
				if len(h.lines) > 0 {
					f.hits = append(f.hits, h)
				}
				return
			}
			f.matches++
			h.lines = append(append(h.lines, before...), line{no, q.clip(l), true})
			before, after = nil, q.context
		case after > 0:
			h.lines = append(h.lines, line{no, clip(l), false})
			after--
		case q.context > 0:
			if len(before) == q.context {
				before = before[1:]
			}
			before = append(before[:len(before):len(before)], line{no, clip(l), false})
		}
	}
	if len(h.lines) > 0 {
		f.hits = append(f.hits, h)
	}
}

const (
	maxLine = 300    // bytes of a line that are shown
	maxText = 30_000 // bytes of the result
)

func clip(l []byte) string {
	if len(l) <= maxLine {
		return strings.ToValidUTF8(string(l), "\uFFFD")
	}
	return strings.ToValidUTF8(string(l[:maxLine]), "") + fmt.Sprintf(" [%d more bytes]", len(l)-maxLine)
}

// clip of a line that matched shows the match, wherever in the line it is.
func (q *query) clip(l []byte) string {
	if len(l) <= maxLine {
		return clip(l)
	}
	if at := q.re.FindIndex(l); at != nil && at[1] > maxLine {
		from := max(at[0]-maxLine/3, 0)
		return fmt.Sprintf("[%d bytes] ", from) + strings.TrimLeft(clip(l[from:]), "\uFFFD")
	}
	return clip(l)
}

func (f found) result(q query) tools.Result {
	var b strings.Builder
	shown := 0
	for _, h := range f.hits {
		if b.Len() > maxText {
			break
		}
		shown++
		b.WriteString(spelling.PathLine(h.name) + "\n")
		last := 0
		for _, l := range h.lines {
			if q.context > 0 && last > 0 && l.no > last+1 {
				b.WriteString("--\n")
			}
			sep := "-"
			if l.match {
				sep = ":"
			}
			fmt.Fprintf(&b, "%d%s%s\n", l.no, sep, l.text)
			last = l.no
		}
	}
	noun := "matches"
	if f.matches == 1 {
		noun = "match"
	}
	sum := fmt.Sprintf("%d %s in %s", f.matches, noun, spelling.Plural(len(f.hits), "file"))
	if f.matches == 0 {
		sum = "no match"
		b.WriteString("no match\n")
		if q.glob != "" {
			fmt.Fprintf(&b, "[no file that tools may read fits glob %q, so nothing was searched]\n", q.glob)
		}
	}
	if shown < len(f.hits) {
		fmt.Fprintf(&b, "[%d more files match: narrow by dir or glob]\n", len(f.hits)-shown)
	}
	if f.full {
		sum = "more than " + sum
		fmt.Fprintf(&b, "[stopped after %d matches: make pattern, glob or dir narrower]\n", f.matches)
	}
	if f.late {
		fmt.Fprintf(&b, "[stopped after %s: narrow by dir or glob]\n", patience)
	}
	if f.more {
		fmt.Fprintf(&b, "[only the first %d files were searched: narrow by dir]\n", mostFiles)
	}
	if n := len(q.large); n > 0 {
		fmt.Fprintf(&b, "[not searched, too large: %s]\n", strings.Join(q.large[:min(n, 5)], ", "))
	}
	return tools.Result{Text: b.String(), Summary: sum}
}

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
