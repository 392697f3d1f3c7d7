package serve_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/serve"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Jobs are started, followed, answered, shown and cancelled without waiting.
func TestJobTools(t *testing.T) {
	each(t, func(w *world, revision string) {
		c := w.connect(w.server(serve.Options{}), revision, nil)
		_, v := c.call("job_start", map[string]any{"agent": "writer", "prompt": "Write.", "key": "once"})
		id := v.Job
		if _, again := c.call("job_start", map[string]any{"agent": "writer", "prompt": "Write.", "key": "once"}); again.Job != id {
			w.Errorf("the same key gave %s and %s", id, again.Job)
		}
		if r, _ := c.call("job_start", map[string]any{"agent": "writer", "prompt": "Write.", "key": ""}); !r.IsError || !strings.Contains(words(r), "key") {
			w.Errorf("an empty key gave %s", words(r))
		}
		r, v := c.call("job_follow", map[string]any{"job": id, "seconds": 600})
		if len(v.Events) == 0 || !strings.Contains(words(r), "waiting") {
			w.Errorf("followed: %+v %s", v, words(r))
		}
		validate(w, c, "job_follow", r)
		if _, v = c.call("job_follow", map[string]any{"job": id, "after": v.After}); len(v.Events) != 0 {
			w.Errorf("events again: %+v", v)
		}
		r, v = c.call("job_result", map[string]any{"job": id})
		validate(w, c, "job_result", r)
		question := v.Result.Question
		if question == nil || !slices.Equal(question.Answers, []string{"approve", "deny"}) {
			w.Fatalf("the question is %+v", question)
		}
		if r, _ := c.call("job_answer", map[string]any{"job": id, "question": question.ID, "answer": "approve"}); !r.IsError || !strings.Contains(words(r), "for a person") {
			w.Errorf("the model approved: %s", words(r))
		}
		trusting := w.connect(w.server(serve.Options{ModelApproves: true}), revision, nil)
		if r, _ := trusting.call("job_answer", map[string]any{"job": id, "question": question.ID, "answer": "perhaps"}); !r.IsError {
			w.Errorf("perhaps was taken: %s", words(r))
		}
		at, _, _ := strings.Cut(question.ID, "@")
		for _, other := range []string{at, at + "@0123456789abcdef"} { // as if the job asked something else there
			if r, _ := trusting.call("job_answer", map[string]any{"job": id, "question": other, "answer": "approve"}); !r.IsError || r.Meta["adroit.run/kind"] != "answered" {
				w.Errorf("an answer to the question %q was taken: %s", other, words(r))
			}
		}
		if r, _ := trusting.call("job_answer", map[string]any{"job": id, "question": question.ID, "answer": "approve"}); r.IsError {
			w.Errorf("approving: %s", words(r))
		}
		if r, _ := trusting.call("job_answer", map[string]any{"job": id, "question": question.ID, "answer": "deny"}); !r.IsError {
			w.Errorf("a second answer was taken: %s", words(r))
		}
		c.call("job_follow", map[string]any{"job": id, "seconds": 600})
		if _, v := c.call("job_result", map[string]any{"job": id}); v.Result.Status != jobs.Done {
			w.Errorf("in the end: %+v", v.Result)
		}
		if _, v := c.call("job_result", map[string]any{"job": id, "artifact": "changes"}); !strings.Contains(v.Part.Text, "+done") {
			w.Errorf("changes: %+v", v.Part)
		}
		const key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
		r, v = c.call("job_start", map[string]any{"agent": "waiter", "prompt": "Wait with " + key})
		<-w.slow
		if !strings.Contains(words(r), "note: the prompt has a secret in it (github token") || strings.Contains(words(r), key) {
			w.Errorf("a secret in the prompt: %s", words(r))
		}
		validate(w, c, "job_start", r)
		if _, v := c.call("job_cancel", map[string]any{"job": v.Job}); v.Status != jobs.Cancelled {
			w.Errorf("cancelled: %+v", v)
		}
		if _, v := c.call("job_list", map[string]any{"limit": 1}); len(v.Jobs) != 1 || v.Jobs[0].Agent != "waiter" {
			w.Errorf("listed: %+v", v.Jobs)
		}
	})
}

// Jobs of other agents and directories are not there.
func TestOthersJobs(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect(w.server(serve.Options{Agents: []string{"writer"}}), legacy, nil)
	var ids []string
	for agent, dir := range map[string]string{"hidden": w.dir, "writer": t.TempDir()} {
		s, err := w.c.Submit(t.Context(), adroit.Request{Target: agent, Input: agents.Input{Prompt: "p", Dir: dir}})
		w.must(err)
		ids = append(ids, s.Job.ID)
	}
	for _, id := range append(ids, "last", "J0", "\x1b[2J", strings.Repeat("x", 1<<20)) {
		for _, tool := range []string{"job_result", "job_follow", "job_cancel", "job_resume"} {
			r, _ := c.call(tool, map[string]any{"job": id})
			if !r.IsError || strings.Contains(words(r), "\x1b") || len(words(r)) > 2<<20 {
				t.Errorf("%s %.20q: %.200s", tool, id, words(r))
			}
		}
	}
	if _, v := c.call("job_list", nil); len(v.Jobs) != 0 {
		t.Errorf("listed %+v", v.Jobs)
	}
	if r, _ := c.call("job_start", map[string]any{"agent": "hidden", "prompt": "p"}); !r.IsError {
		t.Errorf("an agent that is not exposed was started: %s", words(r))
	}
}

// Tools of the registry are called without a job, below the directory only.
func TestRegistryTools(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect(w.server(serve.Options{Agents: []string{}, Tools: []string{"write_file", "read_file"}}), legacy, nil)
	if r, _ := c.call("write_file", map[string]any{"path": "a.txt", "content": "alpha\n"}); r.IsError {
		t.Error(words(r))
	}
	if r, _ := c.call("read_file", map[string]any{"path": "a.txt"}); r.IsError || !strings.Contains(words(r), "alpha") {
		t.Error(words(r))
	}
	o := serve.Options{Agents: []string{}, Tools: []string{"write_file"}}
	o.Request.Mode = "plan"
	plan := w.connect(w.server(o), legacy, nil)
	if r, _ := plan.call("write_file", map[string]any{"path": "a.txt", "content": "beta\n"}); !r.IsError || !strings.Contains(words(r), "the mode is plan") {
		t.Errorf("mode plan: %s", words(r))
	}
	for _, path := range []string{"/etc/passwd", "../x", "a/../../x", "\x1b]0;x\a"} {
		r, _ := c.call("read_file", map[string]any{"path": path})
		if !r.IsError || strings.ContainsAny(words(r), "\x1b\a") {
			t.Errorf("%q: %q", path, words(r))
		}
	}
}

// A request that is cancelled cancels its job. A client that goes away does not: the
// job is interrupted when the program ends, and another server goes on with it.
func TestCancelledAndGone(t *testing.T) {
	for _, gone := range []bool{false, true} {
		w := newWorld(t, nil)
		c := w.connect(w.server(serve.Options{}), legacy, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "waiter", Arguments: map[string]any{"prompt": "Wait."}})
			ended <- err
		}()
		<-w.slow
		all, err := w.c.Jobs(t.Context(), adroit.ListOptions{})
		w.must(err)
		id := all[0].ID
		if gone {
			c.hangUp()
		} else {
			cancel()
		}
		if err := <-ended; err == nil {
			t.Error("the call has a result")
		}
		if gone {
			if err := <-c.ended; err != nil {
				t.Error(err)
			}
			c.ended <- nil
			close(w.end)
		}
		j, err := w.c.Wait(t.Context(), id)
		w.must(err)
		if want := map[bool]jobs.Status{false: jobs.Cancelled, true: jobs.Done}[gone]; j.Status != want {
			t.Errorf("gone %t: the job is %s, want %s", gone, j.Status, want)
		}
		cancel()
	}
}

// A thousand calls at once: some run, the rest are refused, and nobody waits for
// ever.
func TestManyCalls(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect(w.server(serve.Options{}), legacy, nil)
	const n, atWork = 1000, 64
	results := make(chan string, n)
	for range n {
		go func() {
			r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "waiter", Arguments: map[string]any{"prompt": "Wait."}})
			switch {
			case err != nil:
				results <- err.Error()
			case r.IsError:
				results <- words(r)
			default:
				results <- "done"
			}
		}()
	}
	for i := range n {
		want := "64 calls are in progress; try again when one has ended"
		if i == n-atWork {
			close(w.end)
		}
		if i >= n-atWork {
			want = "done"
		}
		if got := <-results; got != want {
			t.Fatalf("call %d: %s", i, got)
		}
	}
	if r, _ := c.call("greeter", map[string]any{"name": "x"}); r.IsError {
		t.Errorf("afterwards: %s", words(r))
	}
}

// Two servers on one store see each other's jobs, and one of them runs a job.
func TestTwoServers(t *testing.T) {
	follows := make(chan struct{}, 8)
	w := newWorld(t, func(c adroit.Client) adroit.Client { return following{c, follows} })
	a, b := w.connect(w.server(serve.Options{}), legacy, nil), w.connect(w.server(serve.Options{}), current, nil)
	_, v := a.call("job_start", map[string]any{"agent": "waiter", "prompt": "Wait."})
	<-w.slow
	done := make(chan view)
	go func() { _, v := b.call("job_resume", map[string]any{"job": v.Job}); done <- v }()
	<-follows
	close(w.end)
	if got := <-done; got.Status != jobs.Done || got.Job != v.Job {
		t.Errorf("the other server has %+v", got)
	}
	for deadline := time.Now().Add(time.Minute); len(b.notices()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the other server reports no progress")
		}
	}
}

// A following client says when somebody follows a job.
type following struct {
	adroit.Client
	follows chan<- struct{}
}

func (f following) Events(ctx context.Context, id string, o adroit.EventOptions) iter.Seq2[event.Event, error] {
	if o.Follow {
		f.follows <- struct{}{}
	}
	return f.Client.Events(ctx, id, o)
}
