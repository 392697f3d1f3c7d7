package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/flow"
)

// Compare BenchmarkJournal with BenchmarkRawCommits of the same run: a step is
// two commits, so alone it costs twice a raw one; with many jobs the commits
// are shared.

var result = json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)

func BenchmarkJournal(b *testing.B) {
	for _, n := range []int{1, 16, 200} {
		b.Run(fmt.Sprint("jobs=", n), func(b *testing.B) {
			d := fresh(b)
			js := make([]flow.Journal, n)
			for i := range js {
				id := fmt.Sprint("J", i)
				add(b, d, id)
				js[i] = d.Journal(id, claim(b, d, id).Lease.Token)
			}
			b.ResetTimer()
			share(b, n, func(i, k int) error {
				s := flow.Step{Job: fmt.Sprint("J", i), Path: fmt.Sprint(k), Kind: "tool", Name: "t", Input: []byte(`{}`)}
				if _, err := js[i].Begin(context.Background(), s, time.Time{}); err != nil {
					return err
				}
				return js[i].Finish(context.Background(), &flow.Record{Job: s.Job, Path: s.Path, Kind: s.Kind, Name: s.Name, Sum: s.Sum(), Output: result})
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

// BenchmarkRecall measures the replay of a recorded step.
func BenchmarkRecall(b *testing.B) {
	d := fresh(b)
	add(b, d, "J")
	j := d.Journal("J", claim(b, d, "J").Lease.Token)
	s := flow.Step{Job: "J", Path: "0", Kind: "tool"}
	if err := j.Finish(b.Context(), &flow.Record{Job: "J", Path: "0", Kind: "tool", Sum: s.Sum(), Output: result}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if rec, err := j.Begin(context.Background(), s, time.Time{}); err != nil || !rec.Done {
			b.Fatal(rec, err)
		}
	}
}

// BenchmarkRawCommits inserts one such row per transaction and nothing else.
func BenchmarkRawCommits(b *testing.B) {
	path := filepath.Join(b.TempDir(), "raw.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(5000)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("create table t (a text, b text, c blob, primary key (a, b)) strict"); err != nil {
		b.Fatal(err)
	}
	put, err := db.Prepare("insert into t values (?, ?, ?)")
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	share(b, 1, func(i, k int) error {
		_, err := put.Exec("J", fmt.Sprint(k), []byte(result))
		return err
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// share divides b.N calls of f among n goroutines; f gets which of them it is
// in, and a number that no other call gets.
func share(b *testing.B, n int, f func(i, k int) error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for {
				k := next.Add(1)
				if k > int64(b.N) {
					return
				}
				if err := f(i, int(k)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
