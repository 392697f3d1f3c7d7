package memory

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Line quotes a fact for a model: how old and how certain it is, and its text as
// a JSON string, which its content cannot end. The text is cut after limit
// characters; 0 is no bound.
func (f Fact) Line(now time.Time, limit int) string {
	about := []string{string(f.Kind), Age(now.Sub(f.Created)), string(f.Confidence) + " confidence"}
	if f.Scope == User {
		about = append(about, "of the user")
	}
	if f.File != "" {
		about = append(about, "from "+f.File)
	}
	if f.Untrusted {
		about = append(about, "untrusted")
	}
	if f.Stale != "" {
		about = append(about, "STALE: "+f.Stale)
	}
	return fmt.Sprintf("- [%s] %s: %s", f.ID, strings.Join(about, ", "), quoted(cut(f.Text, limit)))
}

func cut(text string, limit int) string {
	if r := []rune(text); limit > 0 && len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return text
}

func quoted(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always can be
	return strings.TrimSuffix(b.String(), "\n")
}

// Age is how long ago something was, in words.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{365 * day, "year"}, {30 * day, "month"}, {day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := int(d / u.of); n == 1 {
			return "1 " + u.name + " ago"
		} else if n > 1 {
			return fmt.Sprintf("%d %ss ago", n, u.name)
		}
	}
	return "just now"
}
