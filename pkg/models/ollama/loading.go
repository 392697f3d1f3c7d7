package ollama

import (
	"context"
	"slices"
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
)

// Asking the server what it does while it does not answer.
const (
	quiet    = time.Second // before the first time, so that a quick answer costs nothing
	interval = 5 * time.Second
)

// showLoading reports, while a request waits for its first byte, that the server
// loads the model or reads the prompt. done ends that; emit is not called after it.
func (m *model) showLoading(ctx context.Context, name string, emit func(llm.Delta)) (done func()) {
	if emit == nil {
		return func() {}
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		last := ""
		timer := time.NewTimer(quiet)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			if now := m.doing(ctx, name); now != last && ctx.Err() == nil {
				last = now
				emit(llm.Delta{Waiting: now})
			}
			timer.Reset(interval)
		}
	}()
	return func() {
		stop()
		<-ended
	}
}

// doing is what the server does before the first byte of an answer.
func (m *model) doing(ctx context.Context, name string) string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	list, err := (&Client{&m.end}).Running(ctx)
	switch {
	case err != nil:
		return "the server does not say what it does"
	case slices.ContainsFunc(list, func(l Loaded) bool { return l.Name == name || l.Name == name+":latest" }):
		return "reading the prompt"
	}
	return "loading " + name
}
