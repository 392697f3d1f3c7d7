package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
)

// kilobyte is the result of the steps of these workflows.
var kilobyte = json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)

// pure serves steps of kind "do", which give a kilobyte.
var pure = flow.Mux{"do": {Safe: flow.Always, Handler: func(context.Context, flow.Step, event.Sink) (json.RawMessage, error) {
	return kilobyte, nil
}}}

// fan runs n branches of one step.
func fan(r *flow.Run, n int) (int, error) {
	outs, err := flow.Map(r, make([]struct{}, n), func(r *flow.Run, _ struct{}) (int, error) {
		out, err := flow.Do[json.RawMessage](r, "do", "branch", nil)
		return len(out), err
	})
	sum := 0
	for _, out := range outs {
		sum += out
	}
	return sum, err
}

// long runs n steps, one after the other. at is called before each.
func long(r *flow.Run, n int, at func(int)) (int, error) {
	sum := 0
	for i := range n {
		at(i)
		out, err := flow.Do[json.RawMessage](r, "do", "step", i)
		if err != nil {
			return sum, err
		}
		sum += len(out)
	}
	return sum, nil
}

// claimed returns the journal of a new job with a lease.
func claimed(t testing.TB, db *sqlite.DB, id string) flow.Journal {
	t.Helper()
	if _, err := db.Add(t.Context(), &jobs.Job{ID: id, Workflow: "bench", Input: json.RawMessage("{}")}); err != nil {
		t.Fatal(err)
	}
	// The lease is over at once, so that a manager may take the job over; until
	// then its token is good.
	j, _, err := db.Claim(t.Context(), id, "bench", time.Nanosecond)
	if err != nil {
		t.Fatal(err)
	}
	return db.Journal(id, j.Lease.Token)
}

// BenchmarkFan compares durable branches of one step with two plain commits each, and with bare
// goroutines.
func BenchmarkFan(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var ours, raw, bare time.Duration
			var kept int64
			for b.Loop() {
				db := database(b, filepath.Join(b.TempDir(), "a.db"))
				e := flow.NewLocal(b.Context(), claimed(b, db, "J1"), pure, nil)
				start := time.Now()
				if _, err := fan(flow.NewRun("J1", e), n); err != nil {
					b.Fatal(err)
				}
				ours += time.Since(start)
				before := heap()
				e = flow.NewLocal(b.Context(), claimed(b, db, "J2"), last(n, func() { kept += heap() - before }), nil)
				if _, err := fan(flow.NewRun("J2", e), n); err != nil {
					b.Fatal(err)
				}
				db.Close()
				raw += commits(b, 2*n, kilobyte)
				start = time.Now()
				var wg sync.WaitGroup
				outs := make([]json.RawMessage, n)
				for i := range n {
					wg.Go(func() { outs[i], _ = pure.Serve(b.Context(), flow.Step{Kind: "do"}, nil) })
				}
				wg.Wait()
				bare += time.Since(start)
			}
			total := float64(n * b.N)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(total/ours.Seconds(), "branches/s")
			b.ReportMetric(ours.Seconds()/raw.Seconds(), "x-plain-commits")
			b.ReportMetric(float64(ours.Microseconds())/total, "us/branch")
			b.ReportMetric(float64(bare.Nanoseconds())/1e3/total, "us/goroutine")
			b.ReportMetric(float64(kept)/total, "heap-bytes/branch")
		})
	}
}

// last is pure, and calls look when the n-th step is performed.
func last(n int, look func()) flow.Mux {
	var count atomic.Int64
	return flow.Mux{"do": {Safe: flow.Always, Handler: func(context.Context, flow.Step, event.Sink) (json.RawMessage, error) {
		if count.Add(1) == int64(n) {
			look()
		}
		return kilobyte, nil
	}}}
}

// recorded fills a new file with the journal of a finished run of long and
// gives its path.
func recorded(t testing.TB, n int) string {
	mem := new(flow.Memory)
	if _, err := long(flow.NewRun("J1", flow.NewLocal(t.Context(), mem, pure, nil)), n, func(int) {}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.db")
	db := database(t, path)
	j := claimed(t, db, "J1")
	recs := mem.Records("J1")
	together(t, 100, func(ctx context.Context, w int) error {
		for i := w; i < len(recs); i += 100 {
			if err := j.Finish(ctx, &recs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// BenchmarkReplay compares resuming a workflow after its last step with reading the same rows with
// plain SQL: in one query, and one by one.
func BenchmarkReplay(b *testing.B) {
	for _, n := range []int{1000, 5000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			from := recorded(b, n)
			least := time.Hour
			var ours, managed, scan, each time.Duration
			var kept int64
			for b.Loop() {
				path := filepath.Join(b.TempDir(), "a.db")
				file, err := os.ReadFile(from)
				if err != nil {
					b.Fatal(err)
				}
				if err := os.WriteFile(path, file, 0o600); err != nil {
					b.Fatal(err)
				}
				db := database(b, path)
				start := time.Now()
				replay(b, db, n, func(int) {})
				ours += time.Since(start)
				before := heap()
				replay(b, db, n, func(i int) {
					if i == n-1 {
						kept += heap() - before
					}
				})
				began := cpu()
				managed += resume(b, db, n)
				least = min(least, cpu()-began)
				db.Close()
				s, e := rows(b, path, n)
				scan += s
				each += e
			}
			total := float64(n * b.N)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(total/ours.Seconds(), "steps/s")
			b.ReportMetric(float64(ours.Microseconds())/total, "us/step")
			b.ReportMetric(float64(managed.Microseconds())/total, "managed-us/step")
			b.ReportMetric(float64(least.Microseconds())/1000, "managed-cpu-ms")
			b.ReportMetric(ours.Seconds()/each.Seconds(), "x-row-by-row")
			b.ReportMetric(ours.Seconds()/scan.Seconds(), "x-one-query")
			b.ReportMetric(float64(kept)/total, "heap-bytes/step")
		})
	}
}

// replay resumes the run that recorded has left.
func replay(t testing.TB, db *sqlite.DB, n int, at func(int)) {
	t.Helper()
	const first = 1 // token of the claim, which nobody has taken over
	// No mux: a step that is performed fails.
	e := flow.NewLocal(t.Context(), db.Journal("J1", first), nil, nil)
	if sum, err := long(flow.NewRun("J1", e), n, at); err != nil || sum != n*len(kilobyte) {
		t.Fatal(sum, err)
	}
}

// resume has a manager go on with it: with a lease that beats, and an event in
// the log for each step.
func resume(t testing.TB, db *sqlite.DB, n int) time.Duration {
	t.Helper()
	m := &jobs.Manager{Store: db,
		Workflows: []flow.Workflow{flow.Define("bench", func(r *flow.Run, _ any) (int, error) { return long(r, n, func(int) {}) })},
		Mux:       func(context.Context, *jobs.Job, flow.Blobs) (flow.Mux, func(), error) { return pure, nil, nil }}
	start := time.Now()
	j, err := m.Run(t.Context(), "J1", jobs.RunOptions{})
	if err != nil || j.Status != jobs.Done {
		t.Fatal(j, err)
	}
	return time.Since(start)
}

// TestFlat looks at the heap of durable runs early and at their end: neither
// steps, performed or recalled, nor branches that are done leave anything there.
func TestFlat(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 1000
	}
	var early, late int64
	look := func(i int) {
		switch i {
		case n / 10:
			early = heap()
		case n - 1:
			late = heap()
		}
	}
	for name, run := range map[string]func(t *testing.T){
		"performed": func(t *testing.T) {
			db := database(t, filepath.Join(t.TempDir(), "a.db"))
			if _, err := long(flow.NewRun("J1", flow.NewLocal(t.Context(), claimed(t, db, "J1"), pure, nil)), n, look); err != nil {
				t.Fatal(err)
			}
		},
		"recalled": func(t *testing.T) { replay(t, database(t, recorded(t, n)), n, look) },
		"branches": func(t *testing.T) {
			db := database(t, filepath.Join(t.TempDir(), "a.db"))
			var count atomic.Int64
			mux := flow.Mux{"do": {Safe: flow.Always, Handler: func(context.Context, flow.Step, event.Sink) (json.RawMessage, error) {
				look(int(count.Add(1)) - 1)
				return kilobyte, nil
			}}}
			if _, err := fan(flow.NewRun("J1", flow.NewLocal(t.Context(), claimed(t, db, "J1"), mux, nil)), n); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t)
			// A step returns a kilobyte: a tenth of that shows that no list keeps the results.
			each := (late - early) / int64(n-n/10)
			if each > 100 {
				t.Errorf("each keeps %d bytes", each)
			}
			t.Logf("heap %d KB after a tenth, %d KB at the end: %d bytes each", early>>10, late>>10, each)
		})
	}
}

// rows reads the steps of J1 plainly.
func rows(b *testing.B, path string, n int) (scan, each time.Duration) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var kind, name, sum string
	var output []byte
	start := time.Now()
	all, err := db.Query("select kind, name, sum, output from steps where job = 'J1'")
	if err != nil {
		b.Fatal(err)
	}
	got := 0
	for all.Next() {
		if err := all.Scan(&kind, &name, &sum, &output); err != nil {
			b.Fatal(err)
		}
		got++
	}
	if err := errors.Join(all.Err(), all.Close()); err != nil || got != n {
		b.Fatal(got, err)
	}
	scan = time.Since(start)
	one, err := db.Prepare("select kind, name, sum, output from steps where job = ? and path = ?")
	if err != nil {
		b.Fatal(err)
	}
	defer one.Close()
	start = time.Now()
	for i := range n {
		if err := one.QueryRow("J1", fmt.Sprint(i)).Scan(&kind, &name, &sum, &output); err != nil {
			b.Fatal(err)
		}
	}
	return scan, time.Since(start)
}
