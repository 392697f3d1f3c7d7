package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// An effect is a step whose name says how it goes: those that begin with "bad"
// fail the first time, those with "soft" have an output that says so.
func effect(r *flow.Run, name string) error {
	out, err := flow.Do[string](r, "do", name, nil)
	if err == nil && out == "failed" {
		err = errors.New(name + " failed softly")
	}
	return err
}

func effects(r *flow.Run, names ...string) error {
	for _, name := range names {
		if err := effect(r, name); err != nil {
			return err
		}
	}
	return nil
}

// part is a child: it does what its input names, with a checkpoint after each.
var part = flow.Define("part", func(r *flow.Run, names []string) (int, error) {
	at := 0
	if _, err := flow.Load(r, &at); err != nil {
		return at, err
	}
	for ; at < len(names); at++ {
		if err := effect(r, names[at]); err != nil {
			return at, err
		}
		if err := flow.Save(r, at+1); err != nil {
			return at, err
		}
	}
	return at, nil
})

func child(r *flow.Run, names ...string) error {
	_, err := flow.Child(r, "helper", part.Name, names, func(_ json.RawMessage, err error) (string, any) { return fmt.Sprint(err), nil })
	return err
}

func branches(r *flow.Run, each ...string) error {
	_, err := flow.Map(r, each, func(r *flow.Run, names string) (struct{}, error) {
		return struct{}{}, effects(r, strings.Fields(names)...)
	})
	return err
}

// resumeFailed: a job that failed, in whatever part, tries that again when it is
// resumed. What succeeded is not repeated.
func resumeFailed(t *testing.T, open func(t testing.TB) jobs.Store) {
	noted := func(r *flow.Run, err error) error { return errors.Join(err, r.Note("it ended: %v", err)) }
	for _, c := range []struct {
		name string
		work func(r *flow.Run) error
		want string // how often each effect is performed in the end; "" for a job that stays failed
	}{
		{"a step", func(r *flow.Run) error { return effects(r, "a", "bad", "c") }, "a1 bad2 c1"},
		{"with notes after it", func(r *flow.Run) error { return noted(r, effects(r, "a", "bad")) }, "a1 bad2"},
		{"one with an output", func(r *flow.Run) error { return noted(r, effects(r, "a", "soft", "c")) }, "a1 c1 soft2"},
		{"after a checkpoint", func(r *flow.Run) error { return noted(r, child(r, "a", "bad", "c")) }, "a1 bad2 c1"},
		{"a child", func(r *flow.Run) error { return errors.Join(effect(r, "a"), noted(r, child(r, "b", "bad"))) }, "a1 b1 bad2"},
		{"a call", func(r *flow.Run) error {
			_, err := flow.Call(r, "inner", func(r *flow.Run, _ int) (int, error) { return 0, noted(r, effects(r, "a", "bad")) }, 0)
			return noted(r, err)
		}, "a1 bad2"},
		{"a branch", func(r *flow.Run) error { return noted(r, branches(r, "bad1 w", "b", "c", "d")) }, "b1 bad12 c1 d1 w1"},
		{"several branches", func(r *flow.Run) error { return noted(r, branches(r, "a bad1", "b", "c bad2", "soft3")) }, "a1 b1 bad12 bad22 c1 soft32"},
		{"a child in a branch of a call", func(r *flow.Run) error {
			_, err := flow.Call(r, "inner", func(r *flow.Run, _ int) ([]int, error) {
				return flow.Map(r, []string{"x", "bad", "y"}, func(r *flow.Run, name string) (int, error) { return 0, noted(r, child(r, name, "bad"+name)) })
			}, 0)
			return noted(r, err)
		}, "bad2 badbad2 badx2 bady2 x1 y1"},
		{"branches in portions", func(r *flow.Run) error {
			return noted(r, errors.Join(branches(r, "a", "bad"), branches(r, "c", "d")))
		}, "a1 bad2 c1 d1"},
		{"with a poll after it", func(r *flow.Run) error {
			err := effect(r, "bad")
			if _, _, perr := flow.Poll(r, "stop"); perr != nil {
				return perr
			}
			return noted(r, err)
		}, "bad2"},
		{"with what depends on it", func(r *flow.Run) error {
			err := branches(r, "a", "bad")
			return errors.Join(err, effect(r, "free"), r.Note("over"))
		}, "a1 bad2 free2"},
		{"one that was got over stays", func(r *flow.Run) error {
			_ = effect(r, "bad1")
			return effects(r, "a", "bad2")
		}, "a1 bad11 bad22"},
		{"nothing that was taken back", func(r *flow.Run) error {
			_, err := flow.Saga(r, func(r *flow.Run, u *flow.Undo) (int, error) {
				u.Add("undo a", func(r *flow.Run) error { return effect(r, "undo") })
				return 0, effects(r, "a", "bad")
			})
			return err
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			count := map[string]int{}
			m := &jobs.Manager{Store: open(t), TTL: ttl, Owner: runner(1), Workflows: []flow.Workflow{part,
				flow.Define("work", func(r *flow.Run, _ any) (string, error) { return "", c.work(r) })},
				Mux: func(context.Context, *jobs.Job, flow.Blobs) (flow.Mux, func(), error) {
					return flow.Mux{"do": {Handler: func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
						mu.Lock()
						defer mu.Unlock()
						count[s.Name]++
						switch first := count[s.Name] == 1; {
						case first && strings.HasPrefix(s.Name, "bad"):
							return nil, errors.New(s.Name + " failed")
						case first && strings.HasPrefix(s.Name, "soft"):
							return json.RawMessage(`"failed"`), nil
						}
						return json.RawMessage(`"ok"`), nil
					}}}, nil, nil
				}}
			o := jobs.RunOptions{Reopen: flow.Reopener{
				Failed: func(_ flow.Record, out json.RawMessage) bool { return string(out) == `"failed"` },
				Repeat: func(rec flow.Record) bool { return rec.Name == "free" },
			}}
			j, err := m.Submit(t.Context(), &jobs.Job{Workflow: "work"})
			ok(t, err)
			j, err = m.Run(t.Context(), j.ID, o)
			ok(t, err)
			if j.Status != jobs.Failed {
				t.Fatalf("the job is %s: %s", j.Status, j.Reason)
			}
			for range 3 { // one failure after the other
				if j, err = m.Resume(t.Context(), j.ID, o); err != nil {
					t.Fatal(err)
				}
				if j.Status != jobs.Failed {
					break
				}
			}
			if c.want == "" {
				if j.Status != jobs.Failed || count["a"] != 1 || count["bad"] != 1 || count["undo"] != 1 {
					t.Errorf("the job is %s: %s; performed %v", j.Status, j.Reason, count)
				}
				return
			}
			var got []string
			for _, name := range slices.Sorted(maps.Keys(count)) {
				got = append(got, fmt.Sprintf("%s%d", name, count[name]))
			}
			if j.Status != jobs.Done || strings.Join(got, " ") != c.want {
				t.Errorf("the job is %s: %s; performed %v, want %s", j.Status, j.Reason, got, c.want)
			}
		})
	}
}
