package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// TestResumeReopensUnderTheLock: a failed job whose files another process has
// stays failed, and one that another runner finished before the files could be
// had is left as it is.
func TestResumeReopensUnderTheLock(t *testing.T) {
	ctx := context.Background()
	works := false
	newManager := func(s jobs.Store) *jobs.Manager {
		return &jobs.Manager{
			Store: s,
			Workflows: []flow.Workflow{flow.Define("try", func(*flow.Run, string) (string, error) {
				if !works {
					return "", errors.New("not yet")
				}
				return "done", nil
			})},
			Mux: func(context.Context, *jobs.Job, flow.Blobs) (flow.Mux, func(), error) { return flow.Mux{}, nil, nil },
		}
	}
	m := newManager(new(jobs.Memory))
	j, err := m.Submit(ctx, &jobs.Job{Workflow: "try", Input: json.RawMessage(`"x"`)})
	if err != nil {
		t.Fatal(err)
	}
	if j, err = m.Run(ctx, j.ID, jobs.RunOptions{}); err != nil || j.Status != jobs.Failed {
		t.Fatalf("the job is %v, %v; want failed", j, err)
	}

	busy := errors.New("another process has the files")
	m.Lock = func(*jobs.Job) (func(), bool, error) { return nil, false, busy }
	if _, err := m.Resume(ctx, j.ID, jobs.RunOptions{}); !errors.Is(err, busy) {
		t.Errorf("resumed without the files: %v", err)
	}
	if j, err = jobs.Find(ctx, m.Store, j.ID); err != nil || j.Status != jobs.Failed {
		t.Errorf("without the files the job is %s, %v; want failed", j.Status, err)
	}

	works = true
	other := newManager(m.Store)
	m.Lock = func(*jobs.Job) (func(), bool, error) { // another runner is faster
		if _, err := other.Resume(ctx, j.ID, jobs.RunOptions{}); err != nil {
			t.Error(err)
		}
		return func() {}, false, nil
	}
	if _, err := m.Resume(ctx, j.ID, jobs.RunOptions{}); !errors.Is(err, jobs.ErrFinal) {
		t.Errorf("resumed a job that another runner finished: %v", err)
	}
	m.Lock = nil
	if j, err = jobs.Find(ctx, m.Store, j.ID); err != nil || j.Status != jobs.Done {
		t.Errorf("the job is %s, %v; want done", j.Status, err)
	}
}
