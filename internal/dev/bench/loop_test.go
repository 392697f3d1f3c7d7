package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

// A cost is the resources of this process that some turns took.
type cost struct {
	turns   int
	cpu     time.Duration
	mallocs uint64
	bytes   uint64
}

func (c *cost) measure(turns int, f func()) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := cpu()
	f()
	c.cpu += cpu() - start
	runtime.ReadMemStats(&after)
	c.turns += turns
	c.mallocs += after.Mallocs - before.Mallocs
	c.bytes += after.TotalAlloc - before.TotalAlloc
}

func (c cost) micros() float64 { return float64(c.cpu.Microseconds()) / float64(c.turns) }

func report(b *testing.B, plain, ours cost) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(plain.micros(), "plain-cpu-us/turn")
	b.ReportMetric(ours.micros(), "cpu-us/turn")
	b.ReportMetric(ours.micros()/plain.micros(), "x-plain-cpu")
	b.ReportMetric(float64(ours.mallocs)/float64(ours.turns), "mallocs/turn")
	b.ReportMetric(float64(plain.mallocs)/float64(plain.turns), "plain-mallocs/turn")
	b.ReportMetric(float64(ours.bytes)/float64(ours.turns)/1024, "KB/turn")
}

// BenchmarkLoop compares one agent on a Runtime that keeps nothing, through the public methods,
// with the loop written by hand, taking turns so that both see the same machine.
func BenchmarkLoop(b *testing.B) {
	for _, turns := range []int{10, 100, 400} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			beside(b, newKit(b, client(b), false), turns)
		})
	}
}

func beside(b *testing.B, k *kit, turns int) {
	hc := client(b)
	rt := k.runtime(b)
	var theirs, ours cost
	many := max(1, 400/turns)
	one := func(n int) {
		for range n {
			s, err := run(b.Context(), rt, turns)
			if err != nil || s.Last != fmt.Sprintf("all of %d", turns) {
				b.Fatal(err, s)
			}
		}
	}
	other := func(n int) {
		for range n {
			if last, err := plain(b.Context(), hc, url(b), turns); err != nil || last != fmt.Sprintf("all of %d", turns) {
				b.Fatal(err, last)
			}
		}
	}
	one(1)
	other(1)
	for b.Loop() {
		theirs.measure(many*(turns+1), func() { other(many) })
		ours.measure(many*(turns+1), func() { one(many) })
	}
	report(b, theirs, ours)
}

// BenchmarkStream measures the loop with streamed answers, the default.
func BenchmarkStream(b *testing.B) {
	const turns = 100
	hc := client(b)
	k := newKit(b, hc, true)
	rt := k.runtime(b)
	var theirs, ours cost
	for b.Loop() {
		theirs.measure(turns+1, func() {
			if _, err := plain(b.Context(), hc, url(b), turns); err != nil {
				b.Fatal(err)
			}
		})
		ours.measure(turns+1, func() {
			if _, err := run(b.Context(), rt, turns); err != nil {
				b.Fatal(err)
			}
		})
	}
	report(b, theirs, ours)
}

// BenchmarkAtOnce compares two hundred agents of twenty turns at once.
func BenchmarkAtOnce(b *testing.B) {
	const agents, turns = 200, 20
	hc := client(b)
	k := newKit(b, hc, false)
	rt := k.runtime(b)
	var theirs, ours cost
	for b.Loop() {
		theirs.measure(agents*(turns+1), func() {
			together(b, agents, func(ctx context.Context, _ int) error {
				_, err := plain(ctx, hc, url(b), turns)
				return err
			})
		})
		ours.measure(agents*(turns+1), func() {
			together(b, agents, func(ctx context.Context, _ int) error {
				_, err := run(ctx, rt, turns)
				return err
			})
		})
	}
	report(b, theirs, ours)
}

// together runs n of f at once and waits for all.
func together(t testing.TB, n int, f func(ctx context.Context, i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make(chan error, n)
	for i := range n {
		wg.Go(func() {
			if err := f(t.Context(), i); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		t.Fatal(err)
	default:
	}
}
