package jobs_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/jobs"
)

func TestNew(t *testing.T) {
	form := regexp.MustCompile(`^J[0-9A-HJKMNP-TV-Z]{13}$`)
	now := time.UnixMilli(1_700_000_000_000)
	last := ""
	// Carries between the characters of the time are where order could break.
	for _, ms := range []time.Duration{0, 1, 31, 32, 33, 1023, 1024, 1 << 20, 1 << 35} {
		id := jobs.New(now.Add(ms * time.Millisecond))
		if !form.MatchString(id) {
			t.Errorf("id %s has another form", id)
		}
		if id <= last {
			t.Errorf("%s of a later time does not sort after %s", id, last)
		}
		last = id
	}
	seen := map[string]bool{}
	for range 50 {
		seen[jobs.New(now)] = true
	}
	if len(seen) < 45 {
		t.Errorf("50 ids of one millisecond are only %d", len(seen))
	}
}
