//go:build linux

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"

	lib "modernc.org/sqlite/lib"
)

// cuts runs four writers and cuts the power at random operations of the disk.
// It reports after how many cuts an acknowledged event was missing or the
// database was damaged.
func cuts(t *testing.T, seed uint64, rounds int, pragmas ...string) (bad int) {
	d := newDisk(t)
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path, Options{vfs: d.name, pragmas: append(pragmas, "wal_autocheckpoint(20)")})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var acked [4]atomic.Int64
	for i := range acked {
		add(t, db, fmt.Sprint("J", i))
	}
	rnd := rand.New(rand.NewPCG(7, seed))
	wait, done := 40, 0
	d.mu.Lock()
	d.each = func() {
		if wait--; wait > 0 || done >= rounds {
			return
		}
		wait = 1 + rnd.IntN(60)
		done++
		var least [4]int64
		for i := range acked {
			least[i] = acked[i].Load()
		}
		dir, err := os.MkdirTemp(t.TempDir(), "cut")
		if err == nil {
			err = d.cut(rnd, filepath.Dir(path), dir)
		}
		if err != nil {
			t.Error(err)
		}
		if why := survived(t, filepath.Join(dir, "a.db"), least[:]); why != "" {
			bad++
			if len(pragmas) == 0 {
				t.Errorf("cut %d: %s", done, why)
			}
		}
		if done == rounds {
			stop()
		}
	}
	d.mu.Unlock()
	var wg sync.WaitGroup
	for i := range acked {
		wg.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				err := db.appendEvents(ctx, event.Event{Job: fmt.Sprint("J", i), Kind: event.Note, Text: strings.Repeat("x", n*37%3000)})
				if err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				acked[i].Store(int64(n))
			}
		})
	}
	wg.Wait()
	d.mu.Lock()
	d.each = nil
	d.mu.Unlock()
	if done < rounds {
		t.Errorf("%d cuts, want %d", done, rounds)
	}
	return bad
}

// survived describes what is wrong with the database at path, in which job i had at least
// least[i] events.
func survived(t *testing.T, path string, least []int64) string {
	d, err := Open(context.Background(), path, Options{Check: true})
	if err != nil {
		return err.Error()
	}
	defer d.Close()
	for i, want := range least {
		n := int64(0)
		for ev, err := range d.Events(context.Background(), fmt.Sprint("J", i), 0, false) {
			if n++; err != nil || ev.Seq != n {
				return fmt.Sprintf("event %d of J%d: %+v, %v", n, i, ev, err)
			}
		}
		if n < want {
			return fmt.Sprintf("J%d has %d events, %d were acknowledged", i, n, want)
		}
	}
	return ""
}

func TestPowerCut(t *testing.T) {
	rounds := testenv.Sample(45, 600)
	if testing.Short() {
		rounds = 20
	}
	// Each cut reads all events: three databases of 50 cuts read a third of what one of 150 does.
	for seed := range uint64(3) {
		cuts(t, seed, rounds/3)
	}
}

// TestPowerCutSeesLoss shows that these cuts do lose what was not synced.
func TestPowerCutSeesLoss(t *testing.T) {
	if bad := cuts(t, 7, 40, "synchronous(off)"); bad == 0 {
		t.Error("without syncing nothing was lost in 40 power cuts: the test sees nothing")
	}
}

// A new database is on the disk before it has its name, and takes few syncs: whoever
// starts with an empty data directory waits for them.
func TestCreateSyncs(t *testing.T) {
	d := newDisk(t)
	var ops []string // on what becomes the database
	d.mu.Lock()
	d.fault = func(op, path string) int32 {
		if strings.Contains(path, ".new") && !strings.HasSuffix(path, "-wal") && !strings.HasSuffix(path, "-shm") {
			ops = append(ops, op)
		}
		return 0
	}
	d.mu.Unlock()
	open(t, filepath.Join(t.TempDir(), "a.db"), Options{vfs: d.name})
	d.mu.Lock()
	defer d.mu.Unlock()
	syncs := 0
	for _, op := range ops {
		if op == "sync" {
			syncs++
		}
	}
	if len(ops) == 0 || ops[len(ops)-1] != "sync" || syncs > 3 {
		t.Errorf("%d syncs of %d operations: %q; want at most 3, and the last operation a sync", syncs, len(ops), ops)
	}
}

// TestSyncFails has one sync fail: what waited for it is not acknowledged, and
// nothing is until the database is opened again.
func TestSyncFails(t *testing.T) {
	d := newDisk(t)
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path, Options{vfs: d.name})
	add(t, db, "J")
	note := event.Event{Job: "J", Kind: event.Note}
	failed := false
	d.mu.Lock()
	d.fault = func(op, _ string) int32 {
		if op == "sync" && !failed {
			failed = true
			return lib.SQLITE_IOERR_FSYNC
		}
		return 0
	}
	d.mu.Unlock()
	for range 2 {
		if err := db.appendEvents(t.Context(), note); !errors.Is(err, errDisk) {
			t.Fatalf("append with a failing sync: %v", err)
		}
	}
	if !failed {
		t.Fatal("no sync failed")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path, Options{Check: true})
	n := 0
	for _, err := range again.Events(t.Context(), "J", 0, false) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 0 {
		t.Errorf("%d events that were never acknowledged", n)
	}
	if err := again.appendEvents(t.Context(), note); err != nil {
		t.Error(err)
	}
}

// TestFull fills the disk: what has no time to wait is refused with errFull, all else
// waits, what was there stays, and with space again all of it is written, in its order.
func TestFull(t *testing.T) {
	d := newDisk(t)
	db := open(t, filepath.Join(t.TempDir(), "a.db"), Options{vfs: d.name})
	add(t, db, "J")
	note := event.Event{Job: "J", Kind: event.Note}
	if err := db.appendEvents(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	full := make(chan struct{})
	var once sync.Once
	d.mu.Lock()
	d.fault = func(op, _ string) int32 {
		if op == "write" {
			once.Do(func() { close(full) })
			return lib.SQLITE_FULL
		}
		return 0
	}
	d.mu.Unlock()

	notices := make(chan exhaustion.Resource, 100)
	ctx := exhaustion.WithNotice(t.Context(), func(r exhaustion.Resource, _ error) { notices <- r })
	var patient, others sync.WaitGroup
	for range 20 { // some of them in one batch
		patient.Go(func() {
			if err := db.appendEvents(ctx, note); err != nil {
				t.Errorf("append that waits: %v", err)
			}
		})
	}
	<-full
	if r := <-notices; r != exhaustion.Disk {
		t.Errorf("waits for %q", r)
	}
	for range 5 {
		others.Go(func() {
			if err := db.appendEvents(exhaustion.WithPatience(t.Context(), 0), note); !errors.Is(err, errFull) {
				t.Errorf("append without patience: %v", err)
			}
		})
		others.Go(func() {
			ctx, stop := context.WithCancelCause(t.Context())
			cause := errors.New("enough")
			stop(cause)
			if err := db.appendEvents(ctx, note); !errors.Is(err, cause) {
				t.Errorf("append that is given up: %v", err)
			}
		})
	}
	others.Wait()
	d.mu.Lock()
	d.fault = nil
	d.mu.Unlock()
	patient.Wait()
	n := int64(0)
	for ev, err := range db.Events(t.Context(), "J", 0, false) {
		if n++; err != nil || ev.Seq != n {
			t.Fatalf("event %d: %+v, %v", n, ev, err)
		}
	}
	if n != 21 {
		t.Errorf("%d events, want 21", n)
	}
	if more := len(notices); more > 19 {
		t.Errorf("%d notices for 20 that wait", more+1)
	}
}

// TestSlowSync holds a sync up: reading goes on, and who gives up while
// waiting for the writer is let go.
func TestSlowSync(t *testing.T) {
	d := newDisk(t)
	db := open(t, filepath.Join(t.TempDir(), "a.db"), Options{vfs: d.name})
	add(t, db, "J")
	syncing, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d.mu.Lock()
	d.fault = func(op, _ string) int32 {
		if op == "sync" {
			once.Do(func() { close(syncing); <-release })
		}
		return 0
	}
	d.mu.Unlock()
	first := make(chan error, 1)
	go func() { first <- db.appendEvents(t.Context(), event.Event{Job: "J", Kind: event.Note}) }()
	<-syncing
	if _, err := jobs.Find(t.Context(), db, "J"); err != nil {
		t.Errorf("reading during a sync: %v", err)
	}
	for _, err := range db.Events(t.Context(), "J", 0, false) {
		t.Errorf("an event was seen before it was durable (%v)", err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	gaveUp := make(chan error, 1)
	go func() { gaveUp <- db.appendEvents(ctx, event.Event{Job: "J", Kind: event.Note}) }()
	cause := errors.New("enough")
	stop(cause)
	if err := <-gaveUp; !errors.Is(err, cause) {
		t.Errorf("giving up: %v", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
}
