package calendar

import (
	"strings"
	"testing"
	"time"
)

// on expands a calendar over a range, in a zone, and shows it as lines.
func on(t testing.TB, ics, zoneName, from, to string) ([]string, *calendar) {
	t.Helper()
	here, ok := lookup(zoneName)
	if !ok {
		t.Fatalf("no zone %s", zoneName)
	}
	files, err := parseICS("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n" + strings.ReplaceAll(ics, "\n", "\r\n") + "END:VCALENDAR\r\n")
	if err != nil {
		t.Fatal(err)
	}
	c, err := expand(files, here, here.moment(wallTime(t, from+"T000000")), here.moment(wallTime(t, to+"T000000")))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range c.events {
		l := e.Start.UTC().Format("01-02 15:04Z") + " " + e.End.Sub(e.Start).String() + " " + e.Title
		if e.AllDay {
			l = "day " + here.wall(e.Start).Format("01-02") + " to " + here.wall(e.End).Format("01-02") + " " + e.Title
		}
		out = append(out, l)
	}
	return out, c
}

// The clock changes in Berlin on 2026-03-29 at 01:00Z (to +02:00) and on
// 2026-10-25 at 01:00Z (to +01:00); in New York on 2026-03-08 and 2026-11-01.
const vtimezone = `BEGIN:VTIMEZONE
TZID:%s
BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
END:DAYLIGHT
END:VTIMEZONE
`

func event(lines string) string { return "BEGIN:VEVENT\nUID:1\n" + lines + "END:VEVENT\n" }

func TestEvents(t *testing.T) {
	own := strings.Replace(vtimezone, "%s", "Our Office", 1)
	for _, c := range []struct {
		name, ics, zone, from, to string
		want                      []string
	}{
		{"weekly over the change of the clock", event("DTSTART;TZID=Europe/Berlin:20260318T090000\nDTEND;TZID=Europe/Berlin:20260318T100000\nRRULE:FREQ=WEEKLY;COUNT=4\nSUMMARY:s\n"), "UTC", "20260301", "20260501",
			[]string{"03-18 08:00Z 1h0m0s s", "03-25 08:00Z 1h0m0s s", "04-01 07:00Z 1h0m0s s", "04-08 07:00Z 1h0m0s s"}},
		{"the same by a zone of its own", own + event("DTSTART;TZID=Our Office:20260318T090000\nDTEND;TZID=Our Office:20260318T100000\nRRULE:FREQ=WEEKLY;COUNT=4\nSUMMARY:s\n"), "UTC", "20260301", "20260501",
			[]string{"03-18 08:00Z 1h0m0s s", "03-25 08:00Z 1h0m0s s", "04-01 07:00Z 1h0m0s s", "04-08 07:00Z 1h0m0s s"}},
		{"the same by the name Windows has", event("DTSTART;TZID=W. Europe Standard Time:20260318T090000\nDTEND;TZID=W. Europe Standard Time:20260318T100000\nRRULE:FREQ=WEEKLY;COUNT=4\nSUMMARY:s\n"), "UTC", "20260301", "20260501",
			[]string{"03-18 08:00Z 1h0m0s s", "03-25 08:00Z 1h0m0s s", "04-01 07:00Z 1h0m0s s", "04-08 07:00Z 1h0m0s s"}},
		{"a time with dashes, and a zone as Outlook shows it", event("DTSTART;TZID=Eastern Time (US & Canada):2026-04-01T09:00:00\nSUMMARY:s\n"), "UTC", "20260301", "20260501",
			[]string{"04-01 13:00Z 0s s"}},
		{"the end of a day, and no interval", event("DTSTART;TZID=Europe/Berlin:20260327T220000\nDTEND;TZID=Europe/Berlin:20260327T240000\nRRULE:FREQ=DAILY;INTERVAL=0;UNTIL=20260329T240000Z\nSUMMARY:s\n"), "UTC", "20260301", "20260501",
			[]string{"03-27 21:00Z 2h0m0s s", "03-28 21:00Z 2h0m0s s", "03-29 20:00Z 2h0m0s s"}},
		{"a longer form of a name", event("DTSTART;TZID=/example.org/20260101_1/America/New_York:20260305T090000\nDURATION:PT30M\nRRULE:FREQ=DAILY;INTERVAL=3;COUNT=2\nSUMMARY:s\n"), "UTC", "20260301", "20260501",
			[]string{"03-05 14:00Z 30m0s s", "03-08 13:00Z 30m0s s"}},
		{"a time that is skipped counts by the offset before", event("DTSTART;TZID=Europe/Berlin:20260328T023000\nRRULE:FREQ=DAILY;COUNT=3\nSUMMARY:s\n"), "UTC", "20260301", "20260501",
			[]string{"03-28 01:30Z 0s s", "03-29 01:30Z 0s s", "03-30 00:30Z 0s s"}},
		{"a time that comes twice is the first", event("DTSTART;TZID=Europe/Berlin:20261024T023000\nRRULE:FREQ=DAILY;COUNT=3\nSUMMARY:s\n"), "UTC", "20261001", "20261101",
			[]string{"10-24 00:30Z 0s s", "10-25 00:30Z 0s s", "10-26 01:30Z 0s s"}},
		{"both, by a zone of its own", own + event("DTSTART;TZID=Our Office:20260329T023000\nSUMMARY:a\n") + strings.Replace(event("DTSTART;TZID=Our Office:20261025T023000\nSUMMARY:b\n"), "UID:1", "UID:2", 1), "UTC", "20260101", "20261231",
			[]string{"03-29 01:30Z 0s a", "10-25 00:30Z 0s b"}},
		{"a day of nominal length, and an exact one", event("DTSTART;TZID=Europe/Berlin:20260328T120000\nDURATION:P1D\nSUMMARY:nominal\n") + strings.Replace(event("DTSTART;TZID=Europe/Berlin:20260328T120000\nDURATION:PT24H\nSUMMARY:exact\n"), "UID:1", "UID:2", 1), "UTC", "20260301", "20260501",
			[]string{"03-28 11:00Z 23h0m0s nominal", "03-28 11:00Z 24h0m0s exact"}},
		{"exdate by time, in another zone, and by day", event("DTSTART;TZID=Europe/Berlin:20260401T090000\nRRULE:FREQ=DAILY;COUNT=5\nEXDATE;TZID=Europe/Berlin:20260402T090000\nEXDATE:20260403T070000Z\nEXDATE;VALUE=DATE:20260404\nSUMMARY:s\n"), "UTC", "20260301", "20260501",
			[]string{"04-01 07:00Z 0s s", "04-05 07:00Z 0s s"}},
		{"rdate, with a period and one that repeats", event("DTSTART:20260401T090000Z\nDTEND:20260401T093000Z\nRDATE:20260405T100000Z,20260401T090000Z\nRDATE;VALUE=PERIOD:20260407T100000Z/PT2H,20260408T100000Z/20260408T101500Z\nSUMMARY:s\n"), "UTC", "20260301", "20260501",
			[]string{"04-01 09:00Z 30m0s s", "04-05 10:00Z 30m0s s", "04-07 10:00Z 2h0m0s s", "04-08 10:00Z 15m0s s"}},
		{"one occurrence moved, one cancelled", event("DTSTART;TZID=Europe/Berlin:20260401T090000\nDTEND;TZID=Europe/Berlin:20260401T100000\nRRULE:FREQ=DAILY;COUNT=4\nSUMMARY:s\n") +
			event("RECURRENCE-ID;TZID=Europe/Berlin:20260402T090000\nDTSTART;TZID=Europe/Berlin:20260402T150000\nDTEND;TZID=Europe/Berlin:20260402T163000\nSUMMARY:moved\n") +
			event("RECURRENCE-ID:20260403T070000Z\nDTSTART:20260403T070000Z\nSTATUS:CANCELLED\nSUMMARY:s\n"), "UTC", "20260301", "20260501",
			[]string{"04-01 07:00Z 1h0m0s s", "04-02 13:00Z 1h30m0s moved", "04-04 07:00Z 1h0m0s s"}},
		{"one moved into the range from far outside", event("DTSTART:20260101T090000Z\nRRULE:FREQ=MONTHLY;COUNT=3\nSUMMARY:s\n") + event("RECURRENCE-ID:20260301T090000Z\nDTSTART:20260715T090000Z\nSUMMARY:late\n"), "UTC", "20260701", "20260801",
			[]string{"07-15 09:00Z 0s late"}},
		{"this and all after it", event("DTSTART:20260401T090000Z\nDTEND:20260401T100000Z\nRRULE:FREQ=DAILY;COUNT=4\nSUMMARY:s\n") +
			event("RECURRENCE-ID;RANGE=THISANDFUTURE:20260403T090000Z\nDTSTART:20260403T110000Z\nDTEND:20260403T113000Z\nSUMMARY:later\n"), "UTC", "20260301", "20260501",
			[]string{"04-01 09:00Z 1h0m0s s", "04-02 09:00Z 1h0m0s s", "04-03 11:00Z 30m0s later", "04-04 11:00Z 30m0s later"}},
		{"a newer version of one event", event("SEQUENCE:2\nDTSTART:20260402T090000Z\nSUMMARY:new\n") + event("SEQUENCE:1\nDTSTART:20260401T090000Z\nSUMMARY:old\n"), "UTC", "20260301", "20260501",
			[]string{"04-02 09:00Z 0s new"}},
		{"days, one and several, in the reader's zone", event("DTSTART;VALUE=DATE:20260329\nSUMMARY:one\n") + strings.Replace(event("DTSTART;VALUE=DATE:20260328\nDTEND;VALUE=DATE:20260331\nSUMMARY:three\n"), "UID:1", "UID:2", 1), "Europe/Berlin", "20260329", "20260330",
			[]string{"day 03-28 to 03-31 three", "day 03-29 to 03-30 one"}},
		{"every year on a day", event("DTSTART;VALUE=DATE:20000229\nRRULE:FREQ=YEARLY\nSUMMARY:leap\n"), "Europe/Berlin", "20280101", "20290101",
			[]string{"day 02-29 to 03-01 leap"}},
		{"a floating time is the reader's", event("DTSTART:20260401T090000\nSUMMARY:s\n"), "America/New_York", "20260401", "20260402",
			[]string{"04-01 13:00Z 0s s"}},
		{"an end in UTC of a rule in a zone", event("DTSTART;TZID=Europe/Berlin:20260401T233000\nRRULE:FREQ=DAILY;UNTIL=20260402T213000Z\nSUMMARY:s\n"), "UTC", "20260301", "20260501",
			[]string{"04-01 21:30Z 0s s", "04-02 21:30Z 0s s"}},
		{"lasts into the range, ends as it begins", event("DTSTART:20260331T230000Z\nDTEND:20260401T010000Z\nSUMMARY:in\n") + strings.Replace(event("DTSTART:20260331T230000Z\nDTEND:20260401T000000Z\nSUMMARY:out\n"), "UID:1", "UID:2", 1), "UTC", "20260401", "20260402",
			[]string{"03-31 23:00Z 2h0m0s in"}},
		{"folded lines, escapes and parameters in quotes", event("DTSTART;X-A=\"a;b:c\";TZID=\"Europe/Berlin\":20260401T090000\nSUMMARY:one\\, two\\; th\n ree\\nfour\n"), "UTC", "20260301", "20260501",
			[]string{"04-01 07:00Z 0s one, two; three four"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, cal := on(t, c.ics, c.zone, c.from, c.to)
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if len(cal.notes) > 0 {
				t.Errorf("notes: %q", cal.notes)
			}
		})
	}
}

func TestWhatIsNotUnderstoodIsSaid(t *testing.T) {
	got, c := on(t, event("DTSTART;TZID=Mars/Olympus:20260401T090000\nSUMMARY:s\n")+strings.Replace(event("DTSTART:tomorrow\nSUMMARY:broken\n"), "UID:1", "UID:2", 1), "Europe/Berlin", "20260301", "20260501")
	if len(got) != 1 || got[0] != "04-01 07:00Z 0s s" {
		t.Errorf("%q", got)
	}
	if all := strings.Join(c.notes, "\n"); !strings.Contains(all, "Mars/Olympus") || !strings.Contains(all, `"broken" is left out`) {
		t.Errorf("%q", all)
	}
}

// A zone that a calendar defines and the same one of the tz database agree at
// every half hour of a year, both ways.
func TestCustomZoneAgreesWithTheDatabase(t *testing.T) {
	files, err := parseICS("BEGIN:VCALENDAR\n" + vtimezone + "END:VCALENDAR\n")
	if err != nil {
		t.Fatal(err)
	}
	own, err := customZone(files[0].parts[0], wallTime(t, "20270101T000000"), &workBudget{allWork})
	if err != nil {
		t.Fatal(err)
	}
	berlin, _ := lookup("Europe/Berlin")
	for at := wallTime(t, "20260101T000000"); at.Year() == 2026; at = at.Add(30 * time.Minute) {
		if a, b := own.moment(at), berlin.moment(at); !a.Equal(b) {
			t.Fatalf("%s is %s and %s", at, a, b)
		}
		if a, b := own.wall(at), berlin.wall(at); !a.Equal(b) {
			t.Fatalf("at %s the wall has %s and %s", at, a, b)
		}
	}
}

func TestEveryWindowsZoneIsKnown(t *testing.T) {
	n := 0
	for l := range strings.Lines(windowsZones) {
		name, _, _ := strings.Cut(l, "\t")
		if _, ok := lookup(name); !ok {
			t.Errorf("%q has no zone", name)
		}
		n++
	}
	if n < 135 {
		t.Errorf("only %d zones", n)
	}
}

func TestHostileCalendars(t *testing.T) {
	many := "BEGIN:VCALENDAR\n" + event("DTSTART:20200101T000000Z\nRRULE:FREQ=MINUTELY\nSUMMARY:s\n") + "END:VCALENDAR\n"
	for _, c := range []struct{ name, ics, want string }{
		{"deep", strings.Repeat("BEGIN:VCALENDAR\n", 1_000_000), "deeper than"},
		{"no calendar", "hello", "not a calendar"},
		{"cut", "BEGIN:VCALENDAR\nBEGIN:VEVENT\n", "was cut"},
		{"crossed", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR\n", "does not belong"},
		{"every minute for years", many, "more than 5000 events"},
		{"dense", strings.Replace(many, "MINUTELY", "SECONDLY;COUNT=900000000", 1), "too long"},
		{"a thousand heavy rules", "BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:VEVENT\nDTSTART:19000101T000000Z\nRRULE:FREQ=MINUTELY;BYMONTHDAY=31;BYSETPOS=2\nEND:VEVENT\n", 1000) + "END:VCALENDAR\n", "too long"},
		{"a line of 10 MB", "BEGIN:VCALENDAR\nX;" + strings.Repeat("A=\"b\";", 1<<20) + "\nEND:VCALENDAR\n", ""},
		{"folded for ever", "BEGIN:VCALENDAR\nX:" + strings.Repeat("a\n ", 1<<20) + "\nEND:VCALENDAR\n", ""},
	} {
		begin := time.Now()
		files, err := parseICS(c.ics)
		if err == nil {
			_, err = expand(files, region{time.UTC}, wallTime(t, "20260101T000000"), wallTime(t, "20270101T000000"))
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		t.Logf("%s: %s", c.name, time.Since(begin))
	}
}

func FuzzCalendar(f *testing.F) {
	f.Add("BEGIN:VCALENDAR\n" + strings.Replace(vtimezone, "%s", "Z", 1) + event("DTSTART;TZID=Z:20260401T090000\nRRULE:FREQ=DAILY;BYDAY=MO,-1FR;UNTIL=20260701\nEXDATE:20260402T070000Z\nSUMMARY:s\n") +
		event("RECURRENCE-ID;RANGE=THISANDFUTURE:20260403T090000Z\nDTSTART:20260403T110000Z\nDURATION:P1DT2H\n") + "END:VCALENDAR\n")
	f.Add("BEGIN:VCALENDAR\n" + event("DTSTART;VALUE=DATE:20260401\nRDATE;VALUE=PERIOD:20260407T100000Z/PT2H\nRRULE:FREQ=YEARLY;BYWEEKNO=-1;BYYEARDAY=1\n") + "END:VCALENDAR\n")
	f.Fuzz(func(t *testing.T, s string) {
		files, err := parseICS(s)
		if err != nil {
			return
		}
		from := wallTime(t, "20260301T000000")
		c, err := expand(files, region{time.UTC}, from, from.AddDate(0, 2, 0))
		if err != nil {
			return
		}
		for _, e := range c.events {
			if !e.Start.Before(c.to) || e.End.Before(c.from) {
				t.Fatalf("%+v lies outside of the range", e)
			}
		}
	})
}

// Names of zones that programs write and no database has.
func TestZonesAsWritten(t *testing.T) {
	summer, winter := wallTime(t, "20260701T120000"), wallTime(t, "20260101T120000")
	for name, want := range map[string]string{
		"GMT+0200": "10:00 10:00", "GMT+02:00": "10:00 10:00", "UTC+2": "10:00 10:00", "utc-05:30": "17:30 17:30", "+0200": "10:00 10:00", "(UTC+01:00)": "11:00 11:00", "GMT -5": "17:00 17:00",
		"W. Europe Standard Time": "10:00 11:00", "W. Europe Standard Time 1": "10:00 11:00", "w. europe daylight time": "10:00 11:00", "Eastern Daylight Time": "16:00 17:00", "Central Standard Time (Mexico)": "18:00 18:00",
		"(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna": "10:00 11:00", "(UTC-05:00) Eastern Time (US & Canada)": "16:00 17:00", "(GMT-08:00) Pacific Time (US & Canada)": "19:00 20:00", "(UTC+02:00) Helsinki, Kyiv, Riga": "09:00 10:00",
		"(UTC) Coordinated Universal Time": "12:00 12:00", "(UTC+00:00) Dublin, Edinburgh, Lisbon, London": "11:00 12:00", "(UTC+05:30) Chennai, Kolkata, Mumbai": "06:30 06:30", "tzone://Microsoft/Utc": "12:00 12:00", "/freeassociation.sourceforge.net/Europe/Berlin": "10:00 11:00",
		"(UTC+09:00) Berlin": "", "GMT+99": "", "UTC+1a": "", "Mars/Olympus": "", "Customized Time Zone": "", "UTC 5": "", "Some Time 2": "", "+": "",
	} {
		z, ok := lookup(name)
		if !ok {
			z, ok = lookupWritten(name)
		}
		got := ""
		if ok {
			got = z.moment(summer).Format("15:04") + " " + z.moment(winter).Format("15:04")
		}
		if got != want {
			t.Errorf("%s: noon is %q in UTC, want %q", name, got, want)
		}
	}
}

// TestFoldsAnywhere folds a line at every byte, as servers do: the text is the same.
func TestFoldsAnywhere(t *testing.T) {
	const summary = "Zoë’s naïve café — 日本語 😀 ok"
	text := "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=GMT+0200:20260401T090000\r\nSUMMARY:" + summary + "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	from := strings.Index(text, summary)
	for at := from; at < from+len(summary); at++ {
		for _, fold := range []string{"\r\n ", "\r\n\t", "\n ", "\r\n \r\n "} {
			got, err := decode([]byte(text[:at]+fold+text[at:]), "utf-8")
			if err != nil {
				t.Fatal(err)
			}
			parts, err := parseICS(got)
			if err != nil || parts[0].parts[0].text("SUMMARY") != summary {
				t.Fatalf("folded at %d by %q: %v %q", at-from, fold, err, got)
			}
		}
	}
}

// Lines may end in any of the three ways.
func TestLineEnds(t *testing.T) {
	const text = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20260401T090000Z\nSUMMARY:Gr\xc3\n \xb6\xc3\x9fe\nEND:VEVENT\nEND:VCALENDAR\n"
	for _, end := range []string{"\n", "\r\n", "\r"} {
		got, err := decode([]byte(strings.ReplaceAll(text, "\n", end)), "")
		if err != nil {
			t.Fatal(err)
		}
		parts, err := parseICS(got)
		if err != nil || len(parts) != 1 || len(parts[0].parts) != 1 || parts[0].parts[0].text("SUMMARY") != "Größe" {
			t.Errorf("%q: %+v, %v", end, parts, err)
		}
	}
}
