package flowtest_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// TestRetries waits as the other side asks, at most two minutes, and else
// twice as long each time with some jitter; each wait is in the record.
func TestRetries(t *testing.T) {
	for name, c := range map[string]struct {
		after    time.Duration
		from, to []time.Duration // of each wait
	}{
		"as asked":       {3 * time.Second, []time.Duration{3 * time.Second, 3 * time.Second}, []time.Duration{3 * time.Second, 3 * time.Second}},
		"asked too much": {1e9 * time.Second, []time.Duration{2 * time.Minute, 2 * time.Minute}, []time.Duration{2 * time.Minute, 2 * time.Minute}},
		"not asked":      {0, []time.Duration{250 * time.Millisecond, 500 * time.Millisecond}, []time.Duration{500 * time.Millisecond, time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				var said []string
				mux := flow.Mux{"model": {Attempts: 3, Safe: flow.Always, Handler: func(context.Context, flow.Step, event.Sink) (json.RawMessage, error) {
					at = append(at, time.Now())
					return nil, &flow.Failure{Code: "model.rate_limit", Message: "slow down", Retryable: true, After: c.after}
				}}}
				sink := func(e event.Event) {
					if e.Kind == event.StepRetried {
						said = append(said, e.Error+": "+e.Text)
					}
				}
				r := flow.NewRun("J1", flow.NewLocal(t.Context(), new(flow.Memory), mux, sink))
				if _, err := flow.Do[string](r, "model", "m", nil); err == nil || !strings.Contains(err.Error(), "slow down") {
					t.Errorf("it ended with %v", err)
				}
				if len(at) != 3 || len(said) != 2 || !strings.HasPrefix(said[1], "slow down: attempt 3 of 3 in ") {
					t.Fatalf("%d attempts, got %q", len(at), said)
				}
				for i := range 2 {
					if wait := at[i+1].Sub(at[i]); wait < c.from[i] || wait > c.to[i] {
						t.Errorf("wait %d was %s, want %s to %s", i+1, wait, c.from[i], c.to[i])
					}
				}
			})
		})
	}
}

// TestForkWidth has a hundred branches that run sixteen at once, no more and
// no fewer.
func TestForkWidth(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	full := make(chan struct{})
	mux := flow.Mux{"x": {Safe: flow.Always, Handler: func(ctx context.Context, _ flow.Step, _ event.Sink) (json.RawMessage, error) {
		mu.Lock()
		now++
		if most = max(most, now); now == 16 && most == 16 {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		mu.Unlock()
		select {
		case <-full:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		mu.Lock()
		now--
		mu.Unlock()
		return json.RawMessage(`1`), nil
	}}}
	r := flow.NewRun("J1", flow.NewLocal(t.Context(), new(flow.Memory), mux, nil))
	xs := make([]int, 100)
	for i := range xs {
		xs[i] = i
	}
	got, err := flow.Map(r, xs, func(r *flow.Run, i int) (int, error) {
		_, err := flow.Do[int](r, "x", "x", i)
		return i, err
	})
	switch {
	case err != nil:
		t.Fatalf("unexpected error: %v, %v", got, err)
	case len(got) != 100:
		t.Fatalf("len(got) is %v, want 100: %v, %v", len(got), got, err)
	case got[0] != 0:
		t.Fatalf("got[0] is %v, want 0: %v, %v", got[0], got, err)
	case got[99] != 99:
		t.Fatalf("got[99] is %v, want 99: %v, %v", got[99], got, err)
	}
	if most != 16 {
		t.Errorf("%d branches at once, want 16", most)
	}
}

// TestBusy waits for a busy server as long as the route has patience, whatever
// Attempts are, and counts other failures apart.
func TestBusy(t *testing.T) {
	for name, c := range map[string]struct {
		busy     int           // attempts that fail so
		after    time.Duration // what the server asks for
		patience time.Duration
		other    bool // the attempt after them fails otherwise, once
		ok       bool
		least    time.Duration
	}{
		"for long":             {busy: 30, patience: 10 * time.Minute, ok: true, least: 3 * time.Minute},
		"as asked":             {busy: 2, after: 4 * time.Minute, patience: 10 * time.Minute, ok: true, least: 8 * time.Minute},
		"not for ever":         {busy: 1000, patience: 10 * time.Minute, least: 9 * time.Minute},
		"not if asked for too": {busy: 2, after: time.Hour, patience: 10 * time.Minute},
		"then another failure": {busy: 9, patience: 10 * time.Minute, other: true, ok: true, least: 30 * time.Second},
		"without patience":     {busy: 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, n := time.Now(), 0
				var said []string
				mux := flow.Mux{"model": {Attempts: 2, Patience: c.patience, Safe: flow.Always, Handler: func(context.Context, flow.Step, event.Sink) (json.RawMessage, error) {
					switch n++; {
					case n <= c.busy:
						return nil, &flow.Failure{Code: "model.overloaded", Message: "loading", Retryable: true, Busy: true, After: c.after}
					case n == c.busy+1 && c.other:
						return nil, &flow.Failure{Code: "model.cut", Message: "cut", Retryable: true}
					}
					return json.RawMessage(`"ready"`), nil
				}}}
				journal := new(flow.Memory)
				r := flow.NewRun("J1", flow.NewLocal(t.Context(), journal, mux, func(e event.Event) {
					if e.Kind == event.StepRetried {
						said = append(said, e.Text)
					}
				}))
				got, err := flow.Do[string](r, "model", "m", nil)
				took := time.Since(begin)
				if (err == nil) != c.ok || c.ok && got != "ready" {
					t.Errorf("%q, %v", got, err)
				}
				if took < c.least || took > max(c.patience, time.Second) {
					t.Errorf("it took %s, want %s to %s", took, c.least, c.patience)
				}
				if c.ok && !strings.HasPrefix(said[0], "waiting for it, 0s of at most 10m0s; asked again in ") {
					t.Errorf("it reports %q", said)
				}
			})
		})
	}
}
