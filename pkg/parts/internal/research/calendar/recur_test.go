package calendar

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

const wallLayout = "20060102T150405"

func wallTime(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(wallLayout, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Left out of the table is where python-dateutil departs from the RFC: in a
// weekly rule with BYSETPOS it takes what is left of the first week for all of
// it, and it forgets days of week 52 that lie in January.
//
// Each line of recur.txt is a rule, its first occurrence, a last moment, and
// the first 25 occurrences until then as python-dateutil 2.9 works them out.
func TestRecurrenceAgreesWithAnother(t *testing.T) {
	b, err := os.ReadFile("testdata/recur.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules, bad := 0, 0
	for l := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimRight(l, "\n"), "\t")
		r, err := parseRule(f[0])
		if err != nil {
			t.Fatalf("%s: %v", f[0], err)
		}
		first, last := wallTime(t, f[1]), wallTime(t, f[2])
		want := strings.Fields(f[3])
		rules++
		for _, from := range []time.Time{first, middle(t, want, first)} {
			var got []string
			err = r.each(first, from, last, &workBudget{1 << 40}, func(at time.Time) bool {
				if !at.Before(from) {
					got = append(got, at.Format(wallLayout))
				}
				return len(got) < 25
			})
			if err != nil {
				t.Fatalf("%s: %v", f[0], err)
			}
			rest := want
			for len(rest) > 0 && wallTime(t, rest[0]).Before(from) {
				rest = rest[1:]
			}
			if len(want) == 25 && len(got) > len(rest) {
				got = got[:len(rest)]
			}
			if strings.Join(got, " ") != strings.Join(rest, " ") {
				if bad++; bad <= 10 {
					t.Errorf("%s from %s, asked from %s:\n got %s\nwant %s", f[0], f[1], from, got, rest)
				}
			}
		}
	}
	if rules < 850 || bad > 0 {
		t.Errorf("%d of %d rules differ", bad, rules)
	}
}

// middle returns the begin of a second query, so that skipping earlier occurrences is
// tested too.
func middle(t *testing.T, list []string, first time.Time) time.Time {
	if len(list) == 0 {
		return first
	}
	return wallTime(t, list[len(list)/2])
}

func TestRulesThatCostTooMuch(t *testing.T) {
	first := wallTime(t, "19000101T000000")
	for _, s := range []string{
		"FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
		"FREQ=SECONDLY;COUNT=1000000000",
		"FREQ=MINUTELY;BYDAY=MO;BYMONTHDAY=31;BYMONTH=2",
		"FREQ=HOURLY;INTERVAL=24;BYHOUR=5",
		"FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR=" + upTo(23) + ";BYMINUTE=" + upTo(59) + ";BYSECOND=" + upTo(59),
	} {
		r, err := parseRule(s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		p := &workBudget{allWork}
		err = r.each(first, first, wallTime(t, "99981231T000000"), p, func(time.Time) bool { return true })
		if !errors.Is(err, errDense) || p.left < -allWork {
			t.Errorf("%.60s: %v", s, err)
		}
	}
}

func upTo(n int) string {
	var b strings.Builder
	for i := range n + 1 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(i))
	}
	return b.String()
}

func TestRulesThatAreNone(t *testing.T) {
	for _, s := range []string{"", "FREQ=FORTNIGHTLY", "FREQ=DAILY;COUNT=-1", "FREQ=DAILY;BYDAY=XX", "FREQ=DAILY;BYHOUR=24", "FREQ=DAILY;UNTIL=soon", "FREQ", "BYDAY=MO", "FREQ=MONTHLY;BYDAY=99MO", "FREQ=DAILY;BYMONTHDAY=0"} {
		if _, err := parseRule(s); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
}
