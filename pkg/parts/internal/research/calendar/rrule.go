package calendar

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
)

// A rule is an RRULE of RFC 5545. It works on wall-clock times, which are
// times in UTC here: zones are applied to what comes out. No library does this: rrule-go 1.8.2
// never returns for FREQ=HOURLY;INTERVAL=24;BYHOUR=5 from 03:00, and calendars are of strangers.
type rule struct {
	freq     string
	interval int
	count    int
	until    time.Time // zero if there is none
	untilUTC bool      // until is a time in UTC, not on the wall

	second, minute, hour           []int
	monthday, yearday, week, month []int
	setpos                         []int
	day                            []nthDay
	start                          time.Weekday
}

// An nthDay is MO, or 2MO, or -1MO.
type nthDay struct {
	n   int
	day time.Weekday
}

var weekdays = map[string]time.Weekday{
	"SU": time.Sunday, "MO": time.Monday, "TU": time.Tuesday, "WE": time.Wednesday, "TH": time.Thursday, "FR": time.Friday, "SA": time.Saturday,
}

// units are the frequencies below a day, with their length.
var units = map[string]time.Duration{"HOURLY": time.Hour, "MINUTELY": time.Minute, "SECONDLY": time.Second}

func parseRule(s string) (*rule, error) {
	r := &rule{interval: 1, start: time.Monday}
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(s), ";"), ";") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("%q is no part of a recurrence rule", spelling.Clip(part, 40))
		}
		name, value = strings.ToUpper(strings.TrimSpace(name)), strings.ToUpper(strings.TrimSpace(value))
		var err error
		switch name {
		case "FREQ":
			if !slices.Contains([]string{"YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"}, value) {
				err = errors.New("is not a frequency")
			}
			r.freq = value
		case "INTERVAL":
			r.interval, err = number(value, 0, 1_000_000)
			r.interval = max(r.interval, 1) // some programs write 0 for what has none
		case "COUNT":
			r.count, err = number(value, 1, 1_000_000_000)
		case "UNTIL":
			err = r.parseUntil(value)
		case "BYSECOND":
			r.second, err = numbers(value, 0, 60, false)
		case "BYMINUTE":
			r.minute, err = numbers(value, 0, 59, false)
		case "BYHOUR":
			r.hour, err = numbers(value, 0, 23, false)
		case "BYMONTHDAY":
			r.monthday, err = numbers(value, 1, 31, true)
		case "BYYEARDAY":
			r.yearday, err = numbers(value, 1, 366, true)
		case "BYWEEKNO":
			r.week, err = numbers(value, 1, 53, true)
		case "BYMONTH":
			r.month, err = numbers(value, 1, 12, false)
		case "BYSETPOS":
			r.setpos, err = numbers(value, 1, 366, true)
		case "BYDAY":
			r.day, err = nthDays(value)
		case "WKST":
			if r.start, ok = weekdays[value]; !ok {
				err = errors.New("is not a day of the week")
			}
		case "RSCALE", "SKIP":
			err = errors.New("is of RFC 7529, which is not understood here")
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s %w", name, spelling.Clip(value, 40), err)
		}
	}
	if r.freq == "" {
		return nil, errors.New("a recurrence rule has no FREQ")
	}
	return r, nil
}

func (r *rule) parseUntil(s string) (err error) {
	s, late := fetch.Midnight(s)
	for _, layout := range []string{"20060102T150405Z", "20060102T150405", "20060102"} {
		if r.until, err = time.Parse(layout, s); err == nil {
			r.untilUTC = strings.HasSuffix(s, "Z")
			r.until = r.until.Add(late)
			if layout == "20060102" {
				r.until = r.until.Add(24*time.Hour - time.Second)
			}
			return nil
		}
	}
	return errors.New("is not a time")
}

func number(s string, low, high int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("is not a number from %d to %d", low, high)
	}
	return n, nil
}

func numbers(s string, low, high int, signed bool) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		digits, negative := strings.CutPrefix(part, "-")
		n, err := number(strings.TrimPrefix(digits, "+"), low, high)
		if err != nil || negative && !signed {
			return nil, fmt.Errorf("has %q, not a number from %d to %d", spelling.Clip(part, 20), low, high)
		}
		if negative {
			n = -n
		}
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

func nthDays(s string) ([]nthDay, error) {
	var out []nthDay
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if len(part) < 2 {
			return nil, fmt.Errorf("has %q, not a day", spelling.Clip(part, 20))
		}
		day, ok := weekdays[part[len(part)-2:]]
		n := 0
		if head := part[:len(part)-2]; head != "" {
			list, err := numbers(head, 1, 53, true)
			if err != nil {
				return nil, err
			}
			n = list[0]
		}
		if !ok {
			return nil, fmt.Errorf("has %q, not a day", spelling.Clip(part, 20))
		}
		if d := (nthDay{n, day}); !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out, nil
}

// fill adds what a rule leaves to the first occurrence.
func (r rule) fill(first time.Time) *rule {
	_, sub := units[r.freq]
	if !sub && r.week == nil && r.yearday == nil && r.monthday == nil && r.day == nil {
		switch r.freq {
		case "YEARLY":
			if r.month == nil {
				r.month = []int{int(first.Month())}
			}
			r.monthday = []int{first.Day()}
		case "MONTHLY":
			r.monthday = []int{first.Day()}
		case "WEEKLY":
			r.day = []nthDay{{0, first.Weekday()}}
		}
	}
	if r.hour == nil && !sub {
		r.hour = []int{first.Hour()}
	}
	if r.minute == nil && (!sub || r.freq == "HOURLY") {
		r.minute = []int{first.Minute()}
	}
	if r.second == nil && r.freq != "SECONDLY" {
		r.second = []int{first.Second()}
	}
	return &r
}
