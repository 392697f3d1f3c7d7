package ollama_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/ollama"
)

func client(t *testing.T, url string) *ollama.Client {
	t.Helper()
	c, err := ollama.NewClient(ollama.Config{BaseURL: url})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Two real servers and a registry between them.
func TestRealPull(t *testing.T) {
	from, to := ollamatest.Run(t), ollamatest.Run(t)
	ollamatest.CreateModel(t, from.URL, "greeter", []tinymodel.Turn{{Say: "Hello."}})
	reg := ollamatest.NewRegistry(t, from)
	c := client(t, to.URL)
	name := reg.Name("greeter")

	err := c.Pull(t.Context(), name, false, nil)
	wantKind(t, err, llm.BadRequest) // no TLS
	err = c.Pull(t.Context(), reg.Name("nobody"), true, nil)
	wantKind(t, err, llm.NoModel)
	err = c.Pull(t.Context(), "http://127.0.0.1:1/library/greeter:latest", true, nil)
	wantKind(t, err, llm.Unreachable)

	// Left in the middle, then begun again.
	reg.Hold(make(chan struct{}))
	ctx, cancel := context.WithCancel(t.Context())
	err = c.Pull(ctx, name, true, func(p ollama.Progress) {
		if p.Total > 0 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	reg.Hold(nil)
	var last ollama.Progress
	total := int64(0)
	if err := c.Pull(t.Context(), name, true, func(p ollama.Progress) { last, total = p, max(total, p.Total) }); err != nil {
		t.Fatal(err)
	}
	if last.Status != "success" || total < int64(len(tinymodel.Tape(ollamatest.Context))) {
		t.Errorf("%+v of %d bytes", last, total)
	}
	before := reg.Served()
	if err := c.Pull(t.Context(), name, true, nil); err != nil || reg.Served() != before {
		t.Errorf("again: %v, %d blobs more", err, reg.Served()-before)
	}
	list, err := c.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	r, err := open(t, ollama.Config{BaseURL: to.URL}).Generate(t.Context(), ask(list[0].Name, "Hello?"), nil)
	if err != nil || r.Message.Text != "Hello." {
		t.Errorf("%+v, %v", r, err)
	}
}

// What a server may say of a pull that a real one cannot be made to say.
func TestPullGoesOn(t *testing.T) {
	part := func(done int) string {
		return fmt.Sprintf(`{"status":"pulling a","digest":"sha256:a","total":9,"completed":%d}`+"\n", done)
	}
	const success = `{"status":"success"}` + "\n"
	for _, c := range []struct {
		label   string
		answers []string
		tries   int32
		kind    llm.ErrorKind
	}{
		{"at once", []string{part(9) + success}, 1, ""},
		{"cut, then whole", []string{part(3), part(9) + success}, 2, ""},
		{"cut often, with progress", []string{part(1), part(2), part(3), part(4), part(5) + success}, 5, ""},
		{"cut without progress", []string{part(3), part(3), part(3), part(3), success}, 4, llm.Cut},
		{"error in the stream", []string{part(3) + `{"error":"max retries exceeded: EOF"}` + "\n", success}, 2, ""},
		{"unknown", []string{`{"error":"pull model manifest: file does not exist"}` + "\n"}, 1, llm.NoModel},
		{"no page", []string{"<html>"}, 3, llm.Garbled},
	} {
		t.Run(c.label, func(t *testing.T) {
			var tries atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n := int(tries.Add(1))
				fmt.Fprint(w, c.answers[min(n, len(c.answers))-1])
			}))
			defer s.Close()
			err := client(t, s.URL).Pull(t.Context(), "m", false, nil)
			if tries.Load() != c.tries {
				t.Errorf("%d tries, want %d", tries.Load(), c.tries)
			}
			if c.kind != "" {
				wantKind(t, err, c.kind)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	err := client(t, gone.URL).Pull(t.Context(), "m", false, func(p ollama.Progress) { t.Errorf("a server that does not run: %+v", p) })
	wantKind(t, err, llm.Unreachable)
}

func TestUnparsedCall(t *testing.T) {
	for _, c := range []struct{ said, want string }{
		{`error parsing tool call: raw='{\"path\": \"a\", \"lines\": [1,]}', err=invalid character ']'`, `read_file{"path":"a","lines":[1]}`},
		{`error parsing tool call: raw='{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}]', err=x`, `read_file{"path": "a"}`},
		{`error parsing tool call: raw='{\"path\": \"a', err=unexpected end of JSON input`, ""},
		{`error parsing tool call: raw='{\"elsewhere\": 1}', err=x`, ""},
	} {
		for _, status := range []int{200, 500} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/x-ndjson")
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"error":"%s"}`+"\n", c.said)
			}))
			req := ask("gpt-oss", "Read.")
			req.Tools = tools
			r, err := open(t, ollama.Config{BaseURL: s.URL}).Generate(t.Context(), req, nil)
			s.Close()
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, k := range r.Message.Calls {
				got += k.Name + string(k.Args)
			}
			if got != c.want || r.Dropped() != (c.want == "") {
				t.Errorf("%s: %q, want %q; notes %q", c.said, got, c.want, r.Notes)
			}
		}
	}
}

func TestSilentCut(t *testing.T) {
	for _, c := range []struct {
		in, bytes int
		cut       bool
	}{
		{4096, 40_000, true}, {1026, 100_000, true}, {3000, 12_000, false}, {4095, 100, false}, {0, 1 << 20, false},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			count := ""
			if c.in > 0 {
				count = fmt.Sprintf(`,"prompt_eval_count":%d`, c.in)
			}
			fmt.Fprintf(w, `{"message":{"content":"x"},"done":true,"done_reason":"stop","eval_count":1%s}`+"\n", count)
		}))
		r, err := open(t, ollama.Config{BaseURL: s.URL}).Generate(t.Context(), ask("m", strings.Repeat("x", c.bytes)), nil)
		s.Close()
		if c.cut {
			wantKind(t, err, llm.TooLong)
		} else if err != nil || r.Message.Text != "x" {
			t.Errorf("%+v: %+v, %v", c, r, err)
		}
	}
}

func TestWindowLimits(t *testing.T) {
	info := ollama.Info{Context: 131072, PerToken: 100_000}
	for _, c := range []struct {
		limits ollama.Limits
		want   int
	}{
		{ollama.Limits{}, 32768},
		{ollama.Limits{Want: 200_000}, 131072},
		{ollama.Limits{Budget: 10_000}, 9216},
		{ollama.Limits{Budget: 100}, 4096},
		{ollama.Limits{Memory: 1 << 30}, 10240},
		{ollama.Limits{Memory: 1 << 40}, 32768},
		{ollama.Limits{Memory: 1}, 4096},
		{ollama.Limits{Want: 2048, Memory: 1}, 2048},
		{ollama.Limits{Want: 65536, Budget: 50_000, Memory: 2 << 30}, 20480},
	} {
		if got := info.Window(c.limits); got != c.want {
			t.Errorf("%+v: %d, want %d", c.limits, got, c.want)
		}
	}
}

// The server separates thinking before it is searched for calls. Only the
// template says that this model calls tools there. Where the answer has
// nothing else, a call that ends the thinking counts, whatever the family.
func TestCallsWithinThinking(t *testing.T) {
	for _, c := range []struct {
		template, text string
		calls          int
		shows          int32
	}{{"<|tool_calls_section_begin|>", "", 1, 0}, {"<tool_call>", "", 1, 0}, {"<|tool_calls_section_begin|>", "Done.", 1, 1}, {"<tool_call>", "Done.", 0, 1}} {
		var shows atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/api/show":
				shows.Add(1)
				fmt.Fprintf(w, `{"template":"%s"}`, c.template)
			case "/api/chat":
				fmt.Fprint(w, `{"message":{"content":"`+c.text+`","thinking":"Now. <|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0`+
					`<|tool_call_argument_begin|>{\"path\":\"a\"}<|tool_call_end|><|tool_calls_section_end|>"},"done":true,"prompt_eval_count":9,"eval_count":9}`+"\n")
			}
		}))
		m := open(t, ollama.Config{BaseURL: s.URL})
		for range 2 {
			req := ask("mine", "Read.")
			req.Tools = tools
			r, err := m.Generate(t.Context(), req, nil)
			if err != nil || len(r.Message.Calls) != c.calls || c.calls == 1 && (r.Message.Thinking != "Now." || r.Stop != llm.StopCalls) {
				t.Errorf("%s: %+v, %v", c.template, r, err)
			}
		}
		s.Close()
		if shows.Load() != c.shows {
			t.Errorf("asked %d times", shows.Load())
		}
	}
}

func TestSchemaWasIgnored(t *testing.T) {
	for text, ignored := range map[string]bool{`Sure: seven`: true, `{\"n\":7}`: false} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"message":{"content":"%s"},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":9}`+"\n", text)
		}))
		req := ask("m", "A number.")
		req.Output = []byte(`{"type":"object"}`)
		r, err := open(t, ollama.Config{BaseURL: s.URL}).Generate(t.Context(), req, nil)
		s.Close()
		if err != nil || slices.Contains(r.Notes, ollama.Unbound) != ignored {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
}

// A template that opens the thought leaves only its end in the answer. The
// first answer shows that; from the second on nothing of a thought is shown as
// text.
func TestTemplateOpensThought(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/show":
			fmt.Fprint(w, `{"template":"<|assistant|><think>\n{{ .Response }}"}`)
		case "/api/chat":
			fmt.Fprint(w, `{"message":{"content":"Hm."}}`+"\n"+`{"message":{"content":"</think>Done."},"done":true,"prompt_eval_count":9,"eval_count":9}`+"\n")
		}
	}))
	defer s.Close()
	m := open(t, ollama.Config{BaseURL: s.URL})
	for i, want := range []string{"Hm.Done.", "Done."} {
		var shown string
		r, err := m.Generate(t.Context(), ask("mine", "Go."), func(d llm.Delta) { shown += d.Text })
		switch {
		case err != nil:
			t.Errorf("unexpected error: answer %d: shown %q, %+v, %v", i, shown, r, err)
		case r.Message.Text != "Done.":
			t.Errorf(`r.Message.Text is %v, want "Done.": answer %d: shown %q, %+v, %v`, r.Message.Text, i, shown, r, err)
		case r.Message.Thinking != "Hm.":
			t.Errorf(`r.Message.Thinking is %v, want "Hm.": answer %d: shown %q, %+v, %v`, r.Message.Thinking, i, shown, r, err)
		case shown != want:
			t.Errorf("shown is %v, want %v: answer %d: shown %q, %+v, %v", shown, want, i, shown, r, err)
		}
	}
}
