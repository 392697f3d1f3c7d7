package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/adroit-run/adroit/pkg/llm"
)

// AppendString appends s as a JSON string. What is not UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// String reads valid JSON as a string, or null as an empty one, and reports
// whether it was either. Text without escapes, which most is, is not scanned
// by the decoder a second time.
func String(b []byte, s *string) bool {
	if n := len(b); n >= 2 && b[0] == '"' && bytes.IndexByte(b, '\\') < 0 && utf8.Valid(b) {
		*s = string(b[1 : n-1])
		return true
	}
	return json.Unmarshal(b, s) == nil
}

// Ends reports whether err says that JSON stopped before its end, as it does
// when an answer was cut, rather than being wrong.
func Ends(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input"
}

// A Count is a number of tokens as a server reports it: whatever stands
// there, reading it does not fail.
type Count struct {
	N     int
	Known bool // false: absent, null, negative or not a number
}

// UnmarshalJSON never fails.
func (c *Count) UnmarshalJSON(b []byte) error {
	const most = 1 << 40 // so that sums of liars' numbers stay positive
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil && !math.IsInf(f, 1) || f < 0 || math.IsNaN(f) {
		*c = Count{}
		return nil
	}
	*c = Count{N: int(min(f, most)), Known: true}
	return nil
}

var _ json.Unmarshaler = (*Count)(nil)

// Larger is the larger of two counts of the same thing, for servers that
// report usage more than once.
func (c Count) Larger(d Count) Count {
	if !c.Known || d.Known && d.N > c.N {
		return d
	}
	return c
}

// Usage turns reported counts into a Usage. A count that is missing is
// estimated from the bytes sent and received, on the high side, and the note
// says so; it is "" otherwise.
func Usage(in, out, cached Count, sent, received int) (llm.Usage, string) {
	u := llm.Usage{In: in.N, Out: out.N, Cached: min(cached.N, in.N)}
	guessed := false
	if u.In == 0 {
		u.In, guessed = tokens(sent), true
	}
	if u.Out == 0 && received > 0 {
		u.Out, guessed = tokens(received), true
	}
	if guessed {
		return u, "the server reported no usable token counts; they are estimated"
	}
	return u, ""
}

// tokens estimates from above: 3.3 bytes a token is dense for prose and code.
func tokens(bytes int) int { return int(math.Ceil(float64(bytes) / 3.3)) }

// Join puts the thinking that a server told apart before what an answer had
// in its text.
func Join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// Plain is valid JSON with the characters of code as a model writes them: an
// encoder that keeps JSON out of HTML's way, which our journals have, spells
// <, > and & as six bytes each. A server whose template shows the arguments of
// a call as they come would have the model read its own code so, and find its
// cache of what it wrote of no use.
func Plain(args json.RawMessage) json.RawMessage {
	if !bytes.Contains(args, []byte(`\u00`)) {
		return args
	}
	out := make(json.RawMessage, 0, len(args))
	for i := 0; i < len(args); i++ {
		if args[i] != '\\' || i+1 >= len(args) {
			out = append(out, args[i])
			continue
		}
		if i+6 <= len(args) {
			if c := escapedHTML[string(args[i:i+6])]; c != 0 {
				out = append(out, c)
				i += 5
				continue
			}
		}
		out = append(out, args[i], args[i+1])
		i++
	}
	return out
}

var escapedHTML = map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}
