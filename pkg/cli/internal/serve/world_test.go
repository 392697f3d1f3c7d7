package serve_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/dev/partstest"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/cli/internal/serve"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
)

const (
	legacy  = "2025-11-25"
	current = "2026-07-28"
)

var files = fstest.MapFS{
	"writer.md": {Data: []byte("---\ndescription: Write a file.\ntools: [write_file]\nmodel: writes/x\nexpose: true\n---\nYou write.\n")},
	"greeter.md": {Data: []byte("---\ndescription: Greet somebody.\nmodel: greets/x\nexpose: true\ninputs:\n  name: Whom.\n  times: {default: 2}\n" +
		"output: {type: object, properties: {greeting: {$ref: '#/$defs/text'}}, required: [greeting], $defs: {text: {type: string}}}\n---\nYou greet {{.Inputs.name}}.\n")},
	"waiter.md":  {Data: []byte("---\ndescription: Wait.\ntools: [slow]\nmodel: waits/x\nexpose: true\n---\nYou wait.\n")},
	"decider.md": {Data: []byte("---\ndescription: Ask whether to go on.\nmodel: greets/x\nworkflow: decide\n---\nYou decide.\n")},
	"hidden.md":  {Data: []byte("---\ndescription: Nobody is to call it.\nmodel: greets/x\n---\nYou hide.\n")},
}

// decide is a workflow that asks a person, and fails unless the answer is to go on
// with blue.
var decide = agents.Define("decide", func(sc *executor.Scope) error {
	sig, err := flow.AwaitAny(sc.Run, map[string]string{"question": "Which colour?"}, 0, "continue", "abort")
	if err == nil && (sig.Name != "continue" || string(sig.Value) != `"blue"`) {
		err = fmt.Errorf("the answer is %s %s", sig.Name, sig.Value)
	}
	return err
})

// A world is a runtime with agents that play scripts.
type world struct {
	*testing.T
	c    adroit.Client
	dir  string
	slow chan struct{} // gets a value when the tool slow is called
	end  chan struct{} // lets it end
}

func newWorld(t *testing.T, through func(adroit.Client) adroit.Client) *world {
	return newWorldOf(t, files, through)
}

func newWorldOf(t *testing.T, files fstest.MapFS, through func(adroit.Client) adroit.Client) *world {
	t.Helper()
	return newWorldWith(t, files, through, nil)
}

func newWorldWith(t *testing.T, files fstest.MapFS, through func(adroit.Client) adroit.Client, skills fstest.MapFS) *world {
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
		"fails":  "turns: [{error: {kind: auth, message: the key is refused}}]",
		"waits":  "turns:\n  - calls: [{name: slow}]\n  - text: Done.\nloop: true",
	} {
		m, err := script.Parse(name, []byte(text))
		w.must(err)
		models[name] = m
	}
	data := t.TempDir()
	rt, err := adroit.Open(t.Context(), adroit.Options{
		Tools: []tools.Tool{slow, partstest.Tool("write_file"), partstest.Tool("read_file")}, Models: models, Storage: adroit.Storage{Data: data, Store: sqlite.Store(data), AtOnce: 4}, Workspace: adroit.Workspace{Trust: data},
		Definitions: adroit.Definitions{Agents: []agents.Layer{{Name: "mine", FS: files}}, Skills: []agents.Layer{{Name: "mine", FS: skills}}, Workflows: []flow.Workflow{decide}},
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

func (w *world) server(o serve.Options) *serve.Server {
	w.Helper()
	return w.serverUntil(w.Context(), o)
}

// serverUntil is a server that stops when ctx ends.
func (w *world) serverUntil(ctx context.Context, o serve.Options) *serve.Server {
	w.Helper()
	o.Request.Dir, o.Log = w.dir, w.Logf
	o.Request.Approve = cmp.Or(o.Request.Approve, executor.ApproveAsk)
	s, err := serve.New(ctx, w.c, o)
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
func (w *world) connect(s *serve.Server, revision string, answer func(*sdk.ElicitParams) *sdk.ElicitResult) *client {
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
	go func() { c.ended <- s.Serve(p.in, p.out) }()
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
