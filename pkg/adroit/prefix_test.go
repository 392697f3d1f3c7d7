package adroit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
	"github.com/adroit-run/adroit/pkg/models/openai"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows"
)

// TestPrefixOfShippedAgents has a model call every tool of every agent and
// workflow that ships, also too early and until the tool is refused, and then
// claim to be done until the job is stopped. Whatever it does, the tools and
// the messages of a request come first in the next one of the conversation.
func TestPrefixOfShippedAgents(t *testing.T) {
	cat := agents.Load(agents.Layer{Name: "built in", FS: configs.Agents()})
	problems := cat.Problems()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p := newPlayer(t, useAll)
	rt := open(t, adroit.Options{
		Tools: parts.Tools(), Models: map[string]llm.Model{"script": p}, Defaults: agents.Defaults{Approve: executor.ApproveAll},
		Definitions: adroit.Definitions{Agents: []agents.Layer{{Name: "built in", FS: configs.Agents()}}, Workflows: workflows.All()},
		Workspace:   adroit.Workspace{Dir: t.TempDir(), Servers: []adroit.LanguageServer{}},
		Callbacks:   adroit.Callbacks{Middleware: []func(adroit.ToolHandler) adroit.ToolHandler{canned}},
	})
	for _, name := range cat.Names() {
		a, err := cat.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(a.Name, func(t *testing.T) {
			in := agents.Input{Agent: a.Name, Prompt: "Do what you do.", Inputs: map[string]json.RawMessage{}}
			for _, f := range a.Inputs {
				if !f.Optional && f.Default == nil {
					in.Inputs[f.Name] = json.RawMessage(`"what is asked for"`)
				}
			}
			job, err := adroit.Start(t.Context(), rt, adroit.Request{Input: in})
			if err != nil {
				t.Fatal(err)
			}
			s, err := job.Wait(t.Context())
			if s == nil {
				t.Fatal(err)
			}
			p.check(t)
			clear(p.talks)
		})
	}
	if p.closings < 5 {
		t.Errorf("%d conversations were closed without calls, want some", p.closings)
	}
}

// canned answers every call of a tool without doing anything.
func canned(adroit.ToolHandler) adroit.ToolHandler {
	return func(_ context.Context, c adroit.Invocation) (tools.Result, error) {
		if bytes.Contains(c.Args, []byte(wrongArgument)) {
			return tools.Result{Failed: true, Text: "there is no such argument"}, nil
		}
		return tools.Result{Text: fmt.Sprintf("%s did it.\n%s", c.Tool.Name, strings.Repeat("a line of what it found\n", 20))}, nil
	}
}

const wrongArgument = "no_such_argument"

// A player is a model that does what next says. It sends its requests to a
// server, to see them as a server does.
type player struct {
	next   func(*llm.Request) llmtest.Turn
	server *llmtest.Server
	client llm.Model

	mu       sync.Mutex
	talks    map[string][][]byte // requests by their first two messages
	closings int
}

func newPlayer(t testing.TB, next func(*llm.Request) llmtest.Turn) *player {
	server := llmtest.New(t)
	client, err := openai.New(openai.Config{BaseURL: server.URL + "/v1", Dialect: "openai", NoStream: true})
	if err != nil {
		t.Fatal(err)
	}
	return &player{next: next, server: server, client: client, talks: map[string][][]byte{}}
}

func (p *player) Generate(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server.Add(llmtest.Say(p.next(req)))
	resp, err := p.client.Generate(ctx, req, emit)
	if err != nil {
		return nil, err
	}
	key := ""
	for _, m := range req.Messages[:min(2, len(req.Messages))] {
		key += m.Text + "\x00"
	}
	all := p.server.Requests()
	p.talks[key] = append(p.talks[key], all[len(all)-1].Body)
	if len(req.HiddenTools) > 0 {
		p.closings++
	}
	return resp, nil
}

// answered counts the answers in a request.
func answered(req *llm.Request) int {
	n := 0
	for _, m := range req.Messages {
		if m.Role == llm.Assistant {
			n++
		}
	}
	return n
}

// useAll is what the model does: each tool once, three at a time, then the last
// one wrongly, then words.
func useAll(req *llm.Request) llmtest.Turn {
	made := answered(req)
	var list []llm.ToolSpec
	for _, tool := range req.Tools {
		if tool.Name != "finish" {
			list = append(list, tool)
		}
	}
	const wrong = 4 // turns
	busy := (len(list) + 2) / 3
	switch {
	case made < busy:
		var calls []llm.Call
		for i, tool := range list[3*made : min(3*made+3, len(list))] {
			args := json.RawMessage("{}")
			if s, err := schema.Compile(tool.Input); err == nil && s.Sample() != nil {
				args = s.Sample()
			}
			calls = append(calls, llm.Call{ID: fmt.Sprintf("c%d_%d", made, i), Name: tool.Name, Args: args})
		}
		return llmtest.Turn{Calls: calls}
	case len(list) > 0 && made < busy+wrong:
		return llmtest.Turn{Calls: []llm.Call{{ID: fmt.Sprintf("w%d", made), Name: list[len(list)-1].Name, Args: json.RawMessage(`{"` + wrongArgument + `":1}`)}}}
	case len(req.Output) > 0:
		if s, err := schema.Compile(req.Output); err == nil && s.Sample() != nil {
			return llmtest.Turn{Text: string(s.Sample())}
		}
	}
	return llmtest.Turn{Text: "I think that this is it."}
}

// check compares each request of a conversation with the one before it.
func (p *player) check(t *testing.T) {
	requests, least := 0, 1.0
	for key, bodies := range p.talks {
		requests += len(bodies)
		if bytes.Contains(bodies[0], []byte(`"role":"assistant"`)) {
			t.Errorf("a conversation goes on whose beginning nobody has sent: %.200q", key)
		}
		for i := range bodies[1:] {
			share := kept(t, bodies[i], bodies[i+1])
			least = min(least, share)
			if share < 0.99 {
				t.Errorf("request %d keeps %.1f %% of the one before:\n%.300s\n%.300s", i+1, share*100, bodies[i], bodies[i+1])
			}
		}
	}
	t.Logf("%d requests in %d conversations, %d to close so far; at least %.2f %% kept", requests, len(p.talks), p.closings, least*100)
}

// kept is the share of the tools and messages of request a with which b begins.
func kept(t *testing.T, a, b []byte) float64 {
	old, now := promptOf(t, a), promptOf(t, b)
	n := 0
	for n < len(old) && n < len(now) && old[n] == now[n] {
		n++
	}
	return float64(n) / float64(len(old))
}

// promptOf is what most servers make the prompt of: the tools, then the messages.
func promptOf(t *testing.T, body []byte) []byte {
	var r struct {
		Tools    json.RawMessage `json:"tools"`
		Messages json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	return slices.Concat(r.Tools, bytes.TrimSuffix(r.Messages, []byte("]")))
}
