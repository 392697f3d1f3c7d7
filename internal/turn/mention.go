package turn

import (
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// A Mention is an @ in the words of a person with what may be a path or an address
// behind it.
type Mention struct {
	Path     string
	From, To int    // lines, 0 for all; To is 0 for the rest
	URL      string // in place of Path
	// Marked means that it can only be meant as a path: in quotes, with a range of
	// lines, or beginning with a slash, a dot or a tilde.
	Marked bool
}

var (
	lines   = lazyregexp.New(`^(.+?):(\d{1,9})(-(\d{0,9}))?$`)
	address = lazyregexp.New(`^https?://\S+`)
	behind  = lazyregexp.New(`^:(\d{1,9})(-(\d{0,9}))?`)
)

// Mentions are those of a text in their order, each once. What is in Markdown code
// mentions nothing, and neither does an @ behind a backslash or within a word.
func Mentions(text string) []Mention {
	var out []Mention
	seen := map[Mention]bool{}
	add := func(m Mention) {
		if !seen[m] {
			seen[m] = true
			out = append(out, m)
		}
	}
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		before, ticked := ' ', false
		for i := 0; i < len(line); {
			r, n := utf8.DecodeRuneInString(line[i:])
			if r == '`' && (ticked || strings.Contains(line[i+n:], "`")) {
				ticked = !ticked
			}
			if r == '@' && !ticked && opens(before) {
				m, length := mention(line[i+1:])
				if length > 0 {
					add(m)
					i += 1 + length
					before = 'x'
					continue
				}
			}
			before = r
			i += n
		}
	}
	return out
}

// opens reports whether an @ behind r may begin a mention: in the middle of a word
// it is part of an e-mail address or of a package's version.
func opens(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("([{<\"'“‘«,;", r) }

// mention reads what stands behind an @, and how long it is; 0 for nothing.
func mention(s string) (Mention, int) {
	if url := address.FindString(s); url != "" {
		url = trimEnd(url)
		return Mention{URL: url, Marked: true}, len(url)
	}
	if strings.HasPrefix(s, `"`) {
		name, _, ok := strings.Cut(s[1:], `"`)
		if !ok || name == "" || strings.Contains(name, "\n") {
			return Mention{}, 0
		}
		m, n := Mention{Path: name, Marked: true}, len(name)+2
		if r := behind.FindStringSubmatch(s[n:]); r != nil {
			m.lines(r[1], r[2], r[3])
			n += len(r[0])
		}
		return m, n
	}
	var b strings.Builder
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if r == '\\' && strings.HasPrefix(s[n+size:], " ") {
			b.WriteByte(' ')
			n += size + 1
			continue
		}
		if unicode.IsSpace(r) || strings.ContainsRune("`\"<>|", r) || r == utf8.RuneError && size == 1 {
			break
		}
		b.WriteRune(r)
		n += size
	}
	name := trimEnd(b.String())
	if name == "" {
		return Mention{}, 0
	}
	m := Mention{Path: name}
	if r := lines.FindStringSubmatch(name); r != nil {
		m.Path = r[1]
		m.lines(r[2], r[3], r[4])
	}
	m.Marked = m.From > 0 || strings.HasPrefix(m.Path, "/") || strings.HasPrefix(m.Path, "./") || strings.HasPrefix(m.Path, "../") || strings.HasPrefix(m.Path, "~/")
	return m, n
}

func (m *Mention) lines(from, dash, to string) {
	m.From, _ = strconv.Atoi(from) // digits
	switch {
	case to != "":
		m.To, _ = strconv.Atoi(to)
	case dash == "":
		m.To = m.From
	}
}

// trimEnd takes off what ends a sentence or closes a bracket that s does not open.
func trimEnd(s string) string {
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		opened := map[rune]string{')': "(", ']': "[", '}': "{"}[r]
		if opened != "" && strings.Count(s, opened) >= strings.Count(s, string(r)) || opened == "" && !strings.ContainsRune("*.,;:!?'…”’»", r) {
			break
		}
		s = s[:len(s)-n]
	}
	return s
}

// Likely reports whether a path that does not exist was meant as one by its form: it
// ends like a file of text, code or a picture.
func Likely(name string) bool {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	return ext != "" && path.Base(name) != "."+ext && strings.Contains(extensions, " "+ext+" ")
}

const extensions = " bash bmp c cc cfg conf cpp cs css csv cxx dart diff dockerfile ex exs gif go gradle graphql h hpp htm html ini ipynb java jpeg jpg js json jsonl jsx kt lock log lua md mk mod patch pdf php pl png proto ps1 py r rb rs rst scala scss sh sql sum svelte svg swift tex tf toml ts tsv tsx txt vue webp xml yaml yml zig zsh "
