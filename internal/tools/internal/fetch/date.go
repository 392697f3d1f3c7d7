package fetch

import (
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// zones are the abbreviations of time zones in dates of feeds, in minutes from UTC. Of those
// with several meanings it is the one that most feeds mean.
var zones = map[string]int{
	"UT": 0, "UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "WEST": 60, "BST": 60, "CET": 60, "MEZ": 60, "CEST": 120, "MESZ": 120, "EET": 120, "EEST": 180,
	"MSK": 180, "MSD": 240, "TRT": 180, "IDT": 180, "WAT": 60, "CAT": 120, "SAST": 120, "EAT": 180,
	"GST": 240, "PKT": 300, "IST": 330, "NPT": 345, "ICT": 420, "WIB": 420, "HKT": 480, "SGT": 480, "MYT": 480, "PHT": 480, "AWST": 480,
	"JST": 540, "KST": 540, "ACST": 570, "AEST": 600, "ACDT": 630, "AEDT": 660, "NZST": 720, "NZDT": 780,
	"NST": -210, "NDT": -150, "AST": -240, "ADT": -180, "EST": -300, "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420,
	"AKST": -540, "AKDT": -480, "HST": -600, "BRT": -180, "ART": -180, "CLT": -240, "CLST": -180, "COT": -300, "PET": -300,
}

var (
	weekday    = lazyregexp.New(`^(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*[,.]?\s*`)
	september  = lazyregexp.New(`(?i)\bsept\b\.?`)
	named      = lazyregexp.New(`^(.*\d)\s*([A-Z]{1,4})(?:\s*\([^)]*\))?$`)
	offsetZone = lazyregexp.New(`^(.*\d)\s*(?:(?i:gmt|utc)\s*)?([+-])(\d{1,2})(?::?(\d\d))?(?:\s*\([^)]*\))?$`)
	clockTime  = lazyregexp.New(`\d:\d\d`)
)

// FeedDate reads a date as feeds have it: with a day and a month, a time, and a zone by its
// offset or its abbreviation. It reports false for another form, and for a zone that is
// not known.
func FeedDate(s string) (time.Time, bool) {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "\u00a0", " ")
	s = september.ReplaceAllString(weekday.ReplaceAllString(s, ""), "Sep")
	if !clockTime.MatchString(s) {
		return time.Time{}, false
	}
	offset := 0
	if m := offsetZone.FindStringSubmatch(s); m != nil {
		t, err := time.Parse("-0700", m[2]+("0" + m[3])[len(m[3])-1:]+(m[4] + "00")[:2])
		if err != nil {
			return time.Time{}, false
		}
		_, seconds := t.Zone()
		s, offset = m[1], seconds/60
	} else if m := named.FindStringSubmatch(s); m != nil {
		known := false
		if offset, known = zones[m[2]]; !known {
			return time.Time{}, false
		}
		s = m[1]
	}
	zone := time.FixedZone("", offset*60)
	s = strings.ReplaceAll(s, ",", "")
	for _, day := range []string{"2 Jan 2006", "2 January 2006", "Jan 2 2006", "January 2 2006", "2 Jan 06", "2006-01-02"} {
		for _, clock := range []string{" 15:04:05", " 15:04", "T15:04:05", "T15:04"} {
			if t, err := time.ParseInLocation(day+clock, s, zone); err == nil {
				return t, true
			}
		}
	}
	return time.Time{}, false
}
