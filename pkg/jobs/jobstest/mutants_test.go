package jobstest_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/jobstest"
)

// An altered store is one that passes, but for what is set.
type altered struct {
	jobs.Store
	add     func(context.Context, *jobs.Job) (*jobs.Job, error)
	list    func(context.Context, jobs.Query) ([]*jobs.Job, error)
	claim   func(*jobs.Job, error) (*jobs.Job, error)
	enqueue func(ctx context.Context, id, owner string, ttl time.Duration) (*jobs.Job, jobs.Journal, error)
	send    func(context.Context, string, flow.Signal) error
	events  func(context.Context, string, int64, bool) iter.Seq2[event.Event, error]
	inputs  func([]json.RawMessage) []json.RawMessage
	journal func(jobs.Journal) jobs.Journal
	// change is what becomes of the error of Remove, Reopen and Cancel; call is not made for false.
	call   func(method string) bool
	change func(method string, err error) error
}

func (a *altered) Add(ctx context.Context, j *jobs.Job) (*jobs.Job, error) {
	if a.add != nil {
		return a.add(ctx, j)
	}
	return a.Store.Add(ctx, j)
}

func (a *altered) List(ctx context.Context, q jobs.Query) ([]*jobs.Job, error) {
	if a.list != nil {
		return a.list(ctx, q)
	}
	return a.Store.List(ctx, q)
}

func (a *altered) Claim(ctx context.Context, id, owner string, ttl time.Duration) (*jobs.Job, jobs.Journal, error) {
	j, journal, err := a.Store.Claim(ctx, id, owner, ttl)
	if a.claim != nil {
		j, err = a.claim(j, err)
	}
	if err == nil && a.journal != nil {
		journal = a.journal(journal)
	}
	return j, journal, err
}

func (a *altered) Enqueue(ctx context.Context, id, owner string, ttl time.Duration) (*jobs.Job, jobs.Journal, error) {
	if a.enqueue != nil {
		return a.enqueue(ctx, id, owner, ttl)
	}
	j, journal, err := a.Store.Enqueue(ctx, id, owner, ttl)
	if err == nil && a.journal != nil {
		journal = a.journal(journal)
	}
	return j, journal, err
}

func (a *altered) does(method string, call func() error) (err error) {
	if a.call == nil || a.call(method) {
		err = call()
	}
	if a.change != nil {
		err = a.change(method, err)
	}
	return err
}

func (a *altered) Remove(ctx context.Context, id string) error {
	return a.does("Remove", func() error { return a.Store.Remove(ctx, id) })
}

func (a *altered) Reopen(ctx context.Context, id string, o flow.Reopener) error {
	return a.does("Reopen", func() error { return a.Store.Reopen(ctx, id, o) })
}

func (a *altered) Cancel(ctx context.Context, id string, log *event.Event) error {
	return a.does("Cancel", func() error { return a.Store.Cancel(ctx, id, log) })
}

func (a *altered) Send(ctx context.Context, id string, s flow.Signal) error {
	if a.send != nil {
		return a.send(ctx, id, s)
	}
	return a.Store.Send(ctx, id, s)
}

func (a *altered) Events(ctx context.Context, id string, after int64, follow bool) iter.Seq2[event.Event, error] {
	if a.events != nil {
		return a.events(ctx, id, after, follow)
	}
	return a.Store.Events(ctx, id, after, follow)
}

func (a *altered) Inputs(ctx context.Context, id string) ([]json.RawMessage, error) {
	list, err := a.Store.Inputs(ctx, id)
	if a.inputs != nil {
		list = a.inputs(list)
	}
	return list, err
}

// A journal is one that passes, but for what is set.
type journal struct {
	jobs.Journal
	blob      func() (json.RawMessage, error)
	begin     func(*flow.Record, error) (*flow.Record, error)
	finish    func(context.Context, *flow.Record) error
	receive   func(context.Context, flow.Step, []string) (*flow.Record, error)
	save      func(context.Context, string, string, flow.State) error
	load      func(*flow.State, error) (*flow.State, error)
	start     func(int, error) (int, error)
	appends   func(context.Context, []event.Event) error
	heartbeat func(bool, error) (bool, error)
	finishJob func(context.Context, *jobs.Job, *event.Event) error
}

func (j *journal) Blob(ctx context.Context, digest string) (json.RawMessage, error) {
	if j.blob != nil {
		return j.blob()
	}
	return j.Journal.Blob(ctx, digest)
}

func (j *journal) Begin(ctx context.Context, s flow.Step, deadline time.Time) (*flow.Record, error) {
	rec, err := j.Journal.Begin(ctx, s, deadline)
	if j.begin != nil {
		return j.begin(rec, err)
	}
	return rec, err
}

func (j *journal) Finish(ctx context.Context, rec *flow.Record) error {
	if j.finish != nil {
		return j.finish(ctx, rec)
	}
	return j.Journal.Finish(ctx, rec)
}

func (j *journal) Receive(ctx context.Context, s flow.Step, names []string) (*flow.Record, error) {
	if j.receive != nil {
		return j.receive(ctx, s, names)
	}
	return j.Journal.Receive(ctx, s, names)
}

func (j *journal) Save(ctx context.Context, job, scope string, st flow.State) error {
	if j.save != nil {
		return j.save(ctx, job, scope, st)
	}
	return j.Journal.Save(ctx, job, scope, st)
}

func (j *journal) Load(ctx context.Context, job, scope string) (*flow.State, error) {
	st, err := j.Journal.Load(ctx, job, scope)
	if j.load != nil {
		return j.load(st, err)
	}
	return st, err
}

func (j *journal) Start(ctx context.Context, atOnce int) (int, error) {
	n, err := j.Journal.Start(ctx, atOnce)
	if j.start != nil {
		return j.start(n, err)
	}
	return n, err
}

func (j *journal) Append(ctx context.Context, evs ...event.Event) error {
	if j.appends != nil {
		return j.appends(ctx, evs)
	}
	return j.Journal.Append(ctx, evs...)
}

func (j *journal) Heartbeat(ctx context.Context, ttl time.Duration) (bool, error) {
	cancel, err := j.Journal.Heartbeat(ctx, ttl)
	if j.heartbeat != nil {
		return j.heartbeat(cancel, err)
	}
	return cancel, err
}

func (j *journal) FinishJob(ctx context.Context, end *jobs.Job, last *event.Event) error {
	if j.finishJob != nil {
		return j.finishJob(ctx, end, last)
	}
	return j.Journal.FinishJob(ctx, end, last)
}

// with is a store whose journals are changed.
func with(s jobs.Store, change func(*journal)) jobs.Store {
	return &altered{Store: s, journal: func(j jobs.Journal) jobs.Journal {
		out := &journal{Journal: j}
		change(out)
		return out
	}}
}

// no is a store that says of a method that it did something, and did nothing.
func no(s jobs.Store, method string) jobs.Store {
	return &altered{Store: s, call: func(m string) bool { return m != method }}
}

// hides is a store that has no errors of a kind from a method.
func hides(s jobs.Store, method string, what error) jobs.Store {
	return &altered{Store: s, change: func(m string, err error) error {
		if m == method && errors.Is(err, what) {
			return nil
		}
		return err
	}}
}

// mutants are stores that are broken in one way each.
var mutants = map[string]func(jobs.Store) jobs.Store{
	"Blob has nothing": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) { j.blob = func() (json.RawMessage, error) { return nil, flow.ErrNoBlob } })
	},
	"Blob has something else": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) { j.blob = func() (json.RawMessage, error) { return json.RawMessage("{}"), nil } })
	},
	"Send to an ended job": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, send: func(ctx context.Context, id string, sig flow.Signal) error {
			if err := s.Send(ctx, id, sig); !errors.Is(err, jobs.ErrFinal) {
				return err
			}
			return nil
		}}
	},
	"Add returns what it keeps": func(s jobs.Store) jobs.Store {
		var mu sync.Mutex
		kept := map[string]*jobs.Job{}
		a := &altered{Store: s}
		a.add = func(ctx context.Context, j *jobs.Job) (*jobs.Job, error) {
			got, err := s.Add(ctx, j)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				kept[got.ID] = got
			}
			return got, err
		}
		a.list = func(ctx context.Context, q jobs.Query) ([]*jobs.Job, error) {
			list, err := s.List(ctx, q)
			mu.Lock()
			defer mu.Unlock()
			for _, j := range list {
				if k := kept[j.ID]; k != nil {
					j.Title, j.Agent = k.Title, k.Agent
				}
			}
			return list, err
		}
		return a
	},
	"Events goes on after its context": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, events: func(ctx context.Context, id string, after int64, follow bool) iter.Seq2[event.Event, error] {
			return s.Events(context.WithoutCancel(ctx), id, after, follow)
		}}
	},
	"Add knows no keys": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, add: func(ctx context.Context, j *jobs.Job) (*jobs.Job, error) {
			own := *j
			own.Key = ""
			return s.Add(ctx, &own)
		}}
	},
	"Add knows no scopes": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, add: func(ctx context.Context, j *jobs.Job) (*jobs.Job, error) {
			own := *j
			own.Scope = ""
			return s.Add(ctx, &own)
		}}
	},
	"Add takes an id twice": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, add: func(ctx context.Context, j *jobs.Job) (*jobs.Job, error) {
			got, err := s.Add(ctx, j)
			if err != nil {
				return jobs.Find(ctx, s, j.ID)
			}
			return got, nil
		}}
	},
	"Add loses the host": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, add: func(ctx context.Context, j *jobs.Job) (*jobs.Job, error) {
			own := *j
			own.Host = nil
			return s.Add(ctx, &own)
		}}
	},
	"List has no limit": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, list: func(ctx context.Context, q jobs.Query) ([]*jobs.Job, error) { q.Limit = 0; return s.List(ctx, q) }}
	},
	"List has all statuses": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, list: func(ctx context.Context, q jobs.Query) ([]*jobs.Job, error) { q.Status = nil; return s.List(ctx, q) }}
	},
	"List has the oldest first": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, list: func(ctx context.Context, q jobs.Query) ([]*jobs.Job, error) {
			list, err := s.List(ctx, q)
			slices.Reverse(list)
			return list, err
		}}
	},
	"List has no questions": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, list: func(ctx context.Context, q jobs.Query) ([]*jobs.Job, error) {
			q.Questions = false
			return s.List(ctx, q)
		}}
	},
	"Claim of a held job fails otherwise": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, claim: func(j *jobs.Job, err error) (*jobs.Job, error) {
			if errors.Is(err, jobs.ErrHeld) {
				err = jobs.ErrFinal
			}
			return j, err
		}}
	},
	"Claim counts no crashes": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, claim: func(j *jobs.Job, err error) (*jobs.Job, error) {
			if j != nil {
				j.Crashes = 0
			}
			return j, err
		}}
	},
	"Enqueue is Claim":          func(s jobs.Store) jobs.Store { return &altered{Store: s, enqueue: s.Claim} },
	"Remove of a job that runs": func(s jobs.Store) jobs.Store { return hides(s, "Remove", jobs.ErrRunning) },
	"Remove does nothing":       func(s jobs.Store) jobs.Store { return no(s, "Remove") },
	"Reopen does nothing":       func(s jobs.Store) jobs.Store { return no(s, "Reopen") },
	"Reopen of a job that runs": func(s jobs.Store) jobs.Store { return hides(s, "Reopen", jobs.ErrRunning) },
	"Cancel does nothing":       func(s jobs.Store) jobs.Store { return no(s, "Cancel") },
	"Cancel of an ended job":    func(s jobs.Store) jobs.Store { return hides(s, "Cancel", jobs.ErrFinal) },
	"Events begin at the start": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, events: func(ctx context.Context, id string, _ int64, follow bool) iter.Seq2[event.Event, error] {
			return s.Events(ctx, id, 0, follow)
		}}
	},
	"Events do not follow": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, events: func(ctx context.Context, id string, after int64, _ bool) iter.Seq2[event.Event, error] {
			return s.Events(ctx, id, after, false)
		}}
	},
	"Send takes a second answer": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, send: func(ctx context.Context, id string, sig flow.Signal) error {
			sig.Question = ""
			return s.Send(ctx, id, sig)
		}}
	},
	"Send loses the value": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, send: func(ctx context.Context, id string, sig flow.Signal) error {
			sig.Value = nil
			return s.Send(ctx, id, sig)
		}}
	},
	"Inputs are reversed": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, inputs: func(list []json.RawMessage) []json.RawMessage { slices.Reverse(list); return list }}
	},
	"Inputs are none": func(s jobs.Store) jobs.Store {
		return &altered{Store: s, inputs: func([]json.RawMessage) []json.RawMessage { return nil }}
	},
	"Heartbeat knows no cancel": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) { j.heartbeat = func(_ bool, err error) (bool, error) { return false, err } })
	},
	"Heartbeat of a lost lease": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) { j.heartbeat = func(cancel bool, _ error) (bool, error) { return cancel, nil } })
	},
	"FinishJob drops the last event": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) {
			j.finishJob = func(ctx context.Context, end *jobs.Job, _ *event.Event) error {
				return j.Journal.FinishJob(ctx, end, nil)
			}
		})
	},
	"FinishJob drops the output": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) {
			j.finishJob = func(ctx context.Context, end *jobs.Job, last *event.Event) error {
				own := *end
				own.Output = nil
				return j.Journal.FinishJob(ctx, &own, last)
			}
		})
	},
	"Append keeps one event of many": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) {
			j.appends = func(ctx context.Context, evs []event.Event) error {
				return j.Journal.Append(ctx, evs[:min(1, len(evs))]...)
			}
		})
	},
	"Append keeps pieces": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) {
			j.appends = func(ctx context.Context, evs []event.Event) error {
				evs = slices.Clone(evs)
				for i := range evs {
					evs[i].Kind = event.Note
				}
				return j.Journal.Append(ctx, evs...)
			}
		})
	},
	"Begin knows no step": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) { j.begin = func(_ *flow.Record, err error) (*flow.Record, error) { return nil, err } })
	},
	"Finish does nothing": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) { j.finish = func(context.Context, *flow.Record) error { return nil } })
	},
	"Receive has nothing": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) {
			j.receive = func(context.Context, flow.Step, []string) (*flow.Record, error) { return nil, nil }
		})
	},
	"Save does nothing": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) { j.save = func(context.Context, string, string, flow.State) error { return nil } })
	},
	"Load has nothing": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) { j.load = func(*flow.State, error) (*flow.State, error) { return nil, nil } })
	},
	"Start knows no bound": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) { j.start = func(_ int, err error) (int, error) { return 0, err } })
	},
	"Start counts from zero": func(s jobs.Store) jobs.Store {
		return with(s, func(j *journal) { j.start = func(n int, err error) (int, error) { return max(0, n-1), err } })
	},
}

const mutantVariable = "ADROIT_MUTANT"

// The suites refuse each store that is broken, and hang at none. Each runs in a program of its
// own, which is this test with the name of the store.
func TestMutants(t *testing.T) {
	if mutate, ok := mutants[os.Getenv(mutantVariable)]; ok {
		open := func(testing.TB) jobs.Store { return mutate(new(jobs.Memory)) }
		jobstest.Store(t, open)
		jobstest.Manager(t, open)
		return
	}
	for name := range mutants {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMutants$", "-test.failfast", "-test.timeout=3m")
			cmd.Env = append(os.Environ(), mutantVariable+"="+name)
			out, err := cmd.CombinedOutput()
			switch {
			case err == nil:
				t.Error("it passes")
			case strings.Contains(string(out), "test timed out"):
				t.Errorf("it hangs:\n%s", out)
			case !strings.Contains(string(out), "--- FAIL"):
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}
