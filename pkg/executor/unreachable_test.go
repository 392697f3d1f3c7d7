package executor_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

// nowhere is a client whose name server, on the loopback, knows no name. asked
// counts what it was asked.
func nowhere(t *testing.T, asked *atomic.Int32) *http.Client {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(b)
			if err != nil {
				return
			}
			if strings.Contains(string(b[:n]), "invalid") {
				asked.Add(1)
			}
			b[2], b[3] = 0x81, 0x83 // an answer: there is no such name
			b[10], b[11] = 0, 0     // without what the question adds
			server.WriteTo(question(b[:n]), from)
		}
	}()
	t.Cleanup(func() { server.Close(); <-done })
	dial := &net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", server.LocalAddr().String())
	}}}
	tr := &http.Transport{DialContext: dial.DialContext}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// question is a message of the name system up to the end of its question.
func question(b []byte) []byte {
	i := 12
	for i < len(b) && b[i] != 0 {
		i += int(b[i]) + 1
	}
	return b[:min(i+5, len(b))]
}

// TestNameIsNotFound asks models at an address that there is not: each attempt
// asks for it again, then the job ends with words that name it.
func TestNameIsNotFound(t *testing.T) {
	for label, open := range map[string]func(*http.Client) (llm.Model, error){
		"openai": func(c *http.Client) (llm.Model, error) {
			return openai.New(openai.Config{Name: "lab", BaseURL: "http://models.example.invalid/v1", HTTP: c})
		},
		"ollama": func(c *http.Client) (llm.Model, error) {
			return ollama.New(ollama.Config{BaseURL: "http://models.example.invalid:11434", HTTP: c})
		},
	} {
		t.Run(label, func(t *testing.T) {
			var asked atomic.Int32
			model, err := open(nowhere(t, &asked))
			if err != nil {
				t.Fatal(err)
			}
			var e *llm.Error
			_, err = model.Generate(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.User, Text: "q"}}}, nil)
			switch {
			case !errors.As(err, &e):
				t.Fatalf("errors.As(err, &e) is false: %v, hint %q", err, e.Hint)
			case e.Kind != llm.Unreachable:
				t.Fatalf("e.Kind is %v, want %v: %v, hint %q", e.Kind, llm.Unreachable, err, e.Hint)
			case !e.Retryable():
				t.Fatalf("e.Retryable() is false: %v, hint %q", err, e.Hint)
			case !strings.Contains(e.Error(), "the address of models.example.invalid cannot be found"):
				t.Fatalf(`e.Error() lacks "the address of models.example.invalid cannot be found": %v, hint %q`, err, e.Hint)
			case !strings.Contains(e.Hint, "the base URL"):
				t.Fatalf(`e.Hint lacks "the base URL": %v, hint %q`, err, e.Hint)
			}
			before, retried := asked.Load(), 0
			w, j := newWorld(t), new(flow.Memory)
			mux := host.Serve(host.Host{Tools: w.tools, Blobs: j, Attempts: 3, Models: func(context.Context, string) (llm.Model, string, error) { return model, "m", nil }})
			_, err = loop.Run(flow.NewRun("J1", flow.NewLocal(t.Context(), j, mux, func(ev event.Event) {
				if ev.Kind == event.StepRetried {
					retried++
				}
			})), w.task(nil))
			var stop *executor.StopError
			switch {
			case !errors.As(err, &stop):
				t.Errorf("errors.As(err, &stop) is false: %v", err)
			case stop.Outcome.Status != executor.Failed:
				t.Errorf("stop.Outcome.Status is %v, want %v: %v", stop.Outcome.Status, executor.Failed, err)
			case stop.Outcome.Code != "model.unreachable":
				t.Errorf(`stop.Outcome.Code is %v, want "model.unreachable": %v`, stop.Outcome.Code, err)
			case !strings.Contains(stop.Outcome.Reason, "check the name in the base URL"):
				t.Errorf(`stop.Outcome.Reason lacks "check the name in the base URL": %v`, err)
			}
			if n := asked.Load() - before; retried != 2 || n < 3 {
				t.Errorf("%d retries, the name was asked for %d times", retried, n)
			}
		})
	}
}
