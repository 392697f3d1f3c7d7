package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
)

// images checks that the images of a message are sent, in their order and whole, with
// each request of the conversation, and that one without bytes is left out.
func (s *suite) images(t *testing.T) {
	srv := New(t, Say(Turn{Text: "Two pictures.", Usage: usage}), Say(Turn{Text: "Still two.", Usage: usage}))
	m := s.newModel(srv.URL)
	first := llm.Image{Name: "a.png", Type: "image/png", Size: 9, Data: []byte("\x89PNG\r\n\x1a\n1")}
	second := llm.Image{Name: "b.jpg", Type: "image/jpeg", Size: 6, Data: []byte("\xff\xd8\xff<&>")}
	req := question()
	req.History = new(llm.EncodedHistory)
	req.Messages[1].Text = "What is this?"
	req.Messages[1].Images = []llm.Image{first, {Name: "gone.png", Type: "image/png", Size: 1}, second}
	want := []string{base64.StdEncoding.EncodeToString(first.Data), base64.StdEncoding.EncodeToString(second.Data)}
	for n := range 2 {
		r, err := m.Generate(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		body := srv.Requests()[n].Body
		strict(t, body)
		var all any
		if err := json.Unmarshal(body, &all); err != nil {
			t.Fatal(err)
		}
		var found []string
		asked := false
		walk(all, func(text string) {
			asked = asked || text == "What is this?"
			_, data, url := strings.Cut(text, ";base64,")
			if !url {
				data = text
			} else if !strings.HasPrefix(text, "data:image/") {
				t.Errorf("request %d has the address %.40q", n, text)
			}
			if slices.Contains(want, data) {
				found = append(found, data)
			}
		})
		if !slices.Equal(found, want) || !asked {
			t.Errorf("request %d has the images %q, and the question: %v; want %q\n%s", n, found, asked, want, body)
		}
		req.Messages = append(req.Messages, r.Message, llm.Message{Role: llm.User, Text: "Sure?"})
	}
}

// toolImages checks that what results of tools show is sent, in their order and with
// each request of the conversation, and that each result is there.
func (s *suite) toolImages(t *testing.T) {
	srv := New(t, Say(Turn{Text: "A picture.", Usage: usage}), Say(Turn{Text: "Two.", Usage: usage}))
	m := s.newModel(srv.URL)
	first := llm.Image{Name: "a.png", Type: "image/png", Size: 9, Data: []byte("\x89PNG\r\n\x1a\n1")}
	second := llm.Image{Name: "b.jpg", Type: "image/jpeg", Size: 6, Data: []byte("\xff\xd8\xff<&>")}
	req := question()
	req.History = new(llm.EncodedHistory)
	look := func(ids ...string) {
		calls := llm.Message{Role: llm.Assistant}
		for _, id := range ids {
			calls.Calls = append(calls.Calls, llm.Call{ID: id, Name: "add", Args: json.RawMessage(`{"a":1,"b":2}`)})
		}
		req.Messages = append(req.Messages, calls)
	}
	result := func(id, text string, images ...llm.Image) {
		req.Messages = append(req.Messages, llm.Message{Role: llm.Tool, CallID: id, Name: "add", Text: text, Images: images})
	}
	look("call00001", "call00002")
	result("call00001", "[image a.png]", first)
	result("call00002", "plain")
	b64 := base64.StdEncoding.EncodeToString
	for n, want := range [][]string{{b64(first.Data)}, {b64(first.Data), b64(second.Data)}} {
		r, err := m.Generate(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		body := srv.Requests()[n].Body
		strict(t, body)
		var all any
		if err := json.Unmarshal(body, &all); err != nil {
			t.Fatal(err)
		}
		var found []string
		walk(all, func(text string) {
			if _, data, url := strings.Cut(text, ";base64,"); url {
				text = data
			}
			if slices.Contains([]string{b64(first.Data), b64(second.Data)}, text) {
				found = append(found, text)
			}
		})
		if !slices.Equal(found, want) || !strings.Contains(string(body), "plain") || !strings.Contains(string(body), "[image a.png]") {
			t.Errorf("request %d has the images %q, want %q\n%s", n, found, want, body)
		}
		req.Messages = append(req.Messages, r.Message, llm.Message{Role: llm.User, Text: "Look again."})
		look("call00003")
		result("call00003", "[image b.jpg]", second)
	}
}

// walk passes the strings of a decoded JSON value on, those of arrays in their order.
func walk(v any, each func(string)) {
	switch v := v.(type) {
	case string:
		each(v)
	case []any:
		for _, e := range v {
			walk(e, each)
		}
	case map[string]any:
		for _, e := range v {
			walk(e, each)
		}
	}
}
