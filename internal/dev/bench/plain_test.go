package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// What a hand-written agent has: a list of messages that it encodes whole for
// every request, and nothing else.
type plainMessage struct {
	Role    string      `json:"role"`
	Content string      `json:"content"`
	Calls   []plainCall `json:"tool_calls,omitempty"`
	CallID  string      `json:"tool_call_id,omitempty"`
}

type plainCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type plainTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type plainRequest struct {
	Model    string         `json:"model"`
	Messages []plainMessage `json:"messages"`
	Tools    []plainTool    `json:"tools"`
}

// plain is the loop to compare with: it runs without adroit.
func plain(ctx context.Context, hc *http.Client, url string, turns int) (string, error) {
	var tool plainTool
	tool.Type = "function"
	tool.Function.Name, tool.Function.Description = "echo", "Repeat a text."
	tool.Function.Parameters = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`)
	req := plainRequest{Model: fmt.Sprintf("tape-%d", turns), Tools: []plainTool{tool}, Messages: []plainMessage{
		{Role: "system", Content: "You echo."}, {Role: "user", Content: "Go on."},
	}}
	for {
		body, err := json.Marshal(req)
		if err != nil {
			return "", err
		}
		hr, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
		if err != nil {
			return "", err
		}
		hr.Header.Set("Content-Type", "application/json")
		resp, err := hc.Do(hr)
		if err != nil {
			return "", err
		}
		var got struct {
			Choices []struct {
				Message plainMessage `json:"message"`
			} `json:"choices"`
		}
		err = json.NewDecoder(resp.Body).Decode(&got)
		resp.Body.Close()
		if err != nil || len(got.Choices) == 0 {
			return "", fmt.Errorf("no answer: %w", err)
		}
		m := got.Choices[0].Message
		req.Messages = append(req.Messages, m)
		if len(m.Calls) == 0 {
			return m.Content, nil
		}
		for _, c := range m.Calls {
			var in struct {
				Text string `json:"text"`
			}
			if err := json.Unmarshal([]byte(c.Function.Arguments), &in); err != nil {
				return "", err
			}
			req.Messages = append(req.Messages, plainMessage{Role: "tool", CallID: c.ID, Content: echo(in.Text)})
		}
	}
}

// echo is the only tool; it returns half a kilobyte.
func echo(text string) string { return strings.Repeat(text+" ", 1+500/(len(text)+1)) }
