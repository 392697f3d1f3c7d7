// Package adroittest holds the suite that every [adroit.Client] passes: the
// runtime in the process, and whatever stands for one behind an interface.
//
//	func TestRuntime(t *testing.T) {
//		adroittest.Test(t, func(t *testing.T, rt *adroit.Runtime) adroit.Client { return rt })
//	}
package adroittest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/adroit-run/adroit/internal/dev/partstest"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
)

const (
	writer = "---\ndescription: Write a file.\ntools: [write_file]\n---\nYou write.\n"
	count  = "name: greet\ndescription: Greet.\nsteps:\n  - id: write\n    tool: write_file\n    args: {path: hi.txt, content: hi}\n"
	turns  = "turns:\n  - calls: [{name: write_file, args: {path: out.txt, content: \"done\\n\"}}]\n  - text: Written.\nloop: true"
)

// A Wrap makes the client under test of a runtime. Closing the client is not
// needed: the suite closes the runtime.
type Wrap func(t *testing.T, rt *adroit.Runtime) adroit.Client

// An Option adapts the suite to a kind of client.
type Option func(*suite)

type suite struct {
	wrap    Wrap
	change  []func(*adroit.Options)
	without []string
	goesOn  bool
}

// With changes the options of the runtimes that the suite opens.
func With(change func(*adroit.Options)) Option {
	return func(s *suite) { s.change = append(s.change, change) }
}

// Without leaves parts of the suite out, by what the client cannot do: "live" and "live from
// start" are pieces of answers.
func Without(parts ...string) Option {
	return func(s *suite) { s.without = append(s.without, parts...) }
}

// GoesOn is for clients whose jobs go on by themselves once they are answered.
func GoesOn() Option { return func(s *suite) { s.goesOn = true } }

// A fixture is a client with a workspace of its own.
type fixture struct {
	adroit.Client
	dir string
	// slow is closed when the tool slow has been called, which waits for release.
	slow, release chan struct{}
	goesOn        bool // by itself, when it is answered
}

func (s *suite) open(t *testing.T, more ...func(*adroit.Options)) *fixture {
	t.Helper()
	f := &fixture{goesOn: s.goesOn, dir: t.TempDir(), slow: make(chan struct{}), release: make(chan struct{})}
	model, err := script.Parse("turns", []byte(turns))
	must(t, err)
	waits, err := script.Parse("waits", []byte("turns:\n  - calls: [{name: slow}]\n  - text: Done."))
	must(t, err)
	once := sync.OnceFunc(func() { close(f.slow) })
	slow := tools.New(tools.Metadata{Name: "slow", Description: "Wait until the test releases it or the job ends."}, func(ctx context.Context, _ *tools.Env, _ struct{}) (string, error) {
		once()
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-f.release:
			return "Released.", nil
		}
	})
	data := t.TempDir()
	o := adroit.Options{
		Tools: []tools.Tool{slow, partstest.Tool("write_file")}, Models: map[string]llm.Model{"script": model, "waits": waits}, Model: "script/turns",
		Storage: adroit.Storage{Data: data, Store: sqlite.Store(data)}, Workspace: adroit.Workspace{Dir: f.dir, Trust: data},
		Definitions: adroit.Definitions{
			Agents:    []agents.Layer{{Name: "mine", FS: fstest.MapFS{"writer.md": {Data: []byte(writer)}}}},
			Pipelines: []agents.Layer{{Name: "mine", FS: fstest.MapFS{"greet.yaml": {Data: []byte(count)}}}},
		},
	}
	for _, change := range slices.Concat(s.change, more) {
		change(&o)
	}
	rt, err := adroit.Open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	f.Client = s.wrap(t, rt)
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// request asks the writer, whose edits are approved as approve says.
func (f *fixture) request(approve executor.Approve) adroit.Request {
	return adroit.Request{Target: "writer", Input: agents.Input{Prompt: "Write out.txt.\nPlease.", Dir: f.dir, Approve: approve}}
}

// waiting asks for a job that calls the tool slow.
func (f *fixture) waiting() adroit.Request {
	return adroit.Request{Input: agents.Input{Prompt: "Wait.", Dir: f.dir, Model: "waits/x",
		Spec: &agents.DynamicAgent{Name: "waiter", Description: "Wait.", Prompt: "You wait.", Tools: []string{"slow"}}}}
}

func (f *fixture) start(t *testing.T, id string) {
	t.Helper()
	_, err := f.Start(t.Context(), id, adroit.StartOptions{})
	must(t, err)
}

// run submits and starts a job and waits until it has stopped.
func (f *fixture) run(t *testing.T, r adroit.Request) *jobs.Job {
	t.Helper()
	s, err := f.Submit(t.Context(), r)
	must(t, err)
	if s.Job.Status != jobs.Queued {
		t.Errorf("a submitted job is %s", s.Job.Status)
	}
	f.start(t, s.Job.ID)
	j, err := f.Wait(t.Context(), s.Job.ID)
	must(t, err)
	return j
}

// repository makes the workspace a git repository with one commit.
func (f *fixture) repository(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"config", "user.name", "n"}, {"config", "user.email", "e@localhost"}, {"commit", "-q", "--allow-empty", "-m", "Begin"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = f.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git: %v\n%s", err, out)
		}
	}
}

// standsFor are the errors by which a program finds out the kind.
var standsFor = map[problem.Kind]error{
	problem.NotFound: jobs.ErrNotExist, problem.Held: jobs.ErrHeld, problem.Ended: jobs.ErrFinal, problem.Running: jobs.ErrRunning,
	problem.Blocked: jobs.ErrBlocked, problem.Interrupted: jobs.ErrStopped,
}

func kind(t *testing.T, err error, want problem.Kind) *problem.Error {
	t.Helper()
	var e *problem.Error
	if !errors.As(err, &e) || e.Kind != want {
		t.Fatalf("%v is not an *adroit.Error of kind %s", err, want)
	}
	if is, ok := standsFor[want]; ok && !errors.Is(err, is) {
		t.Fatalf("%v of kind %s is not %q", err, want, is)
	}
	return e
}

// The events of all jobs are those of each, in one order, from any of them.
func testAllEvents(t *testing.T, f *fixture, want []event.Event) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all []event.Event
	for ev, err := range f.AllEvents(ctx, adroit.EventOptions{Follow: true}) {
		must(t, err)
		if all = append(all, ev); len(all) == len(want) {
			break
		}
	}
	for i, ev := range all {
		if ev.Seq != want[i].Seq || ev.Job != want[i].Job || ev.ID == 0 || i > 0 && ev.ID <= all[i-1].ID {
			t.Fatalf("event %d of all jobs is %+v, want %+v", i, ev, want[i])
		}
	}
	for after, n := range map[int64]int{-2: 2, all[1].ID: len(all) - 2} {
		for ev, err := range f.AllEvents(ctx, adroit.EventOptions{After: after}) {
			must(t, err)
			if n--; n == 0 && ev.ID != all[len(all)-1].ID {
				t.Errorf("after %d the last is %+v", after, ev)
			}
		}
		if n != 0 {
			t.Errorf("after %d: %d events missing", after, n)
		}
	}
	for _, err := range f.AllEvents(ctx, adroit.EventOptions{Live: true}) {
		kind(t, err, problem.Invalid)
	}
}

// A job runs; its events are numbered without a gap and replay from any number.
func testRun(t *testing.T, f *fixture) {
	j := f.run(t, f.request(executor.ApproveAll))
	if j.Status != jobs.Done || j.Agent != "writer" || j.Title != "Write out.txt." {
		t.Fatalf("%+v", j)
	}
	var all []event.Event
	for ev, err := range f.Events(t.Context(), j.ID[4:], adroit.EventOptions{Follow: true}) {
		must(t, err)
		all = append(all, ev)
	}
	for i, ev := range all {
		if ev.Seq != int64(i+1) || ev.Job != j.ID {
			t.Fatalf("event %d has number %d and job %s", i, ev.Seq, ev.Job)
		}
	}
	if len(all) < 4 || all[len(all)-1].Kind != event.JobFinished {
		t.Fatalf("%d events", len(all))
	}
	for ev, err := range f.Events(t.Context(), j.ID, adroit.EventOptions{After: 2}) {
		must(t, err)
		if ev.Seq != 3 {
			t.Errorf("after 2 comes %d", ev.Seq)
		}
		break // a reader that stops ends the stream
	}
	testAllEvents(t, f, all)
	d, err := f.Job(t.Context(), j.ID[:len(j.ID)-1])
	must(t, err)
	if d.Job.ID != j.ID || d.Final == nil || d.Final.Summary != "Written." || !d.Changes.Changed {
		t.Errorf("%+v", d)
	}
	if d.End == nil || d.End.Kind != event.JobFinished || d.End.Seq != int64(len(all)) {
		t.Errorf("the last event is %+v", d.End)
	}
	if d.Usage.Total.Turns != 2 || d.Usage.Total.Calls != 1 || d.Usage.Parts != nil || d.Usage.Models != nil {
		t.Errorf("it used %+v", d.Usage)
	}
	if c := d.Changes; len(c.Steps) != 1 || c.Incomplete != nil || c.Unreadable != "" || d.Position != nil || d.Trees != nil {
		t.Errorf("%+v", d)
	}
	testList(t, f, j)
	again, err := f.Retry(t.Context(), j.ID, adroit.RetryOptions{})
	must(t, err)
	if again.Job.ID == j.ID || again.Job.Status != jobs.Queued {
		t.Errorf("%+v", again.Job)
	}
}

// A list has the newest jobs, with input and output only if they are asked for.
func testList(t *testing.T, f *fixture, j *jobs.Job) {
	list, err := f.Jobs(t.Context(), adroit.ListOptions{Agent: "writer"})
	must(t, err)
	if len(list) != 1 || list[0].ID != j.ID || list[0].Output != nil {
		t.Fatalf("%+v", list)
	}
	if a := list[0].Actions; len(a) != 2 || a[0].Do != "diff" || a[1].Do != "undo" {
		t.Errorf("of a job that changed files, %+v", a)
	}
	list, err = f.Jobs(t.Context(), adroit.ListOptions{Full: true, Limit: 1})
	must(t, err)
	if len(list) != 1 || list[0].Actions != nil || len(list[0].Output) == 0 || !strings.Contains(string(list[0].Input), "Please.") {
		t.Errorf("%+v", list)
	}
	for _, dir := range []string{f.dir, filepath.Join(f.dir, "below"), filepath.Dir(f.dir)} {
		list, err = f.Jobs(t.Context(), adroit.ListOptions{Dir: dir, Limit: 1, Status: []jobs.Status{jobs.Done}})
		must(t, err)
		if len(list) != 1 || list[0].ID != j.ID {
			t.Errorf("in %s: %+v", dir, list)
		}
	}
	for _, o := range []adroit.ListOptions{{Dir: t.TempDir()}, {Status: []jobs.Status{jobs.Failed}}} {
		if list, err := f.Jobs(t.Context(), o); err != nil || len(list) > 0 {
			t.Errorf("%+v: %v, %+v", o, err, list)
		}
	}
	list, err = f.Jobs(t.Context(), adroit.ListOptions{Agent: "nobody"})
	must(t, err)
	if list == nil || len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// Errors keep their kind, message and hint, and what callers branch on.
func testErrors(t *testing.T, f *fixture) {
	_, err := f.Job(t.Context(), "nobody")
	if e := kind(t, err, problem.NotFound); e.Hint == "" || e.Message != `no such job: "nobody"` {
		t.Errorf("%+v", e)
	}
	if !errors.Is(err, jobs.ErrNotExist) {
		t.Error("it is no jobs.ErrNotExist")
	}
	for ev, err := range f.Events(t.Context(), "nobody", adroit.EventOptions{}) {
		kind(t, err, problem.NotFound)
		if ev.Seq != 0 {
			t.Error("an event beside an error")
		}
	}
	r := f.request("")
	r.Target = "writter"
	_, err = f.Submit(t.Context(), r)
	if e := kind(t, err, problem.Invalid); !strings.Contains(e.Hint, "did you mean writer?") {
		t.Errorf("%+v", e)
	}
	j := f.run(t, f.request(executor.ApproveAll))
	_, err = f.Start(t.Context(), j.ID, adroit.StartOptions{})
	if e := kind(t, err, problem.Ended); !strings.Contains(e.Hint, "jobs retry") {
		t.Errorf("%+v", e)
	}
	_, err = f.Cancel(t.Context(), j.ID)
	kind(t, err, problem.Ended)
	if !errors.Is(err, jobs.ErrFinal) {
		t.Error("it is no jobs.ErrFinal")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := f.Jobs(ctx, adroit.ListOptions{}); err == nil {
		t.Error("a call under an ended context succeeded")
	}
}

// A job that asks a person parks, says what can be done, and goes on when it is
// answered.
func testQuestion(t *testing.T, f *fixture) {
	j := f.run(t, f.request(executor.ApproveAsk))
	if j.Status != jobs.Waiting {
		t.Fatalf("%s: %s", j.Status, j.Reason)
	}
	d, err := f.Job(t.Context(), j.ID)
	must(t, err)
	if len(d.Questions) != 1 || len(d.Actions) != 2 || d.Actions[0].Do != "signal" || d.Actions[0].Signal != "approve" || d.Actions[1].Do != "resume" {
		t.Fatalf("%d questions, %+v", len(d.Questions), d.Actions)
	}
	_, err = f.Signal(t.Context(), j.ID, adroit.Signal{Name: "aprove"})
	kind(t, err, problem.Invalid)
	_, err = f.Signal(t.Context(), j.ID, adroit.Signal{Name: "approve", Question: "1.9.9"})
	kind(t, err, problem.Answered)
	// Of several answers at the same moment one is taken, and the others are refused.
	type outcome struct {
		sent *adroit.SignalSent
		err  error
	}
	all := make(chan outcome)
	for range 4 {
		go func() {
			sent, err := f.Signal(t.Context(), j.ID, adroit.Signal{Name: d.Actions[0].Signal, Question: d.Questions[0].Path})
			all <- outcome{sent, err}
		}()
	}
	var sent *adroit.SignalSent
	for range 4 {
		o := <-all
		switch {
		case o.err == nil && sent != nil:
			t.Error("two answers to one question were taken")
		case o.err == nil:
			sent = o.sent
		default:
			kind(t, o.err, problem.Answered)
		}
	}
	if sent == nil {
		t.Fatal("no answer was taken")
	}
	if sent.Question == nil || sent.Question.Path != d.Questions[0].Path || sent.Early {
		t.Errorf("%+v", sent)
	}
	// What has its answer takes no other, by whichever name: this is a conflict, no fault of the request.
	for _, name := range append([]string{"approve", "deny"}, d.Questions[0].Signals...) {
		_, err = f.Signal(t.Context(), j.ID, adroit.Signal{Name: name})
		if f.goesOn { // and may have ended
			if err == nil {
				t.Errorf("%s was taken, too", name)
			}
		} else if e := kind(t, err, problem.Answered); !strings.Contains(e.Hint, "continue ") {
			t.Errorf("%+v", e)
		}
	}
	if !f.goesOn {
		f.start(t, j.ID)
	}
	if j, err = f.Wait(t.Context(), j.ID); err != nil || j.Status != jobs.Done {
		t.Fatalf("%v, %+v", err, j)
	}
	// An answer may have the job go on, also without the permission to start one.
	j = f.run(t, f.request(executor.ApproveAsk))
	phone := adroit.WithAuthority(t.Context(), &adroit.Authority{Name: "phone", Scopes: []adroit.TokenScope{adroit.ScopeAnswer}})
	if _, err := f.Signal(phone, j.ID, adroit.Signal{Name: "approve", Start: true}); err != nil {
		t.Fatal(err)
	}
	if j, err = f.Wait(t.Context(), j.ID); err != nil || j.Status != jobs.Done {
		t.Fatalf("after an answer that starts it: %v, %+v", err, j)
	}
}

// What a job changed is listed by step, and undone.
func testChanges(t *testing.T, f *fixture) {
	j := f.run(t, f.request(executor.ApproveAll))
	list, err := f.Steps(t.Context(), j.ID)
	must(t, err)
	steps := list.Steps
	if list.Job != j.ID || list.Incomplete != nil || len(steps) != 1 || steps[0].Name != "write_file" || len(steps[0].Changes) != 1 {
		t.Fatalf("%+v", steps)
	}
	d, err := f.Diff(t.Context(), j.ID, adroit.Selection{Step: steps[0].Step})
	must(t, err)
	if !strings.Contains(d.Diff, "+done") || d.Changes[0].Path != "out.txt" {
		t.Errorf("%+v", d)
	}
	_, err = f.Diff(t.Context(), j.ID, adroit.Selection{Step: "9"})
	kind(t, err, problem.Invalid)
	r, err := f.Undo(t.Context(), j.ID, adroit.Selection{})
	must(t, err)
	if len(r.Removed) != 1 || r.Removed[0] != "out.txt" {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "out.txt")); err == nil {
		t.Error("the file is still there")
	}
	arts, err := f.Artifacts(t.Context(), j.ID)
	must(t, err)
	if _, ok := arts.Artifacts["diff"]; !ok || arts.Job != j.ID {
		t.Errorf("artifacts %v", arts)
	}
	_, err = f.Merge(t.Context(), j.ID, "")
	kind(t, err, problem.Invalid)
}

// The same key is the same job.
func testKey(t *testing.T, f *fixture) {
	r := f.request("")
	r.Key = "once"
	first, err := f.Submit(t.Context(), r)
	must(t, err)
	second, err := f.Submit(t.Context(), r)
	must(t, err)
	if first.Repeated || !second.Repeated || second.Job.ID != first.Job.ID {
		t.Errorf("%+v, %+v", first, second)
	}
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(f.dir, link))
	r.Dir = link
	third, err := f.Submit(t.Context(), r)
	must(t, err)
	if !third.Repeated || third.Job.ID != first.Job.ID {
		t.Errorf("through a link to the directory the key gives %+v", third.Job)
	}
	r.Key = "" // none
	for range 2 {
		other, err := f.Submit(t.Context(), r)
		must(t, err)
		if other.Repeated {
			t.Errorf("without a key it is job %s again", other.Job.ID)
		}
	}
}

// What a job did in its worktree is merged into the repository.
func testMerge(t *testing.T, f *fixture) {
	f.repository(t)
	r := f.request(executor.ApproveAll)
	r.Worktree = true
	j := f.run(t, r)
	d, err := f.Job(t.Context(), j.ID)
	must(t, err)
	m, err := f.Merge(t.Context(), j.ID, "")
	must(t, err)
	if d.Worktree == nil || m.Job != j.ID || m.Repo != d.Worktree.Repo || m.Commit == "" || !slices.Equal(m.Paths, []string{"out.txt"}) {
		t.Errorf("%+v of %+v", m, d.Worktree)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "out.txt")); err != nil {
		t.Error(err)
	}
}

// Resolve reports what would run, also of a pipeline, and adds nothing.
func testPlan(t *testing.T, f *fixture) {
	p, err := f.Resolve(t.Context(), f.request(""))
	must(t, err)
	if p.Task.Agent != "writer" || p.Workflow != agents.Workflow.Name || len(p.Task.Tools) == 0 || p.Input.Model != "script/turns" {
		t.Errorf("%+v", p)
	}
	r := f.request("")
	r.Target = "greet"
	if p, err = f.Resolve(t.Context(), r); err != nil || p.Pinned == nil || p.Pinned.Pipeline.Name != "greet" {
		t.Fatalf("%v, %+v", err, p)
	}
	if list, err := f.Jobs(t.Context(), adroit.ListOptions{}); err != nil || len(list) != 0 {
		t.Errorf("%d jobs, %v", len(list), err)
	}
}

// Test runs the suite.
func Test(t *testing.T, wrap Wrap, options ...Option) {
	s := &suite{wrap: wrap}
	for _, o := range options {
		o(s)
	}
	for name, run := range map[string]func(*testing.T, *fixture){
		"run": testRun, "handle": testHandle, "run interrupted": testRunInterrupted, "transcript": testTranscript, "errors": testErrors, "question": testQuestion, "message": testMessage, "attach": testAttach, "changes": testChanges, "key": testKey,
		"cancel": testCancel, "catalog": testCatalog, "memory": testMemory, "show": testShow, "lint": testLint, "pipeline file": testPipelineFile, "models": testModels, "failures": testFailures, "call": testCall, "doctor": testDoctor, "trust": testTrust, "remove": testRemove, "prune": testPrune, "merge": testMerge, "plan": testPlan, "stop": testStop, "live": testLive, "live from start": testLiveFromStart, "limits": testLimits, "queue": testQueue,
	} {
		if !slices.Contains(s.without, name) {
			t.Run(name, func(t *testing.T) { run(t, s.open(t)) })
		}
	}
	t.Run("entries", func(t *testing.T) { testEntries(t, s) })
}
