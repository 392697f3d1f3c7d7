package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A tape is a model in this process that calls echo so many times. It reads only the last message,
// so the cost of a turn is that of the loop and the journal. at is called before each answer.
type tape struct {
	turns int
	asked atomic.Int64
	at    func(turn int)
}

func (p *tape) Generate(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	p.asked.Add(1)
	n := 0
	if last := req.Messages[len(req.Messages)-1]; last.Role == llm.Tool {
		if _, err := fmt.Sscanf(last.Text, "turn %d", &n); err != nil {
			return nil, err
		}
		n++
	}
	if p.at != nil {
		p.at(n)
	}
	m := llm.Message{Role: llm.Assistant, Text: fmt.Sprintf("all of %d", n)}
	if n < p.turns {
		m = llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "c", Name: "echo", Args: json.RawMessage(fmt.Sprintf(`{"text":"turn %d"}`, n))}}}
	}
	return &llm.Response{Message: m, Usage: llm.Usage{In: 1, Out: 1}}, nil
}

func longKit(t testing.TB, p *tape) *kit {
	k := newKit(t, client(t), false)
	k.model = p
	return k
}

// heap returns the bytes that are alive after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestLongJob runs a job of two thousand turns (in make night: ten thousand) that is stopped near
// its end: resuming it replays at most one turn, and a turn leaves in memory no more than a few
// times its messages. The same applies to a shorter job whose journal waits for a disk.
func TestLongJob(t *testing.T) {
	long, durable := testenv.Sample(2000, 10_000), testenv.Sample(200, 1000)
	t.Run("memory", func(t *testing.T) {
		p := &tape{turns: long}
		k := longKit(t, p)
		j := new(flow.Memory)
		p.check(t, func(ctx context.Context, emit event.Sink) (*executor.State, error) {
			// A mux of its own each time: no transcript is left in memory.
			return state(agent.Run(flow.NewRun("J1", flow.NewLocal(ctx, j, k.mux(j), emit)), k.task(long)))
		})
	})
	t.Run("sqlite", func(t *testing.T) {
		p := &tape{turns: durable}
		k := longKit(t, p)
		db := database(t, filepath.Join(t.TempDir(), "a.db"))
		m := k.manager(db)
		id := submit(t, m, 1, k.task(durable))[0]
		p.check(t, func(ctx context.Context, emit event.Sink) (*executor.State, error) {
			j, err := m.Run(ctx, id, jobs.RunOptions{Emit: emit})
			if err == nil && j.Status != jobs.Done {
				err = errors.New(j.Reason)
			}
			if err != nil {
				return nil, err
			}
			return state(j.Output, nil)
		})
		if err := whole(t.Context(), db, id, durable); err != nil {
			t.Error(err)
		}
	})
}

// check runs the tape to near its end, stops, and runs on.
func (p *tape) check(t *testing.T, run func(context.Context, event.Sink) (*executor.State, error)) {
	tenth, stopAt := p.turns/10, p.turns-3
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	halt := errors.New("stopped near the end")
	var early, late int64
	p.at = func(turn int) {
		switch turn {
		case tenth:
			early = heap()
		case stopAt:
			late = heap()
			stop(halt)
		}
	}
	if _, err := run(ctx, nil); err == nil || err.Error() != halt.Error() {
		t.Fatalf("stopped with %v", err)
	}
	// A message is half a kilobyte, and is kept as a message and in the
	// journal; ten times that would be a leak.
	perTurn := (late - early) / int64(stopAt-tenth)
	if perTurn > 6<<10 {
		t.Errorf("each turn keeps %d bytes", perTurn)
	}
	t.Logf("heap %d KB at turn %d, %d KB at turn %d: %d bytes a turn", early>>10, tenth, late>>10, stopAt, perTurn)

	before, recalled := p.asked.Load(), 0
	p.at = nil
	start := time.Now()
	s, err := run(t.Context(), func(ev event.Event) {
		if ev.Kind == event.StepRecalled {
			recalled++
		}
	})
	if err != nil || s.Turns != p.turns+1 || s.Called["echo"] != p.turns {
		t.Fatalf("%v: %+v", err, s)
	}
	// A turn is a model step and a tool step.
	if again := p.asked.Load() - before; recalled > 2 || again > int64(p.turns-stopAt)+2 {
		t.Errorf("resuming recalled %d steps and asked %d times", recalled, again)
	}
	t.Logf("resumed to the end in %s with %d steps recalled", time.Since(start).Round(time.Millisecond), recalled)
}

// BenchmarkLong measures the cost of a turn early and late in a long job without a journal, not
// counting the model.
func BenchmarkLong(b *testing.B) {
	const turns, window = 10_000, 500
	var early, late time.Duration
	for b.Loop() {
		p := &tape{turns: turns}
		k := longKit(b, p)
		var start time.Duration
		p.at = func(turn int) {
			switch turn {
			case 1000, turns - window:
				runtime.GC()
				start = cpu()
			case 1000 + window:
				early += cpu() - start
			case turns:
				late += cpu() - start
			}
		}
		j := new(flow.Memory)
		s, err := state(agent.Run(flow.NewRun("J1", flow.NewLocal(b.Context(), j, k.mux(j), nil)), k.task(turns)))
		if err != nil || s.Turns != turns+1 {
			b.Fatal(err, s)
		}
	}
	n := float64(b.N * window)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(early.Microseconds())/n, "us/turn-at-1000")
	b.ReportMetric(float64(late.Microseconds())/n, "us/turn-at-10000")
	b.ReportMetric(late.Seconds()/early.Seconds(), "x-early")
}
