package adroit

import (
	"context"
	"iter"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/internal/live"
	"github.com/adroit-run/adroit/pkg/event"
)

// Events implements [JobReader].
func (rt *Runtime) Events(ctx context.Context, ref string, o EventOptions) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		j, m, err := rt.find(ctx, ref)
		if err != nil {
			yield(event.Event{}, apierr.AsError(err))
			return
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		kept := m.Store.Events(ctx, j.ID, o.After, o.Follow)
		if o.Follow && o.Live {
			pieces, leave := rt.live.Join(j.ID)
			defer leave()
			kept = live.Merge(kept, stop, pieces)
		}
		for ev, err := range kept {
			if !yield(ev, asError(err)) {
				return
			}
		}
	}
}
