package calendar

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

func TestCalendarConforms(t *testing.T) { toolstest.Check(t, Tool(Config{})) }

func ask(t *testing.T, c Config, env *tools.Env, in input) tools.Result {
	t.Helper()
	c.Now = func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }
	args, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Tool(c).Run(t.Context(), env, args)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func xmlEscaped(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic(err)
	}
	return b.String()
}

func TestCalendarsOfServers(t *testing.T) {
	day := event("DTSTART;TZID=Europe/Berlin:20261201T090000\nRRULE:FREQ=DAILY;COUNT=2\nSUMMARY:stand-up\n")
	ics := "BEGIN:VCALENDAR\r\n" + strings.ReplaceAll(day, "\n", "\r\n") + "END:VCALENDAR\r\n"
	var body atomic.Value
	base, env := toolstest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a.ics":
			fmt.Fprint(w, ics)
		case "/page.ics":
			fmt.Fprint(w, "<!DOCTYPE html><html>")
		case "/dav/":
			user, key, _ := r.BasicAuth()
			if user != "ada" || key != "s3cret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			b := make([]byte, 4096)
			n, _ := r.Body.Read(b)
			body.Store(r.Method + " " + r.Header.Get("Depth") + " " + string(b[:n]))
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusMultiStatus)
			fmt.Fprintf(w, `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:response><d:href>/dav/1.ics</d:href><d:propstat><d:prop><c:calendar-data>%s</c:calendar-data></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response></d:multistatus>`, xmlEscaped(ics))
		}
	})
	c := Config{Calendars: map[string]Source{"team": {URL: base + "/dav/", Kind: "caldav", User: "ada", KeyEnv: "KEY"}, "locked": {URL: base + "/dav/", Kind: "caldav", User: "ada"}},
		Getenv: func(k string) string { return map[string]string{"KEY": "s3cret"}[k] }}
	want := "2 events from 2026-11-21 00:00 to 2026-12-22 00:00 (Europe/Berlin)\n\nTue 2026-12-01 09:00  stand-up\nWed 2026-12-02 09:00  stand-up"
	if err := os.WriteFile(filepath.Join(env.Files.Dir(), "a.ics"), []byte(ics), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, in := range []input{{Calendar: base + "/a.ics"}, {Calendar: "team"}, {File: "a.ics"}} {
		in.Zone = "Europe/Berlin"
		if r := ask(t, c, env, in); r.Failed || !strings.HasSuffix(r.Text, want) {
			t.Errorf("%+v: %s", in, r.Text)
		}
	}
	if s, _ := body.Load().(string); !strings.HasPrefix(s, "REPORT 1 ") || !strings.Contains(s, `start="20261119T230000Z" end="20261222T230000Z"`) {
		t.Error(s)
	}
	for _, f := range []struct {
		in   input
		want string
	}{
		{input{Calendar: "locked"}, "401"}, {input{Calendar: "teem"}, `did you mean "team"`}, {input{}, "either calendar or file"},
		{input{Calendar: base + "/page.ics"}, "is a page"}, {input{File: "../x.ics"}, "x.ics"}, {input{Calendar: "team", Zone: "Mars"}, "no time zone"},
		{input{Calendar: "team", From: "2026-02-01", To: "2026-01-01"}, "range is empty"}, {input{Calendar: "team", From: "1900-01-01", To: "2026-01-01"}, "three years"},
		{input{Calendar: "file:///etc/passwd"}, "refused"},
	} {
		if r := ask(t, c, env, f.in); !r.Failed || !strings.Contains(r.Text, f.want) || strings.Contains(r.Text, "s3cret") {
			t.Errorf("%+v: %s", f.in, r.Text)
		}
	}
	for in, want := range map[string]string{
		"webcal://example.org/a.ics": "https://example.org/a.ics",
		"https://calendar.google.com/calendar/embed?src=team%40group.calendar.google.com&ctz=UTC": "https://calendar.google.com/calendar/ical/team@group.calendar.google.com/public/basic.ics",
		"https://calendar.google.com/calendar/u/0?cid=dGVhbUBleGFtcGxlLm9yZw":                     "https://calendar.google.com/calendar/ical/team@example.org/public/basic.ics",
		"https://calendar.google.com/calendar/ical/x/private-1/basic.ics":                         "https://calendar.google.com/calendar/ical/x/private-1/basic.ics",
	} {
		if got := icsAddress(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func FuzzReport(f *testing.F) {
	f.Add(`<d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:response><d:propstat><d:prop><c:calendar-data>x</c:calendar-data></d:prop></d:propstat></d:response></d:multistatus>`)
	f.Fuzz(func(t *testing.T, s string) {
		list, err := readReport(s)
		for _, l := range list {
			if err != nil || len(l) > 8*len(s)+16 {
				t.Fatalf("%q, %v", l, err)
			}
		}
	})
}
