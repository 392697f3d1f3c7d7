package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// TestToolsWaitForModels: a request of a tool is retried like one of the loop, visibly. A request
// that will not succeed later is not.
func TestToolsWaitForModels(t *testing.T) {
	ponder := tools.New(tools.Metadata{Name: "ponder", Description: "Think.", UsageHint: "Rarely.", Category: "utility", Needs: tools.Think},
		func(ctx context.Context, env *tools.Env, _ struct{}) (string, error) {
			r, err := env.Model.Generate(ctx, &llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "Why?"}}}, nil)
			if err != nil {
				return "", err
			}
			return r.Message.Text, nil
		})
	set, err := tools.NewSet(ponder)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		fails    int
		with     llm.Error
		asked    int
		notes    int
		answered bool
	}{
		{"busy", 7, llm.Error{Kind: llm.RateLimit, Status: 429, Message: "slow down", RetryAfter: time.Millisecond}, 8, 7, true},
		{"cut", 2, llm.Error{Kind: llm.Cut, Message: "cut", RetryAfter: time.Millisecond}, 3, 2, true},
		{"cut for ever", 99, llm.Error{Kind: llm.Cut, Message: "cut", RetryAfter: time.Millisecond}, 4, 3, false},
		{"refused", 99, llm.Error{Kind: llm.BadRequest, Status: 400, Message: "no"}, 1, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			mux := host.Serve(host.Host{Tools: set, Models: func(context.Context, string) (llm.Model, string, error) {
				return llm.Func(func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
					if asked++; asked <= c.fails {
						e := c.with
						return nil, &e
					}
					return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: "Because."}, Stop: llm.StopEnd}, nil
				}), "m", nil
			}})
			in, err := json.Marshal(turn.ToolCall{Args: json.RawMessage(`{}`), Think: &turn.Think{Route: turn.Route{Model: "lab/m"}, Requests: 2, Tokens: -1, USD: -1}})
			if err != nil {
				t.Fatal(err)
			}
			notes := ""
			out, err := mux[turn.ToolStep].Handler(t.Context(), flow.Step{Kind: turn.ToolStep, Name: "ponder", Input: in}, func(e event.Event) { notes += e.Text + "\n" })
			if answered := err == nil && strings.Contains(string(out), "Because."); asked != c.asked || answered != c.answered || strings.Count(notes, "asked again in 1ms") != c.notes {
				t.Errorf("asked %d times, want %d; %s, %v\n%s", asked, c.asked, out, err, notes)
			}
		})
	}
}
