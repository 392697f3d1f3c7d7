package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// BenchmarkJournal compares steps, each of which is two acknowledged writes,
// with rows of the same size committed one by one to a plain SQLite file of
// the same durability: by one job, and by a hundred at once.
func BenchmarkJournal(b *testing.B) {
	for _, runs := range []int{1, 100} {
		b.Run(fmt.Sprint(runs), func(b *testing.B) {
			const total = 500
			output, err := json.Marshal(strings.Repeat("x", 1000))
			if err != nil {
				b.Fatal(err)
			}
			var raw, ours time.Duration
			for b.Loop() {
				raw += commits(b, 2*total, output)
				ours += steps(b, runs, total/runs, output)
			}
			n := float64(total * b.N)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(n/ours.Seconds(), "steps/s")
			b.ReportMetric(2*n/raw.Seconds(), "plain-commits/s")
			b.ReportMetric(ours.Seconds()/raw.Seconds(), "x-plain-commits")
		})
	}
}

func commits(b *testing.B, n int, output []byte) time.Duration {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "raw.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("create table t (n integer primary key, output blob)"); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	for i := range n {
		if _, err := db.Exec("insert into t (n, output) values (?, ?)", i, output); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

func steps(b *testing.B, runs, each int, output json.RawMessage) time.Duration {
	db := database(b, filepath.Join(b.TempDir(), "a.db"))
	defer db.Close()
	js := make([]flow.Journal, runs)
	for i := range js {
		id := fmt.Sprintf("J%03d", i)
		if _, err := db.Add(b.Context(), &jobs.Job{ID: id, Workflow: "bench", Input: json.RawMessage("{}")}); err != nil {
			b.Fatal(err)
		}
		j, _, err := db.Claim(b.Context(), id, "bench", time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		js[i] = db.Journal(id, j.Lease.Token)
	}
	start := time.Now()
	together(b, runs, func(ctx context.Context, i int) error {
		for n := range each {
			s := flow.Step{Job: fmt.Sprintf("J%03d", i), Path: fmt.Sprint(n), Kind: "tool", Name: "echo", Input: json.RawMessage(`{"n":1}`)}
			if _, err := js[i].Begin(ctx, s, time.Time{}); err != nil {
				return err
			}
			rec := &flow.Record{Job: s.Job, Path: s.Path, Kind: s.Kind, Name: s.Name, Sum: s.Sum(), Done: true, Output: output}
			if err := js[i].Finish(ctx, rec); err != nil {
				return err
			}
		}
		return nil
	})
	return time.Since(start)
}
