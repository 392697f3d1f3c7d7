package serve

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
)

// subscribe has clients that subscribe to a job notified of its states while it runs.
func (s *Server) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	uri := req.Params.URI
	id, ok := strings.CutPrefix(uri, jobURIs)
	if !ok {
		return sdk.ResourceNotFoundError(uri)
	}
	if _, err := s.resourceJob(ctx, uri, id); err != nil {
		return err
	}
	last, err := s.lastEvent(ctx, id)
	if err != nil {
		return err
	}
	if _, watched := s.watched.LoadOrStore(id, true); !watched {
		go s.watch(id, last)
	}
	return nil
}

// unsubscribe leaves it to the library who is notified: watching ends with the run.
func (s *Server) unsubscribe(context.Context, *sdk.UnsubscribeRequest) error { return nil }

// watch notifies of what happens to a job after an event, until it no longer runs or
// the server stops.
func (s *Server) watch(id string, after int64) {
	defer s.watched.Delete(id)
	for ev, err := range s.c.Events(s.life, id, adroit.EventOptions{After: after, Follow: true}) {
		if err != nil {
			return // whoever asks for the job learns why
		}
		switch ev.Kind {
		case event.JobQueued, event.JobStarted, event.JobWaiting, event.JobFinished:
			_ = s.sdk.ResourceUpdated(s.life, &sdk.ResourceUpdatedNotificationParams{URI: jobURIs + id}) // who has gone needs none
		}
	}
}
