package triggers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A schedule is a cron expression: the values that each field may have, as bits. The form is that
// of crontab(5): minute, hour, day of the month, month, day of the week. A sixth field in front
// is the second.
type schedule struct {
	second, minute, hour, day, month, weekday uint64
	anyDay, anyWeekday                        bool // the field is *, so that the other one decides
	everyHour                                 bool
}

// A cronField is a field's valid values.
type cronField struct {
	name      string
	low, high int
	words     []string // of low and the values after it
}

var cronFields = []cronField{
	{"second", 0, 59, nil}, {"minute", 0, 59, nil}, {"hour", 0, 23, nil}, {"day of the month", 1, 31, nil},
	{"month", 1, 12, strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{"day of the week", 0, 7, strings.Fields("sun mon tue wed thu fri sat")},
}

var cronNames = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// parseCron reads a cron expression.
func parseCron(text string) (*schedule, error) {
	if full, ok := cronNames[strings.ToLower(strings.TrimSpace(text))]; ok {
		text = full
	}
	fields := strings.Fields(text)
	switch len(fields) {
	case 5:
		fields = slices.Insert(fields, 0, "0")
	case 6:
	default:
		return nil, fmt.Errorf("cron is %q; it has five fields: minute, hour, day of the month, month, day of the week; or six, with the second in front", text)
	}
	s := &schedule{}
	for i, to := range []*uint64{&s.second, &s.minute, &s.hour, &s.day, &s.month, &s.weekday} {
		bits, err := cronFields[i].parse(fields[i])
		if err != nil {
			return nil, fmt.Errorf("cron is %q: %w", text, err)
		}
		*to = bits
	}
	if s.weekday&(1<<7) != 0 {
		s.weekday |= 1 // 7 is Sunday, too
	}
	s.anyDay, s.anyWeekday = strings.HasPrefix(fields[3], "*"), strings.HasPrefix(fields[5], "*")
	s.everyHour = s.hour == 1<<24-1
	if s.next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC).IsZero() {
		return nil, fmt.Errorf("cron is %q, which never comes", text)
	}
	return s, nil
}

// parse reads the values of a field: a list of *, a, a-b, each with a step as in */5.
func (f cronField) parse(text string) (bits uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		by := 1
		if stepped {
			if by, err = strconv.Atoi(step); err != nil || by < 1 {
				return 0, fmt.Errorf("the %s has the step %q, which is no number from 1 on", f.name, step)
			}
		}
		from, to := f.low, f.high
		if span != "*" {
			first, last, isSpan := strings.Cut(span, "-")
			if isSpan && (first == "" || last == "") {
				first = span // which is refused as it was written
			}
			if from, err = f.value(first); err != nil {
				return 0, err
			}
			if to = from; stepped {
				to = f.high
			}
			if isSpan {
				if to, err = f.value(last); err != nil {
					return 0, err
				}
			}
			if from > to {
				return 0, fmt.Errorf("the %s has %s, which ends before it begins", f.name, span)
			}
		}
		for v := from; v <= to; v += by {
			bits |= 1 << v
		}
	}
	return bits, nil
}

func (f cronField) value(text string) (int, error) {
	if i := slices.Index(f.words, strings.ToLower(text)); i >= 0 {
		return f.low + i, nil
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < f.low || v > f.high {
		return 0, fmt.Errorf("the %s is %q; it is from %d to %d", f.name, text, f.low, f.high)
	}
	return v, nil
}

// horizon bounds the search of next: the 29th of February is at most eight years away.
const horizon = 9 * 366 * 24 * time.Hour

// next is the first time after t, zero if there is none. Where clocks are put forward, a time that
// is skipped comes as much later; where they are put back, a time that is there twice comes once,
// unless the schedule is for every hour.
func (s *schedule) next(t time.Time, in *time.Location) time.Time {
	if s.everyHour {
		return s.step(t.In(in), t.Add(horizon))
	}
	// The same clock in a zone whose clocks are never changed.
	w := t.In(in)
	wall := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), w.Nanosecond(), time.UTC)
	for end := wall.Add(horizon); ; {
		if wall = s.step(wall, end); wall.IsZero() {
			return wall
		}
		if at := onClock(wall, in); at.After(t) {
			return at
		}
	}
}

// onClock returns when a clock shows wall: the first time if it does so twice. If it never does,
// it is as long after the change as wall is.
func onClock(wall time.Time, in *time.Location) time.Time {
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, in)
	shows := func(t time.Time) bool { return t.Hour() == wall.Hour() && t.Minute() == wall.Minute() }
	if !shows(at) {
		_, before := at.Add(-24 * time.Hour).Zone()
		return wall.Add(-time.Duration(before) * time.Second).In(in)
	}
	_, before := at.Add(-3 * time.Hour).Zone()
	if first := wall.Add(-time.Duration(before) * time.Second).In(in); first.Before(at) && shows(first) {
		return first
	}
	return at
}

// step is the first time after t on t's own clock, zero if there is none until end.
func (s *schedule) step(t, end time.Time) time.Time {
	t = t.Add(time.Second - time.Duration(t.Nanosecond()))
	for !t.After(end) {
		has := func(bits uint64, v int) bool { return bits&(1<<v) != 0 }
		switch {
		case !has(s.month, int(t.Month())):
			t = later(t, time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, t.Location()))
		case !s.onDay(t):
			t = later(t, time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, t.Location()))
		case !has(s.hour, t.Hour()):
			t = t.Add(time.Hour - time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second)
		case !has(s.minute, t.Minute()):
			t = t.Add(time.Minute - time.Duration(t.Second())*time.Second)
		case !has(s.second, t.Second()):
			t = t.Add(time.Second)
		default:
			return t
		}
	}
	return time.Time{}
}

// later is to, or an hour after t where the change of clocks would lead back.
func later(t, to time.Time) time.Time {
	if to.After(t) {
		return to
	}
	return t.Add(time.Hour)
}

// onDay is the rule of cron: if both days are limited, either one will do.
func (s *schedule) onDay(t time.Time) bool {
	day, weekday := s.day&(1<<t.Day()) != 0, s.weekday&(1<<t.Weekday()) != 0
	if s.anyDay || s.anyWeekday {
		return day && weekday
	}
	return day || weekday
}

// due are the times in (after, now] that a schedule has: the newest ones, at most n, and how many
// more there are. It does not look back further than a month.
func (s *schedule) due(after, now time.Time, in *time.Location, n int) (times []time.Time, more int) {
	if oldest := now.Add(-31 * 24 * time.Hour); after.Before(oldest) {
		after = oldest
	}
	for t := s.next(after, in); !t.IsZero() && !t.After(now); t = s.next(t, in) {
		if times = append(times, t); len(times) > n {
			times, more = times[1:], more+1
		}
	}
	return times, more
}

// location returns a time zone by its name; "" is the machine's.
func location(name string) (*time.Location, error) {
	if name == "" {
		return time.Local, nil
	}
	in, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("the time zone %q is not known on this machine", name)
	}
	return in, nil
}

// clock fires triggers whose time has come, until ctx ends.
func (e *Engine) clock(ctx context.Context) {
	for {
		next := e.o.Now().Add(30 * time.Second) // the clock may be set
		for _, name := range slices.Sorted(maps.Keys(e.o.Triggers)) {
			if e.o.Triggers[name].Cron == "" {
				continue
			}
			if at, err := e.due(name); err != nil {
				e.note(name, err)
				e.o.Log("trigger %s: %v", name, err)
			} else if !at.IsZero() && at.Before(next) {
				next = at
			}
		}
		if !sleep(ctx, max(next.Sub(e.o.Now()), 10*time.Millisecond)) {
			return
		}
	}
}

// due fires a trigger for each time that has come, and returns the next one.
func (e *Engine) due(name string) (next time.Time, err error) {
	t, now := e.o.Triggers[name], e.o.Now()
	s, err := parseCron(t.Cron)
	if err != nil {
		return next, err
	}
	in, err := location(t.TimeZone)
	if err != nil {
		return next, err
	}
	e.mu.Lock()
	r := e.record(name)
	if r.Last.After(now) {
		r.Last = now // the clock was set back; what has fired already does not fire again
		err = e.save()
	}
	last := r.Last
	e.mu.Unlock()
	if err != nil {
		return next, err
	}
	times, more := s.due(last, now, in, t.CatchUp+1)
	if n := len(times); n > 0 && n > t.CatchUp && now.Sub(times[n-1]) > late {
		times, more = times[1:], more+1 // the newest is late, too
	}
	for i, at := range times {
		onTime := i == len(times)-1 && now.Sub(at) <= late
		if onTime && !t.Overlap && e.busy(name) {
			e.o.Log("trigger %s: its last job has not ended, so %s is left out", name, at.Format(time.RFC3339))
			continue
		}
		err := e.fire(name, strconv.FormatInt(at.Unix(), 10), map[string]any{"trigger": name, "time": at.Format(time.RFC3339)}, 0)
		switch {
		case errors.Is(err, errInput):
			e.o.Log("trigger %s: %v", name, err)
		case err != nil && !errors.Is(err, errRepeated) && !errors.Is(err, errFiltered):
			return next, err
		}
	}
	if more > 0 {
		e.o.Log("trigger %s: %d times were missed", name, more)
	}
	if len(times)+more > 0 {
		e.mu.Lock()
		e.record(name).Last = now
		err = e.save()
		e.mu.Unlock()
	}
	return s.next(now, in), err
}

// longestWait is between two tries.
const longestWait = 10 * time.Minute

// retryAt is the time of the next try.
func retryAt(now time.Time, tries int) time.Time {
	return now.Add(min(time.Second<<tries, longestWait))
}

// waits reports whether the time of the next try is to come. One that is too far away was made
// before the clock was set back.
func waits(next, now time.Time) bool { return next.After(now) && next.Sub(now) <= longestWait }

// busy reports whether a trigger has a job that has not ended, or will have.
func (e *Engine) busy(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.record(name).Active) > 0 || e.waiting(name) > 0
}
