package host_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

func picture(name string, size int) llm.Image {
	b := bytes.Repeat([]byte(name), size/len(name)+1)[:size]
	sum := sha256.Sum256(b)
	return llm.Image{Name: name, Type: "image/png", Width: 10, Height: 10, Size: size, Digest: hex.EncodeToString(sum[:]), Data: b}
}

// shows asks a model about images that tools have shown and returns the messages as
// they were sent, the last time.
func shows(t *testing.T, h host.Host, images []llm.Image, answer func(n int, req *llm.Request) error) (sent []llm.Message, notes string) {
	t.Helper()
	kept := map[string][]byte{}
	msgs := []llm.Message{{Role: llm.System, Text: "See."}, {Role: llm.User, Text: "What is there?"}, {Role: llm.Assistant}}
	for k, i := range images {
		id := fmt.Sprint("c", k)
		msgs[2].Calls = append(msgs[2].Calls, llm.Call{ID: id, Name: "look", Args: json.RawMessage(`{}`)})
		kept[i.Digest] = i.Data
		msgs = append(msgs, llm.Message{Role: llm.Tool, CallID: id, Name: "look", Text: i.String(), Images: []llm.Image{i}})
	}
	h.Tools, _ = tools.NewSet()
	h.Images = func(digest string) ([]byte, error) { return kept[digest], nil }
	n := 0
	h.Models = func(context.Context, string) (llm.Model, string, error) {
		return llm.Func(func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
			sent = req.Messages
			n++
			if err := answer(n, req); err != nil {
				return nil, err
			}
			return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: "Seen."}, Stop: llm.StopEnd}, nil
		}), "m", nil
	}
	mux := host.Serve(h)
	input, err := json.Marshal(turn.ModelRequest{Model: "lab/m", New: msgs})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // asked again, as after a failure
		if _, err := mux[turn.ModelStep].Handler(t.Context(), flow.Step{Kind: turn.ModelStep, Name: "lab/m", Input: input}, func(e event.Event) { notes += e.Text + "\n" }); err != nil {
			t.Fatal(err)
		}
	}
	return sent, notes
}

func shown(msgs []llm.Message) (n int, text string) {
	for _, m := range msgs {
		for _, i := range m.Images {
			if len(i.Data) > 0 {
				n++
			}
		}
		text += m.Text + "\n"
	}
	return n, text
}

func TestToolImagesAreShown(t *testing.T) {
	sent, _ := shows(t, host.Host{}, []llm.Image{picture("a.png", 10), picture("b.png", 20)}, func(int, *llm.Request) error { return nil })
	if n, text := shown(sent); n != 2 || strings.Contains(text, "cannot see") {
		t.Errorf("%d images are shown: %s", n, text)
	}
}

// What no request could carry is left out from the oldest on.
func TestToolImagesAreBounded(t *testing.T) {
	sent, _ := shows(t, host.Host{}, []llm.Image{picture("a.png", 5<<20), picture("b.png", 5<<20), picture("c.png", 5<<20)}, func(int, *llm.Request) error { return nil })
	n, text := shown(sent)
	if n != 2 || strings.Count(text, "[the image a.png is not shown any more, to make room]") != 1 {
		t.Errorf("%d images are shown: %s", n, text)
	}
}

func TestModelsThatDoNotSee(t *testing.T) {
	blind := func(context.Context, string) string { return "it reads text only" }
	sent, _ := shows(t, host.Host{NoImages: blind}, []llm.Image{picture("a.png", 10)}, func(int, *llm.Request) error { return nil })
	if n, text := shown(sent); n != 0 || strings.Count(text, "[you cannot see a.png: lab/m takes no images (it reads text only)]") != 1 {
		t.Errorf("known: %d images are shown: %s", n, text)
	}

	// One that nobody knew about is asked again without them, and remembered.
	for _, words := range []string{"image_url is only supported by certain models", "E17"} {
		refusals := 0
		sent, notes := shows(t, host.Host{}, []llm.Image{picture("a.png", 10)}, func(_ int, req *llm.Request) error {
			if n, _ := shown(req.Messages); n > 0 {
				refusals++
				return &llm.Error{Kind: llm.BadRequest, Status: 400, Message: words}
			}
			return nil
		})
		if n, text := shown(sent); n != 0 || refusals != 1 || !strings.Contains(text, "you cannot see a.png") || !strings.Contains(notes, "lab/m takes no images, and is asked without them") {
			t.Errorf("%s: refused %d times: %d images are shown: %s\n%s", words, refusals, n, text, notes)
		}
	}
}
