package bench

import "testing"

// TestAllocations bounds the allocations of a turn, bare and with all additions of the command
// line, and checks that they do not depend on the number of earlier turns. The bounds are a little
// above the measured values: whoever needs more raises them here.
func TestAllocations(t *testing.T) {
	const short, long, longer = 10, 110, 310
	for name, most := range map[string]float64{"bare": 585, "full": 660} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, client(t), false)
			if name == "full" {
				k.full = new(full)
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

// mallocs returns the number of allocations of a job of so many turns: the minimum of three runs.
func (k *kit) mallocs(t *testing.T, turns int) float64 {
	rt, least := k.runtime(t), 0.0
	for range 3 {
		var c cost
		c.measure(turns, func() {
			if _, err := run(t.Context(), rt, turns); err != nil {
				t.Fatal(err)
			}
		})
		if n := float64(c.mallocs); least == 0 || n < least {
			least = n
		}
	}
	return least
}
