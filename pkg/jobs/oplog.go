package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/pkg/event"
)

// Options select the level, the format and the file of the log.
type Options struct {
	Level  string // debug, info, warn or error; off or "" logs nothing
	Format string // text or json; "" is text
	File   string // is appended to; "" is standard error
}

// Levels and Formats are those that Options may have.
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
