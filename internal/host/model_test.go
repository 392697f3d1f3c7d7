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
