package backup

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Backups that are made while jobs write their logs and ledgers are whole: no
// gap in a log, and the ledger has all that it refers to. What the jobs write for one
// backup is bounded: it makes the next one take longer, and that would let them write more.
func TestBackupUnderLoad(t *testing.T) {
	data, ws := t.TempDir(), t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(data, databaseFile), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	writes := make(chan int, 300) // of all jobs, for one backup
	defer close(writes)
	for i := range 3 {
		id := fmt.Sprint("J", i)
		if _, err := db.Add(t.Context(), &jobs.Job{ID: id, Workflow: "w"}); err != nil {
			t.Fatal(err)
		}
		_, journal, err := db.Claim(t.Context(), id, "test", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		led, err := ledger.Open(ledgerOf(data, i), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = led.Close() })
		files, err := workspace.Open(ws, led)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = files.Close() })
		wg.Go(func() {
			for n := range writes {
				if err := files.WriteFile(fmt.Sprint(n), []byte(id)); err != nil {
					t.Error(err)
				}
				if err := journal.Append(t.Context(), event.Event{Job: id, Kind: event.Note, Text: "x"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	written := 0
	for n := range 5 {
		for ; len(writes) < cap(writes); written++ { // each replaces what the ledger has to keep
			if err := os.WriteFile(filepath.Join(ws, fmt.Sprint(written)), fmt.Append(nil, "before ", written), 0o600); err != nil {
				t.Fatal(err)
			}
			writes <- written
		}
		name := fmt.Sprintf("b%d.tar", n)
		if n%2 == 0 {
			name += ".gz"
		}
		file, other := filepath.Join(t.TempDir(), name), t.TempDir()
		if _, err := Write(t.Context(), data, file, "v1"); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		whole(t, file, other)
	}
}

// ledgerOf is the ledger of a job; the last one's is of a sub-agent in a copy.
func ledgerOf(data string, i int) string {
	return filepath.Join(data, "jobs", fmt.Sprint("J", i), []string{"", "", "trees/w1"}[i], "ledger")
}

// whole restores a backup of three jobs into a directory and reports missing parts.
func whole(t *testing.T, file, other string) {
	t.Helper()
	r, err := Restore(t.Context(), other, file, "v1", false)
	if err != nil || r.Jobs != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	copied, err := sqlite.Open(t.Context(), filepath.Join(other, databaseFile), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if faults, err := copied.Verify(t.Context()); err != nil || len(faults) > 0 {
		t.Error(faults, err)
	}
	if err := copied.Close(); err != nil {
		t.Error(err)
	}
	for i := range 3 {
		led, err := ledger.Open(ledgerOf(other, i), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := led.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		if why := led.Incomplete(t.Context()); len(why) > 0 {
			t.Errorf("the ledger of J%d is called incomplete: %q", i, why)
		}
		_ = led.Close()
	}
}
