package transport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Ends reports whether err means that JSON stopped before its end, such as in a truncated answer,
// rather than being invalid.
func Ends(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input"
}

// decode reads a piece of an answer. repaired reports that it has numbers that JSON lacks, NaN or
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

// noNumber also matches strings, whose content is left alone.
var noNumber = lazyregexp.New(`"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b`)

// maxCount is the largest count that is believed: no request has a thousand million tokens, and
// -1 in 32 or 64 bits is larger.
const maxCount = 1_000_000_000

// A Count is a number of tokens as a server reports it: reading it never fails.
type Count struct {
	N     int
	Known bool // false: absent, null, negative, absurd or not a number
}

// UnmarshalJSON never fails.
func (c *Count) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(f >= 0 && f <= maxCount) {
		*c = Count{}
		return nil
	}
	*c = Count{N: int(f), Known: true}
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

// Plain rewrites valid JSON so that the characters of code appear as a model writes them: an
// encoder that protects HTML, as in our journals, spells <, > and & as six bytes each. A server
// whose template shows the arguments of a call unchanged would have the model read its own code
// so, and could not use its cache of what the model wrote.
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

// longestWait bounds the time that a server may ask to wait: a year, before the arithmetic
// overflows.
const longestWait = 366 * 24 * time.Hour

// waiting determines how long the server asks to wait from sources other than Retry-After: headers
// that report when an exhausted limit is lifted, and the text of the error. 0 is unknown.
func waiting(h http.Header, body string) time.Duration {
	longest := time.Duration(0)
	for _, what := range []string{"", "-Requests", "-Tokens", "-Requests-Minute", "-Tokens-Minute"} {
		if left := h.Get("X-Ratelimit-Remaining" + what); left != "" && left != "0" {
			continue
		}
		longest = max(longest, span(h.Get("X-Ratelimit-Reset"+what)))
	}
	if longest == 0 {
		if m := again.FindStringSubmatch(body); m != nil {
			longest = span(cmp.Or(m[1], m[2]))
		}
	}
	return min(longest, longestWait)
}

// again matches "try again in 1m2.5s", "quota will reset after 26s", "retryDelay": "34s" and
// "retry_after": 12 and "estimated_time": 20.
var again = lazyregexp.New(`(?i)(?:\b(?:again|retry|resets?|wait|available|lifted)(?: again)?(?: in| after| for)?|delay":)\s*"?((?:[0-9.]+ ?(?:ms|h|m|s)[a-z]*)+)|(?:(?:retry|reset)_?(?:after|in)[a-z_]*|estimated_time)":\s*"?([0-9.]+)`)

// span reads a duration as it is written in headers and sentences: Go's form,
// seconds, or the time at which it ends, in seconds or milliseconds.
func span(s string) time.Duration {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		switch {
		case !(n > 0):
			return 0
		case n > 1e12:
			return max(0, time.Until(time.UnixMilli(int64(min(n, 1e15)))))
		case n > 1e9:
			return max(0, time.Until(time.Unix(int64(n), 0)))
		}
		return time.Duration(min(n, longestWait.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(0, time.Until(at))
	}
	s = words.Replace(strings.ReplaceAll(s, " ", ""))
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0
	}
	return d
}

var words = strings.NewReplacer("milliseconds", "ms", "seconds", "s", "second", "s", "minutes", "m", "minute", "m", "hours", "h", "hour", "h")
