package sqlite

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/event"
)

// Verify finds what a check of the pages does not.
func TestVerify(t *testing.T) {
	for _, c := range []struct{ harm, want string }{
		{"", ""},
		{"delete from events where seq = 2", "the event log of J has gaps"},
		{"update jobs set seq = 9", "the event log of J has gaps"},
		{"delete from jobs", "there are records of J, a job that does not exist"},
		{"insert into refs values ('J', 'abc', 1)", "content is missing: J abc"},
		{"insert into blobs values ('abc', x'00')", "content abc is damaged"},
		{"insert into blobs values ('abc', x'00')", "no job needs content abc"},
	} {
		t.Run(c.harm, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			d := open(t, path, Options{})
			add(t, d, "J")
			for range 3 {
				if err := d.appendEvents(t.Context(), event.Event{Job: "J", Kind: event.Note, Text: "x"}); err != nil {
					t.Fatal(err)
				}
			}
			other, err := sql.Open("sqlite", dsn(path, ""))
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			if _, err := other.Exec(c.harm); err != nil {
				t.Fatal(err)
			}
			faults, err := d.Verify(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" && len(faults) > 0 || c.want != "" && !slices.Contains(faults, c.want) {
				t.Errorf("%s; want %q", strings.Join(faults, "; "), c.want)
			}
		})
	}
}
