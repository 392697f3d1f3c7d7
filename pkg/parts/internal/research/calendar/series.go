package calendar

import (
	"errors"
	"fmt"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"

	"maps"
	"slices"
	"strings"
	"time"
)

// expand lists what takes place from one moment to another, in order.
func expand(files []*part, here zone, from, to time.Time) (*calendar, error) {
	c := &calendar{here: here, from: from, to: to, zones: map[string]zone{}, defs: map[string]*part{}, budget: &workBudget{allWork}}
	groups := map[string][]*part{}
	for _, f := range files {
		for i, p := range f.parts {
			switch p.name {
			case "VTIMEZONE":
				if id := p.text("TZID"); c.defs[id] == nil {
					c.defs[id] = p
				}
			case "VEVENT":
				id := p.text("UID")
				if id == "" {
					id = fmt.Sprintf("\x00%d", i) // events of their own
				}
				groups[id] = append(groups[id], p)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		if err := c.group(groups[id]); errors.Is(err, errDense) || errors.Is(err, errMany) {
			return nil, err
		} else if err != nil {
			c.note("event %q is left out, or some of its times are: %v", spelling.Clip(fetch.OneLine(groups[id][0].text("SUMMARY"), 60), 60), err)
		}
	}
	slices.SortStableFunc(c.events, func(a, b occasion) int {
		return cmpOr(a.Start.Compare(b.Start), a.End.Compare(b.End), strings.Compare(a.Title, b.Title))
	})
	return c, nil
}

// group works out the parts with one UID: an event and the changes of some of
// its occurrences.
func (c *calendar) group(parts []*part) error {
	var master *part
	changes := map[string]*part{}
	for _, p := range parts {
		id := p.prop("RECURRENCE-ID")
		if id.name == "" {
			if master == nil || sequence(p) >= sequence(master) {
				master = p
			}
			continue
		}
		s, err := c.stamp(id, id.value)
		if err != nil {
			return err
		}
		if k := key(s); changes[k] == nil || sequence(p) >= sequence(changes[k]) {
			changes[k] = p
		}
	}
	for _, k := range slices.Sorted(maps.Keys(changes)) {
		if err := c.single(changes[k], true); err != nil {
			return err
		}
	}
	if master == nil {
		return nil
	}
	if cancelled(master) {
		return nil
	}
	if master.prop("RRULE").name == "" && master.prop("RDATE").name == "" && len(changes) == 0 {
		return c.single(master, false)
	}
	return c.series(master, changes)
}

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
