package flow

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a Journal that lasts as long as the process: for tests, and for
// programs that want no durability. The zero value is ready.
type Memory struct {
	// KeepAll keeps steps that a checkpoint would forget, for golden journals.
	KeepAll bool

	mu      sync.Mutex
	records map[string]*Record // by Step.Key
	signals map[string][]Signal
	states  map[string]State
	unknown map[string]bool // steps of which an attempt was unknown, by Step.Key
	blobs   map[string]json.RawMessage
	order   []string // of the blobs, as they came
}

// Begin implements Journal.
func (m *Memory) Begin(ctx context.Context, s Step, deadline time.Time) (*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if rec, ok := m.records[s.Key()]; ok {
		known := *rec
		return &known, nil
	}
	m.keep(s.Key(), &Record{Job: s.Job, Path: s.Path, Kind: s.Kind, Name: s.Name, Sum: s.Sum(), Deadline: deadline})
	if s.Keep {
		m.put(s.Digest(), s.Input)
	}
	return nil, nil
}

// Finish implements Journal.
func (m *Memory) Finish(ctx context.Context, rec *Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	key := Step{Job: rec.Job, Path: rec.Path}.Key()
	if known, ok := m.records[key]; ok && known.Done {
		return nil
	}
	done := *rec
	m.keep(key, &done)
	return nil
}

func (m *Memory) keep(key string, rec *Record) {
	if m.records == nil {
		m.records = map[string]*Record{}
	}
	m.records[key] = rec
}

// History returns the history of job, for [Reopener.Plan].
func (m *Memory) History(job string) History {
	h := History{Steps: m.Records(job), States: map[string]State{}, Unknown: map[string]bool{}}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.unknown {
		if path, ok := strings.CutPrefix(key, job+"/"); ok {
			h.Unknown[path] = true
		}
	}
	for key, st := range m.states {
		if scope, ok := strings.CutPrefix(key, job+"/"); ok {
			h.States[scope] = st
		}
	}
	h.Output = func(path string) (json.RawMessage, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.records[Step{Job: job, Path: path}.Key()].Output, nil
	}
	return h
}

// Reopen applies the plan o to job.
func (m *Memory) Reopen(job string, o Reopening) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, path := range o.Forget {
		delete(m.records, Step{Job: job, Path: path}.Key())
	}
	for _, path := range o.Again {
		key := Step{Job: job, Path: path}.Key()
		if m.unknown == nil {
			m.unknown = map[string]bool{}
		}
		open := *m.records[key]
		open.Done, open.Output, open.Failure, m.unknown[key] = false, nil, nil, true
		m.keep(key, &open)
	}
	if m.states == nil {
		m.states = map[string]State{}
	}
	for scope, st := range o.States {
		m.states[job+"/"+scope] = st
	}
}

// Send queues a signal for job.
func (m *Memory) Send(_ context.Context, job string, sig Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.signals == nil {
		m.signals = map[string][]Signal{}
	}
	m.signals[job] = append(m.signals[job], sig)
	return nil
}

// Receive implements Journal.
func (m *Memory) Receive(ctx context.Context, s Step, names []string) (*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(m.signals[s.Job], func(sig Signal) bool { return slices.Contains(names, sig.Name) })
	if i < 0 {
		return nil, nil
	}
	sig := m.signals[s.Job][i]
	out, err := json.Marshal(sig)
	if err != nil {
		return nil, err
	}
	m.signals[s.Job] = slices.Delete(m.signals[s.Job], i, i+1)
	if err := s.Accepts(sig); err != nil {
		return nil, err
	}
	rec := &Record{Job: s.Job, Path: s.Path, Kind: s.Kind, Name: s.Name, Sum: s.Sum(), Done: true, Output: out}
	m.keep(s.Key(), rec)
	done := *rec
	return &done, nil
}

// Save implements Journal.
func (m *Memory) Save(ctx context.Context, job, scope string, st State) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.states == nil {
		m.states = map[string]State{}
	}
	prefix := job + "/" + scope
	if !m.KeepAll {
		within := func(key string) bool { return strings.HasPrefix(key, prefix) }
		maps.DeleteFunc(m.records, func(key string, _ *Record) bool { return within(key) })
		maps.DeleteFunc(m.states, func(key string, _ State) bool { return within(key) })
	}
	m.states[prefix] = st
	return nil
}

// Load implements Journal.
func (m *Memory) Load(_ context.Context, job, scope string) (*State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if st, ok := m.states[job+"/"+scope]; ok && !m.KeepAll {
		return &st, nil
	}
	return nil, nil
}

func (m *Memory) put(d string, b json.RawMessage) {
	if m.blobs == nil {
		m.blobs = map[string]json.RawMessage{}
	}
	if _, known := m.blobs[d]; !known {
		m.order = append(m.order, d)
	}
	m.blobs[d] = b // which nobody changes, as it is the input of a step
}

// Inputs returns the inputs that steps asked to keep, the oldest first.
func (m *Memory) Inputs() []json.RawMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []json.RawMessage
	for _, d := range m.order {
		out = append(out, m.blobs[d])
	}
	return out
}

// Blob implements Blobs.
func (m *Memory) Blob(_ context.Context, digest string) (json.RawMessage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.blobs[digest]
	if !ok {
		return nil, ErrNoBlob
	}
	return b, nil
}

// Records returns what the journal has of job, ordered by path.
func (m *Memory) Records(job string) []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Record
	for _, rec := range m.records {
		if rec.Job == job {
			out = append(out, *rec)
		}
	}
	slices.SortFunc(out, func(a, b Record) int { return Compare(a.Path, b.Path) })
	return out
}
