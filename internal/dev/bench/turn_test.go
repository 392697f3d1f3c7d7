package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// BenchmarkDurableTurn runs the same agents on a store in memory and on SQLite: one
// alone, and two hundred at once. Beside the one alone it commits as many rows
// of a step's size one by one as SQLite had commits.
func BenchmarkDurableTurn(b *testing.B) {
	for agents, turns := range map[int]int{1: 50, 200: 20} {
		b.Run(fmt.Sprint(agents), func(b *testing.B) {
			k := newKit(b, client(b), false)
			row, err := json.Marshal(strings.Repeat("x", 1000))
			if err != nil {
				b.Fatal(err)
			}
			run := func(store jobs.Store) (took, used time.Duration) {
				m := &jobs.Manager{Store: store, Workflows: []flow.Workflow{agent}, Mux: k.manager(nil).Mux}
				ids := submit(b, m, agents, k.task(turns))
				start, began := time.Now(), cpu()
				together(b, agents, func(ctx context.Context, i int) error {
					j, err := m.Run(ctx, ids[i], jobs.RunOptions{})
					if err == nil && j.Status != jobs.Done {
						err = fmt.Errorf("%s is %s: %s", j.ID, j.Status, j.Reason)
					}
					return err
				})
				return time.Since(start), cpu() - began
			}
			best := struct{ cpu, commits, perTurn, us float64 }{1e9, 1e9, 1e9, 1e9}
			for b.Loop() {
				for range 2 {
					_, memory := run(new(jobs.Memory))
					runtime.GC()
					db := database(b, filepath.Join(b.TempDir(), "a.db"))
					before := db.Commits()
					took, used := run(db)
					n := db.Commits() - before
					db.Close()
					best.cpu = min(best.cpu, float64(used)/float64(memory))
					if agents == 1 {
						best.commits = min(best.commits, float64(took)/float64(commits(b, int(n), row)))
					}
					best.perTurn = min(best.perTurn, float64(n)/float64(agents*(turns+1)))
					best.us = min(best.us, float64(used.Microseconds())/float64(agents*(turns+1)))
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(best.cpu, "x-memory-cpu")
			if agents == 1 {
				b.ReportMetric(best.commits, "x-raw-commits")
			}
			b.ReportMetric(best.perTurn, "commits/turn")
			b.ReportMetric(best.us, "cpu-us/turn")
		})
	}
}
