package acp

import (
	"encoding/json"
	"log/slog"

	sdk "github.com/coder/acp-go-sdk"
)

// An entry is an MCP server in the form of .mcp.json.
type entry struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	// What a program may do in the sandbox: the person has it in their editor, where
	// nothing confines it. It does not write files behind the record of changes.
	Net       bool   `json:"net,omitempty"`
	Workspace string `json:"workspace,omitempty"`

	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// servers are the MCP servers of the editor as a request takes them, nil for none.
func (s *server) servers(list []sdk.McpServer) json.RawMessage {
	entries := map[string]entry{}
	for _, m := range list {
		switch {
		case m.Stdio != nil:
			e := entry{Command: m.Stdio.Command, Args: m.Stdio.Args, Env: map[string]string{}, Net: true, Workspace: "read"}
			for _, v := range m.Stdio.Env {
				e.Env[v.Name] = v.Value
			}
			entries[m.Stdio.Name] = e
		case m.Http != nil:
			e := entry{URL: m.Http.Url, Headers: map[string]string{}}
			for _, h := range m.Http.Headers {
				e.Headers[h.Name] = h.Value
			}
			entries[m.Http.Name] = e
		default:
			s.log().Warn("an MCP server of the editor is not used: it is reached neither by a command nor by http")
		}
	}
	if len(entries) == 0 {
		return nil
	}
	b, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		panic(err) // texts can be encoded
	}
	return b
}

func (s *server) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(s.o.Log, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: short}))
}
