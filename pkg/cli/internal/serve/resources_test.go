package serve_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/serve"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// What jobs have produced can be listed, completed and read; other jobs do not exist.
func TestResources(t *testing.T) {
	each(t, func(w *world, revision string) {
		var o serve.Options
		o.Request.Approve = executor.ApproveAll
		c := w.connect(w.server(o), revision, nil)
		_, v := c.call("writer", map[string]any{"prompt": "Write."})
		hidden := w.submit("agent:hidden")

		list, err := c.ListResources(w.Context(), nil)
		w.must(err)
		uri := "adroit://jobs/" + v.Job
		var got []string
		for _, r := range list.Resources {
			got = append(got, r.URI+" "+r.MIMEType)
		}
		if want := []string{uri + " application/json", uri + "/artifacts/diff text/x-diff"}; !slices.Equal(got, want) {
			w.Errorf("listed %v, want %v", got, want)
		}
		for path, want := range map[string]string{"/artifacts/diff": "+done", "/artifacts/changes": "+done", "": `"status":"done"`} {
			r, err := c.ReadResource(w.Context(), &sdk.ReadResourceParams{URI: uri + path})
			w.must(err)
			if text := r.Contents[0].Text; !strings.Contains(text, want) {
				w.Errorf("%s: %s", path, text)
			}
		}
		for _, bad := range []string{
			uri + "/artifacts/none", "adroit://jobs/" + hidden, "adroit://jobs/" + hidden + "/artifacts/changes", "adroit://jobs/last", "adroit://jobs/" + v.Job[:6],
			"adroit://jobs/", "adroit://jobs/..%2f..%2fetc", "file:///etc/passwd", uri + "/artifacts/diff/more",
		} {
			if r, err := c.ReadResource(w.Context(), &sdk.ReadResourceParams{URI: bad}); err == nil {
				w.Errorf("%s: %v", bad, r.Contents[0])
			}
		}
		for _, tt := range []struct{ arg, value, want string }{{"job", v.Job[:3], v.Job}, {"job", "x", ""}, {"name", "", "changes diff"}, {"name", "d", "diff"}} {
			r, err := c.Complete(w.Context(), &sdk.CompleteParams{
				Ref:      &sdk.CompleteReference{Type: "ref/resource", URI: "adroit://jobs/{job}/artifacts/{name}"},
				Argument: sdk.CompleteParamsArgument{Name: tt.arg, Value: tt.value}, Context: &sdk.CompleteContext{Arguments: map[string]string{"job": v.Job}},
			})
			w.must(err)
			if got := slices.Sorted(slices.Values(r.Completion.Values)); strings.Join(got, " ") != tt.want {
				w.Errorf("%s %q: %v, want %s", tt.arg, tt.value, got, tt.want)
			}
		}
	})
}

// submit adds a job of an agent, which does not run.
func (w *world) submit(target string) string {
	w.Helper()
	var r adroit.Request
	r.Target, r.Prompt, r.Dir = target, "x", w.dir
	s, err := w.c.Submit(w.Context(), r)
	w.must(err)
	return s.Job.ID
}

// Many jobs come in pages, each once, also if one is removed between two pages.
func TestResourcePages(t *testing.T) {
	w := newWorld(t, nil)
	var ids []string
	for range 45 {
		ids = append(ids, w.submit("agent:writer"))
	}
	slices.Reverse(ids) // the newest first
	c := w.connect(w.server(serve.Options{}), legacy, nil)
	var got []string
	for p := (&sdk.ListResourcesParams{}); ; {
		list, err := c.ListResources(t.Context(), p)
		w.must(err)
		if len(list.Resources) > 20 {
			t.Errorf("%d on a page", len(list.Resources))
		}
		for _, r := range list.Resources {
			got = append(got, strings.TrimPrefix(r.URI, "adroit://jobs/"))
		}
		if p.Cursor = list.NextCursor; p.Cursor == "" {
			break
		}
		if len(got) == 20 {
			_, err := w.c.Remove(t.Context(), ids[19], adroit.RemoveOptions{})
			w.must(err)
		}
	}
	if !slices.Equal(got, ids) {
		t.Errorf("listed %v, want %v", got, ids)
	}
	for _, bad := range []string{"job:x", "job:1", "nonsense"} {
		if _, err := c.ListResources(t.Context(), &sdk.ListResourcesParams{Cursor: bad}); err == nil {
			t.Errorf("the cursor %q is accepted", bad)
		}
	}
}

// A client that subscribes to a job that runs learns when it waits or ends.
func TestSubscribe(t *testing.T) {
	w := newWorld(t, nil)
	updated := make(chan string, 10)
	p := newPipes()
	s := w.server(serve.Options{})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(p.in, p.out) }()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
		updated <- r.Params.URI
	}}).Connect(t.Context(), p.client(), &sdk.ClientSessionOptions{ProtocolVersion: legacy})
	w.must(err)
	defer func() { c.Close(); p.hangUp(); <-ended }()
	over := &client{world: w, ClientSession: c}
	_, v := over.call("job_start", map[string]any{"agent": "waiter", "prompt": "x"})
	<-w.slow
	uri := "adroit://jobs/" + v.Job
	w.must(c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}))
	for _, bad := range []string{"adroit://jobs/none", "adroit://jobs/", "file:///x"} {
		if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: bad}); err == nil {
			t.Errorf("subscribed to %s", bad)
		}
	}
	close(w.end)
	if got := <-updated; got != uri {
		t.Errorf("updated %s", got)
	}
	_, err = w.c.Wait(t.Context(), v.Job)
	w.must(err)
}

// Agents are prompts with their inputs, skills that were chosen too.
func TestPrompts(t *testing.T) {
	w := newWorldWith(t, files, nil, fstest.MapFS{"tidy/SKILL.md": {Data: []byte("---\nname: tidy\ndescription: How we tidy up.\n---\nPut everything in its place.\n")}})
	c := w.connect(w.server(serve.Options{Skills: []string{"tidy"}}), current, nil)
	_, v := c.call("greeter", map[string]any{"name": "Ada"})
	if v.Status != jobs.Done {
		t.Fatalf("%+v", v)
	}
	list, err := c.ListPrompts(t.Context(), nil)
	w.must(err)
	var got []string
	for _, p := range list.Prompts {
		for _, a := range p.Arguments {
			got = append(got, fmt.Sprint(p.Name, ".", a.Name, " ", a.Required))
		}
	}
	want := "greeter.name true, greeter.times false, greeter.prompt false, job_status.job true, tidy.task false, waiter.prompt true, writer.prompt true"
	if strings.Join(got, ", ") != want {
		t.Errorf("prompts %v, want %s", got, want)
	}
	for _, tt := range []struct {
		name string
		args map[string]string
		want string // "" is an error
	}{
		{"greeter", map[string]string{"name": "Ada", "times": "3"}, `{"name":"Ada","times":3}`},
		{"greeter", map[string]string{"name": "Ada", "times": "three"}, ""},
		{"greeter", map[string]string{"times": "3"}, ""},
		{"greeter", map[string]string{"name": "Ada", "more": "x"}, ""},
		{"writer", map[string]string{"prompt": "say \"hi\"\x1b[2J"}, `{"prompt":"say \"hi\"\u001b[2J"}`},
		{"tidy", map[string]string{"task": "Begin with a.txt."}, "Put everything in its place.\n\nBegin with a.txt."},
		{"job_status", map[string]string{"job": v.Job}, "job_result of adroit with the job " + v.Job},
		{"job_status", map[string]string{"job": "none"}, ""},
		{"hidden", nil, ""},
	} {
		r, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: tt.name, Arguments: tt.args})
		if (err != nil) != (tt.want == "") {
			t.Errorf("%s %v: %v", tt.name, tt.args, err)
		} else if err == nil && !strings.Contains(r.Messages[0].Content.(*sdk.TextContent).Text, tt.want) {
			t.Errorf("%s %v: %s", tt.name, tt.args, r.Messages[0].Content.(*sdk.TextContent).Text)
		}
	}
	r, err := c.Complete(t.Context(), &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "job_status"}, Argument: sdk.CompleteParamsArgument{Name: "job", Value: "J"}})
	if err != nil || !slices.Equal(r.Completion.Values, []string{v.Job}) {
		t.Errorf("%+v, %v", r, err)
	}
	for _, bad := range []serve.Options{{Skills: []string{"none"}}, {Skills: []string{"tidy", "tidy"}}} {
		bad.Request.Dir = w.dir
		if _, err := serve.New(t.Context(), w.c, bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
