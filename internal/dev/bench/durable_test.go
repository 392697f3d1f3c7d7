package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/tools"
)

func database(t testing.TB, path string) *sqlite.DB {
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func (k *kit) manager(db *sqlite.DB) *jobs.Manager {
	return &jobs.Manager{Store: db, Workflows: []flow.Workflow{agent},
		Mux: func(_ context.Context, _ *jobs.Job, blobs flow.Blobs) (flow.Mux, func(), error) {
			return k.mux(blobs), nil, nil
		}}
}

func submit(t testing.TB, m *jobs.Manager, n int, task json.RawMessage) []string {
	ids := make([]string, n)
	together(t, n, func(ctx context.Context, i int) error {
		j, err := m.Submit(ctx, &jobs.Job{ID: fmt.Sprintf("J%05d", i), Workflow: agent.Name, Input: task})
		if err == nil {
			ids[i] = j.ID
		}
		return err
	})
	return ids
}

// whole checks that a job is done with all its turns, and that its log has
// each of them once, in order, without a gap.
func whole(ctx context.Context, db *sqlite.DB, id string, turns int) error {
	j, err := jobs.Find(ctx, db, id)
	if err != nil {
		return err
	}
	var s executor.State
	if err := json.Unmarshal(j.Output, &s); err != nil || j.Status != jobs.Done {
		return fmt.Errorf("%s is %s (%s): %w", id, j.Status, j.Reason, err)
	}
	if s.Turns != turns+1 || s.Called["echo"] != turns || s.Last != fmt.Sprintf("all of %d", turns) {
		return fmt.Errorf("%s: %d turns, %d calls, last words %q", id, s.Turns, s.Called["echo"], s.Last)
	}
	var seq int64
	finished, last := map[string]int{}, event.Event{}
	for ev, err := range db.Events(ctx, id, 0, false) {
		if err != nil {
			return err
		}
		if seq++; ev.Seq != seq {
			return fmt.Errorf("%s: event %d comes after %d", id, ev.Seq, seq-1)
		}
		if ev.Kind == event.StepFinished {
			finished[ev.Step]++
			if finished[ev.Step+" "+ev.Path]++; finished[ev.Step+" "+ev.Path] > 1 {
				return fmt.Errorf("%s: step %s finished twice", id, ev.Path)
			}
		}
		last = ev
	}
	if finished["model"] != turns+1 || finished["tool"] != turns || last.Kind != event.JobFinished {
		return fmt.Errorf("%s: the log ends with %s and has %d model and %d tool steps", id, last.Kind, finished["model"], finished["tool"])
	}
	return nil
}

// TestNothingLost interrupts a crowd of jobs (forty; in make bench a hundred, and longer ones),
// twice, continues them with a new manager on a newly opened file, and checks each job and its
// log.
func TestNothingLost(t *testing.T) {
	agents, turns := testenv.Sample(40, 100), testenv.Sample(9, 20)
	path := filepath.Join(t.TempDir(), "a.db")
	k := newKit(t, client(t), true)
	var ids []string
	var ran sync.Map // by the key of the step: how often
	total := 0
	for round := range 3 {
		db := database(t, path)
		m := k.manager(db)
		if ids == nil {
			ids = submit(t, m, agents, k.task(turns))
		}
		ctx, stop := context.WithCancelCause(t.Context())
		var calls atomic.Int64
		k.ran = func(_ context.Context, env *tools.Env) {
			n, _ := ran.LoadOrStore(env.Key, new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
			if calls.Add(1) == int64(agents*turns/3) && round < 2 {
				stop(errors.New("pulled the plug"))
			}
		}
		together(t, agents, func(_ context.Context, i int) error {
			j, err := jobs.Find(context.Background(), db, ids[i])
			if err != nil || j.Status == jobs.Done {
				return err
			}
			_, err = m.Run(ctx, ids[i], jobs.RunOptions{})
			return err
		})
		stop(nil)
		total += int(calls.Load())
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db := database(t, path)
	for _, id := range ids {
		if err := whole(t.Context(), db, id, turns); err != nil {
			t.Error(err)
		}
	}
	// A stopped call may be repeated, since echo is pure; each stop can have
	// met every job in one call.
	if total < agents*turns || total > agents*turns+2*agents {
		t.Errorf("%d calls ran for %d", total, agents*turns)
	}
	ran.Range(func(key, n any) bool {
		if n := n.(*atomic.Int64).Load(); n > 3 {
			t.Errorf("%s ran %d times", key, n)
		}
		return true
	})
}

// BenchmarkThousand runs a thousand durable agents of fifty turns at once, and counts missing
// records afterwards.
func BenchmarkThousand(b *testing.B) {
	const agents, turns = 1000, 50
	k := newKit(b, client(b), true)
	var took, used time.Duration
	var most int64
	n := 0
	for b.Loop() {
		db := database(b, filepath.Join(b.TempDir(), "a.db"))
		m := k.manager(db)
		ids := submit(b, m, agents, k.task(turns))
		before := heap()
		var left atomic.Int64
		left.Store(agents * turns / 2)
		k.ran = func(context.Context, *tools.Env) {
			if left.Add(-1) == 0 { // all agents are under way
				most = max(most, heap()-before)
			}
		}
		start, began := time.Now(), cpu()
		together(b, agents, func(ctx context.Context, i int) error {
			_, err := m.Run(ctx, ids[i], jobs.RunOptions{})
			return err
		})
		took += time.Since(start)
		used += cpu() - began
		n += agents * (turns + 1)
		for _, id := range ids {
			if err := whole(b.Context(), db, id, turns); err != nil {
				b.Fatal(err)
			}
		}
		db.Close()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(n)/took.Seconds(), "turns/s")
	b.ReportMetric(float64(used.Microseconds())/float64(n), "cpu-us/turn")
	b.ReportMetric(float64(most)/agents/1024, "KB/agent")
}
