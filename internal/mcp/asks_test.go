package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
)

// asking calls a tool that asks, with the answers so far.
func asking(t *testing.T, p *Pool, tool turn.Tool, said ...turn.Answer) (tools.Result, *turn.Asking) {
	t.Helper()
	ctx := turn.WithSaid(context.WithoutCancel(t.Context()), turn.Said{Answers: said})
	r, err := p.Call(ctx, turn.Scope{}, tool, new(tools.Env).Only(0), json.RawMessage("{}"))
	a := new(turn.Asking)
	if errors.As(err, &a) {
		return r, a
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, nil
}

func accept(a *turn.Asking, content string) turn.Answer {
	return turn.Answer{ID: a.ID, Call: a.Call, Action: "accept", Content: json.RawMessage(content)}
}

// TestMCPAsks: a call that asks the user goes on with the answer, in the process that has
// it and in another one.
func TestMCPAsks(t *testing.T) {
	f := serve(t, "asks", twoTools)
	look, drop := f.tool(t, "look"), f.tool(t, "drop")
	again := func() *Pool {
		p := New(f.o)
		t.Cleanup(func() { _ = p.Close() })
		return p
	}
	_, a := asking(t, f.Pool, drop)
	if a == nil || a.Message != "Which one?" || a.Server != "fake" || a.Tool != "drop" {
		t.Fatalf("it asks %+v", a)
	}
	if want := `{"properties":{"number":{"type":"integer"}},"required":["number"],"type":"object"}`; string(a.Schema) != want { // as the server wrote it
		t.Errorf("its schema is %s, want %s", a.Schema, want)
	}
	_, wrong := asking(t, f.Pool, drop, accept(a, `"many"`))
	if wrong == nil || wrong.ID != a.ID || !strings.Contains(wrong.Fault, "number") {
		t.Fatalf("after an answer that does not fit it asks %+v", wrong)
	}
	if r, _ := asking(t, f.Pool, drop, accept(a, `"many"`), accept(wrong, "7")); r.Failed || !strings.Contains(r.Text, `"action":"accept"`) || !strings.Contains(r.Text, `"number":7`) {
		t.Errorf("the result is %+v", r)
	}
	_, a = asking(t, f.Pool, drop)
	if r, _ := asking(t, f.Pool, drop, turn.Answer{ID: a.ID, Call: a.Call, Action: "decline"}); !strings.Contains(r.Text, `"action":"decline"`) {
		t.Errorf("after a no the result is %+v", r)
	}
	nobody := turn.WithSaid(t.Context(), turn.Said{Nobody: true})
	if r, err := f.Call(nobody, turn.Scope{}, drop, new(tools.Env).Only(0), json.RawMessage("{}")); err != nil || !strings.Contains(r.Text, `"action":"decline"`) {
		t.Errorf("where nobody is the result is %+v, %v", r, err)
	}

	// The process ends in good order: the call is cancelled, and made anew.
	first := again()
	_, a = asking(t, first, drop)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if r, more := asking(t, again(), drop, accept(a, `{"number":8}`)); more != nil || !strings.Contains(r.Text, `"number":8`) {
		t.Errorf("in another process the result is %+v, it asks %+v", r, more)
	}

	// It is killed: the outcome of the call is unknown.
	_, a = asking(t, again(), drop)
	if r, _ := asking(t, again(), drop, accept(a, `{"number":9}`)); !r.Failed || !strings.Contains(r.Text, "was interrupted while the user was asked") {
		t.Errorf("after a kill the result is %+v", r)
	}
	_, a = asking(t, again(), look) // only reads
	if r, more := asking(t, again(), look, accept(a, `{"number":9}`)); more != nil || !strings.Contains(r.Text, `"number":9`) {
		t.Errorf("after a kill of a call that only reads the result is %+v, it asks %+v", r, more)
	}
}

// TestMCPCancel: a call that is stopped is cancelled at the server.
func TestMCPCancel(t *testing.T) {
	f := serve(t, "asks", twoTools)
	_, a := asking(t, f.Pool, f.tool(t, "drop"))
	f.mu.Lock()
	o := f.waiting[a.Call]
	f.mu.Unlock()
	o.end()
	for range 1000 {
		if _, err := os.Stat(f.file + ".cancelled"); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the server does not know of it")
}

// TestMCPCancelAndEnd: the same applies if the connection ends at once. With one processor,
// concurrent work comes last.
func TestMCPCancelAndEnd(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 5 {
		f := serve(t, "waits", twoTools)
		tool := f.tool(t, "drop")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := f.Call(ctx, f.scope, tool, new(tools.Env).Only(0), json.RawMessage("{}"))
			ended <- errors.Join(err, f.Close())
		}()
		for {
			if _, err := os.Stat(f.file + ".called"); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		for _, l := range f.slots {
			l.live.wrote([]byte(`{"method":"notifications/cancelled"}`)) // of another request, before
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := os.Stat(f.file + ".cancelled"); err != nil {
			t.Error("the server does not know of it")
		}
	}
}

// TestMCPCancelAndEndOverHTTP: so it is at a server that is reached over HTTP, where the
// cancel is a request of its own.
func TestMCPCancelAndEndOverHTTP(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 5 {
		called, over := make(chan struct{}), make(chan struct{})
		server := sdk.NewServer(&sdk.Implementation{Name: "waits", Version: "1"}, nil)
		server.AddTool(&sdk.Tool{Name: "drop", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			close(called)
			select {
			case <-ctx.Done():
			case <-over: // or the server could not be closed
			}
			return nil, ctx.Err()
		})
		cancels := make(chan string, 2)
		handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
		at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(b))
			handler.ServeHTTP(w, r)
			if bytes.Contains(b, []byte("notifications/cancelled")) {
				cancels <- string(b)
			}
		}))
		f := &fixture{Pool: New(Options{Dir: t.TempDir(), Servers: map[string]Server{"waits": {URL: at.URL}}})}
		tool := f.ofServer(t, "waits", "drop")

		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := f.Call(ctx, f.scope, tool, new(tools.Env).Only(0), json.RawMessage("{}"))
			ended <- errors.Join(err, f.Close())
		}()
		<-called
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		select {
		case <-cancels:
		default:
			t.Error("the server does not know of it")
		}
		close(over)
		at.CloseClientConnections()
		at.Close()
	}
}
