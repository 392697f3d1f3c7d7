package publish

import (
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/lazyregexp"
)

// maxSpans is how many spans one text may have.
const maxSpans = 100

// A span is text with one look.
type span struct {
	Type string    `json:"type"`
	Text *spanText `json:"text"`
	Look *look     `json:"annotations,omitempty"`
}

type spanText struct {
	Content string `json:"content"`
	Link    *link  `json:"link,omitempty"`
}

type link struct {
	URL string `json:"url"`
}

type look struct {
	Bold   bool `json:"bold,omitempty"`
	Italic bool `json:"italic,omitempty"`
	Strike bool `json:"strikethrough,omitempty"`
	Code   bool `json:"code,omitempty"`
}

var (
	mdLink   = lazyregexp.New(`^!?\[((?:[^\[\]\\]|\\.)*)\]\(<?([^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)?)>?(?:[ \t]+"[^"]*")?\)`)
	autoLink = lazyregexp.New(`^<(https?://[^\s<>]+)>`)
	bareLink = lazyregexp.New(`^https?://[^\s<>"\])]+`)
)

// inline reads the marks within a line of Markdown: code, strong, emphasis,
// strike-through, links. A mark that is not closed is text.
func inline(text string) []span {
	w := &writer{}
	w.read(text, look{}, "", 0)
	return w.out
}

type writer struct{ out []span }

func (w *writer) put(text string, l look, to string) {
	for _, part := range pieces(text) {
		s := span{Type: "text", Text: &spanText{Content: part}}
		if l != (look{}) {
			s.Look = &l
		}
		if to != "" {
			s.Text.Link = &link{to}
		}
		w.out = append(w.out, s)
	}
}

func (w *writer) read(text string, l look, to string, depth int) {
	var plain strings.Builder
	flush := func() {
		w.put(plain.String(), l, to)
		plain.Reset()
	}
	for i := 0; i < len(text); {
		rest := text[i:]
		if rest[0] == '\\' && len(rest) > 1 && strings.IndexByte("\\`*_{}[]()#+-.!~|<>", rest[1]) >= 0 {
			plain.WriteByte(rest[1])
			i += 2
			continue
		}
		if rest[0] == '`' {
			n := len(rest) - len(strings.TrimLeft(rest, "`"))
			mark := rest[:n]
			if end := closing(near(rest[n:]), mark); end >= 0 {
				flush()
				in := l
				in.Code = true
				w.put(strings.TrimSpace(rest[n:n+end]), in, to)
				i += n + end + n
				continue
			}
			plain.WriteString(mark)
			i += n
			continue
		}
		if m := mdLink.FindStringSubmatch(rest); m != nil && to == "" && depth < 8 {
			flush()
			name := m[1]
			if url := m[2]; linkable(url) {
				w.read(name, l, url, depth+1)
			} else {
				w.put(m[0], l, "")
			}
			i += len(m[0])
			continue
		}
		if m := autoLink.FindStringSubmatch(rest); m != nil && to == "" && linkable(m[1]) {
			flush()
			w.put(m[1], l, m[1])
			i += len(m[0])
			continue
		}
		if rest[0] == 'h' && to == "" {
			if u := strings.TrimRight(bareLink.FindString(rest), ".,;:!?'*_~"); u != "" && linkable(u) {
				flush()
				w.put(u, l, u)
				i += len(u)
				continue
			}
		}
		if mark, in, ok := opens(text, i, l); ok && depth < 8 {
			if end := ends(near(rest[len(mark):]), mark); end > 0 {
				flush()
				w.read(rest[len(mark):len(mark)+end], in, to, depth+1)
				i += len(mark) + end + len(mark)
				continue
			}
			plain.WriteString(mark)
			i += len(mark)
			continue
		}
		plain.WriteByte(rest[0])
		i++
	}
	flush()
}

// near is how far a mark reaches: one that is never closed must not cost a
// search of everything.
func near(s string) string { return s[:min(len(s), 4000)] }

// linkable reports whether Notion takes an address.
func linkable(url string) bool {
	ok := strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "mailto:")
	return ok && len(url) <= maxText
}

// closing finds a run of backticks exactly as long as mark.
func closing(s, mark string) int {
	for at := 0; ; {
		i := strings.Index(s[at:], mark)
		if i < 0 {
			return -1
		}
		i += at
		n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if n == len(mark) {
			return i
		}
		at = i + n
	}
}

// opens reports a mark that may open emphasis at i.
func opens(text string, i int, l look) (mark string, in look, ok bool) {
	in = l
	switch rest := text[i:]; {
	case strings.HasPrefix(rest, "**"), strings.HasPrefix(rest, "__"):
		mark, in.Bold = rest[:2], true
	case strings.HasPrefix(rest, "~~"):
		mark, in.Strike = rest[:2], true
	case rest[0] == '*', rest[0] == '_':
		mark, in.Italic = rest[:1], true
	default:
		return "", l, false
	}
	next := text[i+len(mark):]
	// An underscore within a word is a letter.
	if next == "" || next[0] == ' ' || mark[0] == '_' && i > 0 && wordy(text[i-1]) {
		return "", l, false
	}
	return mark, in, true
}

// ends finds the mark that closes emphasis.
func ends(s, mark string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '`':
			n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
			if end := closing(s[i+n:], s[i:i+n]); end >= 0 {
				i += n + end + n - 1
			} else {
				i += n - 1
			}
		case strings.HasPrefix(s[i:], mark) && i > 0 && s[i-1] != ' ':
			after := s[i+len(mark):]
			if len(mark) == 1 && strings.HasPrefix(after, mark) {
				i++ // two of them are another mark
				continue
			}
			if mark[0] == '_' && after != "" && wordy(after[0]) {
				continue
			}
			return i
		}
	}
	return -1
}

func wordy(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// language is a fence's language as Notion calls it; it refuses others.
func language(name string) string {
	name = strings.ToLower(name)
	if long, ok := map[string]string{
		"sh": "shell", "console": "shell", "zsh": "shell", "golang": "go", "py": "python", "js": "javascript", "jsx": "javascript",
		"ts": "typescript", "tsx": "typescript", "rb": "ruby", "rs": "rust", "yml": "yaml", "cpp": "c++", "cs": "c#", "csharp": "c#",
		"md": "markdown", "dockerfile": "docker", "make": "makefile", "objc": "objective-c", "proto": "protobuf", "ps1": "powershell",
		"hs": "haskell", "kt": "kotlin", "vb": "visual basic", "tex": "latex",
	}[name]; ok {
		return long
	}
	known := []string{
		"bash", "c", "c#", "c++", "clojure", "css", "dart", "diff", "docker", "elixir", "elm", "erlang", "f#", "fortran", "go", "graphql",
		"groovy", "haskell", "html", "java", "javascript", "json", "julia", "kotlin", "latex", "less", "lisp", "lua", "makefile", "markdown",
		"markup", "matlab", "mermaid", "nix", "objective-c", "ocaml", "pascal", "perl", "php", "powershell", "prolog", "protobuf", "python",
		"r", "ruby", "rust", "sass", "scala", "scheme", "scss", "shell", "sql", "swift", "toml", "typescript", "verilog", "vhdl",
		"visual basic", "webassembly", "xml", "yaml",
	}
	if slices.Contains(known, name) {
		return name
	}
	return "plain text"
}
