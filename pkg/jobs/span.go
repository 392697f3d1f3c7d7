package jobs

import (
	"log/slog"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/pkg/event"
)

// spawnStep is what events call the step that begins a sub-agent.
const spawnStep = "spawn"

// spans know which sub-agent a path belongs to: what a sub-agent does is below the
// path that it began at. They are safe for concurrent use.
type spans struct {
	mu   sync.Mutex
	jobs map[string]map[string]string // the agents that began, by job and path
}

// attrs are what joins the line of an event with those of the agent that it is of,
// and with those of the one that this works for: JOB/PATH where each began.
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
