package route_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adroit-run/adroit/internal/calling/route"
	"github.com/adroit-run/adroit/pkg/llm"
)

func TestPasses(t *testing.T) {
	for kind, want := range map[llm.ErrorKind]bool{
		llm.Unreachable: true, llm.Overloaded: true, llm.RateLimit: true, llm.NoModel: true, llm.Unsupported: true, llm.Timeout: true,
		llm.BadRequest: false, llm.Auth: false, llm.TooLong: false, "mismatch": false, "exhausted": false,
	} {
		if got := route.Passes(fmt.Errorf("asking: %w", &llm.Error{Kind: kind})); got != want {
			t.Errorf("%s passes: %v", kind, got)
		}
	}
	if route.Passes(errors.New("disk full")) || route.Passes(context.Canceled) {
		t.Error("an error that is no model's passes")
	}
}

// after returns an attempt that emits its first piece after speak and ends after end.
func after(speak, end time.Duration, text string, err error) route.Attempt {
	return func(ctx context.Context, emit func(llm.Delta)) (*llm.Response, error) {
		for _, at := range []time.Duration{speak, end - speak} {
			select {
			case <-time.After(at):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			emit(llm.Delta{Text: text})
		}
		if err != nil {
			return nil, err
		}
		return &llm.Response{Message: llm.Message{Text: text}}, nil
	}
}

func TestHedge(t *testing.T) {
	down := &llm.Error{Kind: llm.Overloaded, Message: "down"}
	for _, c := range []struct {
		name          string
		first, second route.Attempt
		took          time.Duration
		text          string
		lost          *route.Lost // without its response
		err           error
	}{
		{"the first is quick", after(1*time.Second, 5*time.Second, "a", nil), nil, 5 * time.Second, "a", nil, nil},
		{"the first starts in time and is slow", after(9*time.Second, time.Minute, "a", nil), nil, time.Minute, "a", nil, nil},
		{"the first fails in time", after(time.Second, 2*time.Second, "a", down), nil, 2 * time.Second, "", nil, down},
		{"the second wins", after(time.Minute, time.Hour, "a", nil), after(time.Second, 2*time.Second, "bb", nil), 12 * time.Second, "bb", &route.Lost{}, nil},
		{"the first wins late", after(11*time.Second, 13*time.Second, "a", nil), after(2*time.Second, time.Hour, "bb", nil), 13 * time.Second, "a", &route.Lost{Second: true, Streamed: 2}, nil},
		{"the second fails", after(11*time.Second, 30*time.Second, "a", nil), after(time.Second, 2*time.Second, "bb", down), 30 * time.Second, "a", &route.Lost{Second: true, Streamed: 4}, nil},
		{"the first fails, the second answers", after(11*time.Second, 12*time.Second, "a", down), after(time.Second, 9*time.Second, "bb", nil), 19 * time.Second, "bb", &route.Lost{Streamed: 2}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, shown := time.Now(), ""
				resp, lost, err := route.Hedge(context.Background(), 10*time.Second, c.first, c.second, func(d llm.Delta) { shown += d.Text })
				if took := time.Since(begin); took != c.took || !errors.Is(err, c.err) {
					t.Errorf("after %s: %v", took, err)
				}
				if (lost == nil) != (c.lost == nil) || lost != nil && (lost.Second != c.lost.Second || lost.Streamed != c.lost.Streamed) {
					t.Errorf("lost %+v, want %+v", lost, c.lost)
				}
				if c.err == nil && (resp == nil || resp.Message.Text != c.text) {
					t.Errorf("answered %+v, want %q", resp, c.text)
				}
				for i := range shown {
					if shown[i] != shown[0] {
						t.Errorf("showed pieces of two answers: %q", shown)
					}
				}
			})
		})
	}
}

// TestHedgeIsCancelled checks that nothing of a hedge outlives it.
func TestHedgeIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_, lost, err := route.Hedge(ctx, 10*time.Second, after(time.Hour, 2*time.Hour, "a", nil), after(time.Hour, 2*time.Hour, "b", nil), nil)
		if !errors.Is(err, context.DeadlineExceeded) || lost == nil {
			t.Errorf("%v, %+v", err, lost)
		}
	})
}
