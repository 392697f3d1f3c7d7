package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// blobs are inputs of steps by digest.
type blobs map[string]json.RawMessage

func (b blobs) Blob(_ context.Context, digest string) (json.RawMessage, error) {
	if v, ok := b[digest]; ok {
		return v, nil
	}
	return nil, flow.ErrNoBlob
}

// asker is the context key of the asking agent's name.
type asker struct{}

// TestSameWords: two agents that were given the same words have first requests of the same digest.
// While the model thinks about one, the other agent goes on with its second request: neither sees
// the conversation of the other.
func TestSameWords(t *testing.T) {
	set, err := tools.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	first := turn.ModelRequest{New: []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "Look."}}}
	input, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal(turn.ModelRequest{Head: flow.Digest(input), New: []llm.Message{{Role: llm.Assistant, Text: "Well."}, {Role: llm.User, Text: "Go on."}}})
	if err != nil {
		t.Fatal(err)
	}
	asked, goOn := make(chan struct{}), make(chan struct{})
	seen := map[string]int{}
	mux := host.Serve(host.Host{
		Tools: set, Blobs: blobs{flow.Digest(input): input},
		Models: func(ctx context.Context, _ string) (llm.Model, string, error) {
			name := ctx.Value(asker{}).(string)
			if name == "slow" {
				close(asked)
				<-goOn // between the look at the transcript and the request
			}
			return llm.Func(func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
				seen[name] = len(req.Messages)
				return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: "Seen."}, Stop: llm.StopEnd}, nil
			}), name, nil
		},
	})
	// The name of the model is not part of the agents' requests here, so that equal words have
	// equal digests.
	ask := func(name string, input []byte) error {
		_, err := mux[turn.ModelStep].Handler(context.WithValue(t.Context(), asker{}, name), flow.Step{Kind: turn.ModelStep, Name: name, Input: input}, func(event.Event) {})
		return err
	}
	done := make(chan error, 1)
	go func() { done <- ask("slow", input) }()
	<-asked
	if err := ask("quick", second); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if seen["slow"] != 2 {
		t.Errorf("the first request of one agent had %d messages, want 2", seen["slow"])
	}
	if seen["quick"] != 4 {
		t.Errorf("the second request of the other had %d messages, want 4", seen["quick"])
	}
}

// TestTroubleOfOneThatCalls: a server that has answered natively to the result of a call is asked natively after any
// number of failures, and no later job goes without that for a refusal that it alone knows the reason of.
func TestTroubleOfOneThatCalls(t *testing.T) {
	failed := &llm.Error{Kind: llm.Overloaded, Status: 500, Message: "E5"}
	refused := &llm.Error{Kind: llm.BadRequest, Status: 400, Message: "E4"}
	for name, c := range map[string]struct {
		native []error // of the requests that call tools natively, in their order
		text   int     // requests that do not
	}{
		"fails now and then": {native: []error{failed, nil, failed, nil, failed, nil, failed, nil, failed, nil}},
		"is down for long":   {native: []error{nil, nil, failed, failed, failed, failed, failed, failed, nil}},
		"refuses":            {native: []error{nil, nil, refused}, text: 2},
	} {
		var all []error
		text := 0
		set, err := tools.NewSet(tools.New(tools.Metadata{Name: "f", Description: "Look."}, func(context.Context, *tools.Env, struct{}) (string, error) { return "ok", nil }))
		if err != nil {
			t.Fatal(err)
		}
		kept, learned := blobs{}, new(modes)
		mux := host.Serve(host.Host{
			Tools: set, Blobs: kept, CallModes: learned,
			Models: func(context.Context, string) (llm.Model, string, error) {
				return llm.Func(func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
					if len(req.Tools) == 0 {
						text++
						return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: `{"next":{"answer":"Seen."}}`}, Stop: llm.StopEnd}, nil
					}
					all = append(all, nil)
					if n := len(all); n <= len(c.native) && c.native[n-1] != nil {
						return nil, c.native[n-1]
					}
					return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: "Seen."}, Stop: llm.StopEnd}, nil
				}), "m", nil
			},
		})
		a := turn.ModelRequest{Model: "lab/m", Tools: []llm.ToolSpec{{Name: "f", Input: json.RawMessage(`{"type":"object"}`)}}, New: []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "Look."}}}
		for range 10 {
			if len(all)+text >= len(c.native)+c.text {
				break
			}
			input, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			kept[flow.Digest(input)] = input
			for range 8 { // asked again after a failure
				if _, err = mux[turn.ModelStep].Handler(t.Context(), flow.Step{Kind: turn.ModelStep, Name: "lab/m", Input: input}, func(event.Event) {}); err == nil {
					break
				}
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			a = turn.ModelRequest{Model: "lab/m", Head: flow.Digest(input), New: []llm.Message{
				{Role: llm.Assistant, Calls: []llm.Call{{ID: "c", Name: "f", Args: json.RawMessage(`{}`)}}}, {Role: llm.Tool, CallID: "c", Name: "f", Text: "ok"}}}
		}
		if len(all) != len(c.native) || text != c.text || len(*learned) > 0 {
			t.Errorf("%s: asked %d times natively, want %d, %d times in text, want %d, learned %v", name, len(all), len(c.native), text, c.text, *learned)
		}
	}
}

// modes are the failures that were learned.
type modes []turn.ModeFailure

func (m *modes) Modes(context.Context, string) ([]turn.Mode, string) { return nil, "" }
func (m *modes) Learn(_ string, f turn.ModeFailure)                  { *m = append(*m, f) }
