package calendar

import (
	"fmt"
	"strings"
	"testing"
)

// Calendars as programs write them.
func TestCalendarFiles(t *testing.T) {
	ev := func(s string) string {
		return "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\nUID:1\n" + s + "END:VEVENT\nEND:VCALENDAR\n"
	}
	x := "DTSTART:20260302T090000Z\nDTEND:20260302T100000Z\n"
	here, _ := lookup("UTC")
	for _, c := range []struct{ file, want string }{
		{ev(x + "SUMMARY:A\\, B\\; C\\n D \\\\ E\\N F\n"), "[0302T0900 1h0m0s false A, B; C D \\ E F]"},
		{ev(x + "SUMMARY:Fol\n ded li\n\tne\n"), "[0302T0900 1h0m0s false Folded line]"},
		{strings.ReplaceAll(ev(x+"SUMMARY:caf\xc3\n \xa9 x\n"), "\n", "\r\n"), "[0302T0900 1h0m0s false café x]"},
		{ev(x + "SUMMARY;LANGUAGE=de:Hallo\n"), "[0302T0900 1h0m0s false Hallo]"},
		{ev(x + "SUMMARY;ALTREP=\"cid:a:b;c\":Quoted: param\n"), "[0302T0900 1h0m0s false Quoted: param]"},
		{ev("DTSTART;TZID=\"Europe/Berlin\":20260302T090000\nSUMMARY:quoted tzid\n"), "[0302T0800 0s false quoted tzid]"},
		{ev("DTSTART;TZID=Europe/Berlin:20260302T090000\nDURATION:PT1H30M\nSUMMARY:duration\n"), "[0302T0800 1h30m0s false duration]"},
		{ev("DTSTART;TZID=W. Europe Standard Time:20260702T090000\nSUMMARY:windows\n"), "[0702T0700 0s false windows]"},
		{ev("DTSTART;TZID=Eastern Standard Time:20260702T090000\nSUMMARY:windows\n"), "[0702T1300 0s false windows]"},
		{ev("DTSTART;TZID=/freeassociation.sourceforge.net/Europe/Berlin:20260702T090000\nSUMMARY:prefix\n"), "[0702T0700 0s false prefix]"},
		{ev("DTSTART;TZID=GMT+0200:20260702T090000\nSUMMARY:gmt+\n"), "[0702T0700 0s false gmt+]"},
		{ev("DTSTART;TZID=US/Pacific:20260702T090000\nSUMMARY:us\n"), "[0702T1600 0s false us]"},
		{ev("DTSTART;TZID=Nowhere/Else:20260702T090000\nSUMMARY:unknown zone\n"), "[0702T0900 0s false unknown zone]"},
		{ev("DTSTART;VALUE=DATE:20260302\nSUMMARY:all day\n"), "[0302T0000 24h0m0s true all day]"},
		{ev("DTSTART;VALUE=DATE:20260302\nDTEND;VALUE=DATE:20260305\nSUMMARY:three days\n"), "[0302T0000 72h0m0s true three days]"},
		{ev("DTSTART:20260302\nSUMMARY:date without VALUE\n"), "[0302T0000 24h0m0s true date without VALUE]"},
		{ev("DTSTART:20260302T090000\nSUMMARY:floating\n"), "[0302T0900 0s false floating]"},
		{ev("DTSTART;VALUE=DATE-TIME:20260302T090000Z\nSUMMARY:value\n"), "[0302T0900 0s false value]"},
		{ev(x + "RRULE:FREQ=DAILY;COUNT=3\nSUMMARY:count\n"), "[0302T0900 1h0m0s false count][0303T0900 1h0m0s false count][0304T0900 1h0m0s false count]"},
		{ev(x + "RRULE:FREQ=DAILY;UNTIL=20260304T090000Z\nSUMMARY:until\n"), "[0302T0900 1h0m0s false until][0303T0900 1h0m0s false until][0304T0900 1h0m0s false until]"},
		{ev(x + "RRULE:FREQ=DAILY;UNTIL=20260304\nSUMMARY:until date\n"), "[0302T0900 1h0m0s false until date][0303T0900 1h0m0s false until date][0304T0900 1h0m0s false until date]"},
		{ev(x + "RRULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=4\nSUMMARY:byday\n"), "[0302T0900 1h0m0s false byday][0304T0900 1h0m0s false byday][0309T0900 1h0m0s false byday][0311T0900 1h0m0s false byday]"},
		{ev(x + "RRULE:FREQ=MONTHLY;BYDAY=1MO;COUNT=2\nSUMMARY:first monday\n"), "[0302T0900 1h0m0s false first monday][0406T0900 1h0m0s false first monday]"},
		{ev(x + "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=3\nSUMMARY:last weekday\n"), "[0302T0900 1h0m0s false last weekday][0331T0900 1h0m0s false last weekday][0430T0900 1h0m0s false last weekday][0529T0900 1h0m0s false last weekday]"},
		{ev(x + "RRULE:FREQ=DAILY;COUNT=4\nEXDATE:20260303T090000Z,20260304T090000Z\nSUMMARY:exdate\n"), "[0302T0900 1h0m0s false exdate][0305T0900 1h0m0s false exdate]"},
		{ev("DTSTART;TZID=Europe/Berlin:20260328T090000\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE;TZID=Europe/Berlin:20260329T090000\nSUMMARY:dst\n"), "[0328T0800 0s false dst][0330T0700 0s false dst]"},
		{ev("DTSTART;VALUE=DATE:20260302\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE;VALUE=DATE:20260303\nSUMMARY:exdate date\n"), "[0302T0000 24h0m0s true exdate date][0304T0000 24h0m0s true exdate date]"},
		{ev(x + "RDATE:20260305T090000Z\nSUMMARY:rdate\n"), "[0302T0900 1h0m0s false rdate][0305T0900 1h0m0s false rdate]"},
		{ev(x + "RRULE:FREQ=DAILY;COUNT=3\nSUMMARY:series\nEND:VEVENT\nBEGIN:VEVENT\nUID:1\nRECURRENCE-ID:20260303T090000Z\nDTSTART:20260303T120000Z\nDTEND:20260303T130000Z\nSUMMARY:moved\n"), "[0302T0900 1h0m0s false series][0303T1200 1h0m0s false moved][0304T0900 1h0m0s false series]"},
		{ev(x + "RRULE:FREQ=DAILY;COUNT=2\nSUMMARY:series\nEND:VEVENT\nBEGIN:VEVENT\nUID:1\nRECURRENCE-ID:20260303T090000Z\nDTSTART:20260303T090000Z\nSTATUS:CANCELLED\nSUMMARY:gone\n"), "[0302T0900 1h0m0s false series]"},
		{ev(x + "STATUS:CANCELLED\nSUMMARY:cancelled\n"), ""},
		{ev(x + "SUMMARY:todo beside\nEND:VEVENT\nBEGIN:VTODO\nUID:2\nDUE:20260303T090000Z\nSUMMARY:Do it\nEND:VTODO\nBEGIN:VJOURNAL\nUID:3\nEND:VJOURNAL\nBEGIN:VFREEBUSY\nEND:VFREEBUSY\nBEGIN:VEVENT\nUID:4\nDTSTART:20260304T090000Z\nSUMMARY:later\n"), "[0302T0900 1h0m0s false todo beside][0304T0900 0s false later]"},
		{ev(x + "X-ALT-DESC;FMTTYPE=text/html:<p>x</p>\nX-FOO-BAR:1\nSUMMARY:x props\nBEGIN:VALARM\nTRIGGER:-PT15M\nACTION:DISPLAY\nDESCRIPTION:Rem\nSUMMARY:alarm\nEND:VALARM\n"), "[0302T0900 1h0m0s false x props]"},
		{"\n\n" + ev(x+"SUMMARY:blank lines\n\n"), "[0302T0900 1h0m0s false blank lines]"},
		{strings.ToLower(ev(x + "SUMMARY:lower\n")), "[0302T0900 1h0m0s false lower]"},
		{ev("dtstart:20260302T090000Z\nSummary:mixed case\n"), "[0302T0900 0s false mixed case]"},
		{ev("DTSTART:20260302T090000Z\nDTEND:20260302T080000Z\nSUMMARY:backwards\n"), "[0302T0900 0s false backwards]"},
		{ev("SUMMARY:no start\n"), ""},
		{ev(x + "DESCRIPTION;ENCODING=QUOTED-PRINTABLE:=C3=A9\nSUMMARY;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Caf=C3=A9=20x\n"), "[0302T0900 1h0m0s false Café x]"},
		{ev(x + "SUMMARY:trailing\\\n"), "[0302T0900 1h0m0s false trailing\\]"},
		{ev(x + "SUMMARY: spaced \n"), "[0302T0900 1h0m0s false spaced]"},
		{ev(x + "SUMMARY:emoji 👩‍👩‍👧 שלום\n"), "[0302T0900 1h0m0s false emoji 👩\u200d👩\u200d👧 שלום]"},
		{ev(x + "SUMMARY:a\\,b\\:c \\\"q\\\"\n"), "[0302T0900 1h0m0s false a,b\\:c \\\"q\\\"]"},
		{ev("DTSTART:20260302T090000Z\nDURATION:P1D\nSUMMARY:p1d\n"), "[0302T0900 24h0m0s false p1d]"},
		{ev("DTSTART:20260302T090000Z\nDURATION:P1W\nSUMMARY:p1w\n"), "[0302T0900 168h0m0s false p1w]"},
		{ev("DTSTART:20260302T090000Z\nDURATION:-PT1H\nSUMMARY:neg\n"), "[0302T0900 0s false neg]"},
		{ev("DTSTART:20260302T090000Z\nDURATION:PT0S\nSUMMARY:zero\n"), "[0302T0900 0s false zero]"},
		{ev(x + "RRULE:FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=2;COUNT=1\nSUMMARY:yearly\n"), "[0302T0900 1h0m0s false yearly]"},
		{ev(x + "RRULE:FREQ=HOURLY;INTERVAL=6;COUNT=3\nSUMMARY:hourly\n"), "[0302T0900 1h0m0s false hourly][0302T1500 1h0m0s false hourly][0302T2100 1h0m0s false hourly]"},
		{ev(x + "RRULE:FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=SU,MO;COUNT=3\nSUMMARY:wkst\n"), "[0302T0900 1h0m0s false wkst][0315T0900 1h0m0s false wkst][0316T0900 1h0m0s false wkst]"},
		{ev(x + "RRULE:FREQ=DAILY;COUNT=2;X-FOO=1\nSUMMARY:x in rule\n"), "[0302T0900 1h0m0s false x in rule][0303T0900 1h0m0s false x in rule]"},
		{ev(x + "RRULE:freq=daily;count=2\nSUMMARY:lower rule\n"), "[0302T0900 1h0m0s false lower rule][0303T0900 1h0m0s false lower rule]"},
		{ev(x + "RRULE:FREQ=DAILY;COUNT=2;\nSUMMARY:trailing semicolon\n"), "[0302T0900 1h0m0s false trailing semicolon][0303T0900 1h0m0s false trailing semicolon]"},
		{ev("X-WR-TIMEZONE:Europe/Berlin\nDTSTART:20260302T090000\nSUMMARY:floating in event\n"), "[0302T0900 0s false floating in event]"},
		{"BEGIN:VCALENDAR\nX-WR-TIMEZONE:America/New_York\nBEGIN:VEVENT\nUID:1\nDTSTART:20260302T090000\nSUMMARY:wr timezone\nEND:VEVENT\nEND:VCALENDAR\n", "[0302T0900 0s false wr timezone]"},
		{"BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:Custom\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+0300\nTZOFFSETTO:+0300\nEND:STANDARD\nEND:VTIMEZONE\nBEGIN:VEVENT\nUID:1\nDTSTART;TZID=Custom:20260302T090000\nSUMMARY:own zone\nEND:VEVENT\nEND:VCALENDAR\n", "[0302T0600 0s false own zone]"},
		{"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20260302T090000Z\nSUMMARY:cut", "it ends within VEVENT: the file was cut"},
		{ev(x + "SUMMARY;ENCODING=QUOTED-PRINTABLE;CHARSET=ISO-8859-1:Caf=E9, a =\nlong=0D=0Aline\n"), "[0302T0900 1h0m0s false Café, a long line]"},
	} {
		files, err := parseICS(c.file)
		got := fmt.Sprint(err)
		if err == nil {
			all, err := expand(files, here, here.moment(wallTime(t, "20260301T000000")), here.moment(wallTime(t, "20260801T000000")))
			if err != nil {
				t.Fatal(err)
			}
			got = ""
			for _, e := range all.events {
				got += fmt.Sprintf("[%s %s %v %s]", e.Start.UTC().Format("0102T1504"), e.End.Sub(e.Start), e.AllDay, e.Title)
			}
		}
		if got != c.want {
			t.Errorf("%q\n is %q\nwant %q", c.file, got, c.want)
		}
	}
}
