package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/ollama"
)

func open(t *testing.T, c ollama.Config) llm.Model {
	t.Helper()
	m, err := ollama.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ask(model, text string) *llm.Request {
	return &llm.Request{Model: model, Messages: []llm.Message{{Role: llm.User, Text: text}}, Options: llm.Options{Window: 4096}}
}

// create makes a model on a real server whose template has no tools.
func create(t *testing.T, url, name string, turns ...tinymodel.Turn) {
	t.Helper()
	template, err := tinymodel.Plain(turns)
	if err != nil {
		t.Fatal(err)
	}
	ollamatest.Create(t, url, name, tinymodel.Tape(ollamatest.Context), template)
}

// What goes wrong with a real server.
func TestRealFaults(t *testing.T) {
	s := ollamatest.Run(t)
	m := open(t, ollama.Config{BaseURL: s.URL, IdleTimeout: 30 * time.Second})
	ollamatest.Create(t, s.URL, "endless", tinymodel.Tape(ollamatest.Context), tinymodel.Endless("and so on "))
	create(t, s.URL, "plain", tinymodel.Turn{Say: "Hello."})

	t.Run("runner killed", func(t *testing.T) {
		var once sync.Once
		killed := 0
		_, err := m.Generate(t.Context(), ask("endless", "Go."), func(llm.Delta) { once.Do(func() { killed = s.KillRunners() }) })
		var e *llm.Error
		if killed == 0 || !errors.As(err, &e) || !e.Retryable() {
			t.Fatalf("killed %d, %v", killed, err)
		}
		if r, err := m.Generate(t.Context(), ask("plain", "Hello?"), nil); err != nil || r.Message.Text != "Hello." {
			t.Errorf("afterwards: %+v, %v", r, err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		// Between client and server, to see whether the client hangs up.
		target, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		hungUp := make(chan struct{}, 1)
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() { // the proxy panics where its client is gone
				if r.URL.Path == "/api/chat" && r.Context().Err() != nil {
					hungUp <- struct{}{}
				}
			}()
			(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }, FlushInterval: -1}).ServeHTTP(w, r)
		}))
		defer proxy.Close()
		ctx, cancel := context.WithCancel(t.Context())
		req := ask("endless", "Go.")
		req.Options.MaxTokens = 1 << 20
		_, err = open(t, ollama.Config{BaseURL: proxy.URL, IdleTimeout: 30 * time.Second}).Generate(ctx, req, func(llm.Delta) { cancel() })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		select {
		case <-hungUp:
		case <-time.After(5 * time.Minute):
			t.Fatal("the client keeps the connection of a cancelled request open")
		}
		// The server has stopped too: it answers one request at a time. Once
		// in many runs this version of it stays silent to all requests after a
		// cancelled one, until its runner is restarted; then the idle limit
		// ends each.
		quick := open(t, ollama.Config{BaseURL: s.URL, IdleTimeout: 10 * time.Second})
		for try := 1; ; try++ {
			r, err := quick.Generate(t.Context(), ask("plain", "Hello?"), nil)
			if err == nil && r.Message.Text == "Hello." {
				break
			}
			var e *llm.Error
			if try == 4 || !errors.As(err, &e) || !e.Retryable() {
				t.Fatalf("afterwards: %+v, %v", r, err)
			}
			t.Logf("afterwards: %v", err)
			if try == 2 {
				t.Logf("runners killed: %d", s.KillRunners())
			}
		}
	})
	t.Run("never ends", func(t *testing.T) {
		req := ask("endless", "Go.")
		req.Options.Window = 8192
		r, err := m.Generate(t.Context(), req, nil)
		if err != nil || r.Stop != llm.StopLength || r.Usage.Out != ollama.DefaultAnswer {
			t.Errorf("%+v, %v", r.Usage, err)
		}
		// Without shifting, the window ends an answer too.
		req.Options = llm.Options{Window: 4096, MaxTokens: 1 << 20}
		r, err = m.Generate(t.Context(), req, nil)
		if err != nil || r.Stop != llm.StopLength || r.Usage.In+r.Usage.Out > 4097 {
			t.Errorf("%+v, %v", r.Usage, err)
		}
		req.Options.Window = 8192
		_, err = open(t, ollama.Config{BaseURL: s.URL, Timeout: 400 * time.Millisecond}).Generate(t.Context(), req, nil)
		wantKind(t, err, llm.Timeout)
	})
	t.Run("no tools", func(t *testing.T) {
		req := ask("plain", "Hello?")
		req.Tools = tools
		_, err := m.Generate(t.Context(), req, nil)
		wantKind(t, err, llm.Unsupported)
		_, err = open(t, ollama.Config{BaseURL: s.URL, Think: "on"}).Generate(t.Context(), ask("plain", "Hello?"), nil)
		wantKind(t, err, llm.Unsupported)
	})
	t.Run("unloaded", func(t *testing.T) {
		create(t, s.URL, "cold", tinymodel.Turn{Say: "Warm."})
		_, err := open(t, ollama.Config{BaseURL: s.URL, IdleTimeout: time.Millisecond}).Generate(t.Context(), ask("cold", "Hello?"), nil)
		wantKind(t, err, llm.Timeout)
		warm := open(t, ollama.Config{BaseURL: s.URL, KeepAlive: time.Hour})
		if r, err := warm.Generate(t.Context(), ask("cold", "Hello?"), nil); err != nil || r.Message.Text != "Warm." {
			t.Errorf("%+v, %v", r, err)
		}
		c, err := ollama.NewClient(ollama.Config{BaseURL: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := c.Running(t.Context())
		i := slices.IndexFunc(loaded, func(l ollama.Loaded) bool { return l.Name == "cold:latest" })
		switch {
		case err != nil:
			t.Errorf("unexpected error: %+v, %v", loaded, err)
		case i < 0:
			t.Errorf("i < 0: %+v, %v", loaded, err)
		case time.Until(loaded[i].Until) < 50*time.Minute:
			t.Errorf("time.Until(loaded[i].Until) < 50*time.Minute: %+v, %v", loaded, err)
		case loaded[i].Context != 4096:
			t.Errorf("loaded[i].Context is %v, want 4096: %+v, %v", loaded[i].Context, loaded, err)
		}
	})
	t.Run("window", func(t *testing.T) {
		req := ask("plain", "Hello?")
		req.Options.Window = 2 * ollamatest.Context
		for range 2 {
			r, err := m.Generate(t.Context(), req, nil)
			if err != nil || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "16384 tokens instead of 32768") {
				t.Errorf("%+v, %v", r, err)
			}
		}
	})
	t.Run("bad schema", func(t *testing.T) {
		req := ask("plain", "Go.")
		req.Output = json.RawMessage(`{"type":"nothing of the kind"}`)
		_, err := m.Generate(t.Context(), req, nil)
		wantKind(t, err, llm.BadRequest)
	})
	t.Run("schema on a model that thinks", func(t *testing.T) {
		ollamatest.CreateModel(t, s.URL, "thinker", []tinymodel.Turn{{Say: `Sure: seven`}})
		req := ask("thinker", "A number.")
		req.Output = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":0,"maximum":9}},"required":["n"]}`)
		req.Options.MaxTokens = 200
		r, err := m.Generate(t.Context(), req, nil)
		if err != nil || !json.Valid([]byte(r.Message.Text)) && r.Stop != llm.StopLength || strings.HasPrefix(r.Message.Text, "Sure") {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("swallowed", func(t *testing.T) {
		for name, say := range map[string]string{
			"broken":  `<tool_call>{"name": "read_file", "arguments": {"path": "a" "b"}}</tool_call>`,
			"missing": `<tool_call>{"name": "read_file"}</tool_call>`,
		} {
			ollamatest.CreateModel(t, s.URL, name, []tinymodel.Turn{{Say: say}})
			req := ask(name, "Read.")
			req.Tools = tools
			r, err := m.Generate(t.Context(), req, nil)
			if err != nil || !r.Dropped() && len(r.Message.Calls) == 0 {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
		// A call that the limit cut.
		ollamatest.CreateModel(t, s.URL, "cut", []tinymodel.Turn{{Say: `<tool_call>{"name": "read_file", "arguments": {"path": "a.txt"}}</tool_call>`}})
		req := ask("cut", "Read.")
		req.Tools, req.Options.MaxTokens = tools, 30
		r, err := m.Generate(t.Context(), req, nil)
		if err != nil || r.Stop != llm.StopLength || !r.Dropped() {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// Calls in the forms of other families than the template's pass through the
// server as text, and arrive as calls all the same.
func TestRealText(t *testing.T) {
	url := ollamatest.Start(t)
	m := open(t, ollama.Config{BaseURL: url})
	for name, say := range map[string]string{
		"mistral":  `[TOOL_CALLS]read_file[ARGS]{"path": "é.txt", "lines": [9007199254740993]}`,
		"llama":    `{"name": "read_file", "parameters": {"path": "é.txt", "lines": [9007199254740993]}}`,
		"coder":    "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"é.txt\", \"lines\": [9007199254740993]}}\n```",
		"lfm":      `Looking.<|tool_call_start|>[read_file(path="é.txt", lines=[9007199254740993])]<|tool_call_end|>`,
		"qwen-xml": "<function=read_file>\n<parameter=path>\né.txt\n</parameter>\n<parameter=lines>\n[9007199254740993]\n</parameter>\n</function>",
		"minimax":  `<think>Hm.</think><minimax:tool_call><invoke name="read_file"><parameter name="path">é.txt</parameter><parameter name="lines">[9007199254740993]</parameter></invoke></minimax:tool_call>`,
	} {
		t.Run(name, func(t *testing.T) {
			ollamatest.CreateModel(t, url, name, []tinymodel.Turn{{Say: say}})
			req := ask(name, "Read.")
			req.Tools = tools
			var seen strings.Builder
			r, err := m.Generate(t.Context(), req, func(d llm.Delta) { seen.WriteString(d.Text) })
			if err != nil || len(r.Message.Calls) != 1 || r.Stop != llm.StopCalls {
				t.Fatalf("%+v, %v", r, err)
			}
			var args struct {
				Path  string
				Lines []int64
			}
			if err := json.Unmarshal(r.Message.Calls[0].Args, &args); err != nil || args.Path != "é.txt" || !slices.Equal(args.Lines, []int64{9007199254740993}) {
				t.Errorf("%s, %v", r.Message.Calls[0].Args, err)
			}
			if seen.String() != r.Message.Text || strings.Contains(seen.String(), "read_file") {
				t.Errorf("shown %q, kept %q", &seen, r.Message.Text)
			}
		})
	}
}

func TestRealQueueIsFull(t *testing.T) {
	s := ollamatest.Run(t, "OLLAMA_MAX_QUEUE=1")
	create(t, s.URL, "busy", tinymodel.Turn{Say: "Yes."})
	m := open(t, ollama.Config{BaseURL: s.URL})
	var mu sync.Mutex
	var wg sync.WaitGroup
	answered, refused := 0, 0
	for range 8 {
		wg.Go(func() {
			r, err := m.Generate(t.Context(), ask("busy", "Are you there?"), nil)
			mu.Lock()
			defer mu.Unlock()
			var e *llm.Error
			switch {
			case err == nil && r.Message.Text == "Yes.":
				answered++
			case errors.As(err, &e) && e.Kind == llm.Overloaded && e.Status == 503 && e.Retryable():
				refused++
			default:
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	wg.Wait()
	if answered == 0 || refused == 0 {
		t.Errorf("%d answered, %d refused", answered, refused)
	}
}
