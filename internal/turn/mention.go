package turn

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Mention is an @ in a person's message, followed by a possible path or address.
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

// A Fence follows the fenced code of a Markdown text from line to line. The zero value is ready.
type Fence struct{ marks string }

// Inside reports whether the next line belongs to fenced code; the lines that open and close it do.
// A fence is closed by at least as many of the marks that opened it, and nothing else.
func (f *Fence) Inside(line string) bool {
	line = strings.TrimSpace(line)
	rest := strings.TrimLeft(line, "`")
	if rest == line {
		rest = strings.TrimLeft(line, "~")
	}
	marks := line[:len(line)-len(rest)]
	switch {
	case f.marks != "":
		if rest == "" && strings.HasPrefix(marks, f.marks) {
			f.marks = ""
		}
		return true
	case len(marks) < 3 || marks[0] == '`' && strings.Contains(rest, "`"):
		return false
	}
	f.marks = marks
	return true
}

// Mentions lists the mentions in a text in order, each once. Markdown code contains no mentions,
// and neither does an @ after a backslash or within a word.
func Mentions(text string) []Mention {
	var out []Mention
	seen := map[Mention]bool{}
	add := func(m Mention) {
		if !seen[m] {
			seen[m] = true
			out = append(out, m)
		}
	}
	var fence Fence
	for line := range strings.Lines(text) {
		if fence.Inside(line) {
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

// mention reads the text after an @, and returns its length; 0 for no mention.
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
		if rest := s[n+size:]; r == '\\' && rest != "" && strings.Contains(ends, rest[:1]) {
			b.WriteByte(rest[0])
			n += size + 1
			continue
		}
		if unicode.IsSpace(r) || strings.ContainsRune(ends, r) || r == utf8.RuneError && size == 1 {
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

// ends are the characters that end a path, unless a backslash is before them.
const ends = " `\"<>|"

// MentionOf writes a path as [Mentions] reads it.
func MentionOf(path string) string {
	space := func(r rune) bool { return r != ' ' && unicode.IsSpace(r) }
	if lines.MatchString(path) || trimEnd(path) != path || strings.HasPrefix(path, "http") || strings.HasSuffix(path, `\`) || strings.ContainsFunc(path, space) {
		if !strings.Contains(path, `"`) {
			return `@"` + path + `"`
		}
	}
	var b strings.Builder
	for _, r := range "@" + path {
		if strings.ContainsRune(ends, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
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

// trimEnd removes punctuation that ends a sentence or closes a bracket that s does not open.
func trimEnd(s string) string {
	excess := map[rune]int{} // of brackets that close
	for _, pair := range []string{"()", "[]", "{}"} {
		excess[rune(pair[1])] = strings.Count(s, pair[1:]) - strings.Count(s, pair[:1])
	}
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		more, closes := excess[r]
		switch {
		case closes && more > 0:
			excess[r]--
		case closes || !strings.ContainsRune("*.,;:!?'…”’»", r):
			return s
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

// Bounds of the images of a message.
const (
	MaxImage  = 5 << 20 // bytes of one
	MaxImages = 8
)

// HeadBytes are enough of a file to know whether it is an image.
const HeadBytes = 16

// ImageType returns the media type of an image by its first bytes, "" if models do not accept it.
func ImageType(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(b, []byte("GIF87a")), bytes.HasPrefix(b, []byte("GIF89a")):
		return "image/gif"
	case len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// Image makes an image of the bytes of a file. It fails if they are none that models
// take, or too many.
func Image(name string, b []byte) (*llm.Image, error) {
	kind := ImageType(b)
	switch {
	case kind == "":
		return nil, fmt.Errorf("it is no PNG, JPEG, WebP or GIF image")
	case len(b) > MaxImage:
		return nil, TooLarge(int64(len(b)))
	}
	w, h, err := size(kind, b)
	if err != nil || w <= 0 || h <= 0 {
		return nil, fmt.Errorf("it begins like %s and cannot be read as one", kind)
	}
	sum := sha256.Sum256(b)
	return &llm.Image{Name: name, Type: kind, Width: w, Height: h, Size: len(b), Digest: hex.EncodeToString(sum[:]), Data: b}, nil
}

// TooLarge returns the error for an image of so many bytes.
func TooLarge(n int64) error {
	return fmt.Errorf("the image has %.1f MB, and models take at most %d MB; make it smaller", float64(n)/(1<<20), MaxImage>>20)
}

// size reads the pixels of an image from its header. The decoders of the standard
// library would be a large part of small programs.
func size(kind string, b []byte) (w, h int, err error) {
	switch {
	case kind == "image/webp":
		return webp(b)
	case kind == "image/jpeg":
		return jpegSize(b)
	case kind == "image/gif" && len(b) >= 13:
		return int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:])), nil
	case kind == "image/png" && len(b) >= 33 && string(b[12:16]) == "IHDR":
		return int(binary.BigEndian.Uint32(b[16:])), int(binary.BigEndian.Uint32(b[20:])), nil
	}
	return 0, 0, io.ErrUnexpectedEOF
}

// jpegSize reads the size of a JPEG image from the header of its frame.
func jpegSize(b []byte) (w, h int, err error) {
	for b = b[2:]; len(b) >= 4 && b[0] == 0xff; {
		kind, n := b[1], int(binary.BigEndian.Uint16(b[2:]))
		switch {
		case kind == 0xff: // fill
			b = b[1:]
			continue
		case kind == 1 || kind >= 0xd0 && kind <= 0xd7: // without a length
			b = b[2:]
			continue
		case kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc && len(b) >= 9:
			return int(binary.BigEndian.Uint16(b[7:])), int(binary.BigEndian.Uint16(b[5:])), nil
		}
		b = b[min(n+2, len(b)):]
	}
	return 0, 0, io.ErrUnexpectedEOF
}

// webp reads the size of a WebP image from its first chunk, by RFC 9649.
func webp(b []byte) (w, h int, err error) {
	if len(b) < 30 {
		return 0, 0, io.ErrUnexpectedEOF
	}
	le := binary.LittleEndian
	switch string(b[12:16]) {
	case "VP8X":
		return 1 + int(le.Uint32(b[23:27])>>8), 1 + int(le.Uint32(b[26:30])>>8), nil
	case "VP8L":
		bits := le.Uint32(b[21:25])
		return 1 + int(bits&0x3fff), 1 + int(bits>>14&0x3fff), nil
	case "VP8 ":
		return int(le.Uint16(b[26:28]) & 0x3fff), int(le.Uint16(b[28:30]) & 0x3fff), nil
	}
	return 0, 0, fmt.Errorf("unknown chunk %q", b[12:16])
}

// Bounds of the text that is attached to a message, in bytes.
const (
	MaxText = 48 << 10 // of one file
	MaxAll  = 128 << 10
)

// Quote puts text that is data into an element that it cannot end itself. what describes the data,
// as attributes: pairs of a name and a value.
func Quote(text string, what ...string) string {
	tag := "attached"
	for n := 2; strings.Contains(strings.ToLower(text), "</"+tag); n++ {
		tag = "attached-" + strconv.Itoa(n)
	}
	var b strings.Builder
	b.WriteString("<" + tag)
	for i := 0; i+1 < len(what); i += 2 {
		if what[i+1] != "" {
			fmt.Fprintf(&b, " %s=%q", what[i], what[i+1])
		}
	}
	fmt.Fprintf(&b, ">\n%s\n</%s>", strings.TrimRight(text, "\n"), tag)
	return b.String()
}
