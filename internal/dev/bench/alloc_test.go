package bench

import "testing"

// TestAllocations bounds what a turn allocates, bare and with all that the command
// line puts around it, and checks that it does not depend on how many came before. The
// bounds are a little above what was measured: whoever needs more raises them here,
// and the figures in docs/performance.md.
func TestAllocations(t *testing.T) {
	const short, long, longer = 10, 110, 310
	for name, most := range map[string]float64{"bare": 500, "full": 570} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, client(t), false)
			if name == "full" {
				k.full = newFull(t.TempDir())
			}
			first := (k.mallocs(t, long) - k.mallocs(t, short)) / (long - short)
			later := (k.mallocs(t, longer) - k.mallocs(t, long)) / (longer - long)
			if first > most {
				t.Errorf("a turn allocates %.0f times, want at most %.0f", first, most)
			}
			if later > first*1.02 {
				t.Errorf("after %d turns a turn allocates %.0f times, want no more than the %.0f before", long, later, first)
			}
		})
	}
}

// mallocs is how often a job of so many turns allocates, at the least of three.
func (k *kit) mallocs(t *testing.T, turns int) float64 {
	task, least := k.task(turns), 0.0
	for range 3 {
		var c cost
		c.measure(turns, func() {
			if _, err := k.run(t.Context(), "J1", task); err != nil {
				t.Fatal(err)
			}
		})
		if n := float64(c.mallocs); least == 0 || n < least {
			least = n
		}
	}
	return least
}
