package blog

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/adroit-run/adroit/internal/lazyregexp"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/internal/tools/internal/figures"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A citedSource is an entry of the artifact "citations", which cite makes.
type citedSource struct {
	Number   int    `json:"number"`
	URL      string `json:"url"`
	Title    string `json:"title"`
	Accessed string `json:"accessed"`
}

// A textBlock is a paragraph, list, quotation or table: what one source may stand
// for.
type textBlock struct {
	start, end int // in the text
	linked     bool
}

// A postImage is one that a post shows.
type postImage struct{ target, alt string }

// A reading is a post as it is read: what of it is prose, and what it shows.
type reading struct {
	prose  []byte // as long as the text, with spaces for code, links and markup
	blocks []textBlock
	images []postImage
}

// read parses a post.
func read(content string) reading {
	src := []byte(content)
	r := reading{prose: bytes.Repeat([]byte{' '}, len(src))}
	doc := goldmark.DefaultParser().Parse(text.NewReader(src))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		p := textBlock{start: len(src)}
		_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			switch n := n.(type) {
			case *ast.Image:
				r.images = append(r.images, postImage{string(n.Destination), plainText(n, src)})
				return ast.WalkSkipChildren, nil
			case *ast.Link, *ast.AutoLink:
				p.linked = true
				return ast.WalkSkipChildren, nil
			case *ast.CodeSpan:
				return ast.WalkSkipChildren, nil
			case *ast.Text:
				copy(r.prose[n.Segment.Start:], n.Segment.Value(src))
				p.start, p.end = min(p.start, n.Segment.Start), max(p.end, n.Segment.Stop)
			}
			return ast.WalkContinue, nil
		})
		if n.Kind() != ast.KindHeading && p.start < p.end {
			r.blocks = append(r.blocks, p)
		}
	}
	return r
}

// plainText is the text below a node.
func plainText(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(src))
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

var (
	reference = lazyregexp.New(`\[(\d{1,3})\]`)
	// sourceList is the list as withSources writes it at the end of a post.
	sourceList = lazyregexp.New(`\n+## ([^\n]+)\n+(?:- \[\d+\] \[[^\n]*\]\(<[^\n]*>\), accessed [\d-]+\n*)+$`)
	marked     = lazyregexp.New(`(\d[\p{L}%‰€$£°]*) \(unverified\)`)
	year       = lazyregexp.New(`^(?:19|20)\d\d$`)
)

// numbers are those of the references in a post, in order.
func (r reading) numbers() []int {
	var out []int
	for _, m := range reference.FindAllStringSubmatch(string(r.prose), -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A draft is a post on its way to be content.
type draft struct {
	text    string
	heading string   // of the list of sources; empty keeps the one that is there
	own     []string // figures that need no source
}

// unsourced are the figures of a post that no source stands beside, with the
// places behind them. Years, times and what is in headings do not count.
func (d draft) unsourced() (found []string, ends []int) {
	r := read(d.text)
	known := map[string]bool{}
	for _, f := range d.own {
		figures.Add(f, known)
	}
	for _, p := range r.blocks {
		part := string(r.prose[p.start:p.end])
		if p.linked || reference.MatchString(part) {
			continue
		}
		for _, m := range figures.Pattern.Regexp().FindAllStringSubmatchIndex(part, -1) {
			digits := part[m[4]:m[5]]
			if m[6] != m[7] || year.MatchString(digits) || known[figures.Plain(digits)] {
				continue
			}
			end := m[5] + len(figures.Unit.FindString(part[m[5]:]))
			if !strings.HasPrefix(d.text[p.start+end:], unverified) && !slices.Contains(ends, p.start+end) {
				found, ends = append(found, part[m[4]:end]), append(ends, p.start+end)
			}
		}
	}
	return found, ends
}

const unverified = " (unverified)"

// withSources puts the list of the sources that a post refers to at its end, in
// the place of the one that is there, and marks figures without a source. It
// returns the references that have none, and the figures that it marked.
func (d draft) withSources(env *tools.Env) (content string, dangling, doubtful []string) {
	d.text = marked.ReplaceAllString(strings.TrimSpace(d.text), "$1")
	if m := sourceList.FindStringSubmatch(d.text + "\n"); m != nil {
		d.heading = cmp.Or(d.heading, m[1])
		d.text = strings.TrimSpace(sourceList.ReplaceAllString(d.text+"\n", ""))
	}
	doubtful, ends := d.unsourced()
	for _, at := range slices.Backward(ends) {
		d.text = d.text[:at] + unverified + d.text[at:]
	}
	list, dangling := d.sources(env)
	return d.text + list, dangling, doubtful
}

// sources is the list of sources, and the references without one.
func (d draft) sources(env *tools.Env) (list string, dangling []string) {
	cited := map[int]citedSource{}
	all, _ := artifact[[]citedSource](env, "citations")
	for _, c := range all {
		cited[c.Number] = c
	}
	escape := strings.NewReplacer(`[`, `\[`, `]`, `\]`, `<`, `\<`, "`", "\\`", `*`, `\*`, `_`, `\_`, "\n", " ")
	var b strings.Builder
	for _, n := range read(d.text).numbers() {
		c, ok := cited[n]
		if !ok {
			dangling = append(dangling, fmt.Sprintf("[%d]", n))
			continue
		}
		at := strings.NewReplacer("<", "%3C", ">", "%3E", "\n", "").Replace(c.URL)
		fmt.Fprintf(&b, "- [%d] [%s](<%s>), accessed %s\n", n, escape.Replace(c.Title), at, c.Accessed)
	}
	if b.Len() == 0 {
		return "", dangling
	}
	return "\n\n## " + cmp.Or(oneLine(d.heading), "Sources") + "\n\n" + strings.TrimRight(b.String(), "\n"), dangling
}

// post is the result of a tool that makes the content.
func (d draft) post(env *tools.Env) (tools.Result, error) {
	content, dangling, doubtful := d.withSources(env)
	report := fmt.Sprintf("The post has %s (%d characters).", spelling.Plural(words(content), "word"), len([]rune(content)))
	if len(dangling) > 0 {
		report += " These references have no source: " + strings.Join(dangling, ", ") + ". Cite it, then make the post again."
	}
	if len(doubtful) > 0 {
		report += " Marked as unverified, for no source stands beside them: " + clip(doubtful, 20) + ". Cite a source, leave them out, or name in own_figures those that come from the user or are counted in the post itself."
	}
	return result(report, "content", content)
}

// clip joins the first of a list.
func clip(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, "; ")
	}
	return strings.Join(list[:most], "; ") + fmt.Sprintf("; and %d more", len(list)-most)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
