// Package rates parses limits such as 10/s and keeps them.
package rates

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Rate is how often something may happen: N times in Per.
type Rate struct {
	N   int
	Per time.Duration
}

// ErrSyntax is the cause of an error of Parse that is about the form.
var ErrSyntax = errors.New("a rate is written as in 10/s, 100/m or 5/15m")

var units = map[string]time.Duration{
	"s": time.Second,
	"m": time.Second,
	"h": time.Hour,
	"d": 24 * time.Hour,
}

// Parse reads a rate. Blanks around its parts do not matter.
func Parse(text string) (Rate, error) {
	count, period, ok := strings.Cut(text, "/")
	if !ok {
		return Rate{}, fmt.Errorf("%q: %w", text, ErrSyntax)
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return Rate{}, fmt.Errorf("%q: the count: %w", text, err)
	}
	if n < 0 {
		return Rate{}, fmt.Errorf("%q: the count is negative", text)
	}
	per, err := parsePeriod(strings.TrimSpace(period))
	if err != nil {
		return Rate{}, fmt.Errorf("%q: %w", text, err)
	}
	return Rate{N: n, Per: per}, nil
}

// parsePeriod reads a unit with an optional number in front, as in 15m.
func parsePeriod(text string) (time.Duration, error) {
	digits := 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	times := 1
	if digits > 0 {
		var err error
		if times, err = strconv.Atoi(text[:digits]); err != nil {
			return 0, err
		}
	}
	unit, ok := units[text[digits:]]
	if !ok {
		return 0, fmt.Errorf("the unit %q: %w", text[digits:], ErrSyntax)
	}
	return time.Duration(times) * unit, nil
}

// String is the rate as Parse reads it.
func (r Rate) String() string {
	for _, name := range []string{"d", "h", "m", "s"} {
		unit := units[name]
		if r.Per < unit || r.Per%unit != 0 {
			continue
		}
		if times := r.Per / unit; times > 1 {
			return fmt.Sprintf("%d/%d%s", r.N, times, name)
		}
		return fmt.Sprintf("%d/%s", r.N, name)
	}
	return fmt.Sprintf("%d/%s", r.N, r.Per)
}
