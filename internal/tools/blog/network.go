package blog

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// A network is where a post is announced, and how it counts.
type network struct {
	name  string
	most  int
	count func(string) int
	bytes int // the most bytes, 0 for no bound
}

// networks lists them by name.
func networks() []network {
	return []network{
		{name: "bluesky", most: 300, count: clusters, bytes: 3000},
		{name: "linkedin", most: 3000, count: func(s string) int { return len(utf16.Encode([]rune(s))) }},
		{name: "mastodon", most: 500, count: mastodon},
		{name: "threads", most: 500, count: threads},
		{name: "x", most: 280, count: weighted},
	}
}

func lookup(name string) (network, bool) {
	for _, n := range networks() {
		if n.name == name {
			return n, true
		}
	}
	return network{}, false
}

func (n network) fits(s string) bool {
	return n.count(s) <= n.most && (n.bytes == 0 || len(s) <= n.bytes)
}

// cut shortens s until it fits, at a word, with an ellipsis. A link in s is
// kept at the end.
func (n network) cut(s, link string) string {
	if n.fits(s) {
		return s
	}
	tail := "…"
	if link != "" && strings.Contains(s, link) {
		s, tail = strings.TrimSpace(strings.ReplaceAll(s, link, "")), "… "+link
	}
	fields := strings.FieldsFunc(s, unicode.IsSpace)
	for len(fields) > 0 {
		if out := strings.TrimRight(strings.Join(fields, " "), ".,;:!?- ") + tail; n.fits(out) {
			return out
		}
		fields = fields[:len(fields)-1]
	}
	runes := []rune(s)
	for len(runes) > 0 && !n.fits(string(runes)+tail) {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + tail
}

var (
	address = lazyregexp.New(`https?://[^\s<>"]+`)
	domain  = lazyregexp.New(`(?i)\b(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,24}\b(?:/[^\s<>"]*)?`)
	mention = lazyregexp.New(`(@[A-Za-z0-9_]+)@[A-Za-z0-9.-]+[A-Za-z0-9]`)
)

// linked is how many characters a link counts for where links are shortened,
// whatever its length.
const linked = 23

// weighted counts as X does: most scripts' characters are two, Latin ones and
// the like one, an emoji two, a link 23. A bare name of a host may or may not
// be taken for a link: it counts for the longer of both.
func weighted(s string) int {
	n := 0
	s = address.ReplaceAllStringFunc(s, func(u string) string {
		n += linked
		return tail(u)
	})
	s = domain.ReplaceAllStringFunc(s, func(u string) string {
		n += max(linked, utf8.RuneCountInString(u))
		return ""
	})
	for _, c := range split(s) {
		if emoji(c) {
			n += 2
			continue
		}
		for _, r := range c {
			if r <= 0x10FF || r >= 0x2000 && r <= 0x200D || r >= 0x2010 && r <= 0x201F || r >= 0x2032 && r <= 0x2037 {
				n++
			} else {
				n += 2
			}
		}
	}
	return n
}

// mastodon counts what is seen, a link as 23 and of a mention the part before
// the server.
func mastodon(s string) int {
	n := 0
	s = address.ReplaceAllStringFunc(s, func(u string) string {
		n += linked
		return tail(u)
	})
	return n + clusters(mention.ReplaceAllString(s, "$1"))
}

// threads counts characters, but the bytes of emojis.
func threads(s string) int {
	n := 0
	for _, c := range split(s) {
		if emoji(c) {
			n += len(c)
		} else {
			n += utf8.RuneCountInString(c)
		}
	}
	return n
}

// tail is the punctuation that ends a sentence rather than the link before it.
func tail(u string) string { return u[len(strings.TrimRight(u, ".,;:!?)'")):] }

// clusters counts characters as people see them.
func clusters(s string) int { return len(split(s)) }

// split takes text apart into what is seen as one character: a base with its
// marks, an emoji with its modifiers and what it is joined to, two letters
// that make a flag. Where it is in doubt it counts more rather than less.
func split(s string) []string {
	var out []string
	joined, flag := false, false
	for _, r := range s {
		extends := len(out) > 0 && (unicode.In(r, unicode.Mn, unicode.Me) || r == 0x200D || r >= 0xFE00 && r <= 0xFE0F || r >= 0x1F3FB && r <= 0x1F3FF || r >= 0xE0020 && r <= 0xE007F)
		half := r >= 0x1F1E6 && r <= 0x1F1FF
		switch {
		case extends || joined || half && flag || r == '\n' && len(out) > 0 && out[len(out)-1] == "\r":
			out[len(out)-1] += string(r)
			flag = false
		default:
			out = append(out, string(r))
			flag = half
		}
		joined = r == 0x200D && len(out) > 0 && emoji(out[len(out)-1])
	}
	return out
}

// emoji reports whether a character as people see it is shown as a picture.
func emoji(cluster string) bool {
	first, _ := utf8.DecodeRuneInString(cluster)
	switch {
	case first >= 0x1F000 && first <= 0x1FAFF:
		return true
	case first >= 0x2600 && first <= 0x27BF, first >= 0x2B00 && first <= 0x2BFF, first >= 0x231A && first <= 0x23FF:
		return true
	}
	return strings.ContainsRune(cluster, 0xFE0F) || strings.ContainsRune(cluster, 0x20E3)
}
