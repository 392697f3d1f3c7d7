package mcpserver_test

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/trust"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/cli/internal/mcpserver"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/script"
	"github.com/adroit-run/adroit/pkg/sqlite"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/file"
	"github.com/adroit-run/adroit/pkg/tools/schema"
)

const (
	legacy  = "2025-11-25"
	current = "2026-07-28"
)

var files = fstest.MapFS{
	"writer.md": {Data: []byte("---\ndescription: Write a file.\ntools: [write_file]\nmodel: writes/x\nexpose: true\n---\nYou write.\n")},
	"greeter.md": {Data: []byte("---\ndescription: Greet somebody.\nmodel: greets/x\nexpose: true\ninputs:\n  name: Whom.\n  times: {default: 2}\n" +
		"output: {type: object, properties: {greeting: {$ref: '#/$defs/text'}}, required: [greeting], $defs: {text: {type: string}}}\n---\nYou greet {{.Inputs.name}}.\n")},
	"waiter.md": {Data: []byte("---\ndescription: Wait.\ntools: [slow]\nmodel: waits/x\nexpose: true\n---\nYou wait.\n")},
	"hidden.md": {Data: []byte("---\ndescription: Nobody is to call it.\nmodel: greets/x\n---\nYou hide.\n")},
}

// A world is a runtime with agents that play scripts.
type world struct {
	*testing.T
	c    adroit.Client
	dir  string
	slow chan struct{} // gets a value when the tool slow is called
	end  chan struct{} // lets it end
}

func newWorld(t *testing.T, through func(adroit.Client) adroit.Client) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir(), slow: make(chan struct{}, 200), end: make(chan struct{})}
	slow := tools.New(tools.Metadata{Name: "slow", Description: "Wait until the test ends it or the job ends."}, func(ctx context.Context, _ *tools.Env, _ struct{}) (string, error) {
		w.slow <- struct{}{}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-w.end:
			return "Released.", nil
		}
	})
	models := map[string]llm.Model{}
	for name, text := range map[string]string{
		"writes": "turns:\n  - calls: [{name: write_file, args: {path: out.txt, content: \"done\\n\"}}]\n  - text: \"Written \\e]52;c;x\\a.\"\nloop: true",
		"greets": "turns: [{text: '{\"greeting\": \"Hello\"}'}]\nloop: true",
		"waits":  "turns:\n  - calls: [{name: slow}]\n  - text: Done.\nloop: true",
	} {
		m, err := script.Parse(name, []byte(text))
		w.must(err)
		models[name] = m
	}
	data := t.TempDir()
	rt, err := adroit.Open(t.Context(), adroit.Options{
		Tools: []tools.Tool{slow, file.Write, file.Read}, Models: models, Data: data, Store: sqlite.Store(data), Trust: trust.In(data),
		Agents: []agents.Layer{{Name: "mine", FS: files}}, AtOnce: 4,
	})
	w.must(err)
	t.Cleanup(func() { w.must(rt.Close()) })
	if w.c = rt; through != nil {
		w.c = through(rt)
	}
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) server(o mcpserver.Options) *mcpserver.Server {
	w.Helper()
	o.Request.Dir, o.Log = w.dir, w.Logf
	o.Request.Approve = cmp.Or(o.Request.Approve, executor.ApproveAsk)
	s, err := mcpserver.New(w.Context(), w.c, o)
	w.must(err)
	return s
}

// A client is a session with a server over pipes, as a program has it.
type client struct {
	*world
	*sdk.ClientSession
	notices func() []string
	hangUp  func()
	ended   chan error
}

// connect connects a client that answers questions with answer, if that is not nil.
func (w *world) connect(s *mcpserver.Server, revision string, answer func(*sdk.ElicitParams) *sdk.ElicitResult) *client {
	w.Helper()
	var mu sync.Mutex
	var notices []string
	o := &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			notices = append(notices, r.Params.Message)
		},
	}
	if answer != nil {
		o.ElicitationHandler = func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) { return answer(r.Params), nil }
	}
	p := newPipes()
	c := &client{world: w, ended: make(chan error, 1), hangUp: p.hangUp, notices: func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(notices)
	}}
	go func() { c.ended <- s.Serve(w.Context(), p.in, p.out) }()
	var err error
	c.ClientSession, err = sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(w.Context(), p.client(), &sdk.ClientSessionOptions{ProtocolVersion: revision})
	w.must(err)
	w.Cleanup(func() { c.Close(); p.hangUp(); <-c.ended })
	return c
}

// call calls a tool and returns its result with the job that it is about.
func (c *client) call(name string, args any) (*sdk.CallToolResult, view) {
	c.Helper()
	p := &sdk.CallToolParams{Name: name, Arguments: args}
	p.SetProgressToken("t")
	r, err := c.CallTool(c.Context(), p)
	c.must(err)
	var v view
	b, err := json.Marshal(r.StructuredContent)
	c.must(err)
	c.must(json.Unmarshal(b, &v))
	return r, v
}

type view struct {
	Job       string
	Status    jobs.Status
	Summary   string
	Output    map[string]string
	Artifacts map[string]json.RawMessage
	Question  *struct {
		ID, How string
		Answers []string
	}
	Jobs   []struct{ Job, Agent string }
	Part   struct{ Text string }
	Result *view
	Events []struct{ Number int64 }
	After  int64
}

func words(r *sdk.CallToolResult) string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].(*sdk.TextContent).Text
}

func yes(*sdk.ElicitParams) *sdk.ElicitResult {
	return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "yes"}}
}

// each runs a test on the runtime and on a client that stands for one, in both
// revisions of the protocol.
func each(t *testing.T, run func(w *world, revision string)) {
	for _, revision := range []string{legacy, current} {
		t.Run(revision, func(t *testing.T) { run(newWorld(t, nil), revision) })
		t.Run(revision+" over HTTP", func(t *testing.T) { run(newWorld(t, api.Loopback), revision) })
	}
}

// Nothing is exposed that was not chosen, and what is has the agent's inputs.
func TestExposed(t *testing.T) {
	w := newWorld(t, nil)
	for _, tt := range []struct {
		o    mcpserver.Options
		want string
	}{
		{mcpserver.Options{}, "greeter job_answer job_cancel job_follow job_list job_result job_resume job_start waiter writer"},
		{mcpserver.Options{Agents: []string{"hidden"}}, "hidden job_answer job_cancel job_follow job_list job_result job_resume job_start"},
		{mcpserver.Options{Agents: []string{}, Tools: []string{"read_file"}}, "read_file"},
	} {
		c := w.connect(w.server(tt.o), legacy, nil)
		list, err := c.ListTools(t.Context(), nil)
		w.must(err)
		var got []string
		for _, tool := range list.Tools {
			got = append(got, tool.Name)
			checkTool(t, tool)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("exposed %v, want %s", got, tt.want)
		}
	}
	for _, bad := range []mcpserver.Options{{Agents: []string{}}, {Agents: []string{"nobody"}}, {Agents: []string{"writer", "writer"}}, {Tools: []string{"nothing"}}} {
		bad.Request.Dir = w.dir
		if _, err := mcpserver.New(t.Context(), w.c, bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// checkTool checks how a tool is described.
func checkTool(t *testing.T, tool *sdk.Tool) {
	t.Helper()
	for _, s := range []any{tool.InputSchema, tool.OutputSchema} {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := schema.Compile(b); s != nil && err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
	in, err := json.Marshal(tool.InputSchema)
	if err != nil {
		t.Fatal(err)
	}
	switch tool.Name {
	case "greeter":
		if tool.Description != "Greet somebody." || !strings.Contains(string(in), `"required":["name"]`) || !strings.Contains(string(in), `"default":2`) {
			t.Errorf("greeter: %q %s", tool.Description, in)
		}
	case "read_file":
		if a := tool.Annotations; !a.ReadOnlyHint || *a.DestructiveHint || *a.OpenWorldHint {
			t.Errorf("read_file: %+v", a)
		}
	case "writer":
		if tool.Annotations.ReadOnlyHint {
			t.Error("writer says that it only reads")
		}
	}
}

// A call runs a job to its end, reports progress, and returns what it produced.
func TestCall(t *testing.T) {
	each(t, func(w *world, revision string) {
		c := w.connect(w.server(mcpserver.Options{}), revision, nil)
		r, v := c.call("greeter", map[string]any{"name": "Ada"})
		if r.IsError || v.Status != jobs.Done || v.Output["greeting"] != "Hello" || !strings.Contains(words(r), "Hello") {
			w.Errorf("%+v %s", v, words(r))
		}
		validate(w, c, "greeter", r)
		r, _ = c.call("greeter", map[string]any{"names": "Ada"})
		if !r.IsError || !strings.Contains(words(r), "name") {
			w.Errorf("wrong arguments: %s", words(r))
		}
		r, v = c.call("writer", map[string]any{"prompt": "Write."})
		if r.IsError || v.Status != jobs.Waiting || v.Question == nil || !strings.Contains(v.Question.How, "adroit approve "+v.Job) {
			w.Errorf("unattended: %+v %s", v, words(r))
		}
		c.must(c.Ping(c.Context(), nil)) // what was sent before has come
		if got := strings.Join(c.notices(), "\n"); !strings.Contains(got, "tool write_file") {
			w.Errorf("progress was %s", got)
		}
	})
}

// validate checks a result against the schema that was promised.
func validate(w *world, c *client, name string, r *sdk.CallToolResult) {
	w.Helper()
	list, err := c.ListTools(w.Context(), nil)
	w.must(err)
	i := slices.IndexFunc(list.Tools, func(t *sdk.Tool) bool { return t.Name == name })
	b, err := json.Marshal(list.Tools[i].OutputSchema)
	w.must(err)
	s, err := schema.Compile(b)
	w.must(err)
	value, err := json.Marshal(r.StructuredContent)
	w.must(err)
	if faults := s.Validate(value); faults != nil {
		w.Errorf("%s: %s", value, schema.FaultText(faults))
	}
}

// What a job asks is put to the person behind the client, once.
func TestElicited(t *testing.T) {
	each(t, func(w *world, revision string) {
		var asked []string
		c := w.connect(w.server(mcpserver.Options{}), revision, func(p *sdk.ElicitParams) *sdk.ElicitResult {
			asked = append(asked, p.Message)
			return yes(p)
		})
		r, v := c.call("writer", map[string]any{"prompt": "Write."})
		if r.IsError || v.Status != jobs.Done || !strings.Contains(string(v.Artifacts["diff"]), "+done") {
			w.Errorf("%+v %s", v, words(r))
		}
		if len(asked) != 1 || !strings.Contains(asked[0], "write_file") || strings.ContainsAny(asked[0], "\x1b\a") || strings.ContainsAny(words(r), "\x1b\a") {
			w.Errorf("asked %q, result %q", asked, words(r))
		}
		for _, action := range []string{"cancel", "decline"} {
			nobody := w.connect(w.server(mcpserver.Options{}), revision, func(*sdk.ElicitParams) *sdk.ElicitResult { return &sdk.ElicitResult{Action: action} })
			if r, v := nobody.call("writer", map[string]any{"prompt": "Write."}); r.IsError || v.Status != jobs.Waiting {
				w.Errorf("%s: %+v %s", action, v, words(r))
			}
		}
		no := w.connect(w.server(mcpserver.Options{}), revision, func(*sdk.ElicitParams) *sdk.ElicitResult {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "no", "reason": "another name"}}
		})
		if _, v := no.call("writer", map[string]any{"prompt": "Write."}); v.Status == jobs.Waiting || len(v.Artifacts["diff"]) > 0 {
			w.Errorf("no: %+v", v)
		}
	})
}

// Somebody else answers while the client's person still thinks: the job goes on
// with one answer.
func TestAnsweredElsewhere(t *testing.T) {
	each(t, func(w *world, revision string) {
		c := w.connect(w.server(mcpserver.Options{}), revision, func(p *sdk.ElicitParams) *sdk.ElicitResult {
			all, err := w.c.Jobs(w.Context(), adroit.ListOptions{})
			w.must(err)
			_, err = w.c.Signal(w.Context(), all[0].ID, adroit.Signal{Name: "deny", Value: json.RawMessage(`"not that"`)})
			w.must(err)
			return yes(p)
		})
		_, v := c.call("writer", map[string]any{"prompt": "Write."})
		if v.Status == jobs.Waiting || len(v.Artifacts["diff"]) > 0 {
			w.Errorf("the later answer counted: %+v", v)
		}
	})
}

// Jobs are started, followed, answered, shown and cancelled without waiting.
func TestJobTools(t *testing.T) {
	each(t, func(w *world, revision string) {
		c := w.connect(w.server(mcpserver.Options{}), revision, nil)
		_, v := c.call("job_start", map[string]any{"agent": "writer", "prompt": "Write.", "key": "once"})
		id := v.Job
		if _, again := c.call("job_start", map[string]any{"agent": "writer", "prompt": "Write.", "key": "once"}); again.Job != id {
			w.Errorf("the same key gave %s and %s", id, again.Job)
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
		trusting := w.connect(w.server(mcpserver.Options{ModelApproves: true}), revision, nil)
		if r, _ := trusting.call("job_answer", map[string]any{"job": id, "question": question.ID, "answer": "perhaps"}); !r.IsError {
			w.Errorf("perhaps was taken: %s", words(r))
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
		_, v = c.call("job_start", map[string]any{"agent": "waiter", "prompt": "Wait."})
		<-w.slow
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
	c := w.connect(w.server(mcpserver.Options{Agents: []string{"writer"}}), legacy, nil)
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
	c := w.connect(w.server(mcpserver.Options{Agents: []string{}, Tools: []string{"write_file", "read_file"}}), legacy, nil)
	if r, _ := c.call("write_file", map[string]any{"path": "a.txt", "content": "alpha\n"}); r.IsError {
		t.Error(words(r))
	}
	if r, _ := c.call("read_file", map[string]any{"path": "a.txt"}); r.IsError || !strings.Contains(words(r), "alpha") {
		t.Error(words(r))
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
		c := w.connect(w.server(mcpserver.Options{}), legacy, nil)
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
	c := w.connect(w.server(mcpserver.Options{}), legacy, nil)
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
	w := newWorld(t, nil)
	a, b := w.connect(w.server(mcpserver.Options{}), legacy, nil), w.connect(w.server(mcpserver.Options{}), current, nil)
	_, v := a.call("job_start", map[string]any{"agent": "waiter", "prompt": "Wait."})
	<-w.slow
	done := make(chan view)
	go func() { _, v := b.call("job_resume", map[string]any{"job": v.Job}); done <- v }()
	close(w.end)
	if got := <-done; got.Status != jobs.Done || got.Job != v.Job {
		t.Errorf("the other server has %+v", got)
	}
}
