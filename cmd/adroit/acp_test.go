package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

const acpTurns = `turns:
  - thinking: I look first.
    text: I will look.
    calls: [{name: read_file, args: {path: a.txt}}]
  - calls: [{name: edit_file, args: {path: a.txt, old: one, new: two}}]
  - calls: [{name: shell, args: {command: echo first}}]
  - text: All done.
  - expect: {contains: "and again"}
    calls: [{name: todo, args: {items: [{content: Echo, status: in_progress}, {content: Rest, status: pending}]}}, {name: shell, args: {command: echo second}}]
  - text: Done again.
  - calls: [{name: shell, args: {command: "echo $$ >>pid; exec sleep 300"}}]
  - expect: {contains: "go on"}
    text: Went on.
  - text: Unused.
`

// An acpEditor is a client of adroit serve acp.
type acpEditor struct {
	*sdk.ClientSideConnection
	t    *testing.T
	cmd  *exec.Cmd
	errs strings.Builder // standard error, after the end

	mu      sync.Mutex
	lines   []string // of updates
	answers []string // of questions, by the beginning of the option's id; then once
	asked   []sdk.RequestPermissionRequest
	buffers map[string]string // texts of files that are open, by path
}

// edit starts adroit serve acp as an editor does.
func edit(t *testing.T, p *place, args ...string) *acpEditor {
	t.Helper()
	cmd, _ := p.command(append([]string{"serve", "acp", "-m", "script:" + p.path("turns.yaml"), "--sandbox", "off"}, args...)...)
	e := &acpEditor{t: t, cmd: cmd}
	cmd.Stdout, cmd.Stderr = nil, &e.errs
	in, out := piped(t, cmd)
	e.ClientSideConnection = sdk.NewClientSideConnection(e, in, out)
	e.SetLogger(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	hello, err := e.Initialize(t.Context(), sdk.InitializeRequest{ProtocolVersion: 7, ClientCapabilities: sdk.ClientCapabilities{Terminal: true, Fs: sdk.FileSystemCapabilities{ReadTextFile: true}}})
	if err != nil || hello.ProtocolVersion != 1 || !hello.AgentCapabilities.LoadSession || hello.AgentInfo.Name != "adroit" {
		t.Fatalf("%+v, %v", hello, err)
	}
	return e
}

func (e *acpEditor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	line := ""
	switch u := n.Update; {
	case u.UserMessageChunk != nil:
		line = "user: " + u.UserMessageChunk.Content.Text.Text
	case u.AgentMessageChunk != nil:
		line = "agent: " + u.AgentMessageChunk.Content.Text.Text
	case u.AgentThoughtChunk != nil:
		line = "thought: " + u.AgentThoughtChunk.Content.Text.Text
	case u.AvailableCommandsUpdate != nil:
		line = "commands:"
		for _, c := range u.AvailableCommandsUpdate.AvailableCommands {
			line += fmt.Sprintf(" /%s %s (%s)", c.Name, c.Description, c.Input.Unstructured.Hint)
		}
	case u.Plan != nil:
		line = "plan:"
		for _, e := range u.Plan.Entries {
			line += fmt.Sprintf(" %s %s,", e.Content, e.Status)
		}
	case u.ToolCall != nil:
		line = fmt.Sprintf("call: %s %s %s", u.ToolCall.Title, u.ToolCall.Kind, u.ToolCall.Status)
	case u.ToolCallUpdate != nil:
		line = "update: "
		if u.ToolCallUpdate.Title != nil {
			line += *u.ToolCallUpdate.Title + " "
		}
		line += string(*u.ToolCallUpdate.Status)
		for _, c := range u.ToolCallUpdate.Content {
			if c.Diff != nil && c.Diff.OldText == nil {
				line += fmt.Sprintf(" new %s", filepath.Base(c.Diff.Path))
			} else if c.Diff != nil {
				line += fmt.Sprintf(" %s %q to %q", filepath.Base(c.Diff.Path), *c.Diff.OldText, c.Diff.NewText)
			}
		}
		for _, l := range u.ToolCallUpdate.Locations {
			line += " at " + filepath.Base(l.Path)
		}
		for _, c := range u.ToolCallUpdate.Content {
			if c.Content != nil && c.Content.Content.Text != nil {
				line += fmt.Sprintf(" shows %q", c.Content.Content.Text.Text)
			}
		}
	case u.SessionInfoUpdate != nil:
		line = "info: " + *u.SessionInfoUpdate.Title
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	kind, text, _ := strings.Cut(line, ": ")
	if n := len(e.lines) - 1; n >= 0 && (kind == "agent" || kind == "thought") && strings.HasPrefix(e.lines[n], kind+": ") {
		e.lines[n] += text // a piece of the same
	} else {
		e.lines = append(e.lines, kind+": "+strings.TrimLeft(text, "\n"))
	}
	return nil
}

func (e *acpEditor) RequestPermission(ctx context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, r)
	answer := "once"
	if len(e.answers) > 0 {
		answer, e.answers = e.answers[0], e.answers[1:]
	}
	for _, o := range r.Options {
		if string(o.OptionId) == answer {
			return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
		}
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
}

var errNotOffered = errors.New("not offered")

func (e *acpEditor) ReadTextFile(_ context.Context, q sdk.ReadTextFileRequest) (r sdk.ReadTextFileResponse, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if text, ok := e.buffers[q.Path]; ok {
		return sdk.ReadTextFileResponse{Content: text}, nil
	}
	return r, errNotOffered
}
func (*acpEditor) WriteTextFile(context.Context, sdk.WriteTextFileRequest) (r sdk.WriteTextFileResponse, err error) {
	return r, errNotOffered
}
func (*acpEditor) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (r sdk.CreateTerminalResponse, err error) {
	return r, errNotOffered
}
func (*acpEditor) KillTerminal(context.Context, sdk.KillTerminalRequest) (r sdk.KillTerminalResponse, err error) {
	return r, errNotOffered
}
func (*acpEditor) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (r sdk.TerminalOutputResponse, err error) {
	return r, errNotOffered
}
func (*acpEditor) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (r sdk.ReleaseTerminalResponse, err error) {
	return r, errNotOffered
}
func (*acpEditor) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (r sdk.WaitForTerminalExitResponse, err error) {
	return r, errNotOffered
}

// seen returns the updates so far, and forgets them.
func (e *acpEditor) seen() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	lines := e.lines
	e.lines = nil
	return strings.Join(lines, "\n") + "\n"
}

func (e *acpEditor) session(dir string) sdk.NewSessionResponse {
	e.t.Helper()
	s, err := e.NewSession(e.t.Context(), sdk.NewSessionRequest{Cwd: dir, McpServers: []sdk.McpServer{}})
	if err != nil {
		e.t.Fatal(err)
	}
	return s
}

func (e *acpEditor) prompt(id sdk.SessionId, want sdk.StopReason, blocks ...sdk.ContentBlock) string {
	e.t.Helper()
	r, err := e.Prompt(e.t.Context(), sdk.PromptRequest{SessionId: id, Prompt: blocks})
	if err != nil || r.StopReason != want {
		e.t.Fatalf("%+v, %v; want %s\n%s", r, err, want, e.seen())
	}
	return e.seen()
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}

func editorPlace(t *testing.T) *place {
	return newPlace(t, map[string]string{"turns.yaml": acpTurns, "repo/a.txt": "one\n", "home/.config/adroit/agents/hand.md": "---\nname: hand\ndescription: Works.\ntools: [read_file, edit_file, shell, todo]\n---\nYou work.\n"})
}

// TestACP drives adroit as an editor: text, thoughts, calls with diffs, questions, a
// second prompt, cancelling, and loading the session in another process after the
// first was killed in a turn.
func TestACP(t *testing.T) {
	t.Parallel()
	p := editorPlace(t)
	e := edit(t, p, "hand")
	s := e.session(p.path("repo"))
	if s.Modes == nil || s.Modes.CurrentModeId != "edits" || len(s.Modes.AvailableModes) != 3 {
		t.Errorf("%+v", s.Modes)
	}
	e.answers = []string{"deny"}
	got := e.prompt(s.SessionId, sdk.StopReasonEndTurn, sdk.TextBlock("change it"), sdk.ResourceLinkBlock("a.txt", "file://"+p.path("repo/a.txt")))
	contains(t, got, "thought: I look first.", "agent: I will look.", "call: read_file read in_progress", "update: read_file a.txt completed at a.txt",
		"call: edit_file edit in_progress", `update: edit_file a.txt completed a.txt "one\n" to "two\n" at a.txt`, "update: shell echo first pending", "agent: All done.")
	if strings.Contains(got, "user: ") || strings.Count(got, "I will look.") != 1 || strings.Count(got, "All done.") != 1 {
		t.Errorf("it was shown\n%s", got)
	}
	if q := e.asked[0]; len(e.asked) != 1 || *q.ToolCall.Title != "shell echo first" || len(q.Options) < 2 {
		t.Errorf("asked %+v", e.asked)
	}
	e.answers = []string{"always"}
	got = e.prompt(s.SessionId, sdk.StopReasonEndTurn, sdk.TextBlock("and again with ghp_0123456789abcdefghijABCDEFGHIJ012345"))
	contains(t, got, "agent: Note: the message has a secret in it (github token", "plan: Echo in_progress, Rest pending,", "update: shell echo second completed", "agent: Done again.")
	if strings.Contains(got, "todo") || strings.Count(got, "plan:") != 1 {
		t.Errorf("the list was shown\n%s", got)
	}
	cancelled := make(chan struct{})
	go func() {
		defer close(cancelled)
		e.prompt(s.SessionId, sdk.StopReasonCancelled, sdk.TextBlock("sleep"))
	}()
	await(t, "the command", func() bool { return strings.Contains(p.read("repo/pid"), "\n") })
	if err := e.Cancel(t.Context(), sdk.CancelNotification{SessionId: s.SessionId}); err != nil {
		t.Fatal(err)
	}
	<-cancelled
	list, err := e.ListSessions(t.Context(), sdk.ListSessionsRequest{Cwd: sdk.Ptr(p.path("repo"))})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionId != s.SessionId || *list.Sessions[0].Title != "change it" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestACPKilled kills adroit in a turn; another one loads the session with all that
// was said, and goes on.
func TestACPKilled(t *testing.T) {
	t.Parallel()
	p := editorPlace(t)
	e := edit(t, p, "hand", "--approve", "all")
	s := e.session(p.path("repo"))
	e.prompt(s.SessionId, sdk.StopReasonEndTurn, sdk.TextBlock("change it"))
	e.prompt(s.SessionId, sdk.StopReasonEndTurn, sdk.TextBlock("and again"))
	ended := make(chan error, 1)
	go func() {
		_, err := e.Prompt(t.Context(), sdk.PromptRequest{SessionId: s.SessionId, Prompt: []sdk.ContentBlock{sdk.TextBlock("sleep")}})
		ended <- err
	}()
	await(t, "the command", func() bool { return strings.Contains(p.read("repo/pid"), "\n") })
	if err := e.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if <-ended == nil {
		t.Error("the turn of a killed program has ended in order")
	}
	e = edit(t, p, "hand")
	if _, err := e.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: s.SessionId, Cwd: p.path("home"), McpServers: []sdk.McpServer{}}); err == nil {
		t.Error("a session of another directory was loaded")
	}
	if _, err := e.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: s.SessionId, Cwd: p.path("repo"), McpServers: []sdk.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	contains(t, e.seen(), "user: change it", "agent: I will look.", `update: edit_file a.txt completed a.txt "one\n" to "two\n"`, "agent: All done.", "user: and again", "plan: Echo in_progress, Rest pending,", "agent: Done again.", "user: sleep", "call: shell execute in_progress")
	contains(t, e.prompt(s.SessionId, sdk.StopReasonEndTurn, sdk.TextBlock("go on")), "agent: Went on.")
}

// piped starts a program and returns its standard input and output.
func piped(t *testing.T, cmd *exec.Cmd) (io.WriteCloser, io.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return in, out
}

// TestACPHostile sends what no editor should; each line is answered, and the connection goes on.
func TestACPHostile(t *testing.T) {
	t.Parallel()
	p := editorPlace(t)
	cmd, _ := p.command("serve", "acp", "hand", "-m", "script:"+p.path("turns.yaml"))
	cmd.Stdout, cmd.Stderr = nil, nil
	in, out := piped(t, cmd)
	answers := bufio.NewReader(out)
	for i, c := range []struct{ send, want string }{
		{"not json", "-32700"},
		{"[1]", "-32600"},
		{`{"jsonrpc":"2.0","id":"a"}`, `"id":"a"`},
		{`{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{"x":"` + strings.Repeat("x", 12<<20) + `"}}`, `"id":9`},
		{`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"x"}}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"none","prompt":[{"type":"text","text":"x"}]}}`, "there is no session none"},
		{`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"relative","mcpServers":[]}}`, "not an absolute path"},
		{`{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":"/nowhere/at/all","mcpServers":[]}}`, "there is no directory"},
		{`{"jsonrpc":"2.0","id":4,"method":"session/load","params":{"sessionId":"../x","cwd":"` + p.path("repo") + `","mcpServers":[]}}`, "there is no session ../x"},
		{`{"jsonrpc":"2.0","id":5,"method":"no/such","params":{}}`, "Method not found"},
		{`{"jsonrpc":"2.0","id":6,"method":"session/prompt","params":7}`, "Invalid params"},
		{`{"jsonrpc":"2.0","id":7,"method":"session/set_mode","params":{"sessionId":"none","modeId":"root"}}`, "there is no session none"},
		{`{"jsonrpc":"2.0","id":{"a":1},"method":"initialize","params":{"protocolVersion":1}}`, "the id is neither text nor a number"},
		{`{"jsonrpc":"2.0","id":10,"method":"initialize","params":{"protocolVersion":1}}`, `"protocolVersion":1`},
	} {
		if _, err := io.WriteString(in, c.send+"\n"); err != nil {
			t.Fatal(i, err)
		}
		line, err := answers.ReadString('\n')
		var m map[string]any
		if err != nil || json.Unmarshal([]byte(line), &m) != nil || !strings.Contains(line, c.want) {
			t.Errorf("%d: %v: %s; want %s", i, err, line, c.want)
		}
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestACPPeer has the client library of the protocol's authors drive adroit, which
// .ci/run installs.
func TestACPPeer(t *testing.T) {
	peer := testenv.NeedsVariable(t, "ACP_CLIENT", "install.sh acp")
	t.Parallel()
	p := editorPlace(t)
	program, err := exec.LookPath("notes-mcp")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"turns.yaml": strings.Replace(acpTurns, "{name: todo,", "{name: mcp__notes__note, args: {}}, {name: todo,", 1), "home/.config/adroit/commands/review.md": "Review it.\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(p.path(name)), 0o755), os.WriteFile(p.path(name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	p.env = append(p.env, "ADROIT_SANDBOX=off", "NOTES_MCP="+program)
	cmd := exec.Command("node", filepath.Join(peer, "client.mjs"), p.bin, "serve", "acp", "hand", "-m", "script:"+p.path("turns.yaml"), "--sandbox", "off")
	cmd.Dir, cmd.Env = p.path("repo"), p.env
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	contains(t, string(out), "version 1 load true", "modes plan,edits,auto current edits", "thought I look first.", "message I will look.", "call read_file read in_progress", "diff a.txt one to two",
		"asked shell echo first: allow_once", "asked mcp__notes__note: allow_once", "update mcp__notes__note completed", "plan Echo in_progress medium, Rest pending medium", "commands /review Review it.", "message All done.", "stop end_turn", "message Done again.", "loaded user change it", "sessions 1", "closed")
}

// TestACPModes has a conversation planned, carried out and planned again, as one job.
func TestACPModes(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"repo/a.txt": "one\n", "turns.yaml": `turns:
  - calls: [{name: finish, args: {summary: I change line one.}}]
  - calls: [{name: edit_file, args: {path: a.txt, old: one, new: two}}]
  - calls: [{name: finish, args: {summary: It is two.}}]
  - {expect: {contains: The mode is now plan}, calls: [{name: edit_file, args: {path: a.txt, old: two, new: three}}]}
  - {expect: {contains: "the mode is plan, in which this job plans"}, calls: [{name: finish, args: {summary: I would make it three.}}]}
`, "home/.config/adroit/agents/hand.md": "---\nname: hand\ndescription: Works.\ntools: [read_file, edit_file, finish]\ndone: {all: [{signal: DONE}, {artifact: diff}]}\n---\nYou work.\n"})
	e := edit(t, p, "hand")
	s := e.session(p.path("repo"))
	mode := func(m sdk.SessionModeId) {
		t.Helper()
		if _, err := e.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: s.SessionId, ModeId: m}); err != nil {
			t.Fatal(err)
		}
	}
	mode("plan")
	const key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	contains(t, e.prompt(s.SessionId, sdk.StopReasonEndTurn, sdk.TextBlock("make it two with "+key)), "agent: Note: the prompt has a secret in it (github token", "I change line one.", "planned: nothing was changed")
	mode("edits")
	contains(t, e.prompt(s.SessionId, sdk.StopReasonEndTurn, sdk.TextBlock("go")), "agent: It is two.")
	if b, err := os.ReadFile(p.path("repo/a.txt")); err != nil || string(b) != "two\n" {
		t.Errorf("a.txt is %q, %v", b, err)
	}
	mode("plan")
	contains(t, e.prompt(s.SessionId, sdk.StopReasonEndTurn, sdk.TextBlock("and three?")), "agent: I would make it three.")
	if b, err := os.ReadFile(p.path("repo/a.txt")); err != nil || string(b) != "two\n" {
		t.Errorf("planned again, a.txt is %q, %v", b, err)
	}
	if _, out := p.run("jobs", "--json"); strings.Count(out, `"id": "J`) != 1 {
		t.Errorf("more than one job\n%s", out)
	}
	e = edit(t, p, "hand")
	loaded, err := e.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: s.SessionId, Cwd: p.path("repo"), McpServers: []sdk.McpServer{}})
	if err != nil || loaded.Modes.CurrentModeId != "plan" {
		t.Errorf("loaded again, the mode is %+v, %v", loaded.Modes, err)
	}
}
