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
