package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
)

// A wireMessage is a message of a request, in any of the protocols.
type wireMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		Function struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// blocks are the parts of a message in Anthropic's protocol.
func (m *wireMessage) blocks() (list []struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
}) {
	_ = json.Unmarshal(m.Content, &list) // not so in the other protocols
	return list
}

// text returns the text of a message, or of a tool's result.
func (m *wireMessage) text() (text string, ok bool) {
	ok = json.Unmarshal(m.Content, &text) == nil && string(m.Content) != "null"
	for _, b := range m.blocks() {
		text, ok = text+b.Text, true
		for _, c := range b.Content {
			text += c.Text
		}
	}
	return text, ok
}

func wireMessages(t *testing.T, body []byte) (list []wireMessage) {
	t.Helper()
	got := struct{ Messages *[]wireMessage }{&list}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("the request is not JSON: %v", err)
	}
	return list
}

// strict reads a request as the strictest of the servers would.
func strict(t *testing.T, body []byte) {
	t.Helper()
	check := func(i int, name string, raw json.RawMessage) {
		var s string
		if bytes.HasPrefix(raw, []byte(`"`)) && json.Unmarshal(raw, &s) == nil {
			raw = []byte(s)
		}
		var args map[string]any
		if err := json.Unmarshal(raw, &args); err != nil || args == nil {
			t.Errorf("message %d: arguments of %s are %.100s: %v", i, name, raw, err)
		}
	}
	for i, m := range wireMessages(t, body) {
		text, ok := m.text()
		if !ok || m.Role == "tool" && text == "" {
			t.Errorf("message %d has no content", i)
		}
		for _, c := range m.Calls {
			check(i, c.Function.Name, c.Function.Args)
			if c.Function.Args[0] == '"' && strings.ContainsAny(c.Function.Name, " é") {
				t.Errorf("message %d calls %q", i, c.Function.Name)
			}
		}
		for _, b := range m.blocks() {
			if b.Type != "tool_use" {
				continue
			}
			check(i, b.Name, b.Input)
			if strings.ContainsAny(b.Name, " é") {
				t.Errorf("message %d calls %q", i, b.Name)
			}
		}
	}
}

func (s *suite) request(t *testing.T) {
	srv := New(t, Say(Turn{Calls: []llm.Call{paris}, Usage: usage}), Say(Turn{Text: "21C", Usage: usage}), Say(Turn{Text: "21C", Usage: usage}))
	m := s.newModel(srv.URL)
	zero := 0.0
	req := question()
	req.Options = llm.Options{Temperature: &zero, MaxTokens: 77}
	req.History = new(llm.EncodedHistory)
	r, err := m.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, r.Message, llm.Message{Role: llm.Tool, CallID: "a1", Name: "get_weather"})
	if _, err := m.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	req.History = nil
	if _, err := m.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	got := srv.Requests()
	if string(got[1].Body) != string(got[2].Body) {
		t.Errorf("with a Wire it sends\n%s\nwithout\n%s", got[1].Body, got[2].Body)
	}
	if h := got[0].Header; h.Get("Authorization") != "Bearer "+Key && h.Get("X-Api-Key") != Key {
		t.Errorf("the key is not sent: %v", h)
	}
	if n := got[1].Header.Get("Content-Length"); n != fmt.Sprint(len(got[1].Body)) {
		t.Errorf("Content-Length is %q for %d bytes", n, len(got[1].Body))
	}
	strict(t, got[1].Body)
	said := map[string]string{}
	for _, m := range wireMessages(t, got[1].Body) {
		text, _ := m.text()
		said[m.Role] += text
		if m.Role == "user" && len(m.blocks()) > 0 && m.blocks()[0].Type == "tool_result" {
			said["tool"] = text
		}
	}
	if text := question().Messages[1].Text; !strings.HasPrefix(said["user"], text) {
		t.Errorf("the question arrives as %q", said["user"])
	}
	if said["tool"] != "(no output)" {
		t.Errorf("an empty result arrives as %q", said["tool"])
	}
	for _, want := range []string{`"temperature":0`, `:77`, `"get_weather"`} {
		if !strings.Contains(string(got[1].Body), want) {
			t.Errorf("the request lacks %s: %s", want, got[1].Body)
		}
	}
	// History is never sent differently, or a server's prefix cache is lost.
	before, after := wireMessages(t, got[0].Body), wireMessages(t, got[1].Body)
	for i, m := range before {
		if string(m.Content) != string(after[i].Content) {
			t.Errorf("message %d is sent as %s, then as %s", i, m.Content, after[i].Content)
		}
	}
}
