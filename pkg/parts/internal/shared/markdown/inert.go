package markdown

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	nethtml "golang.org/x/net/html"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// A Dialect describes the Markdown of the generator that builds a page.
type Dialect struct {
	NoTags bool                       // tags are looked after elsewhere: only links are looked at
	Lists  bool                       // kramdown's, which has lists of attributes in braces
	Skip   func(body string) [][2]int // parts that stay as they are, in order
	kept   map[string]bool            // what the former text has
}

// Inert returns Markdown in which HTML that may act is text, and what that was: each
// element and attribute that is not known to be harmless, and links that are neither
// relative nor to the web, to mail or to a telephone. What the former text, old, has
// of the kind stays.
//
// What is not code is read byte by byte, not as the parser divides it, for generators
// differ: what is text to one is a tag to another. What only some take for code is
// read, too.
func (d Dialect) Inert(body, old string) (safe string, found []string, err error) {
	d.kept = map[string]bool{}
	if old != "" {
		_, former := d.once(old)
		for _, one := range former {
			d.kept[one] = true
		}
	}
	const rounds = 20 // quoting a tag changes what is code: it may have a backtick
	for range rounds {
		next, some := d.once(body)
		found = append(found, some...)
		if next == body {
			return body, found, nil
		}
		body = next
	}
	return "", nil, errors.New("the text mixes HTML and code so that generators would divide them differently: put the HTML into fenced code or leave it out")
}

// An inert is a text of which parts are written anew.
type inert struct {
	Dialect
	body  string
	code  []bool          // by byte: it is code to every generator
	html  []bool          // by byte: it is HTML, where a backslash means nothing
	links map[string]bool // destinations
	skip  [][2]int
	open  map[string]int // elements that have begun
	fence map[int]fence  // code by indentation, by where its lines begin
	out   []byte
	found []string
}

// A fence is code that gets fences: those who know lists of definitions or notes may take
// an indented line for text.
type fence struct {
	end  int
	text string
}

func (d Dialect) once(body string) (string, []string) {
	in := &inert{Dialect: d, body: body, code: make([]bool, len(body)+1), html: make([]bool, len(body)+1), links: map[string]bool{}, open: map[string]int{}, fence: map[int]fence{}}
	if d.Skip != nil {
		in.skip = d.Skip(body)
	}
	if readable([]byte(body)) == nil { // else there is no code
		_ = ast.Walk(engine().Parser().Parse(text.NewReader([]byte(body))), in.node)
	}
	for i := 0; i < len(body); {
		for len(in.skip) > 0 && in.skip[0][1] <= i {
			in.skip = in.skip[1:]
		}
		n, with := 1, body[i:i+1]
		switch {
		case len(in.skip) > 0 && in.skip[0][0] <= i:
			n = in.skip[0][1] - i
			with = body[i : i+n]
		case in.fence[i].end > i:
			n, with = in.fence[i].end-i, in.fence[i].text
		case in.code[i] && !(d.Lists && len(in.open) > 0): // kramdown reads no Markdown in HTML
		case body[i] == '<' && !d.NoTags:
			n, with = in.angle(i)
		case body[i] == ']':
			n, with = in.bracket(i)
		case d.Lists && strings.HasPrefix(body[i:], "{:"):
			n, with = in.list(i)
		}
		in.out = append(in.out, with...)
		i += n
	}
	return string(in.out), in.found
}

func (in *inert) node(n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		if lines := n.Lines(); lines.Len() > 0 && in.fenced(lines.At(0).Start, lines.At(lines.Len()-1).Stop) {
			mark(in.code, lines.Sliced(0, lines.Len())...)
		}
	case *ast.CodeBlock:
		in.indented(n)
	case *ast.CodeSpan:
		if first, last := n.FirstChild(), n.LastChild(); first != nil {
			from, _ := first.(*ast.Text)
			to, _ := last.(*ast.Text)
			// Over lines, another generator may see something begin there.
			if from != nil && to != nil && !strings.Contains(in.body[from.Segment.Start:to.Segment.Stop], "\n") {
				mark(in.code, text.NewSegment(from.Segment.Start, to.Segment.Stop))
			}
		}
		return ast.WalkSkipChildren, nil
	case *ast.HTMLBlock:
		mark(in.html, n.Lines().Sliced(0, n.Lines().Len())...)
		if n.HasClosure() {
			mark(in.html, n.ClosureLine)
		}
	case *ast.Link:
		in.links[Literal(n.Destination)] = true
	case *ast.Image:
		in.links[Literal(n.Destination)] = true
	case *ast.LinkReferenceDefinition:
		in.links[Literal(n.Destination)] = true
	}
	return ast.WalkContinue, nil
}

func mark(in []bool, parts ...text.Segment) {
	for _, p := range parts {
		for i := p.Start; i < p.Stop; i++ {
			in[i] = true
		}
	}
}

// fenced reports whether code ends with the fence it began with: some generators ask for
// both.
func (in *inert) fenced(start, end int) bool {
	before := strings.TrimSuffix(in.body[:start], "\n")
	open := before[strings.LastIndexByte(before, '\n')+1:]
	at := max(strings.Index(open, "```"), strings.Index(open, "~~~"))
	if at < 0 {
		return false
	}
	run := open[at : len(open)-len(strings.TrimLeft(open[at:], open[at:at+1]))]
	last, _, _ := strings.Cut(in.body[end:], "\n")
	return strings.Trim(last, " \t\r>") == run
}

// indented gives fences to code that has tags.
func (in *inert) indented(n *ast.CodeBlock) {
	lines := n.Lines()
	if in.NoTags || lines.Len() == 0 || n.Parent().Kind() != ast.KindDocument || !risky.MatchString(string(lines.Value([]byte(in.body)))) {
		return
	}
	code := strings.TrimRight(string(lines.Value([]byte(in.body))), "\n")
	marks := "```"
	for strings.Contains(code, marks) {
		marks += "`"
	}
	start := strings.LastIndexByte(in.body[:lines.At(0).Start], '\n') + 1
	end := lines.At(lines.Len() - 1).Stop
	in.fence[start] = fence{end, marks + "\n" + code + "\n" + marks + "\n"}
}

var risky = lazyregexp.New(`<[A-Za-z/!?]`)

// escaped reports whether a backslash takes away the meaning of a byte.
func (in *inert) escaped(i int) bool {
	before := in.body[:i]
	return (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1
}

// keep reports what stays or has become text.
func (in *inert) keep(one string) bool {
	if !in.kept[one] {
		in.found = append(in.found, one)
	}
	return in.kept[one]
}

var (
	// strictTag is a tag that every parser ends at the same place.
	strictTag = lazyregexp.New("^</?[A-Za-z][A-Za-z0-9]*(?:(?:[ \\t]+|[ \\t]*\\n[ \\t]*)[a-z][a-z-]*(?:=(?:\"[^\"<>`\\n]*\"|'[^'<>`\\n]*'|[^\"'<>`=\\s]+))?)*[ \\t]*/?>")
	// comment has nothing in it that could act where it ends earlier.
	comment  = lazyregexp.New("^<!--(?:[^<>`-]|-[^<>`-])*-->")
	autolink = lazyregexp.New("^<(?:(?:https?://|mailto:)[^\\s<>\"'`]*|[A-Za-z0-9.+_-]+@[A-Za-z0-9.-]+)>")
	pointed  = lazyregexp.New("^<([^<>\\n\"'`\\\\&]*)>")
)

// maxHTML bounds how far the end of a tag or an element is looked for.
const maxHTML = 16 << 10

// angle reads what begins with an angle bracket.
func (in *inert) angle(i int) (n int, with string) {
	rest := in.body[i:min(len(in.body), i+maxHTML)]
	if len(rest) > 1 && strings.IndexByte(" \t\r\n0123456789=-<", rest[1]) >= 0 || len(rest) == 1 {
		return 1, "<"
	}
	for _, whole := range []string{comment.FindString(rest), autolink.FindString(rest)} {
		if whole != "" {
			return len(whole), whole
		}
	}
	if to := pointed.FindStringSubmatch(rest); to != nil && in.links[to[1]] && in.destination(i) {
		// Without them it is the same link, and no tag.
		return len(to[0]), strings.NewReplacer(" ", "%20", "\t", "%09", "(", "%28", ")", "%29").Replace(to[1])
	}
	if in.escaped(i) && !in.html[i] {
		in.out = in.out[:len(in.out)-1] // as everybody reads it
		return 1, "&lt;"
	}
	if whole := strictTag.FindString(rest); whole != "" && harmless(whole) {
		in.nest(whole)
		return len(whole), whole
	}
	if one, isTag := element(rest); isTag && in.keep(one) {
		in.nest(one)
		return len(one), one
	}
	return 1, "&lt;"
}

// nest counts the elements that have begun and not ended.
func (in *inert) nest(tag string) {
	z := nethtml.NewTokenizer(strings.NewReader(tag))
	kind := z.Next()
	b, _ := z.TagName()
	switch name := string(b); {
	case kind == nethtml.StartTagToken && !inline()[name]:
		in.open[name]++
	case kind == nethtml.EndTagToken && in.open[name] > 1:
		in.open[name]--
	case kind == nethtml.EndTagToken:
		delete(in.open, name)
	}
}

// destination reports whether a link leads to what stands at i.
func (in *inert) destination(i int) bool {
	before := strings.TrimRight(in.body[:i], " \t")
	return strings.HasSuffix(before, "](") || strings.HasSuffix(before, "]:")
}

// element returns the tag at the beginning of rest, as browsers see it: up to its end
// tag, if they read its content in another way. If there is no tag, it returns the angle
// bracket.
func element(rest string) (one string, isTag bool) {
	z := nethtml.NewTokenizer(strings.NewReader(rest))
	kind := z.Next()
	one = string(z.Raw())
	if kind == nethtml.ErrorToken || kind == nethtml.TextToken {
		return rest[:1], false
	}
	name, _ := z.TagName()
	if kind == nethtml.StartTagToken && slices.Contains(rawElements, string(name)) {
		if end := strings.Index(strings.ToLower(rest[len(one):]), "</"+string(name)+">"); end >= 0 {
			one = rest[:len(one)+end+len("</>")+len(name)]
		}
	}
	return one, true
}

var rawElements = []string{"script", "style", "iframe", "noembed", "noframes", "noscript", "xmp", "textarea", "title", "svg", "math", "object"}

// harmless reports whether a tag has only what is known to be harmless.
func harmless(tag string) bool {
	z := nethtml.NewTokenizer(strings.NewReader(tag))
	z.Next()
	t := z.Token()
	if !harmlessElements()[t.Data] {
		return false
	}
	for _, a := range t.Attr {
		switch a.Key {
		case "href", "cite":
			if !harmlessAddress(a.Val) {
				return false
			}
		case "src":
			if !harmlessAddress(a.Val) || scheme(a.Val) == "mailto" || scheme(a.Val) == "tel" {
				return false
			}
		default:
			if !harmlessAttributes()[a.Key] {
				return false
			}
		}
	}
	return true
}

// set is made when it is first asked for.
func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool { return setOf(words) })
}

func setOf(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

var (
	harmlessElements = set(`a abbr aside b bdi bdo big blockquote br caption center cite code col colgroup dd del details dfn div dl dt em figcaption figure
		h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p picture pre q rb rp rt rtc ruby s samp section small span strike strong sub summary sup
		table tbody td tfoot th thead time tr tt u ul var wbr`)
	// inline lists the elements in which all generators read Markdown, or which are empty.
	inline             = set(`a abbr b bdi bdo big br cite code del dfn em hr i img ins kbd mark q rb rp rt rtc ruby s samp small span strike strong sub sup time tt u var wbr`)
	harmlessAttributes = set(`abbr aria-hidden aria-label align alt border cellpadding cellspacing class colspan datetime dir height hreflang id lang loading open rel
		reversed role rowspan scope span start target title type valign value width`)
)

func harmlessAddress(to string) bool {
	switch scheme(to) {
	case "", "http", "https", "mailto", "tel":
		return true
	}
	return false
}

// scheme returns an address's scheme as browsers read it: without what they leave out.
func scheme(to string) string {
	to = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, to)
	i := strings.IndexAny(to, ":/?#")
	switch {
	case i >= 0 && to[i] == ':':
		return strings.ToLower(to[:i])
	case i >= 0 && strings.Contains(to[:i], "&"): // a reference that others resolve
		return "&"
	}
	return ""
}

// bracket reads what may be the middle of a link or of a definition.
func (in *inert) bracket(i int) (n int, with string) {
	rest := in.body[i+1:]
	if rest == "" || rest[0] != '(' && rest[0] != ':' || in.escaped(i) {
		return 1, "]"
	}
	to := strings.TrimLeft(strings.TrimLeft(rest[1:min(len(rest), 1+maxHTML)], " \t\r\n"), "<")
	if end := strings.IndexAny(to, " \n>"); end >= 0 {
		to = to[:end]
	}
	label := in.body[strings.LastIndexAny(in.body[:i], "[\n")+1 : i]
	to = Literal([]byte(strings.TrimRight(to, ")")))
	switch {
	case harmlessAddress(to):
	case rest[0] == ':' && strings.HasPrefix(label, "^") && !slices.Contains([]string{"javascript", "vbscript", "data"}, scheme(to)): // a footnote begins with any word
	case !in.keep(to):
		return 1, `\]`
	}
	return 1, "]"
}

// harmlessList matches a list that names classes, an id or other lists, or looks.
var harmlessList = lazyregexp.New(`^\{:(?:\s*(?:[#.]?[A-Za-z][\w-]*:?|(?:target|rel|width|height|alt|title|start|loading)="[^"<>{}]*"))*\s*\}`)

// list reads a list of attributes.
func (in *inert) list(i int) (n int, with string) {
	rest := in.body[i:min(len(in.body), i+maxHTML)]
	if one := harmlessList.FindString(rest); one != "" {
		return len(one), one
	}
	one := rest
	if end := strings.IndexByte(rest, '}'); end >= 0 {
		one = rest[:end+1]
	}
	if in.escaped(i) {
		return 1, "{"
	}
	if in.keep(one) {
		return len(one), one
	}
	return 1, `\{`
}
