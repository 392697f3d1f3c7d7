package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/event"
)

// Local is an Engine that performs steps in this process and journals each
// before and after. The zero value lacks its first four fields; the rest have
// working defaults. Each run needs its own; the branches of a fork get theirs.
type Local struct {
	Ctx     context.Context // its end stops the run at the next step; see context.Cause
	Journal Journal
	Mux     Mux
	Emit    event.Sink

	// Park makes an await without a signal end the run with a *ParkedError
	// instead of waiting here, unless that is over at once (in 50 ms).
	Park bool
	// Width bounds how many branches of one fork run at once; zero means 16.
	Width int
	// Hook is called at named points of every step: "begin", "begun",
	// "performed", "finished", "save", "saved". For tests that kill.
	Hook func(point string, s Step)

	ended error
	quiet bool // nobody watches: steps need no description
}

// NewLocal returns an engine for one run.
func NewLocal(ctx context.Context, j Journal, mux Mux, emit event.Sink) *Local {
	quiet := emit == nil
	if quiet {
		emit = func(event.Event) {}
	}
	return &Local{Ctx: ctx, Journal: j, Mux: mux, Emit: emit, quiet: quiet}
}

func (l *Local) hook(point string, s Step) {
	if l.Hook != nil {
		l.Hook(point, s)
	}
}

// Ended returns why the run ended without an outcome, nil if it did not: it was
// stopped or parked, it diverged, or its journal failed. What the workflow
// returned then means nothing.
func (l *Local) Ended() error { return l.ended }

// finished journals the outcome of a step and emits its event.
func (l *Local) finished(rt Route, s Step, rec *Record, start time.Time) error {
	if err := l.finish(s, rec); err != nil {
		return err
	}
	ev := event.Event{Kind: event.StepFinished, Took: time.Since(start)}
	if rec.Failure != nil {
		ev.Error, ev.Code = rec.Failure.Message, rec.Failure.Code
	} else if rt.Describe != nil && !l.quiet {
		ev.Text, ev.Data = rt.Describe(s, rec.Output)
	}
	l.emit(s, ev)
	return nil
}

func (l *Local) finish(s Step, rec *Record) error {
	// What was performed is recorded even if the run was stopped meanwhile:
	// losing the outcome would make a finished step look interrupted.
	if err := l.Journal.Finish(exhaustion.Outlive(l.Ctx), rec); err != nil {
		return fmt.Errorf("step %s: journal: %w", s.Path, err)
	}
	l.hook("finished", s)
	return nil
}

func (l *Local) save(s Step) error {
	st, err := readState(s.Input)
	if err != nil {
		return fmt.Errorf("checkpoint %q: %w", s.Path, err)
	}
	l.hook("save", s)
	if err := l.Journal.Save(l.Ctx, s.Job, s.Path, st); err != nil {
		return fmt.Errorf("checkpoint %q: journal: %w", s.Path, err)
	}
	l.hook("saved", s)
	return nil
}

func (l *Local) load(s Step) (json.RawMessage, error) {
	st, err := l.Journal.Load(l.Ctx, s.Job, s.Path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %q: journal: %w", s.Path, err)
	}
	if st == nil {
		return nil, nil
	}
	return json.Marshal(st)
}

func (l *Local) emit(s Step, ev event.Event) {
	ev.Job, ev.Path, ev.Time = s.Job, s.Path, time.Now()
	if ev.Step == "" {
		ev.Step, ev.Name = s.Kind, s.Name
	}
	l.Emit(ev)
}

// Fork runs branches in goroutines, at most Width at once. A panic of a
// branch is raised again in the caller once all have returned. A branch that
// ends without an outcome does not stop its siblings, but ends the run after
// them.
func (l *Local) Fork(n int, branch func(int, Engine)) {
	width := l.Width
	if width == 0 {
		width = 16
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, width)
	panics := make(chan any, n)
	own := make([]Local, n)
	for i := range n {
		own[i] = *l
		slots <- struct{}{}
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panics <- p
				}
				<-slots
			}()
			branch(i, &own[i])
		})
	}
	wg.Wait()
	for i := range own {
		// That a branch is parked says less than that another has failed.
		var parked *ParkedError
		if err := own[i].ended; err != nil && (l.ended == nil || errors.As(l.ended, &parked)) {
			l.ended = err
		}
	}
	select {
	case p := <-panics:
		panic(p)
	default:
	}
}
