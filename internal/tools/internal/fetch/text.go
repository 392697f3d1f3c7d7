package fetch

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// Configured lists configured names for an error or a hint.
func Configured[V any](what string, m map[string]V) string {
	if len(m) == 0 {
		return "no " + what + " are configured"
	}
	return "configured " + what + ": " + strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

var declared = lazyregexp.New(`(?i)^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([a-z0-9._:-]{1,40})["']`)

// Decode makes UTF-8 of an answer's body: by its byte order mark, the charset
// its server names, or the one it names itself. What claims to be UTF-8, or
// nothing, and is not, is read as Windows-1252, as browsers do.
func Decode(body []byte, label string) (string, error) {
	name := strings.ToLower(strings.TrimSpace(label))
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		name, body = "utf-8", body[3:]
	case bytes.HasPrefix(body, []byte("\xff\xfe")), bytes.HasPrefix(body, []byte("<\x00")):
		name = "utf-16le"
	case bytes.HasPrefix(body, []byte("\xfe\xff")), bytes.HasPrefix(body, []byte("\x00<")):
		name = "utf-16be"
	case name == "":
		if m := declared.FindSubmatch(body[:min(len(body), 512)]); m != nil {
			name = strings.ToLower(string(m[1]))
		}
	}
	enc, canonical := charset.Lookup(name)
	if name != "" && enc == nil {
		return "", fmt.Errorf("it says that its text is in %q, which is not known here", spelling.Clip(name, 40))
	}
	if enc == nil || canonical == "utf-8" {
		if utf8.Valid(body) {
			return string(body), nil
		}
		if bytes.IndexByte(body, 0) >= 0 {
			return "", fmt.Errorf("it is not text: it has NUL bytes and is not UTF-8")
		}
		enc, _ = charset.Lookup("windows-1252")
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return "", fmt.Errorf("its text cannot be read as %s: %w", canonical, err)
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(out), "\uFFFD"), "\ufeff"), nil
}

// OneLine is s on one line, without what a terminal or a reader would trip over.
func OneLine(s string, n int) string {
	s = html.UnescapeString(spelling.Clip(s, 8*n+1024))
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r) && r != '\u200d', r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	return spelling.Clip(strings.Join(strings.Fields(s), " "), n)
}

// Count is a number with its noun.
func Count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
