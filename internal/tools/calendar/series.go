package calendar

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// series adds the occurrences of an event that repeats.
func (c *calendar) series(p *part, changes map[string]*part) error {
	first, l, err := c.span(p)
	if err != nil {
		return err
	}
	later, reach, err := c.later(changes)
	if err != nil {
		return err
	}
	gone, err := c.excluded(p)
	if err != nil {
		return err
	}
	// A margin for what lasts into the range, for zones, and for shifts.
	reach += 48*time.Hour + l.exact + time.Duration(l.days)*24*time.Hour
	low, high := c.from.Add(-reach), c.to.Add(reach)
	seen := map[string]bool{}
	var failed error
	one := func(s stamp, end time.Time) bool {
		k, day := key(s), s.wall.Format("20060102")
		if seen[k] {
			return true
		}
		seen[k] = true
		if changes[k] != nil || changes[day] != nil || gone[k] || gone[day] {
			return true
		}
		as := p
		for _, f := range later {
			if s.moment().Before(f.from) {
				break
			}
			as = f.part
		}
		if as != p {
			if cancelled(as) {
				return true
			}
			f := later[slices.IndexFunc(later, func(f future) bool { return f.part == as })]
			s.wall = s.wall.Add(f.shift)
			end = s.plus(f.length)
		}
		failed = c.add(as, s, end, true)
		return failed == nil
	}
	// The first occurrence is DTSTART, whether the rules say so or not.
	if !one(first, first.plus(l)) {
		return failed
	}
	for _, q := range p.all("RRULE") {
		r, err := c.rule(q.value, first)
		if err != nil {
			return err
		}
		err = r.each(first.wall, low, high, c.budget, func(t time.Time) bool {
			s := stamp{t, first.zone, first.date}
			return one(s, s.plus(l))
		})
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
	for _, q := range p.all("RDATE") {
		for v := range strings.SplitSeq(q.value, ",") {
			s, end, err := c.period(q, v, l)
			if err != nil {
				return err
			}
			if !one(s, end) {
				return failed
			}
		}
	}
	return nil
}

// rule reads an RRULE and puts its end on the wall.
func (c *calendar) rule(s string, first stamp) (*rule, error) {
	r, err := parseRule(s)
	if err != nil {
		return nil, err
	}
	if r.untilUTC {
		r.until = first.zone.wall(r.until)
	}
	if first.date {
		r.hour, r.minute, r.second = nil, nil, nil // days have none
	}
	return r, nil
}

// period reads one value of RDATE: a time, a day, or a time with an end.
func (c *calendar) period(q prop, v string, l length) (s stamp, end time.Time, err error) {
	v, rest, ok := strings.Cut(v, "/")
	if s, err = c.stamp(q, v); err != nil || !ok {
		return s, s.orZero(l, err), err
	}
	if strings.HasPrefix(rest, "P") || strings.HasPrefix(rest, "+P") {
		l, err = parseLength(rest)
		return s, s.orZero(l, err), err
	}
	e, err := c.stamp(q, rest)
	if err != nil {
		return s, end, err
	}
	return s, e.moment(), nil
}

// excluded collects EXDATE, and what EXRULE, which is out of use, takes away.
func (c *calendar) excluded(p *part) (map[string]bool, error) {
	gone := map[string]bool{}
	for _, q := range p.all("EXDATE") {
		for v := range strings.SplitSeq(q.value, ",") {
			s, err := c.stamp(q, v)
			if err != nil {
				return nil, err
			}
			gone[key(s)] = true
		}
	}
	if p.prop("EXRULE").name != "" {
		c.note("EXRULE, which is out of use, is not applied")
	}
	return gone, nil
}

// A future is a change of an occurrence and of all after it.
type future struct {
	from   time.Time
	shift  time.Duration
	length length
	part   *part
}

func (c *calendar) later(changes map[string]*part) (out []future, reach time.Duration, err error) {
	for _, k := range slices.Sorted(maps.Keys(changes)) {
		p := changes[k]
		id := p.prop("RECURRENCE-ID")
		if !strings.EqualFold(id.params["RANGE"], "THISANDFUTURE") {
			continue
		}
		was, err := c.stamp(id, id.value)
		if err != nil {
			return nil, 0, err
		}
		f := future{from: was.moment(), part: p}
		if !cancelled(p) {
			start, l, err := c.span(p)
			if err != nil {
				return nil, 0, err
			}
			f.length, f.shift = l, was.zone.wall(start.moment()).Sub(was.wall)
			reach = max(reach, f.shift.Abs()+l.exact+time.Duration(l.days)*24*time.Hour)
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b future) int { return a.from.Compare(b.from) })
	return out, min(reach, 366*24*time.Hour), nil
}
