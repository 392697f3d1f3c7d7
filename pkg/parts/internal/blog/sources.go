package blog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/markdown"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/outputs"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/site"
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
	start, end int      // in the text
	links      []string // that it has
}

// A postImage is an image in a post.
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
	for n := markdown.Parse(src).FirstChild(); n != nil; n = n.NextSibling() {
		p := textBlock{start: len(src)}
		_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			switch n := n.(type) {
			case *ast.Image:
				r.images = append(r.images, postImage{string(n.Destination), plainText(n, src)})
				return ast.WalkSkipChildren, nil
			case *ast.Link:
				p.links = append(p.links, string(n.Destination))
				return ast.WalkSkipChildren, nil
			case *ast.AutoLink:
				p.links = append(p.links, string(n.URL(src)))
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
	year       = lazyregexp.New(`^(?:19|20)\d\d$`)
)

// numbers returns the numbers of the references in a post, in order.
func (r reading) numbers() []int { return references(string(r.prose)) }

func references(prose string) []int {
	var out []int
	for _, m := range reference.FindAllStringSubmatch(prose, -1) {
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

// unsourced are the figures of a post that no page has to which the block around them
// refers, with why. Years, times and what is in headings and links do not count.
func (d draft) unsourced(env *tools.Env) (found []string) {
	r := read(d.text)
	own, pages := map[string]bool{}, fetched(env)
	for _, f := range d.own {
		outputs.AddFigures(f, own)
	}
	all, _ := artifact[[]citedSource](env, "citations")
	for _, p := range r.blocks {
		part := string(r.prose[p.start:p.end])
		at := p.links
		for _, n := range references(part) {
			for _, c := range all {
				if c.Number == n {
					at = append(at, c.URL)
				}
			}
		}
		part = reference.ReplaceAllStringFunc(part, func(ref string) string { return strings.Repeat(" ", len(ref)) })
		for _, m := range outputs.FigurePattern.Regexp().FindAllStringSubmatchIndex(part, -1) {
			digits := part[m[4]:m[5]]
			plain := outputs.PlainFigure(digits)
			if m[6] != m[7] || year.MatchString(digits) || own[plain] || slices.ContainsFunc(at, func(url string) bool { return pages[pageAt(url)].has(plain) }) {
				continue
			}
			why := "no source beside it"
			if len(at) > 0 {
				why = "not on a page beside it that was fetched"
			}
			f := part[m[4]:m[5]+len(outputs.FigureUnit.FindString(part[m[5]:]))] + " (" + why + ")"
			if !slices.Contains(found, f) {
				found = append(found, f)
			}
		}
	}
	return found
}

// pageFigures are the figures of a page; nil of one that was not fetched.
type pageFigures struct {
	figures map[string]bool
	more    bool
}

func (p *pageFigures) has(figure string) bool { return p != nil && (p.more || p.figures[figure]) }

// fetched are the pages that the job has read, by address.
func fetched(env *tools.Env) map[string]*pageFigures {
	out := map[string]*pageFigures{}
	for _, name := range env.Artifacts.Names() {
		if !tools.Matches(outputs.FigureFamily, name) {
			continue
		}
		if p, ok := artifact[outputs.PageFigures](env, name); ok {
			f := &pageFigures{map[string]bool{}, p.More}
			for _, n := range p.Figures {
				f.figures[n] = true
			}
			out[pageAt(p.Seen)], out[pageAt(p.At)] = f, f
		}
	}
	return out
}

// pageAt is a link as web_fetch and cite write it, without the place on the page.
func pageAt(link string) string {
	u, err := fetch.ParseURL(link)
	if err != nil {
		return link
	}
	u.Fragment = ""
	return u.String()
}

// withSources puts the list of the sources that a post refers to at its end, in
// the place of the one that is there. It returns the references that have none.
func (d draft) withSources(env *tools.Env) (content string, dangling []string) {
	d.text = strings.TrimSpace(d.text)
	if m := sourceList.FindStringSubmatch(d.text + "\n"); m != nil {
		d.heading = cmp.Or(d.heading, m[1])
		d.text = strings.TrimSpace(sourceList.ReplaceAllString(d.text+"\n", ""))
	}
	list, dangling := d.sources(env)
	return d.text + list, dangling
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

// ownFigures is the artifact with the figures of a post that need no source.
const ownFigures = "own_figures"

// post is the result of a tool that makes the content.
func (d draft) post(env *tools.Env) (tools.Result, error) {
	doubtful := d.unsourced(env)
	content, dangling := d.withSources(env)
	report := fmt.Sprintf("The post has %s (%d characters).", spelling.Plural(words(content), "word"), len([]rune(content)))
	if len(dangling) > 0 {
		report += " These references have no source: " + strings.Join(dangling, ", ") + ". Cite it, then make the post again."
	}
	if len(doubtful) > 0 {
		report += " No source backs these figures: " + clip(doubtful, 20) + ". web_fetch and cite a page that has them, correct them or leave them out; own_figures takes those that come from the user or are counted in the post itself."
	}
	r, err := result(report, "content", content)
	if err == nil {
		r.Artifacts[ownFigures], err = json.Marshal(append([]string{}, d.own...))
	}
	return r, err
}

// clip joins the first of a list.
func clip(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, "; ")
	}
	return strings.Join(list[:most], "; ") + fmt.Sprintf("; and %d more", len(list)-most)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// checkInput is the input of check_post.
type checkInput struct {
	Of string `json:"of,omitempty" jsonschema:"enum=content,description=content: the post itself; default: the saved files too"`
}

// CheckPost is the tool check_post, made to be a completion check.
var CheckPost = tools.New(tools.Metadata{
	Name: "check_post", Category: "content", Needs: tools.Read, Effect: tools.Pure, Optionality: tools.Optional,
	Uses:     []string{"content", "citations", outputs.FigureFamily, ownFigures, "social", "published", savedName, folderName},
	Proves:   "the post has its sources and images, and its files are there",
	Examples: []tools.Example{{Note: "all of it", Args: json.RawMessage(`{}`)}},
}.ProseIn(descriptions), func(_ context.Context, env *tools.Env, in checkInput) (tools.Result, error) {
	text := content(env)
	if text == "" {
		return tools.Result{}, errors.New("there is no content yet: write it with write_content or assemble_content")
	}
	own, _ := artifact[[]string](env, ownFigures)
	d := draft{text: text, own: own}
	var faults []string
	if _, dangling := d.sources(env); len(dangling) > 0 {
		faults = append(faults, fmt.Sprintf("these references have no source: %s. Cite it, then make the post again", strings.Join(dangling, ", ")))
	}
	if len(read(text).numbers()) > 0 && !sourceList.MatchString(text+"\n") {
		faults = append(faults, "the list of sources is missing: make the post again with write_content or assemble_content")
	}
	faults = append(faults, imageFaults(env, read(text).images)...)
	var made []string
	if in.Of == "" {
		list, old, err := inventory(env)
		if err != nil {
			return tools.Result{}, err
		}
		made, faults = list, append(faults, old...)
	}
	if faults != nil {
		return tools.Result{}, fmt.Errorf("the post is not ready:\n- %s", strings.Join(faults, "\n- "))
	}
	title, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
	lines := append([]string{fmt.Sprintf("%q, %s", clipped(title), spelling.Plural(words(text), "word"))}, made...)
	d.text = strings.TrimSpace(sourceList.ReplaceAllString(text+"\n", ""))
	if doubtful := d.unsourced(env); len(doubtful) > 0 {
		lines = append(lines, "no source backs "+clip(doubtful, 20))
	}
	return tools.Result{Text: strings.Join(lines, "\n"), Summary: strings.Join(lines, "; ")}, nil
})

// clipped is a title for a line.
func clipped(s string) string {
	if r := []rune(oneLine(s)); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return oneLine(s)
}

// imageFaults lists the faults of a post's images.
func imageFaults(env *tools.Env, images []postImage) []string {
	var faults []string
	s := site.Open(env.Files.FS(), site.Settings{})
	for _, i := range images {
		if i.alt == "" {
			faults = append(faults, fmt.Sprintf("the image %s has no description: write ![what it shows](%s)", i.target, i.target))
		}
		if err := s.CheckImage(i.target); err != nil {
			faults = append(faults, err.Error())
		}
	}
	return faults
}

// writeInput is the input of write_content.
type writeInput struct {
	Title   string   `json:"title,omitempty" jsonschema:"description=Put above the text unless it begins with one"`
	Text    string   `json:"text" jsonschema:"minLength=1,description=The whole post as Markdown"`
	Short   bool     `json:"short,omitempty" jsonschema:"description=The user asked for fewer than 500 characters"`
	Own     []string `json:"own_figures,omitempty" jsonschema:"description=Figures that need no source: the user's; those counted in the post"`
	Sources string   `json:"sources,omitempty" jsonschema:"description=Heading of the list of sources"`
}

// shortest and longest bound what write_content takes as short, in characters.
const (
	shortest = 20
	longest  = 500
)

// Write is the tool write_content. It changes what later calls are given, so
// that it is not run beside them.
var Write = tools.New(tools.Metadata{
	Name: "write_content", Category: "content", Effect: tools.Idempotent, Uses: []string{"citations", outputs.FigureFamily}, Produces: []string{"content", "announcement", ownFigures},
	Examples: []tools.Example{{Note: "a short post", Args: json.RawMessage(`{"title":"We moved","text":"Our office is now at the harbour.\n\nCome and see us.","short":true}`)}},
}.ProseIn(descriptions), func(_ context.Context, env *tools.Env, in writeInput) (tools.Result, error) {
	text := strings.TrimSpace(in.Text)
	if text == "" {
		return tools.Result{}, errors.New("text is empty: pass the whole post")
	}
	if n := utf8.RuneCountInString(text); in.Short && (n < shortest || n >= longest) {
		return tools.Result{}, fmt.Errorf("the text has %d characters; what is short has %d to %d, so write it that long or leave out short", n, shortest, longest-1)
	}
	if title := strings.TrimSpace(in.Title); title != "" && !strings.HasPrefix(text, "# ") {
		text = "# " + oneLine(title) + "\n\n" + text
	}
	r, err := draft{text, in.Sources, in.Own}.post(env)
	if in.Short && err == nil {
		r.Artifacts["announcement"] = r.Artifacts["content"]
	}
	return r, err
})
