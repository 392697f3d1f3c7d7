package serve_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/serve"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Nothing is exposed that was not chosen, and what is has the agent's inputs.
func TestExposed(t *testing.T) {
	w := newWorld(t, nil)
	for _, tt := range []struct {
		o    serve.Options
		want string
	}{
		{serve.Options{}, "greeter job_answer job_cancel job_follow job_list job_result job_resume job_start waiter writer"},
		{serve.Options{Agents: []string{"hidden"}}, "hidden job_answer job_cancel job_follow job_list job_result job_resume job_start"},
		{serve.Options{Agents: []string{}, Tools: []string{"read_file"}}, "read_file"},
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
	for _, bad := range []serve.Options{{Agents: []string{}}, {Agents: []string{"nobody"}}, {Agents: []string{"writer", "writer"}}, {Tools: []string{"nothing"}}} {
		bad.Request.Dir = w.dir
		if _, err := serve.New(t.Context(), w.c, bad); err == nil {
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
		c := w.connect(w.server(serve.Options{}), revision, nil)
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
		if r.IsError || v.Status != jobs.Waiting || v.Question == nil || !strings.Contains(v.Question.How, "adroit answer approve "+v.Job) {
			w.Errorf("unattended: %+v %s", v, words(r))
		}
		// The client handles what it is notified of beside answers, so it may come to this later.
		for deadline := time.Now().Add(time.Minute); !strings.Contains(strings.Join(c.notices(), "\n"), "tool write_file"); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				w.Fatalf("progress was %q", c.notices())
			}
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
		c := w.connect(w.server(serve.Options{}), revision, func(p *sdk.ElicitParams) *sdk.ElicitResult {
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
			nobody := w.connect(w.server(serve.Options{}), revision, func(*sdk.ElicitParams) *sdk.ElicitResult { return &sdk.ElicitResult{Action: action} })
			if r, v := nobody.call("writer", map[string]any{"prompt": "Write."}); r.IsError || v.Status != jobs.Waiting {
				w.Errorf("%s: %+v %s", action, v, words(r))
			}
		}
		no := w.connect(w.server(serve.Options{}), revision, func(*sdk.ElicitParams) *sdk.ElicitResult {
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
		c := w.connect(w.server(serve.Options{}), revision, func(p *sdk.ElicitParams) *sdk.ElicitResult {
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

// A workflow's own question has the answers that the workflow names; the calling
// model may give one.
func TestWorkflowAsks(t *testing.T) {
	each(t, func(w *world, revision string) {
		o := serve.Options{Agents: []string{"decider"}}
		c := w.connect(w.server(o), revision, func(p *sdk.ElicitParams) *sdk.ElicitResult {
			if !strings.Contains(p.Message, "Which colour?") {
				w.Errorf("asked %q", p.Message)
			}
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "continue", "text": "blue"}}
		})
		if r, v := c.call("decider", map[string]any{"prompt": "Decide."}); v.Status != jobs.Done {
			w.Errorf("%s", words(r))
		}
		nobody := w.connect(w.server(o), revision, nil)
		r, v := nobody.call("decider", map[string]any{"prompt": "Decide."})
		if v.Question == nil || !slices.Equal(v.Question.Answers, []string{"continue", "abort"}) || !strings.Contains(words(r), "job_answer") {
			w.Fatalf("%s", words(r))
		}
		answer := map[string]any{"job": v.Job, "question": v.Question.ID, "answer": "continue", "text": "blue"}
		nobody.call("job_answer", answer)
		if late, _ := nobody.call("job_answer", answer); !late.IsError || late.Meta["adroit.run/kind"] != "answered" {
			w.Errorf("a second answer has %v: %s", late.Meta, words(late))
		}
		if r, v := nobody.call("job_follow", map[string]any{"job": v.Job, "seconds": 600}); v.Result.Status != jobs.Done {
			w.Errorf("%s", words(r))
		}
	})
}
