package transport

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// longestWait bounds what a server may ask for: a year, after which arithmetic and people
// give up.
const longestWait = 366 * 24 * time.Hour

// waiting finds out how long the server wants to be left alone from what it
// says besides Retry-After: the headers that tell when a limit is lifted, of
// limits that are used up, and the words of the error. 0 is unknown.
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
// "retry_after": 12.
var again = lazyregexp.New(`(?i)(?:\b(?:again|retry|resets?|wait|available|lifted)(?: again)?(?: in| after| for)?|delay":)\s*"?((?:[0-9.]+ ?(?:ms|h|m|s)[a-z]*)+)|(?:retry|reset)_?(?:after|in)[a-z_]*":\s*"?([0-9.]+)`)

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
