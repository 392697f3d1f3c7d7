package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Ends reports whether err says that JSON stopped before its end, as it does
// when an answer was cut, rather than being wrong.
func Ends(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input"
}

// decode reads a piece of an answer. repaired says that it has numbers that JSON lacks, NaN or
// Infinity, which Python writes: they are read as null.
func decode(raw []byte, into any) (repaired bool, err error) {
	raw = Halves(raw)
	if err = json.Unmarshal(raw, into); err == nil || Ends(err) {
		return false, err
	}
	fixed := noNumber.ReplaceAllStringFunc(string(raw), func(s string) string {
		if s[0] == '"' {
			return s
		}
		return "null"
	})
	if fixed == string(raw) {
		return false, err
	}
	return true, json.Unmarshal([]byte(fixed), into)
}

// noNumber finds strings, too, so that what is in one is left alone.
var noNumber = lazyregexp.New(`"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b`)

// maxCount keeps sums of absurd numbers positive.
const maxCount = 1 << 40

// A Count is a number of tokens as a server reports it: whatever stands
// there, reading it does not fail.
type Count struct {
	N     int
	Known bool // false: absent, null, negative or not a number
}

// UnmarshalJSON never fails.
func (c *Count) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil && !math.IsInf(f, 1) || f < 0 || math.IsNaN(f) {
		*c = Count{}
		return nil
	}
	*c = Count{N: int(min(f, maxCount)), Known: true}
	return nil
}

var _ json.Unmarshaler = (*Count)(nil)

// Usage completes reported counts. A count that is missing is estimated from
// the bytes sent and received, on the high side, and the note states that; it
// is "" otherwise.
func Usage(u llm.Usage, sent, received int) (llm.Usage, string) {
	u.In, u.Out = max(0, min(u.In, maxCount)), max(0, min(u.Out, maxCount))
	u.Cached = max(0, min(u.Cached, u.In))
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

// Join puts the thinking that a server separated before the thinking in an
// answer's text.
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
	for {
		i := bytes.IndexByte(args, '\\')
		if i < 0 || i+2 > len(args) {
			return append(out, args...)
		}
		out, args = append(out, args[:i]...), args[i:]
		n := 2 // an escape, so that its second character begins none
		if c := escapedHTML[string(args[:min(6, len(args))])]; c != 0 {
			out, n = append(out, c), 6
		} else {
			out = append(out, args[:n]...)
		}
		args = args[n:]
	}
}

var escapedHTML = map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}
