package calendar

import (
	"errors"
	"slices"
	"time"
)

// mostTimes bounds the occurrences within one year, month, week or day.
const mostTimes = 100_000

// errDense ends the expansion of rules that cost more than calendars do.
var errDense = errors.New("its recurrence rules take too long to work out; ask for a shorter range, or another calendar")

// A workBudget limits the work spent on one calendar, in days looked at.
type workBudget struct{ left int }

func (p *workBudget) spend(n int) error {
	if p.left -= n; p.left < 0 {
		return errDense
	}
	return nil
}

// each yields the occurrences of a rule in order, from first on and up to last,
// as wall-clock times. Those before from are left out. The work is bounded
// by p: errDense.
func (r *rule) each(first, from, last time.Time, p *workBudget, yield func(time.Time) bool) error {
	q := r.fill(first)
	if !q.until.IsZero() && q.until.Before(last) {
		last = q.until
	}
	n := 0
	for k := q.skip(first, from); ; k += q.interval {
		begin, days, fixed := q.period(first, k)
		if begin.After(last) || begin.Year() > 9998 {
			return nil
		}
		if fixed {
			k += q.skippable(begin)
		}
		// Before the work, so that no rule makes a list that is too long.
		cost := 1 + days/8
		if times := len(q.hour) * len(q.minute) * len(q.second); !fixed {
			if cost += days * times / 4; days*times > mostTimes {
				return errDense
			}
		}
		if err := p.spend(cost); err != nil {
			return err
		}
		set := q.occurrences(begin, days, fixed)
		for _, t := range set {
			if t.Before(first) {
				continue
			}
			if t.After(last) {
				return nil
			}
			if !t.Before(from) && !yield(t) {
				return nil
			}
			if n++; q.count > 0 && n >= q.count {
				return nil
			}
		}
	}
}

// skippable returns the number of periods that can be skipped from t, because no moment of its
// day or hour matches.
func (r *rule) skippable(t time.Time) int {
	span := time.Hour
	if !r.takes(t) {
		span = 24 * time.Hour
	} else if r.hour == nil || slices.Contains(r.hour, t.Hour()) {
		return 0
	}
	steps := int(t.Truncate(span).Add(span).Sub(t)/units[r.freq]) / r.interval
	return max(steps-1, 0) * r.interval
}

// skip is the number of the first period worth looking at. A rule that counts
// has to be worked out from its beginning.
func (r *rule) skip(first, from time.Time) int {
	gap := from.Sub(first)
	if r.count > 0 || gap <= 0 {
		return 0
	}
	var k int
	switch r.freq {
	case "YEARLY":
		k = from.Year() - first.Year() - 1
	case "MONTHLY":
		k = (from.Year()-first.Year())*12 + int(from.Month()) - int(first.Month()) - 1
	case "WEEKLY":
		k = int(gap.Hours()/24/7) - 1
	case "DAILY":
		k = int(gap.Hours()/24) - 1
	default:
		k = int(gap/units[r.freq]) - 1
	}
	return max(k-k%r.interval, 0)
}

// period is the k-th stretch of time after the one that first lies in: where
// it begins and how many days it has. Below a day it is a single moment.
func (r *rule) period(first time.Time, k int) (begin time.Time, days int, fixed bool) {
	day := time.Date(first.Year(), first.Month(), first.Day(), 0, 0, 0, 0, time.UTC)
	switch r.freq {
	case "YEARLY":
		begin = time.Date(first.Year()+k, 1, 1, 0, 0, 0, 0, time.UTC)
		return begin, begin.AddDate(0, 12, -1).YearDay(), false
	case "MONTHLY":
		begin = time.Date(first.Year(), first.Month()+time.Month(k), 1, 0, 0, 0, 0, time.UTC)
		return begin, begin.AddDate(0, 1, -1).Day(), false
	case "WEEKLY":
		back := (int(first.Weekday()) - int(r.start) + 7) % 7
		return day.AddDate(0, 0, 7*k-back), 7, false
	case "DAILY":
		return day.AddDate(0, 0, k), 1, false
	}
	unit := units[r.freq]
	return first.Truncate(unit).Add(time.Duration(k) * unit), 1, true
}

func (r *rule) occurrences(begin time.Time, days int, fixed bool) []time.Time {
	var out []time.Time
	if fixed {
		// Here the BY parts for what is above the frequency only keep or drop.
		if !r.takes(begin) || r.hour != nil && !slices.Contains(r.hour, begin.Hour()) ||
			r.freq != "HOURLY" && r.minute != nil && !slices.Contains(r.minute, begin.Minute()) ||
			r.freq == "SECONDLY" && r.second != nil && !slices.Contains(r.second, begin.Second()) {
			return nil
		}
		minutes, seconds := []int{begin.Minute()}, []int{begin.Second()}
		if r.freq == "HOURLY" {
			minutes = r.minute
		}
		if r.freq != "SECONDLY" {
			seconds = r.second
		}
		hour := begin.Truncate(time.Hour)
		for _, m := range minutes {
			for _, s := range seconds {
				out = append(out, hour.Add(time.Duration(m)*time.Minute+time.Duration(s)*time.Second))
			}
		}
		return r.pick(out)
	}
	for i := range days {
		day := begin.AddDate(0, 0, i)
		if !r.takes(day) {
			continue
		}
		for _, h := range r.hour {
			for _, m := range r.minute {
				for _, s := range r.second {
					out = append(out, day.Add(time.Duration(h)*time.Hour+time.Duration(m)*time.Minute+time.Duration(s)*time.Second))
				}
			}
		}
	}
	return r.pick(out)
}

// pick applies BYSETPOS.
func (r *rule) pick(set []time.Time) []time.Time {
	if r.setpos == nil {
		return set
	}
	var out []time.Time
	for _, p := range r.setpos {
		i := p - 1
		if p < 0 {
			i = len(set) + p
		}
		if i >= 0 && i < len(set) && !slices.Contains(out, set[i]) {
			out = append(out, set[i])
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// takes reports whether a day fits the parts of the rule that name days.
func (r *rule) takes(t time.Time) bool {
	if r.month != nil && !slices.Contains(r.month, int(t.Month())) {
		return false
	}
	if r.monthday != nil {
		last := time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
		if !slices.Contains(r.monthday, t.Day()) && !slices.Contains(r.monthday, t.Day()-last-1) {
			return false
		}
	}
	if r.yearday != nil {
		length := time.Date(t.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
		if !slices.Contains(r.yearday, t.YearDay()) && !slices.Contains(r.yearday, t.YearDay()-length-1) {
			return false
		}
	}
	if r.week != nil {
		n, of := weekOf(t, r.start)
		if !slices.Contains(r.week, n) && !slices.Contains(r.week, n-of-1) {
			return false
		}
	}
	return r.day == nil || slices.ContainsFunc(r.day, func(d nthDay) bool { return r.isNth(t, d) })
}

// isNth reports whether t is the day d of its month, or of its year.
func (r *rule) isNth(t time.Time, d nthDay) bool {
	if t.Weekday() != d.day {
		return false
	}
	day, length := t.Day(), time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	switch {
	case d.n == 0, r.freq != "MONTHLY" && r.freq != "YEARLY":
		return true
	case r.freq == "YEARLY" && r.month == nil:
		day, length = t.YearDay(), time.Date(t.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
	}
	if d.n > 0 {
		return (day-1)/7+1 == d.n
	}
	return (length-day)/7+1 == -d.n
}

// weekOf numbers the week of t in the year that most of the week lies in, and
// reports how many weeks that year has.
func weekOf(t time.Time, start time.Weekday) (n, of int) {
	back := (int(t.Weekday()) - int(start) + 7) % 7
	middle := t.AddDate(0, 0, 3-back)
	year := middle.Year()
	first := func(y int) time.Time {
		jan4 := time.Date(y, 1, 4, 0, 0, 0, 0, time.UTC)
		return jan4.AddDate(0, 0, -((int(jan4.Weekday()) - int(start) + 7) % 7))
	}
	weeks := func(a, b time.Time) int { return int(b.Sub(a).Hours()+12) / 24 / 7 }
	return weeks(first(year), t.AddDate(0, 0, -back)) + 1, weeks(first(year), first(year+1))
}
