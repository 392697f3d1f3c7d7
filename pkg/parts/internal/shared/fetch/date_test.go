package fetch

import (
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
		"2026-05-01T06:00:00+03":                       "2026-05-01T03:00:00Z",
		"2026-05-01 06:00 MSK":                         "2026-05-01T03:00:00Z",
		"2026-05-01T06:00:00Z":                         "2026-05-01T06:00:00Z",
		"Fri, 01 May 2026 06:00:00":                    "2026-05-01T06:00:00Z",
		"Fri, 01 May 2026 06:00:00 XYZ":                "",
		"2026-05-01":                                   "",
		"01 May 2026":                                  "",
		"Fri, 01 May 2026 06:00 PM":                    "",
		"":                                             "",
		"Fri, 01 May 2026 06:00:00 +99":                "",
	} {
		got, ok := FeedDate(s)
		if ok != (want != "") || ok && got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q is %v, %v; want %q", s, got, ok, want)
		}
	}
}
