package llmtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
)

func (s *suite) statuses(t *testing.T) {
	said := func(text string) string { return fmt.Sprintf(`{"error":{"message":%q,"type":"x","code":null}}`, text) }
	plain := func(text string) string { return fmt.Sprintf(`{"error":%q}`, text) }
	for _, c := range []struct {
		status int
		body   string
		kind   llm.ErrorKind
	}{
		{401, said("bad key " + Key), llm.Auth},
		{403, plain("no"), llm.Auth},
		{404, said(`model "x" not found, try pulling it first`), llm.NoModel},
		{404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, llm.NoModel},
		{404, "404 page not found", llm.BadRequest},
		{405, "", llm.BadRequest},
		{400, said("temperature must be a number"), llm.BadRequest},
		{400, plain("registry/x:latest does not support tools"), llm.Unsupported},
		{400, said("This model's maximum context length is 8192 tokens"), llm.TooLong},
		{400, plain("the input length exceeds the context length"), llm.TooLong},
		{400, plain(`{"error":{"code":400,"type":"exceed_context_size_error","message":"x","n_ctx":2048}}`), llm.TooLong},
		{413, "", llm.TooLong},
		{429, said("slow down"), llm.RateLimit},
		{429, `{"error":{"message":"x","code":"insufficient_quota"}}`, llm.RateLimit},
		{500, said("oops"), llm.Overloaded},
		{500, plain("invalid JSON schema in format"), llm.BadRequest},
		{502, "<html><body>Bad Gateway</body></html>", llm.Overloaded},
		{503, plain("server busy, please try again"), llm.Overloaded},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Overloaded},
		{407, "", llm.Unreachable},
		{400, strings.Repeat("a", 8000) + Key, llm.BadRequest},
		{400, strings.Repeat("é", 1020) + Key, llm.BadRequest},
		{302, "", llm.BadRequest},
	} {
		t.Run(fmt.Sprintf("%d %.30s", c.status, c.body), func(t *testing.T) {
			_, err := s.ask(t, Fail(c.status, c.body))
			kind := c.kind
			if strings.Contains(c.body, "insufficient_quota") {
				kind = llm.Auth // waiting does not fill an account
			}
			if e := s.fails(t, err, kind); e.Status != c.status {
				t.Errorf("status is %d", e.Status)
			}
			if strings.Contains(err.Error(), Key[:10]) {
				t.Errorf("a part of the key is shown: %v", err)
			}
		})
	}
	for _, c := range []struct {
		after    string
		min, max time.Duration
	}{
		{"1", time.Second, time.Second},
		{"0.5", 500 * time.Millisecond, 500 * time.Millisecond},
		{time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat), 60 * time.Second, 90 * time.Second},
		{time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), 0, 0},
		{"100000", 100000 * time.Second, 100000 * time.Second},
		{"1000000000", 366 * 24 * time.Hour, 366 * 24 * time.Hour},
		{"1e99", 366 * 24 * time.Hour, 366 * 24 * time.Hour},
		{"-5", 0, 0},
		{"NaN", 0, 0},
		{"soon", 0, 0},
		{"", 0, 0},
	} {
		t.Run("retry after "+c.after, func(t *testing.T) {
			_, err := s.ask(t, Fail(429, said("slow down"), "Retry-After", c.after))
			if e := s.fails(t, err, llm.RateLimit); e.RetryAfter < c.min || e.RetryAfter > c.max {
				t.Errorf("it says to wait %s, want %s to %s", e.RetryAfter, c.min, c.max)
			}
		})
	}
}

func (s *suite) connections(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		_, err = s.newModel("http://"+l.Addr().String()).Generate(t.Context(), question(), nil)
		if e := s.fails(t, err, llm.Unreachable); e.Hint == "" || !e.Retryable() {
			t.Errorf("%+v", e)
		}
	})
	t.Run("tls", func(t *testing.T) {
		m := s.newModel(strings.Replace(New(t).URL, "http:", "https:", 1))
		_, err := m.Generate(t.Context(), question(), nil)
		s.fails(t, err, llm.Unreachable)
	})
	t.Run("no messages", func(t *testing.T) {
		_, err := s.newModel(New(t).URL).Generate(t.Context(), &llm.Request{Model: "m"}, nil)
		s.fails(t, err, llm.BadRequest)
	})
}

func (s *suite) silence(t *testing.T) {
	turn := Turn{Text: "Hello, world, and more of it.", Usage: usage}
	word := func(p Protocol) string {
		switch p {
		case Ollama:
			return `{"model":"m","message":{"content":"a"},"done":false}` + "\n"
		case Anthropic:
			return named("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": "a"}})
		}
		return `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n"
	}
	blank := func(p Protocol) string {
		if p == Ollama {
			return "\n"
		}
		return ": still here\n\n"
	}
	for _, c := range []struct {
		label string
		do    Behaviour
	}{
		{"after headers", SilentAt(Turn{}, 0)},
		{"after one token", SilentAt(turn, 2)},
		{"comments for ever", Forever(blank)},
		{"words for ever", Forever(word)},
	} {
		t.Run(c.label, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			_, err := s.limited(New(t, c.do).URL, tight).Generate(t.Context(), question(), nil)
			if e := s.fails(t, err, llm.Timeout); !e.Retryable() {
				t.Errorf("%+v", e)
			}
			if d := time.Since(begin); d < tight.Idle {
				t.Errorf("it gave up after %s", d)
			}
		})
	}
}

func (s *suite) cut(t *testing.T) {
	text := Turn{Text: "The weather in Paris is fine.", Usage: usage}
	call := Turn{Calls: []llm.Call{paris, paris}, Usage: usage}
	for _, c := range []struct {
		label string
		do    Behaviour
	}{
		{"in text", CutAt(text, 2)},
		{"in a call", CutAt(call, 2)},
		{"before the end", CutAt(Turn{Text: "ok"}, 1)},
		{"reset in text", ResetAt(text, 2)},
		{"reset in a call", ResetAt(call, 2)},
	} {
		t.Run(c.label, func(t *testing.T) {
			r, err := s.ask(t, c.do)
			if r != nil {
				t.Fatalf("a partial answer was returned: %+v", r)
			}
			if e := s.fails(t, err, llm.Cut); !e.Retryable() {
				t.Errorf("%+v", e)
			}
		})
	}
}

func (s *suite) garbled(t *testing.T) {
	for _, c := range []struct {
		label string
		do    Behaviour
		kind  llm.ErrorKind
		says  string
	}{
		{"error at once", ErrorInside(Turn{}, 0, "an error was encountered while running the model"), llm.Overloaded, "running the model"},
		{"error in text", ErrorInside(Turn{Text: "Hello, world."}, 1, "rate limit exceeded"), llm.RateLimit, "rate limit"},
		{"error too long", ErrorInside(Turn{}, 0, "the input length exceeds the context length"), llm.TooLong, "exceeds"},
		{"web page", Raw("text/html; charset=utf-8", "<!doctype html><title>Log in</title>"), llm.Garbled, "web page"},
		{"empty", Raw("", ""), llm.Garbled, ""},
		{"image", Raw("image/png", "x"), llm.Garbled, "image/png"},
		{"prose", Raw("application/json", "Hello"), llm.Garbled, "Hello"},
		{"number", Raw("application/json", "17"), llm.Garbled, ""},
	} {
		t.Run(c.label, func(t *testing.T) {
			_, err := s.ask(t, c.do)
			if s.fails(t, err, c.kind); !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v does not say %q", err, c.says)
			}
		})
	}
}

func (s *suite) cancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	srv := New(t, func(x *Exchange) {
		x.Start()
		cancel()
		x.wait()
	})
	_, err := s.newModel(srv.URL).Generate(ctx, question(), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	var e *llm.Error
	if errors.As(err, &e) {
		t.Errorf("the provider is blamed: %v", err)
	}
}
