package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// notesServer is the program of an MCP server whose tools write down.
func notesServer() {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "note", Description: "Write a line down."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "noted with " + os.Getenv("NOTES_TOKEN") + os.Getenv("NOTES_TEXT")}}}, nil, nil
	})
	server.AddTool(&mcp.Tool{Name: "sign", Description: "Sign for somebody.", InputSchema: map[string]any{"type": "object"}}, sign)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// sign asks the user who signs.
func sign(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if given, ok := r.Params.InputResponses["who"].(*mcp.ElicitResult); ok {
		b, err := json.Marshal(given.Content)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: given.Action + " " + string(b)}}}, err
	}
	type m = map[string]any
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"who": &mcp.ElicitParams{Message: "Who signs?", RequestedSchema: m{
		"type": "object", "required": []string{"name", "color"}, "properties": m{
			"name": m{"type": "string"}, "color": m{"type": "string", "enum": []string{"red", "green"}}, "times": m{"type": "integer", "minimum": 1},
		}}}}}, nil
}

const acpServerTurns = `turns:
  - calls: [{name: mcp__my_notes__note, args: {}}, {name: mcp__web__hello, args: {}}]
  - expect: {contains: "noted with"}
    text: Noted.
  - expect: {contains: "and after"}
    calls: [{name: mcp__my_notes__note, args: {}}]
  - text: Noted again.
`

// TestACPServers has an editor bring MCP servers: their tools are those of the job,
// which asks about what does not only read, hides their secrets, and has them in
// another process, too. A server that does not start is left out.
func TestACPServers(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("notes-mcp")
	if err != nil {
		t.Fatal(err)
	}
	const token, bearer = "dt-5f0a99c3e1b7", "bt-77aa01d9c4e2"
	var authorized atomic.Bool
	web := mcp.NewServer(&mcp.Implementation{Name: "web", Version: "1"}, nil)
	mcp.AddTool(web, &mcp.Tool{Name: "hello", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		authorized.Store(r.Extra.Header.Get("Authorization") == "Bearer "+bearer)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello " + bearer}}}, nil, nil
	})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return web }, nil))
	t.Cleanup(h.Close)
	p := newPlace(t, map[string]string{"turns.yaml": acpServerTurns, "repo/a.txt": "one\n"})
	p.env = append(p.env, "ADROIT_SANDBOX=off")
	e := edit(t, p)
	s, err := e.NewSession(t.Context(), acp.NewSessionRequest{Cwd: p.path("repo"), McpServers: []acp.McpServer{
		{Stdio: &acp.McpServerStdio{Name: "My Notes", Command: program, Args: []string{}, Env: []acp.EnvVariable{{Name: "NOTES_TOKEN", Value: token}, {Name: "NOTES_TEXT", Value: "${HOME}"}}}},
		{Http: &acp.McpServerHttpInline{Name: "web", Type: "http", Url: h.URL, Headers: []acp.HttpHeader{{Name: "Authorization", Value: "Bearer " + bearer}}}},
		{Stdio: &acp.McpServerStdio{Name: "gone", Command: p.path("no/such/program"), Args: []string{}, Env: []acp.EnvVariable{}}},
		{Sse: &acp.McpServerSseInline{Name: "old", Type: "sse", Url: h.URL, Headers: []acp.HttpHeader{}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	contains(t, e.prompt(s.SessionId, acp.StopReasonEndTurn, acp.TextBlock("note it")), "update: mcp__my_notes__note completed", "update: mcp__web__hello completed", "agent: Noted.")
	// What it said is untrusted: after it, web is asked about, too.
	if len(e.asked) != 2 || *e.asked[0].ToolCall.Title != "mcp__my_notes__note" || *e.asked[1].ToolCall.Title != "mcp__web__hello" || !authorized.Load() {
		t.Errorf("asked %+v, authorized %v", e.asked, authorized.Load())
	}
	if err := e.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = e.cmd.Wait() // it was killed
	contains(t, e.errs.String(), "the MCP server gone", "reached neither by a command nor by http")

	e = edit(t, p)
	if _, err := e.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: s.SessionId, Cwd: p.path("repo"), McpServers: []acp.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	e.seen()
	contains(t, e.prompt(s.SessionId, acp.StopReasonEndTurn, acp.TextBlock("and after")), "update: mcp__my_notes__note completed", "agent: Noted again.")
	cmd, _ := p.command("jobs", "logs", "last", "--json")
	cmd.Stdout = nil
	log, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(log), "noted with ", "${HOME}")
	cmd, _ = p.command("jobs", "transcript", "last")
	cmd.Stdout = nil
	said, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(log), string(said)} {
		if strings.Contains(text, token) || strings.Contains(text, bearer) {
			t.Errorf("a secret of a server is in\n%s", text)
		}
	}
}
