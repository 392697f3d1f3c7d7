package calendar

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
	"github.com/adroit-run/adroit/pkg/tools"
)

const (
	mostEvents = 5000      // in the range asked for
	allWork    = 1_000_000 // see workBudget
)

// A calendar is a parsed calendar, ready for queries about a range.
type calendar struct {
	here     zone // of what has no zone of its own
	from, to time.Time
	zones    map[string]zone
	defs     map[string]*part // VTIMEZONE by TZID
	budget   *workBudget
	notes    []string // what was not understood
	events   []occasion
}

// An occasion is one time that an event takes place.
type occasion struct {
	Title  string
	Start  time.Time
	End    time.Time // of an all-day event the midnight after its last day
	AllDay bool
	Place  string
	About  string
	URL    string
	Repeat bool
	UID    string
}

// A stamp is a time as a calendar writes it.
type stamp struct {
	wall time.Time
	zone zone
	date bool // a day, without a time
}

func (s stamp) moment() time.Time { return s.zone.moment(s.wall) }

// A length is the duration of an event: days on the wall, then an exact duration.
type length struct {
	days  int
	exact time.Duration
}

func (s stamp) plus(l length) time.Time {
	return s.zone.moment(s.wall.AddDate(0, 0, l.days)).Add(l.exact)
}

func cmpOr(list ...int) int {
	for _, n := range list {
		if n != 0 {
			return n
		}
	}
	return 0
}

func (c *calendar) note(format string, a ...any) {
	if s := fmt.Sprintf(format, a...); len(c.notes) < 20 && !slices.Contains(c.notes, s) {
		c.notes = append(c.notes, s)
	}
}

var errMany = fmt.Errorf("there are more than %d events in that range; ask for a shorter one", mostEvents)

func sequence(p *part) int {
	n, _ := strconv.Atoi(p.prop("SEQUENCE").value)
	return n
}

func cancelled(p *part) bool { return strings.EqualFold(p.prop("STATUS").value, "CANCELLED") }

// key identifies an occurrence by its original time.
func key(s stamp) string {
	if s.date {
		return s.wall.Format("20060102")
	}
	return strconv.FormatInt(s.moment().Unix(), 10) + "s"
}

// single adds an event that is at one time only.
func (c *calendar) single(p *part, repeats bool) error {
	if cancelled(p) {
		return nil
	}
	start, l, err := c.span(p)
	if err != nil {
		return err
	}
	return c.add(p, start, start.plus(l), repeats)
}

// span returns the begin and the duration of an event.
func (c *calendar) span(p *part) (start stamp, l length, err error) {
	q := p.prop("DTSTART")
	if q.name == "" {
		return start, l, errors.New("it has no DTSTART")
	}
	if start, err = c.stamp(q, q.value); err != nil {
		return start, l, err
	}
	if q := p.prop("DTEND"); q.name != "" {
		end, err := c.stamp(q, q.value)
		if err != nil {
			return start, l, err
		}
		if start.date {
			l.days = max(int(end.wall.Sub(start.wall).Hours()/24), 1)
		} else {
			l.exact = max(end.moment().Sub(start.moment()), 0)
		}
		return start, l, nil
	}
	if q := p.prop("DURATION"); q.name != "" {
		l, err = parseLength(q.value)
		return start, l, err
	}
	if start.date {
		l.days = 1
	}
	return start, l, nil
}

func (s stamp) orZero(l length, err error) time.Time {
	if err != nil {
		return time.Time{}
	}
	return s.plus(l)
}

// add keeps an occasion if it lies in the range.
func (c *calendar) add(p *part, s stamp, end time.Time, repeats bool) error {
	start := s.moment()
	if start.After(c.to) || start.Equal(c.to) || end.Before(c.from) || end.Equal(c.from) && start.Before(c.from) {
		return nil
	}
	if len(c.events) == mostEvents {
		return errMany
	}
	title := fetch.OneLine(p.text("SUMMARY"), 300)
	if title == "" {
		title = "(no title)"
	}
	c.events = append(c.events, occasion{Title: title, Start: start, End: end, AllDay: s.date, Place: fetch.OneLine(p.text("LOCATION"), 200),
		About: fetch.OneLine(p.text("DESCRIPTION"), 500), URL: fetch.ResolveLink(nil, p.prop("URL").value), Repeat: repeats, UID: spelling.Clip(fetch.OneLine(p.text("UID"), 200), 200)})
	return nil
}

// stamp reads a value of a property with a time.
func (c *calendar) stamp(q prop, v string) (stamp, error) {
	v = strings.NewReplacer("-", "", ":", "").Replace(strings.ToUpper(strings.TrimSpace(v))) // some write 2026-11-28T09:00:00Z
	v, late := fetch.Midnight(v)
	for _, layout := range []string{"20060102T150405", "20060102T150405Z", "20060102", "20060102T1504", "20060102T1504Z"} {
		t, err := time.Parse(layout, v)
		if err != nil {
			continue
		}
		t = t.Add(late)
		switch {
		case len(layout) == 8:
			return stamp{t, c.here, true}, nil
		case strings.HasSuffix(layout, "Z"):
			return stamp{t, region{time.UTC}, false}, nil
		}
		return stamp{t, c.zone(q.params["TZID"]), false}, nil
	}
	return stamp{}, fmt.Errorf("%s is %q, not a time", q.name, spelling.Clip(v, 40))
}

// zone finds the zone of a TZID: by name, or as the calendar defines it.
func (c *calendar) zone(id string) zone {
	if id == "" {
		return c.here
	}
	if z, ok := c.zones[id]; ok {
		return z
	}
	z, ok := lookup(id)
	if def := c.defs[id]; !ok && def != nil {
		var err error
		if z, err = customZone(def, c.to, c.budget); err != nil {
			c.note("%v; its times are taken as local", err)
		} else {
			ok = true
		}
	} else if !ok {
		z, ok = lookupWritten(id)
	}
	if !ok && c.defs[id] == nil {
		c.note("time zone %q is not known; its times are taken as local", spelling.Clip(fetch.OneLine(id, 60), 60))
	}
	if !ok {
		z = c.here
	}
	c.zones[id] = z
	return z
}

// parseLength reads P1W, P1DT2H, -PT15M.
func parseLength(s string) (l length, err error) {
	bad := fmt.Errorf("%q is not a duration", spelling.Clip(s, 40))
	rest, negative := strings.CutPrefix(strings.ToUpper(strings.TrimSpace(s)), "-")
	rest = strings.TrimPrefix(rest, "+")
	rest, ok := strings.CutPrefix(rest, "P")
	if !ok || rest == "" {
		return l, bad
	}
	clock := false
	for rest != "" {
		if after, ok := strings.CutPrefix(rest, "T"); ok && !clock {
			clock, rest = true, after
			continue
		}
		i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if i <= 0 || i > 7 {
			return l, bad
		}
		n, _ := strconv.Atoi(rest[:i])
		switch unit := rest[i]; {
		case unit == 'W' && !clock:
			l.days += 7 * n
		case unit == 'D' && !clock:
			l.days += n
		case unit == 'H' && clock:
			l.exact += time.Duration(n) * time.Hour
		case unit == 'M' && clock:
			l.exact += time.Duration(n) * time.Minute
		case unit == 'S' && clock:
			l.exact += time.Duration(n) * time.Second
		default:
			return l, bad
		}
		rest = rest[i+1:]
	}
	if negative { // an event cannot take less than no time
		return length{}, nil
	}
	if l.days > 36_600 {
		return l, bad
	}
	return l, nil
}

// query asks for the events that touch a range (RFC 4791, 7.8.1). They come
// whole, and are worked out as those of a file are.
const query = `<?xml version="1.0" encoding="utf-8"?>
<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><C:calendar-data/></D:prop>` +
	`<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT"><C:time-range start="%s" end="%s"/></C:comp-filter></C:comp-filter></C:filter></C:calendar-query>`

// report asks a CalDAV collection.
func (c calendars) report(ctx context.Context, env *tools.Env, r fetch.Request, from, to time.Time) ([]string, error) {
	// Days and floating times lie elsewhere for the server: ask for a day more.
	const stamp = "20060102T150405Z"
	r.Method, r.Accept = "REPORT", "application/xml, text/xml"
	r.Body = fmt.Sprintf(query, from.Add(-24*time.Hour).UTC().Format(stamp), to.Add(24*time.Hour).UTC().Format(stamp))
	r.Header = http.Header{"Depth": {"1"}, "Content-Type": {"application/xml; charset=utf-8"}}
	a, err := fetch.Get(ctx, env.HTTP, c.cache, r)
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusMultiStatus {
		return nil, fmt.Errorf("%s answered %d and no list of events: is that the address of a CalDAV calendar?", r.What, a.Status)
	}
	text, err := fetch.Decode(a.Body, a.Charset)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.What, err)
	}
	list, err := readReport(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.What, err)
	}
	return list, nil
}

// readReport picks the calendars out of a multistatus answer.
func readReport(text string) ([]string, error) {
	text, err := fetch.CleanXML(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	var answer struct {
		XMLName  xml.Name `xml:"DAV: multistatus"`
		Response []struct {
			Propstat []struct {
				Prop struct {
					Data string `xml:"urn:ietf:params:xml:ns:caldav calendar-data"`
				} `xml:"DAV: prop"`
			} `xml:"DAV: propstat"`
		} `xml:"DAV: response"`
	}
	if err := xml.Unmarshal([]byte(text), &answer); err != nil {
		return nil, errors.New("its answer is not what a CalDAV server says: " + fetch.OneLine(err.Error(), 200))
	}
	var out []string
	for _, r := range answer.Response {
		for _, p := range r.Propstat {
			if strings.TrimSpace(p.Prop.Data) != "" {
				out = append(out, p.Prop.Data)
			}
		}
	}
	return out, nil
}

// A Config is the operator's configuration of the tool. Its zero value is ready: then
// models give the addresses of calendars.
type Config struct {
	Calendars map[string]Source // by the name that models use
	// Cache is a directory for answers that servers let us ask about again at
	// little cost. Empty keeps none.
	Cache string
	// Getenv gives the values of variables that hold passwords; nil is os.Getenv.
	Getenv func(string) string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// A Source is a calendar: an iCalendar file at a URL, or a CalDAV collection.
type Source struct {
	URL    string `yaml:"url" show:"host"` // that of a private calendar is its password, too
	Kind   string `yaml:"kind"`            // caldav, ics if empty
	User   string `yaml:"user"`
	KeyEnv string `yaml:"key_env"` // the variable that holds the password; the file never does
}

func (s Source) caldav() bool { return s.Kind == "caldav" }

// A calendars reads the calendars that are configured. It is safe for
// concurrent use.
type calendars struct {
	Config
	cache *fetch.Cache
}
