package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
)

type say struct {
	Text string `json:"text" jsonschema:"minLength=1,description=What to say"`
}

var echo = tools.New(tools.Metadata{Name: "echo", Description: "Say it."}, func(_ context.Context, _ *tools.Env, in say) (string, error) {
	return "said " + in.Text, nil
})

// A world is a workspace with the programs that hooks run beside it.
type world struct {
	t        *testing.T
	dir, bin string
	mu       sync.Mutex
	notes    []string
	ran      int
}

func newWorld(t *testing.T) *world { return &world{t: t, dir: t.TempDir(), bin: t.TempDir()} }

// hook makes a program of shell text and a hook that runs it.
func (w *world) hook(when hooks.When, script string) hooks.Hook {
	f, err := os.CreateTemp(w.bin, "hook-*")
	if err != nil {
		w.t.Fatal(err)
	}
	f.Close()
	if err := os.WriteFile(f.Name(), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		w.t.Fatal(err)
	}
	return hooks.Hook{When: when, Command: []string{"/bin/sh", f.Name()}}
}

func (w *world) call(ctx context.Context, args string, list ...hooks.Hook) (tools.Result, error) {
	if err := hooks.Check(list); err != nil {
		w.t.Fatal(err)
	}
	r := hooks.New(w.dir, list)
	defer r.Close()
	perform := r.Middleware(func(ctx context.Context, p host.Invocation) (tools.Result, error) {
		w.ran++
		return p.Tool.Run(ctx, p.Env, p.Args)
	})
	return perform(ctx, host.Invocation{
		Step: flow.Step{Job: "J1", Path: "3.1"}, Tool: echo, Args: json.RawMessage(args),
		Env: &tools.Env{Emit: func(e event.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.notes = append(w.notes, e.Text+" "+e.Error)
		}},
	})
}

func TestHooks(t *testing.T) {
	block := func(h hooks.Hook) hooks.Hook { h.OnError = hooks.Block; return h }
	quick := func(h hooks.Hook) hooks.Hook { h.Timeout = 200 * time.Millisecond; return h }
	for _, c := range []struct {
		name string
		list func(w *world) []hooks.Hook
		want string
		fail bool
		ran  int
		note string
	}{
		{"silence", func(w *world) []hooks.Hook { return []hooks.Hook{w.hook("before", "exit 0")} }, "said hi", false, 1, ""},
		{"chatter", func(w *world) []hooks.Hook { return []hooks.Hook{w.hook("before", "echo checked")} }, "said hi", false, 1, ""},
		{"refusal", func(w *world) []hooks.Hook { return []hooks.Hook{w.hook("before", "echo not on Fridays >&2; exit 2")} }, "not on Fridays", true, 0, "refused the call"},
		{"refusal without words", func(w *world) []hooks.Hook { return []hooks.Hook{w.hook("before", "exit 2")} }, "no reason given", true, 0, ""},
		{"crash", func(w *world) []hooks.Hook { return []hooks.Hook{w.hook("before", "kill -SEGV $$")} }, "said hi", false, 1, "exit code 139"},
		{"crash that blocks", func(w *world) []hooks.Hook { return []hooks.Hook{block(w.hook("before", "exit 1"))} }, "could not be made", true, 0, "exit code 1"},
		{"no program", func(w *world) []hooks.Hook { return []hooks.Hook{{When: "before", Command: []string{"/nowhere/x"}}} }, "said hi", false, 1, "failed"},
		{"hang", func(w *world) []hooks.Hook { return []hooks.Hook{quick(w.hook("before", "sleep 600 & sleep 600"))} }, "said hi", false, 1, "did not end within"},
		{"hang that blocks", func(w *world) []hooks.Hook { return []hooks.Hook{block(quick(w.hook("before", "sleep 600")))} }, "could not be made", true, 0, ""},
		{"flood", func(w *world) []hooks.Hook { return []hooks.Hook{w.hook("before", "head -c 3000000 /dev/zero")} }, "said hi", false, 1, "more than"},
		{"change", func(w *world) []hooks.Hook {
			return []hooks.Hook{w.hook("before", `echo '{"args":{"text":"ho"}}'`), w.hook("before", `grep -q '"text":"ho"' || exit 2`)}
		}, "said ho", false, 1, "changed the arguments"},
		{"change that does not fit", func(w *world) []hooks.Hook { return []hooks.Hook{w.hook("before", `echo '{"args":{"txt":1}}'`)} }, "do not fit", true, 0, "do not fit"},
		{"half an object", func(w *world) []hooks.Hook { return []hooks.Hook{w.hook("before", `echo '{"args":'`)} }, "said hi", false, 1, "no amendment"},
		{"text before", func(w *world) []hooks.Hook { return []hooks.Hook{w.hook("before", `echo '{"text":"x"}'`)} }, "said hi", false, 1, "amends what it cannot"},
		{"new text", func(w *world) []hooks.Hook { return []hooks.Hook{w.hook("after", `echo '{"text":"quiet"}'`)} }, "quiet", false, 1, "changed the text"},
		{"objection", func(w *world) []hooks.Hook {
			return []hooks.Hook{w.hook("after", `grep -q 'said hi' && echo too loud >&2 && exit 2`)}
		}, "said hi\n\nThe call has happened, but a rule of the operator objects: too loud", true, 1, "objected"},
		{"other tools", func(w *world) []hooks.Hook {
			h := w.hook("before", "exit 2")
			h.Tools = []string{"write_*", "ech"}
			return []hooks.Hook{h}
		}, "said hi", false, 1, ""},
		{"wildcards", func(w *world) []hooks.Hook {
			h := w.hook("before", "exit 2")
			h.Tools = []string{"e*"}
			return []hooks.Hook{h}
		}, "refuses", true, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			r, err := w.call(t.Context(), `{"text":"hi"}`, c.list(w)...)
			switch {
			case err != nil:
				t.Errorf("unexpected error: %+v, %v, ran %d times; want %q, failed %v, %d times", r, err, w.ran, c.want, c.fail, c.ran)
			case r.Failed != c.fail:
				t.Errorf("r.Failed is %v, want %v: %+v, %v, ran %d times; want %q, failed %v, %d times", r.Failed, c.fail, r, err, w.ran, c.want, c.fail, c.ran)
			case !strings.Contains(r.Text, c.want):
				t.Errorf("r.Text lacks c.want: %+v, %v, ran %d times; want %q, failed %v, %d times", r, err, w.ran, c.want, c.fail, c.ran)
			case w.ran != c.ran:
				t.Errorf("w.ran is %v, want %v: %+v, %v, ran %d times; want %q, failed %v, %d times", w.ran, c.ran, r, err, w.ran, c.want, c.fail, c.ran)
			}
			if notes := strings.Join(w.notes, "\n"); !strings.Contains(notes, c.note) || c.note == "" && !c.fail && notes != "" {
				t.Errorf("noted %q, want %q", notes, c.note)
			}
		})
	}
}

// A hook knows the call, runs in the workspace, and does not see our keys.
func TestCallInput(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "secret-key")
	w := newWorld(t)
	if _, err := w.call(t.Context(), `{"text":"hi"}`, w.hook("after", "cat >call; env >>call")); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(w.dir, "call"))
	if err != nil {
		t.Fatal(err)
	}
	var c hooks.Call
	if err := json.NewDecoder(strings.NewReader(string(b))).Decode(&c); err != nil {
		t.Fatal(err)
	}
	switch {
	case c.When != "after":
		t.Errorf(`c.When is %v, want "after": call %+v`, c.When, c)
	case c.Job != "J1":
		t.Errorf(`c.Job is %v, want "J1": call %+v`, c.Job, c)
	case c.Step != "3.1":
		t.Errorf(`c.Step is %v, want "3.1": call %+v`, c.Step, c)
	case c.Dir != w.dir:
		t.Errorf("c.Dir is %v, want %v: call %+v", c.Dir, w.dir, c)
	case c.Tool != "echo":
		t.Errorf(`c.Tool is %v, want "echo": call %+v`, c.Tool, c)
	case string(c.Args) != `{"text":"hi"}`:
		t.Errorf("string(c.Args) is %v, want `{\"text\":\"hi\"}`: call %+v", string(c.Args), c)
	case c.Result == nil:
		t.Errorf("c.Result is nil: call %+v", c)
	case c.Result.Text != "said hi":
		t.Errorf(`c.Result.Text is %v, want "said hi": call %+v`, c.Result.Text, c)
	}
	if strings.Contains(string(b), "secret-key") {
		t.Error("the hook sees a key")
	}
}

// A job that is stopped stops its hooks, and the call has no outcome.
func TestCancel(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	h := w.hook("before", "mkfifo go; echo >go; sleep 600")
	go func() {
		for ctx.Err() == nil {
			if f, err := os.Open(filepath.Join(w.dir, "go")); err == nil { // waits for the hook
				f.Close()
				cancel()
			}
		}
	}()
	r, err := w.call(ctx, `{"text":"hi"}`, h)
	if !errors.Is(err, context.Canceled) || w.ran != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCheck(t *testing.T) {
	err := hooks.Check([]hooks.Hook{
		{When: "during", Command: []string{"x"}},
		{When: "before"},
		{When: "before", Command: []string{"./hook"}},
		{When: "after", Command: []string{"x"}, Tools: []string{"["}, Timeout: -1, OnError: "ignore"},
		{When: "after", Command: []string{"x", "a b", "$HOME"}},
	})
	for _, want := range []string{"hooks.0: when", "hooks.1: command is empty", "hooks.2: the program ./hook", "hooks.3: the tool pattern", "timeout", "on_error"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "hooks.4") {
		t.Error(err)
	}
}
