package backup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/sqlite"
	"github.com/adroit-run/adroit/internal/workspace/ledger"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Backups that are made while jobs write their logs and ledgers are whole: no
// gap in a log, and the ledger has all that it refers to. The jobs pause while a
// backup is looked at: they would only make the next one larger.
func TestBackupUnderLoad(t *testing.T) {
	data, ws := t.TempDir(), t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(data, databaseFile), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	var writing sync.RWMutex // jobs write while they hold it for reading
	defer stop()
	for i := range 3 {
		id := fmt.Sprint("J", i)
		if _, err := db.Add(ctx, &jobs.Job{ID: id, Workflow: "w"}); err != nil {
			t.Fatal(err)
		}
		_, journal, err := db.Claim(ctx, id, "test", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		led, err := ledger.Open(filepath.Join(data, "jobs", id, "ledger"), nil)
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
			for n := 0; ctx.Err() == nil; n++ {
				writing.RLock()
				if err := files.WriteFile(fmt.Sprintf("%s-%d.txt", id, n%5), fmt.Appendf(nil, "%s %d", id, n)); err != nil {
					t.Error(err)
				}
				_ = journal.Append(ctx, event.Event{Job: id, Kind: event.Note, Text: "x"}) // fails when the test ends
				writing.RUnlock()
			}
		})
	}
	for n := range 5 {
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
		func() {
			writing.Lock()
			defer writing.Unlock()
			whole(t, file, other)
		}()
	}
}

// whole restores a backup of three jobs into a directory and reports what it lacks.
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
		led, err := ledger.Open(filepath.Join(other, "jobs", fmt.Sprint("J", i), "ledger"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := led.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		_ = led.Close()
	}
}
