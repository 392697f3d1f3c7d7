package sqlite

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/flow/flowtest"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// harness runs each request as a runner of its own: it claims the job, and a
// kill leaves the lease to be found dead by the next.
func harness(t testing.TB) flowtest.Harness {
	c := machine()
	c.gone = func(string) bool { return true }
	d := open(t, filepath.Join(t.TempDir(), "a.db"), Options{clock: &c})
	ensure := func(t testing.TB, id string) {
		if _, err := jobs.Find(t.Context(), d, id); errors.Is(err, jobs.ErrNotExist) {
			add(t, d, id)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return flowtest.Harness{
		Run: func(t testing.TB, q flowtest.Request) (json.RawMessage, error) {
			ensure(t, q.Job)
			if err := d.Reopen(t.Context(), q.Job, flow.Reopener{}); err != nil {
				t.Fatal(err)
			}
			j := claim(t, d, q.Job)
			return flowtest.Local(d.Journal(q.Job, j.Lease.Token), q)
		},
		Send: func(t testing.TB, job string, sig flow.Signal) {
			ensure(t, job)
			if err := d.Send(t.Context(), job, sig); err != nil {
				t.Error(err)
			}
		},
	}
}

func TestEngine(t *testing.T) { flowtest.Run(t, harness) }

func inMemory(testing.TB) flowtest.Harness {
	j := new(flow.Memory)
	return flowtest.Harness{
		Run: func(_ testing.TB, q flowtest.Request) (json.RawMessage, error) { return flowtest.Local(j, q) },
		Send: func(t testing.TB, job string, sig flow.Signal) {
			if err := j.Send(t.Context(), job, sig); err != nil {
				t.Error(err)
			}
		},
	}
}

// TestDiffer runs random programs on memory and, killed at a random point, on
// SQLite.
func TestDiffer(t *testing.T) {
	seeds := 200
	if testing.Short() {
		seeds = 30
	}
	flowtest.Differ(t, seeds, inMemory, harness)
}
