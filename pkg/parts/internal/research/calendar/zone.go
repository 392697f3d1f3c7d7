package calendar

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
)

// windowsZones maps the names that Windows has for time zones to those of the
// tz database, one pair a line. Source: CLDR, supplemental/windowsZones.xml,
// territory 001.
//
//go:embed windowszones.txt
var windowsZones string

var windows = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for l := range strings.Lines(windowsZones) {
		name, zone, _ := strings.Cut(strings.TrimSpace(l), "\t")
		m[strings.ToLower(name)] = zone
	}
	return m
})

// A zone decides what moment a wall-clock time is, and the reverse. Wall-clock
// times are times in UTC here.
type zone interface {
	moment(wall time.Time) time.Time
	wall(moment time.Time) time.Time
}

// A region is a zone of the tz database.
type region struct{ *time.Location }

func (z region) wall(t time.Time) time.Time {
	_, off := t.In(z.Location).Zone()
	return t.UTC().Add(time.Duration(off) * time.Second)
}

// moment follows RFC 5545: of a time that comes twice it is the first, and one
// that is skipped counts by the offset that held before.
func (z region) moment(wall time.Time) time.Time {
	at := func(t time.Time) time.Duration {
		_, off := t.In(z.Location).Zone()
		return time.Duration(off) * time.Second
	}
	before, after := at(wall.Add(-24*time.Hour)), at(wall.Add(24*time.Hour))
	early := wall.Add(-before)
	if late := wall.Add(-after); at(early) != before && at(late) == after {
		return late
	}
	return early
}

// written are offsets that programs write for names of zones, east of Greenwich if positive.
var written = lazyregexp.New(`(?i)^\(?(?:UTC|GMT)?\s*([+-])(\d{1,2})(?::?([0-5]\d))?\)?$`)

// display are names of zones as Windows shows them: (UTC+01:00) Amsterdam, Berlin.
var display = lazyregexp.New(`(?i)^\((?:UTC|GMT)([+-]\d\d:\d\d)?\)\s*(.+)$`)

// lookupWritten finds a zone by an offset, or by the name that Windows shows for it.
func lookupWritten(name string) (zone, bool) {
	name = strings.Trim(strings.TrimSpace(name), `"`)
	if m := written.FindStringSubmatch(name); m != nil {
		d, err := offset(m[1] + ("0" + m[2])[len(m[2])-1:] + (m[3] + "00")[:2])
		if err != nil || d.Abs() > 18*time.Hour {
			return nil, false
		}
		return region{time.FixedZone(name, int(d/time.Second))}, true
	}
	if strings.EqualFold(strings.TrimPrefix(name, "tzone://Microsoft/"), "utc") {
		return region{time.UTC}, true
	}
	m := display.FindStringSubmatch(name)
	if m == nil {
		return nil, false
	}
	off, err := offset(strings.ReplaceAll(cmp.Or(m[1], "+00:00"), ":", ""))
	if err != nil {
		return nil, false
	}
	known := func(name string) (zone, bool) {
		z, ok := lookup(name)
		if r, is := z.(region); ok && is && r.winter() == off {
			return z, true
		}
		return nil, false
	}
	shown, _, _ := strings.Cut(m[2], " (")
	for _, name := range []string{shown, strings.TrimSuffix(shown, " Time") + " Standard Time"} {
		if z, ok := known(name); ok {
			return z, true
		}
	}
	for place := range strings.SplitSeq(m[2], ",") {
		place = strings.ReplaceAll(strings.TrimSpace(place), " ", "_")
		for _, area := range []string{"Etc", "Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian"} {
			if z, ok := known(area + "/" + place); ok {
				return z, true
			}
		}
	}
	return nil, false
}

// winter is the offset without daylight saving time, this year.
func (z region) winter() time.Duration {
	at := func(m time.Month) int {
		_, off := time.Date(2026, m, 1, 0, 0, 0, 0, time.UTC).In(z.Location).Zone()
		return off
	}
	return time.Duration(min(at(time.January), at(time.July))) * time.Second
}

// lookup finds a zone of the tz database by its name, by the name that Windows
// has for it, or by one of the longer forms that programs write.
func lookup(name string) (zone, bool) {
	name = strings.Trim(strings.TrimSpace(name), `"`)
	low := strings.ToLower(name)
	// Outlook counts names that stand twice, and some say which half of the year it is.
	alike, _, _ := strings.Cut(strings.NewReplacer(" daylight time", " standard time", " summer time", " standard time").Replace(low), " time ")
	name = cmp.Or(windows()[low], windows()[strings.TrimSuffix(alike, " time")+" time"], windows()[strings.TrimSuffix(strings.TrimSuffix(low, " (us & canada)"), " time")+" standard time"], name)
	tries := []string{name}
	if parts := strings.Split(name, "/"); len(parts) > 2 { // /example.org/20260101/Europe/Berlin
		tries = append(tries, strings.Join(parts[len(parts)-2:], "/"), strings.Join(parts[len(parts)-3:], "/"))
	}
	for _, t := range tries {
		if t == "" || strings.EqualFold(t, "local") {
			continue // time.LoadLocation takes them for UTC and for here
		}
		if l, err := time.LoadLocation(t); err == nil {
			return region{l}, true
		}
	}
	return nil, false
}

// A custom zone is a VTIMEZONE: it changes at its onsets.
type custom struct{ onsets []onset }

// An onset is a change of offset. Before the first, its from holds.
type onset struct {
	wall     time.Time // by the offset that held before
	from, to time.Duration
}

func (o onset) moment() time.Time { return o.wall.Add(-o.from) }

func (z custom) moment(wall time.Time) time.Time {
	off := z.onsets[0].from
	for _, o := range z.onsets {
		// A time that is skipped counts by the old offset, one that comes twice
		// is the first.
		if wall.Before(o.wall.Add(max(o.to-o.from, 0))) {
			break
		}
		off = o.to
	}
	return wall.Add(-off)
}

func (z custom) wall(t time.Time) time.Time {
	off := z.onsets[0].from
	for _, o := range z.onsets {
		if t.Before(o.moment()) {
			break
		}
		off = o.to
	}
	return t.UTC().Add(off)
}

const mostOnsets = 2000

// customZone works out a VTIMEZONE up to last.
func customZone(p *part, last time.Time, budget *workBudget) (zone, error) {
	var z custom
	for _, c := range p.parts {
		if c.name != "STANDARD" && c.name != "DAYLIGHT" {
			continue
		}
		from, err1 := offset(c.prop("TZOFFSETFROM").value)
		to, err2 := offset(c.prop("TZOFFSETTO").value)
		first, err3 := time.Parse("20060102T150405", strings.TrimSuffix(c.prop("DTSTART").value, "Z"))
		if err1 != nil || err2 != nil || err3 != nil {
			return nil, fmt.Errorf("time zone %q has a %s that cannot be read", spelling.Clip(p.text("TZID"), 60), c.name)
		}
		add := func(t time.Time) bool {
			z.onsets = append(z.onsets, onset{t, from, to})
			return len(z.onsets) < mostOnsets
		}
		add(first)
		for _, q := range c.all("RRULE") {
			r, err := parseRule(q.value)
			if err != nil {
				return nil, fmt.Errorf("time zone %q: %w", spelling.Clip(p.text("TZID"), 60), err)
			}
			if r.untilUTC {
				r.until = r.until.Add(from)
			}
			if err := r.each(first, first, last.AddDate(1, 0, 0), budget, add); err != nil {
				return nil, err
			}
		}
		for _, q := range c.all("RDATE") {
			for s := range strings.SplitSeq(q.value, ",") {
				if t, err := time.Parse("20060102T150405", strings.TrimSuffix(s, "Z")); err == nil && len(z.onsets) < mostOnsets {
					add(t)
				}
			}
		}
	}
	if len(z.onsets) == 0 {
		return nil, fmt.Errorf("time zone %q says nothing about offsets", spelling.Clip(p.text("TZID"), 60))
	}
	slices.SortStableFunc(z.onsets, func(a, b onset) int { return a.moment().Compare(b.moment()) })
	return z, nil
}

// offset reads +0100 or -043000.
func offset(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if len(s) != 5 && len(s) != 7 || s[0] != '+' && s[0] != '-' {
		return 0, fmt.Errorf("%q is not an offset", spelling.Clip(s, 20))
	}
	digits := s[1:] + "00"
	n, err := strconv.ParseUint(digits[:6], 10, 32)
	if err != nil || n/10000 > 26 {
		return 0, fmt.Errorf("%q is not an offset", spelling.Clip(s, 20))
	}
	d := time.Duration(n/10000)*time.Hour + time.Duration(n/100%100)*time.Minute + time.Duration(n%100)*time.Second
	if s[0] == '-' {
		d = -d
	}
	return d, nil
}
