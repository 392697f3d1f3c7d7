package fetch

import (
	"strings"
	"testing"
	"time"
)

// Dates of feeds, with the zones that Go does not know and reads as UTC.
func TestFeedDate(t *testing.T) {
	for s, want := range map[string]string{
		"Fri, 01 May 2026 06:00:00 +0000":              "2026-05-01T06:00:00Z",
		"Fri, 01 May 2026 06:00:00 MSK":                "2026-05-01T03:00:00Z",
		"Fri, 1 May 2026 06:00 JST":                    "2026-04-30T21:00:00Z",
		"Fri, 01 May 2026 06:00:00 GMT+2":              "2026-05-01T04:00:00Z",
		"Fri, 01 May 2026 06:00:00 GMT+02:00":          "2026-05-01T04:00:00Z",
		"Fri, 01 May 2026 06:00:00 UTC-0330":           "2026-05-01T09:30:00Z",
		"Fri, 01 May 2026 06:00:00 GMT+0200 (MESZ)":    "2026-05-01T04:00:00Z",
		"Fri, 01 May 2026 06:00:00 +0530 (India Time)": "2026-05-01T00:30:00Z",
		"Fri, 01 May 2026 06:00:00 IST":                "2026-05-01T00:30:00Z",
		"Tue, 08 Sept 2026 06:00:00 GMT":               "2026-09-08T06:00:00Z",
		"Tuesday, 8 Sept. 2026 06:00:00 CEST":          "2026-09-08T04:00:00Z",
		"Sept 8, 2026 06:00 PDT":                       "2026-09-08T13:00:00Z",
		"8 September 2026 06:00:00 EDT":                "2026-09-08T10:00:00Z",
		"Fri,01 May 26 06:00:00 GMT":                   "2026-05-01T06:00:00Z",
		"fri, 01 may 2026 06:00:00 msk":                "2026-05-01T03:00:00Z",
		"Fri, 01 May 2026 06:00:00 + 0300":             "2026-05-01T03:00:00Z",
		"2026-05-01T06:00:00+03":                       "2026-05-01T03:00:00Z",
		"2026-05-01 06:00 MSK":                         "2026-05-01T03:00:00Z",
		"2026-05-01T06:00:00Z":                         "2026-05-01T06:00:00Z",
		"Fri, 01 May 2026 06:00:00":                    "2026-05-01T06:00:00Z",
		"Fri, 01 May 2026 24:00:00 +0000":              "2026-05-02T00:00:00Z",
		"Thu, 31 Dec 2026 24:00 GMT":                   "2027-01-01T00:00:00Z",
		"2026-05-01T24:00:00+03":                       "2026-05-01T21:00:00Z",
		"2026-05-01T24:00:01Z":                         "",
		"Fri, 01 May 2026 24:30:00 GMT":                "",
		"Fri, 01 May 2026 06:00:00 XYZ":                "",
		"2026-05-01":                                   "",
		"01 May 2026":                                  "",
		"Fri, 01 May 2026 06:00 PM":                    "2026-05-01T18:00:00Z",
		"":                                             "",
		"Fr, 01 Mai 2026 06:00:00 +0200":               "2026-05-01T04:00:00Z",
		"Fr., 1. März 2026 06:00 Uhr":                  "2026-03-01T06:00:00Z",
		"1. Dezember 2026 um 06:00 Uhr":                "2026-12-01T06:00:00Z",
		"ven., 05 déc. 2026 06:00:00 GMT":              "2026-12-05T06:00:00Z",
		"1 juin 2026 à 06:00":                          "2026-06-01T06:00:00Z",
		"1 juillet 2026 06:00:00 +0000":                "2026-07-01T06:00:00Z",
		"mer, 12 août 2026 06:00:00 +0000":             "2026-08-12T06:00:00Z",
		"1 de mayo de 2026 06:00":                      "2026-05-01T06:00:00Z",
		"1 de março de 2026 às 06:00":                  "2026-03-01T06:00:00Z",
		"lun, 01 ene 2026 06:00:00 +0000":              "2026-01-01T06:00:00Z",
		"gio, 02 lug 2026 06:00:00 +0200":              "2026-07-02T04:00:00Z",
		"Пт, 01 мая 2026 06:00:00 +0300":               "2026-05-01T03:00:00Z",
		"vr, 01 mrt 2026 06:00:00 CET":                 "2026-03-01T05:00:00Z",
		"12 Brumaire 2026 06:00:00 GMT":                "",
		"Fri, 01 May 2026 06:00:00 +99":                "",
	} {
		got, ok := FeedDate(s)
		if ok != (want != "") || ok && got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q is %v, %v; want %q", s, got, ok, want)
		}
	}
}

// Text that is UTF-8 is read so, whatever it or its server names; a name counts for other bytes.
func TestDecode(t *testing.T) {
	const prolog = `<?xml version="1.0" encoding="%s"?>`
	for _, c := range []struct{ declared, label, bytes string }{
		{"ISO-8859-1", "", "Zoë – naïve"}, {"windows-1251", "", "Zoë – naïve"}, {"utf-16", "", "Zoë – naïve"}, {"UTF-16LE", "", "Zoë – naïve"}, {"utf-8", "iso-8859-1", "Zoë – naïve"},
		{"ISO-8859-1", "", "Zo\xeb \x96 na\xefve"}, {"utf-8", "", "Zo\xeb \x96 na\xefve"}, {"", "windows-1252", "Zo\xeb \x96 na\xefve"},
	} {
		text := strings.Replace(prolog, "%s", c.declared, 1)
		got, err := Decode([]byte(text+c.bytes), c.label)
		if err != nil || got != text+"Zoë – naïve" {
			t.Errorf("%+q: %q, %v", c, got, err)
		}
	}
}
