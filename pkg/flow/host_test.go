package flow

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/event"
)

// A step waits for an exhausted host, reports that once and goes on, if it may be
// performed again; else it stays open. What is no condition of the host fails.
func TestHost(t *testing.T) {
	const never = 1 << 30
	open := func(n syscall.Errno) error { return &fs.PathError{Op: "open", Path: "x", Err: n} }
	for name, c := range map[string]struct {
		err       error
		until     int32 // attempts that meet err
		safe      bool
		settles   bool
		patience  time.Duration
		bound     time.Duration
		stop      bool // while it waits
		want      string
		code      string
		attempts  int32 // 0: any number
		reports   int
		resumable bool
	}{
		"safe":             {err: open(syscall.EMFILE), until: 4, safe: true, want: "ok", attempts: 5, reports: 1},
		"taken back":       {err: open(syscall.ENOSPC), until: 2, settles: true, want: "ok", attempts: 3, reports: 1},
		"before anything":  {err: exhaustion.Before(open(syscall.EMFILE)), until: 2, want: "ok", attempts: 3, reports: 1},
		"in the middle":    {err: open(syscall.ENOSPC), until: never, resumable: true, attempts: 1},
		"for too long":     {err: open(syscall.ENOSPC), until: never, safe: true, patience: 100 * time.Millisecond, reports: 1, resumable: true},
		"beyond its bound": {err: open(syscall.ENOSPC), until: never, safe: true, bound: 100 * time.Millisecond, code: TimedOut, reports: 1},
		"stopped":          {err: open(syscall.ENOSPC), until: never, safe: true, stop: true, reports: 1, resumable: true},
		"permission":       {err: open(syscall.EACCES), until: never, safe: true, code: Failed, attempts: 1},
		"read-only":        {err: open(syscall.EROFS), until: never, safe: true, code: Failed, attempts: 1},
		"words":            {err: errors.New("too many open files"), until: never, safe: true, code: Failed, attempts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if c.patience > 0 {
				ctx = exhaustion.WithPatience(ctx, c.patience)
			}
			var n atomic.Int32
			mux := Mux{"x": {Attempts: 1, Safe: func(Step) bool { return c.safe },
				Settle: func(context.Context, Step) (bool, error) { return c.settles, nil },
				Handler: func(context.Context, Step, event.Sink) (json.RawMessage, error) {
					if n.Add(1) <= c.until {
						return nil, c.err
					}
					return json.RawMessage(`"ok"`), nil
				}}}
			reports := 0
			e := NewLocal(ctx, new(Memory), mux, func(ev event.Event) {
				if ev.Kind == event.StepRetried {
					if reports++; c.stop {
						stop()
					}
				}
			})
			got, err := Within(NewRun("J", e), c.bound, func(r *Run) (string, error) { return Do[string](r, "x", "x", nil) })
			step := new(StepError)
			if errors.As(err, &step); got != c.want || step.Code != c.code || (e.Ended() != nil) != c.resumable {
				t.Errorf("got %q, %v, ended %v", got, err, e.Ended())
			}
			if a := n.Load(); reports != c.reports || c.attempts > 0 && a != c.attempts {
				t.Errorf("%d attempts, %d reports", a, reports)
			}
		})
	}
}
