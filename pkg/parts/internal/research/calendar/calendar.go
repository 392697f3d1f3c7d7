// Package calendar has the tool that lists the events of iCalendar files and
// CalDAV collections.
//
//	set, err := tools.NewSet(calendar.Tool(calendar.Config{
//		Calendars: map[string]calendar.Source{"team": {URL: "https://example.org/team.ics"}},
//	}))
//
// ADR 0029 has why it reads calendars with code of its own.
package calendar

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed calendar.md
var calendarProse string

// input is the input of calendar.
type input struct {
	Calendar string `json:"calendar,omitempty" jsonschema:"description=Name of a configured calendar or address of an .ics"`
	File     string `json:"file,omitempty" jsonschema:"description=An .ics file of the workspace instead"`
	From     string `json:"from,omitempty" jsonschema:"description=First day or time; default today"`
	To       string `json:"to,omitempty" jsonschema:"description=Last day (inclusive) or time; default 30 days on"`
	Zone     string `json:"zone,omitempty" jsonschema:"description=Time zone such as Europe/Berlin; default UTC"`
	Query    string `json:"query,omitempty" jsonschema:"description=Only events with all these words"`
	Limit    int    `json:"limit,omitempty" jsonschema:"minimum=1,maximum=500,description=Events at most; default 50"`
}

const longest = 3 * 366 * 24 * time.Hour // that may be asked about at once

// Tool returns the tool as conf sets it up.
func Tool(conf Config) tools.Tool {
	if conf.Getenv == nil {
		conf.Getenv = os.Getenv
	}
	if conf.Now == nil {
		conf.Now = time.Now
	}
	c := calendars{conf, &fetch.Cache{Dir: conf.Cache}}
	m := tools.Metadata{
		Name: "calendar", Category: "research", Needs: tools.Read | tools.Net, Effect: tools.Pure, Paths: []string{"file"},
		Produces: []string{"calendar_events"}, Timeout: time.Minute,
		Examples: []tools.Example{{Note: "what is on in March", Args: json.RawMessage(`{"calendar":"https://example.org/team.ics","from":"2026-03-01","to":"2026-03-31","zone":"Europe/Berlin"}`)}},
	}.Prose(calendarProse)
	if len(conf.Calendars) == 0 {
		m.Requires = []string{"config:research.calendars"}
	}
	return tools.New(m, c.readCalendar)
}

func (c calendars) readCalendar(ctx context.Context, env *tools.Env, in input) (tools.Result, error) {
	here := zone(region{time.UTC})
	if in.Zone != "" {
		z, ok := lookup(in.Zone)
		if !ok {
			z, ok = lookupWritten(in.Zone)
		}
		if !ok {
			return tools.Result{}, fmt.Errorf("there is no time zone %q; names are like Europe/Berlin, America/New_York or UTC", spelling.Clip(in.Zone, 60))
		}
		here = z
	}
	from, to, err := c.between(in, here)
	if err != nil {
		return tools.Result{}, err
	}
	texts, what, err := c.icsOf(ctx, env, in, from, to)
	if err != nil {
		return tools.Result{}, err
	}
	var files []*part
	for _, text := range texts {
		parts, err := parseICS(text)
		if err != nil {
			return tools.Result{}, fmt.Errorf("%s: %w", what, err)
		}
		files = append(files, parts...)
	}
	found, err := expand(files, here, from, to)
	if err != nil {
		return tools.Result{}, fmt.Errorf("%s: %w", what, err)
	}
	return found.result(in, what)
}

// between reads the range. A day as its end is meant whole.
func (c calendars) between(in input, here zone) (from, to time.Time, err error) {
	today := here.wall(c.Now()).Truncate(24 * time.Hour)
	from, to = here.moment(today), here.moment(today.AddDate(0, 0, 31))
	if in.From != "" {
		if from, _, err = when(in.From, here); err != nil {
			return from, to, fmt.Errorf("from: %w", err)
		}
		to = here.moment(here.wall(from).AddDate(0, 0, 31))
	}
	if in.To != "" {
		var day bool
		if to, day, err = when(in.To, here); err != nil {
			return from, to, fmt.Errorf("to: %w", err)
		}
		if day {
			to = here.moment(here.wall(to).AddDate(0, 0, 1))
		}
	}
	switch {
	case !to.After(from):
		return from, to, errors.New("the range is empty: to lies before from")
	case to.Sub(from) > longest:
		return from, to, errors.New("the range is longer than three years; ask for less at once")
	}
	return from, to, nil
}

func when(s string, here zone) (t time.Time, day bool, err error) {
	s, late := fetch.Midnight(strings.TrimSpace(s))
	if t, err := time.Parse(time.RFC3339, s); err == nil && t.Year() > 0 {
		return t.Add(late).UTC(), false, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 0 {
			return here.moment(t.Add(late)), layout == time.DateOnly, nil
		}
	}
	return t, false, fmt.Errorf("%q is not a day or time: write 2026-03-01 or 2026-03-01T09:00", spelling.Clip(s, 60))
}

// icsOf gets the text of a calendar, and reports how to call it.
func (c calendars) icsOf(ctx context.Context, env *tools.Env, in input, from, to time.Time) (texts []string, what string, err error) {
	if (in.File == "") == (in.Calendar == "") {
		return nil, "", fmt.Errorf("give either calendar or file; %s", fetch.Configured("calendars", c.Calendars))
	}
	if in.File != "" {
		b, err := env.Files.ReadFile(in.File)
		if err != nil {
			return nil, "", err
		}
		text, err := decode(b, "utf-8")
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", in.File, err)
		}
		return []string{text}, in.File, nil
	}
	s, configured := c.Calendars[in.Calendar]
	what = in.Calendar
	if !configured {
		if !strings.Contains(in.Calendar, ":") {
			return nil, "", fmt.Errorf("%q is neither an address nor a configured calendar%s; %s. A file of the workspace goes into file",
				spelling.Clip(in.Calendar, 80), spelling.DidYouMean(in.Calendar, slices.Sorted(maps.Keys(c.Calendars))), fetch.Configured("calendars", c.Calendars))
		}
		s.URL = in.Calendar
	}
	u, err := fetch.ParseURL(icsAddress(s.URL))
	if err != nil {
		return nil, "", err
	}
	if !configured {
		what = fetch.Redacted(u)
	}
	r := fetch.Request{What: what, URL: u, Accept: "text/calendar, */*;q=0.5", Cached: !s.caldav(), User: s.User}
	if s.KeyEnv != "" {
		if r.Password = c.Getenv(s.KeyEnv); r.Password == "" {
			return nil, "", fmt.Errorf("calendar %s needs a password and %s is not set; only the user can fix this; continue without the calendar", what, s.KeyEnv)
		}
	}
	if s.caldav() {
		texts, err = c.report(ctx, env, r, from, to)
		return texts, what, err
	}
	a, err := fetch.Get(ctx, env.HTTP, c.cache, r)
	if err != nil {
		return nil, "", err
	}
	text, err := decode(a.Body, a.Charset)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", what, err)
	}
	if head := strings.ToLower(strings.TrimSpace(text[:min(len(text), 200)])); strings.HasPrefix(head, "<!doctype html") || strings.HasPrefix(head, "<html") {
		return nil, "", fmt.Errorf("%s is a page, not a calendar; look for the address that ends in .ics", what)
	}
	return []string{text}, what, nil
}

// icsAddress turns addresses that people copy into those of the calendar
// itself: webcal:, and a public Google calendar as it is shown or shared.
func icsAddress(s string) string {
	s = strings.TrimSpace(s)
	for _, scheme := range []string{"webcal://", "webcals://"} {
		if len(s) > len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
			return "https://" + s[len(scheme):]
		}
	}
	u, err := url.Parse(s)
	if err != nil || u.Host != "calendar.google.com" || strings.HasPrefix(u.Path, "/calendar/ical/") {
		return s
	}
	id := u.Query().Get("src")
	if cid := u.Query().Get("cid"); id == "" && cid != "" {
		if b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(cid, "=")); err == nil {
			id = string(b)
		} else {
			id = cid
		}
	}
	if id == "" {
		return s
	}
	return "https://calendar.google.com/calendar/ical/" + url.PathEscape(id) + "/public/basic.ics"
}

func (c *calendar) result(in input, what string) (tools.Result, error) {
	limit := in.Limit
	limit = cmp.Or(limit, 50)
	need := strings.Fields(strings.ToLower(in.Query))
	var found []occasion
	for _, e := range c.events {
		all := strings.ToLower(e.Title + " " + e.Place + " " + e.About)
		fits := true
		for _, w := range need {
			fits = fits && strings.Contains(all, w)
		}
		if fits {
			found = append(found, e)
		}
	}
	n := len(found)
	found = found[:min(n, limit)]
	name := in.Zone
	name = cmp.Or(name, "UTC")
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s from %s to %s (%s)\n", what, spelling.Plural(n, "event"), c.here.wall(c.from).Format("2006-01-02 15:04"), c.here.wall(c.to).Format("2006-01-02 15:04"), name)
	shown := []map[string]any{}
	for _, e := range found {
		begin, end := c.here.wall(e.Start), c.here.wall(e.End)
		b.WriteString("\n" + begin.Format("Mon 2006-01-02 ") + hours(e, begin, end) + "  " + e.Title)
		if e.Place != "" {
			b.WriteString("  @ " + e.Place)
		}
		if e.About != "" {
			b.WriteString("\n    " + spelling.Clip(e.About, 200))
		}
		shown = append(shown, e.json(c.here))
	}
	if n > len(found) {
		fmt.Fprintf(&b, "\n\n%d more; narrow the range or raise limit.", n-len(found))
	}
	for _, note := range c.notes {
		b.WriteString("\n\nNote: " + note + ".")
	}
	return turn.Bind(tools.Result{Text: b.String(), Summary: spelling.Plural(n, "event")}, "calendar_events", shown)
}

// hours renders the time of an event, without its first day.
func hours(e occasion, begin, end time.Time) string {
	switch last := end.AddDate(0, 0, -1); {
	case e.AllDay && last.After(begin):
		return "all day, to " + last.Format(time.DateOnly)
	case e.AllDay:
		return "all day"
	case end.Equal(begin):
		return begin.Format("15:04")
	case end.YearDay() == begin.YearDay() && end.Year() == begin.Year():
		return begin.Format("15:04") + "-" + end.Format("15:04")
	}
	return begin.Format("15:04") + " to " + end.Format("2006-01-02 15:04")
}

// json is an occasion in the zone that was asked for; a day has no time.
func (e occasion) json(here zone) map[string]any {
	at := func(t time.Time) string {
		wall := here.wall(t)
		if e.AllDay {
			return wall.Format(time.DateOnly)
		}
		off := int(wall.Sub(t.UTC()).Seconds())
		return t.In(time.FixedZone("", off)).Format(time.RFC3339)
	}
	m := map[string]any{"title": e.Title, "start": at(e.Start), "end": at(e.End)}
	for k, v := range map[string]string{"place": e.Place, "about": e.About, "url": e.URL, "uid": e.UID} {
		if v != "" {
			m[k] = v
		}
	}
	if e.AllDay {
		m["all_day"] = true
	}
	if e.Repeat {
		m["repeats"] = true
	}
	return m
}
