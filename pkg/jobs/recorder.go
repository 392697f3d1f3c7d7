package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A recorder is a sink that passes events on to live watchers and writes them to the
// job's journal.
type recorder struct {
	ctx     context.Context // does not end with the run: what happened still happened
	journal Journal
	live    event.Sink
	clean   func(event.Event) event.Event // before anyone sees it; nil: as it is
	fail    func(cause error)             // called when an event cannot be kept: the run must not go on
	parts   atomic.Bool                   // there are sub-agents or steps of pipelines
	blind   atomic.Bool                   // live has panicked

	// logged reports whether the log has an event of the step at a path; nil is
	// no. It is asked about steps that are recalled.
	logged func(path string) bool

	mu       sync.Mutex
	recalled recalledData // since the last event
	closed   bool
	err      error
}

// emit passes ev on to live watchers and keeps it.
func (r *recorder) emit(ev event.Event) {
	if r.clean != nil && ev.Kind != event.Delta {
		ev = r.clean(ev)
	}
	if broken := r.show(ev); broken != "" {
		r.emit(event.Event{Job: ev.Job, Time: ev.Time, Kind: event.Note, Text: broken})
	}
	switch ev.Kind {
	case event.Delta:
		return
	case event.AgentStarted, event.StageStarted, event.StageFinished:
		r.parts.Store(true)
	case event.StepRecalled:
		if ev.Step == flow.KindSpawn || ev.Step == flow.Note && len(ev.Data) > 0 {
			r.parts.Store(true)
		}
	}
	// A spawn has no data, and its event is the only one that names the sub-agent.
	silent := len(ev.Data) == 0 && ev.Step != flow.KindSpawn
	inLog := ev.Kind == event.StepRecalled && (silent || r.logged != nil && r.logged(ev.Path))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if inLog {
		r.recalled.add(ev)
		return
	}
	r.writeRecalled()
	r.write(ev)
}

// show passes ev on to the live watcher. A watcher that panics gets no more events, and
// the run goes on; broken describes the panic for the log.
func (r *recorder) show(ev event.Event) (broken string) {
	if r.live == nil || r.blind.Load() {
		return ""
	}
	defer func() {
		if p := recover(); p != nil {
			r.blind.Store(true)
			broken = fmt.Sprintf("Emit has panicked and is not called any more: %v", p)
		}
	}()
	r.live(ev)
	return ""
}

// write keeps an event. It is called with mu held.
func (r *recorder) write(ev event.Event) {
	if r.err != nil {
		return
	}
	if err := r.journal.Append(r.ctx, ev); err != nil {
		r.lost(err)
	}
}

// lost ends a run whose events are lost.
func (r *recorder) lost(err error) {
	r.err = fmt.Errorf("keeping events: %w", err)
	if errors.Is(err, ErrLeaseLost) {
		r.fail(ErrLeaseLost)
	} else {
		r.fail(&storeError{r.err})
	}
}

// recalledData is the data of the step.recalled of many steps, which the log has in
// place of one for each.
type recalledData struct {
	Steps int    `json:"steps"`
	From  string `json:"from"` // path of the first
	To    string `json:"to"`   // and of the last

	job  string
	time time.Time
}

func (p *recalledData) add(ev event.Event) {
	if p.Steps == 0 {
		p.From = ev.Path
	}
	p.Steps++
	p.To, p.job, p.time = ev.Path, ev.Job, ev.Time
}

// writeRecalled keeps one event for all steps that were recalled. It is called
// with mu held.
func (r *recorder) writeRecalled() {
	if r.recalled.Steps == 0 {
		return
	}
	ev := event.Event{Job: r.recalled.job, Time: r.recalled.time, Kind: event.StepRecalled, Text: fmt.Sprintf("%d steps recalled, %s to %s", r.recalled.Steps, r.recalled.From, r.recalled.To)}
	if r.recalled.Steps == 1 {
		ev.Text = fmt.Sprintf("step %s recalled", r.recalled.From)
	}
	ev.Data, _ = json.Marshal(r.recalled) // a number and strings
	r.recalled = recalledData{}
	r.write(ev)
}

// close waits until all events are durable. What comes later is dropped.
func (r *recorder) close(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeRecalled()
	r.closed = true
	if r.err == nil {
		if err := r.journal.Sync(ctx); err != nil {
			r.lost(err)
		}
	}
	return r.err
}

// Options select the level, the format and the file of the log.
type Options struct {
	Level  string // debug, info, warn or error; off or "" logs nothing
	Format string // text or json; "" is text
	File   string // is appended to; "" is standard error
}

// Levels and Formats are the valid values of Options.
var (
	Levels  = []string{"off", "error", "warn", "info", "debug"}
	Formats = []string{"text", "json"}
)

// Open returns the log, nil if nothing is logged, and what closes it. A file is
// readable for its owner alone.
func Open(o Options, stderr io.Writer) (*slog.Logger, func() error, error) {
	none := func() error { return nil }
	if o.Level == "" || o.Level == "off" {
		return nil, none, nil
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.Level)); err != nil {
		return nil, none, err
	}
	w, end := stderr, none
	if o.File != "" {
		// Lines of several processes do not mix: each is one write at the end.
		f, err := os.OpenFile(o.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, none, fmt.Errorf("opening the log: %w", err)
		}
		w, end = f, f.Close
	}
	opts := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if o.Format == "json" {
		h = slog.NewJSONHandler(w, opts)
	}
	return slog.New(h).With("pid", os.Getpid()), end, nil
}

// Sink logs events: the begin and end of jobs and what goes wrong in them as info
// and above, each step as debug. Pieces of responses are never logged.
func Sink(l *slog.Logger) event.Sink {
	if l == nil {
		return func(event.Event) {}
	}
	var known spans
	return func(ev event.Event) {
		if ev.Kind == event.Delta {
			return
		}
		attrs := []slog.Attr{slog.String("job", ev.Job)}
		for _, a := range []struct{ key, value string }{{"path", ev.Path}, {"step", ev.Step}, {"name", ev.Name}, {"error", ev.Error}} {
			if a.value != "" {
				attrs = append(attrs, slog.String(a.key, a.value))
			}
		}
		attrs = append(attrs, known.attrs(ev)...)
		if ev.Took > 0 {
			attrs = append(attrs, slog.Duration("took", ev.Took))
		}
		level, more := describe(ev)
		l.LogAttrs(context.Background(), level, string(ev.Kind), append(attrs, more...)...)
	}
}

// describe returns the level of an event and the attributes of its line.
func describe(ev event.Event) (slog.Level, []slog.Attr) {
	switch ev.Kind {
	case event.JobQueued:
		var q struct{ Position int }
		_ = json.Unmarshal(ev.Data, &q) // a line without a position is a line
		return slog.LevelInfo, []slog.Attr{slog.Int("position", q.Position)}
	case event.JobStarted:
		var s struct {
			Agent, Model, Dir string
			Resumed           bool
		}
		_ = json.Unmarshal(ev.Data, &s)
		return slog.LevelInfo, []slog.Attr{slog.String("agent", s.Agent), slog.String("model", s.Model), slog.String("dir", s.Dir), slog.Bool("resumed", s.Resumed)}
	case event.JobFinished, event.JobWaiting:
		var f Final
		_ = json.Unmarshal(ev.Data, &f)
		level := slog.LevelWarn
		if f.Status.Succeeded() || f.Status == Waiting || f.Status == Cancelled {
			level = slog.LevelInfo
		}
		return level, []slog.Attr{slog.String("status", string(f.Status)), slog.String("reason", f.Reason), slog.Int("turns", f.Turns), slog.Int("tokens_in", f.Usage.In), slog.Int("tokens_out", f.Usage.Out), slog.Float64("cost_usd", f.Cost)}
	case event.StepRetried:
		return slog.LevelWarn, nil
	case event.Approval, event.AgentStarted, event.AgentFinished, event.PipelineStarted, event.PipelineFinished:
		return slog.LevelInfo, nil
	}
	return slog.LevelDebug, nil
}

// spawnStep is the kind, in events, of the step that begins a sub-agent.
const spawnStep = "spawn"

// spans know which sub-agent a path belongs to: what a sub-agent does is below the
// path that it began at. They are safe for concurrent use.
type spans struct {
	mu   sync.Mutex
	jobs map[string]map[string]string // the agents that began, by job and path
}

// attrs returns the attributes that link an event to its agent and to the agent's parent,
// each identified by JOB/PATH of its begin.
func (s *spans) attrs(ev event.Event) []slog.Attr {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ev.Kind == event.JobStarted || ev.Kind == event.JobFinished || ev.Kind == event.JobWaiting:
		delete(s.jobs, ev.Job)
		return nil
	case ev.Kind == event.AgentStarted, ev.Kind == event.StepRecalled && ev.Step == spawnStep:
		if s.jobs == nil {
			s.jobs = map[string]map[string]string{}
		}
		if s.jobs[ev.Job] == nil {
			s.jobs[ev.Job] = map[string]string{}
		}
		s.jobs[ev.Job][ev.Path] = ev.Name
	}
	own, agent := s.at(ev.Job, ev.Path)
	if own == "" {
		return nil
	}
	parent := ev.Job
	if up, _ := s.at(ev.Job, above(own)); up != "" {
		parent += "/" + up
	}
	return []slog.Attr{slog.String("agent", agent), slog.String("span", ev.Job+"/"+own), slog.String("parent", parent)}
}

// at is the path of the innermost agent that path is of, "" if it is the job's own.
func (s *spans) at(job, path string) (at, agent string) {
	for p := path; p != ""; p = above(p) {
		if name, ok := s.jobs[job][p]; ok {
			return p, name
		}
	}
	return "", ""
}

func above(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '.'))]
}
