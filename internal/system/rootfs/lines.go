package rootfs

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	MaxLine  = 4 << 10   // bytes of one line in a page; the rest of it is left out
	maxPage  = 256 << 10 // bytes of a page
	maxAhead = 64 << 20  // bytes read after a page to count the lines that follow
	maxScan  = 1 << 30   // bytes read to find the page
	PageText = 4 << 20   // files up to this size are decoded whole
)

// A Page is some lines of a file.
type Page struct {
	Lines    []string
	From     int  // number of the first line, from 1
	Total    int  // lines in the file; -1 if they were too many to count
	More     bool // lines follow the last one
	Binary   bool // not text: Lines is empty
	Cut      bool // at least one line was too long and lost its end
	Encoding Encoding
	Size     int64 // bytes of the file
}

// PageOf is readPage for content in memory, in any encoding.
func PageOf(b []byte, from, n int) (Page, error) {
	t, _ := Decode(b)
	p, err := Page{}, error(nil)
	if t.Encoding == UTF16LE || t.Encoding == UTF16BE {
		p, err = ReadPage(strings.NewReader(t.Content), from, n, nil)
		p.Encoding = t.Encoding
	} else {
		p, err = ReadPage(bytes.NewReader(b), from, n, nil)
	}
	p.Size = int64(len(b))
	return p, err
}

// ReadPage reads a page from a stream. sum, if not nil, is called with the digest
// of the bytes read and whether they are the whole stream.
func ReadPage(in io.Reader, from, n int, sum func(digest string, whole bool) error) (Page, error) {
	from, n = max(from, 1), max(n, 0)
	h := sha256.New()
	if sum != nil {
		in = io.TeeReader(in, h)
	}
	r := bufio.NewReaderSize(in, 64<<10)
	p := Page{From: from, Encoding: UTF8}
	head, _ := r.Peek(sniff)
	if !IsText(head) {
		p.Binary = true
		return p, nil
	}
	bytes, after, last := 0, int64(0), 0
	full := false
	counter := &counted{r: r}
	err := EachLine(counter, func(no int, line []byte, cut bool) bool {
		last = no
		switch {
		case no < from:
			return counter.n <= maxScan
		case !full && len(p.Lines) < n && (bytes+len(line) <= maxPage || len(p.Lines) == 0):
			if no == 1 {
				line = trimBOM(line)
			}
			s := string(line)
			if !utf8.ValidString(s) {
				if cut { // a character may have been cut through
					s = strings.ToValidUTF8(s, "")
				} else {
					s, p.Encoding = decodeLatin1(line), Latin1
				}
			}
			p.Lines = append(p.Lines, s)
			p.Cut = p.Cut || cut
			bytes += len(line)
			after = counter.n
			return true
		}
		full, p.More = true, true
		return counter.n-after <= maxAhead
	})
	if err != nil {
		return Page{}, err
	}
	p.Total = last
	whole := counter.ended
	if !whole {
		p.Total = -1
		if len(p.Lines) == 0 && n > 0 {
			return p, fmt.Errorf("line %d was not reached within %d bytes; search the file instead", from, maxScan)
		}
	}
	if sum != nil {
		return p, sum(hex.EncodeToString(h.Sum(nil)), whole)
	}
	return p, nil
}

func trimBOM(line []byte) []byte { return bytes.TrimPrefix(line, bom8) }

// counted counts the bytes read and records the end.
type counted struct {
	r     *bufio.Reader
	n     int64
	ended bool
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	c.ended = c.ended || err == io.EOF
	return n, err
}

// EachLine calls do with each line, without its end and cut to maxLine bytes,
// until do returns false. The line is valid during the call only. A stream
// whose single line never ends is given up after maxScan bytes.
func EachLine(in io.Reader, do func(no int, line []byte, cut bool) bool) error {
	r := bufio.NewReaderSize(in, 64<<10)
	line := make([]byte, 0, MaxLine)
	no, cut, some := 1, false, false
	var read int64
	for {
		chunk, err := r.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull && err != io.EOF {
			return err
		}
		some = some || len(chunk) > 0
		read += int64(len(chunk))
		body := bytes.TrimSuffix(chunk, []byte("\n"))
		if room := MaxLine - len(line); len(body) > room {
			line, cut = append(line, body[:room]...), true
		} else {
			line = append(line, body...)
		}
		if err == bufio.ErrBufferFull && read <= maxScan {
			continue
		}
		if err == io.EOF && !some {
			return nil
		}
		if !cut {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		if !do(no, line, cut) || err == io.EOF || read > maxScan {
			return nil
		}
		line, cut, some, no = line[:0], false, false, no+1
		read = 0
	}
}

// Visible makes any bytes printable: valid UTF-8 without characters that would
// move a cursor, turn the direction of writing or hide. Those are spelled out,
// "\x1b" for the escape character; "\r\n" is a plain line end.
func Visible(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || hidden(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + len(s)/8)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&out, `\x%02x`, s[i])
		case hidden(r) && r < 0x80:
			fmt.Fprintf(&out, `\x%02x`, r)
		case hidden(r) && r > 0xffff:
			fmt.Fprintf(&out, `\U%08x`, r)
		case hidden(r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteString(s[i : i+n])
		}
		i += n
	}
	return out.String()
}

func hidden(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	case r == 0x2028, r == 0x2029: // ends of lines that few see as such
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f: // direction
		return true
	case r == 0x200b, r == 0x2060, r == 0xfeff, r >= 0xe0000 && r <= 0xe007f: // width zero, tags
		return true
	}
	return false
}
