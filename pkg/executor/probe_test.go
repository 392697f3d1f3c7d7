package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/models/openai"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A wire is a way from a job to a model: an adapter in one of its modes.
type wire struct {
	name   string
	native bool // Ollama's protocol
	stream bool
}

var wires = []wire{
	{"openai stream", false, true}, {"openai whole", false, false},
	{"ollama stream", true, true}, {"ollama whole", true, false},
}

// say is a turn as the server of this protocol would send it. Ollama's has no
// way to send arguments that are not JSON, except in a string.
func (w wire) say(t llmtest.Turn) llmtest.Behaviour {
	t.Usage = &llm.Usage{In: 10, Out: 5}
	if w.native {
		var cs []llm.Call
		for _, c := range t.Calls {
			if !json.Valid(c.Args) {
				c.Args, _ = json.Marshal(string(c.Args))
			}
			cs = append(cs, c)
		}
		t.Calls = cs
	}
	return llmtest.Say(t)
}

func (w wire) model(t testing.TB, url string, idle, total time.Duration) llm.Model {
	var m llm.Model
	var err error
	if w.native {
		m, err = ollama.New(ollama.Config{BaseURL: url, NoStream: !w.stream, IdleTimeout: idle, Timeout: total})
	} else {
		m, err = openai.New(openai.Config{BaseURL: url + "/v1", NoStream: !w.stream, IdleTimeout: idle, Timeout: total})
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A probe is a job on a loopback server with scripted behaviour, and tools that
// note what really ran.
type probe struct {
	wire     wire
	server   *llmtest.Server
	tools    *tools.Set
	attempts int
	total    time.Duration

	mu  sync.Mutex
	ran []string
	met map[int]chan struct{} // by turn, closed when four have come
	at  map[int]int
}

func newProbe(t testing.TB, w wire, do ...llmtest.Behaviour) *probe {
	h := &probe{wire: w, server: llmtest.New(t, do...), total: 20 * time.Second, met: map[int]chan struct{}{}, at: map[int]int{}}
	type amount struct {
		N int `json:"n" jsonschema:"description=How much."`
	}
	type place struct {
		Turn int `json:"turn"`
		I    int `json:"i"`
	}
	set, err := tools.NewSet(
		// Unsafe, so that nothing here leans on repeating a call.
		tools.New(tools.Metadata{Name: "add", Description: "Add to the counter.", Effect: tools.Unsafe},
			func(_ context.Context, _ *tools.Env, in amount) (string, error) {
				h.note("add", in)
				if in.N < 0 {
					return "", errors.New("negative amounts are not allowed")
				}
				return "added", nil
			}),
		tools.New(tools.Metadata{Name: "boom", Description: "Crash."},
			func(context.Context, *tools.Env, struct{}) (string, error) {
				h.note("boom", struct{}{})
				panic("boom")
			}),
		tools.New(tools.Metadata{Name: "meet", Description: "Wait for three others."},
			func(ctx context.Context, _ *tools.Env, in place) (string, error) {
				return fmt.Sprintf("met %d in %d", in.I, in.Turn), h.meet(ctx, in.Turn)
			}),
	)
	if err != nil {
		t.Fatal(err)
	}
	h.tools = set
	return h
}

func (h *probe) note(name string, in any) {
	b, _ := json.Marshal(in)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ran = append(h.ran, name+" "+string(b))
}

func (h *probe) calls() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ran
}

// meet returns when four calls of the turn have come, and fails long after
// they should have.
func (h *probe) meet(ctx context.Context, turn int) error {
	h.mu.Lock()
	if h.met[turn] == nil {
		h.met[turn] = make(chan struct{})
	}
	all := h.met[turn]
	if h.at[turn]++; h.at[turn] == 4 {
		close(all)
	}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return errors.New("nobody else came: the calls do not run at once")
	}
}

func (h *probe) run(t testing.TB, edit func(*executor.Task)) (*executor.State, error) {
	t.Helper()
	j := new(flow.Memory)
	model := h.wire.model(t, h.server.URL, time.Second, h.total)
	mux := host.Serve(host.Host{
		Models: func(context.Context, string) (llm.Model, string, error) { return model, "m", nil },
		Tools:  h.tools, Blobs: j, Attempts: h.attempts,
	})
	rt := mux["model"]
	rt.Backoff = time.Millisecond
	mux["model"] = rt
	task := executor.Task{Instructions: executor.Instructions{Model: "probe/m", System: "You count.", Prompt: "count"}, Work: executor.Work{Tools: agents.PinTools(h.tools)}}
	if edit != nil {
		edit(&task)
	}
	in, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	out, err := loop.Run(flow.NewRun("J1", flow.NewLocal(t.Context(), j, mux, nil)), in)
	var s executor.State
	if uerr := json.Unmarshal(out, &s); uerr != nil {
		t.Fatalf("state: %v (run: %v)", uerr, err)
	}
	return &s, err
}

// history checks that the strictest of providers would take a request: ids
// are unique, arguments are objects, each call has exactly one result behind
// it, and nothing is empty.
func history(t testing.TB, n int, body []byte) {
	t.Helper()
	var got struct {
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
			CallID  string `json:"tool_call_id"`
			Calls   []struct {
				ID       string `json:"id"`
				Function struct {
					Name string          `json:"name"`
					Args json.RawMessage `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("request %d is not JSON: %v", n, err)
	}
	seen, open := map[string]bool{}, map[string]bool{}
	for i, m := range got.Messages {
		if m.Role != "tool" && len(open) > 0 {
			t.Errorf("request %d: message %d comes before the results of %v", n, i, open)
		}
		if m.Role == "tool" {
			if !open[m.CallID] {
				t.Errorf("request %d: message %d answers %q, which nothing asked", n, i, m.CallID)
			}
			delete(open, m.CallID)
		}
		if m.Content == "" && len(m.Calls) == 0 {
			t.Errorf("request %d: message %d (%s) is empty", n, i, m.Role)
		}
		for _, c := range m.Calls {
			if c.ID == "" || seen[c.ID] {
				t.Errorf("request %d: message %d: id %q is empty or used twice", n, i, c.ID)
			}
			seen[c.ID], open[c.ID] = true, true
			raw := []byte(c.Function.Args)
			var s string
			if json.Unmarshal(raw, &s) == nil {
				raw = []byte(s)
			}
			var args map[string]any
			if err := json.Unmarshal(raw, &args); err != nil || args == nil || c.Function.Name == "" {
				t.Errorf("request %d: message %d: call of %q with %s", n, i, c.Function.Name, raw)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("request %d: no results for %v", n, open)
	}
}
