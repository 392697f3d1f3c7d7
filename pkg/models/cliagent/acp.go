package cliagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/llm"

	"github.com/coder/acp-go-sdk"
)

// runACP runs a program over the Agent Client Protocol. The session's Approve
// answers its permission requests.
func (r *opened) runACP(ctx context.Context, o invocation, s *run) (ending, error) {
	env, err := r.acpEnv(o)
	if err != nil {
		return ending{}, err
	}
	out, in := io.Pipe()
	w := &watch{run: s, seen: time.Now(), wake: make(chan struct{}, 1), most: r.most()}
	c := &client{watch: w, permit: r.at.Approve, calls: map[acp.ToolCallId]*toolCall{}}
	talk := func(ctx context.Context, p *process.Process) {
		defer out.Close() // nobody reads any more: the program must not wait for us
		conn := acp.NewClientSideConnection(c, p.Stdin(), out)
		conn.SetLogger(slog.New(slog.DiscardHandler))
		if err := c.turn(ctx, conn, o); err != nil && ctx.Err() == nil {
			w.mu.Lock()
			s.end(blame(err.Error()))
			w.mu.Unlock()
		}
	}
	e, err := r.process(ctx, o, w, process.Cmd{Args: r.Command, Env: env, Interactive: true, Stdout: &drain{PipeWriter: in, w: w}}, talk)
	in.Close()
	if s.began != "" && c.lost {
		s.ended, s.fault = true, &fault{kind: extagent.NoResult, message: "it does not know the session", lost: true}
	}
	return e, err
}

// acpEnv is the environment of the program. opencode is configured to ask
// before it does anything.
func (r *opened) acpEnv(o invocation) ([]string, error) {
	keys := []string{"OPENCODE_CONFIG_CONTENT"}
	for _, f := range []format{claude{}, codex{}, gemini{}, opencode{}} {
		if filepath.Base(r.Command[0]) == formatName(f) {
			keys = f.keys()
		}
	}
	env := r.environ(keys)
	if filepath.Base(r.Command[0]) != "opencode" {
		return env, nil
	}
	conf := map[string]any{}
	if own := o.Getenv("OPENCODE_CONFIG_CONTENT"); own != "" {
		if err := json.Unmarshal([]byte(own), &conf); err != nil {
			return nil, fmt.Errorf("OPENCODE_CONFIG_CONTENT: %w", err)
		}
	}
	conf["share"], conf["autoupdate"] = "disabled", false
	conf["permission"] = map[string]string{"edit": "ask", "bash": "ask", "webfetch": "ask", "websearch": "ask", "external_directory": "ask", "doom_loop": "deny"}
	b, err := json.Marshal(conf)
	if err != nil {
		return nil, err
	}
	return append(env, "OPENCODE_CONFIG_CONTENT="+string(b), "OPENCODE_DISABLE_AUTOUPDATE=1"), nil
}

func formatName(f format) string { return strings.TrimPrefix(fmt.Sprintf("%T", f), "cliagent.") }

// A drain passes a program's output on and counts it. A reader that is gone
// must not stop the program.
type drain struct {
	*io.PipeWriter
	w *watch
}

func (d *drain) Write(p []byte) (int, error) {
	d.w.mu.Lock()
	d.w.seen = time.Now()
	d.w.bytes += int64(len(p))
	d.w.flood = d.w.bytes > d.w.most
	flood := d.w.flood
	d.w.mu.Unlock()
	if flood {
		d.w.signal()
		return len(p), nil
	}
	if _, err := d.PipeWriter.Write(p); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return 0, err
	}
	return len(p), nil
}

// A client is our side of a connection.
type client struct {
	*watch
	permit extagent.ApproveFunc

	live   bool // what comes before is the history of a session that is taken up
	lost   bool
	calls  map[acp.ToolCallId]*toolCall
	asking sync.Mutex // one question at a time
}

// turn runs one turn with the program. Its failures are recorded in c.run.
func (c *client) turn(ctx context.Context, conn *acp.ClientSideConnection, o invocation) error {
	hello, err := conn.Initialize(ctx, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber,
		ClientInfo:      &acp.Implementation{Name: "adroit", Version: "1"},
	})
	if err != nil {
		return err
	}
	program := ""
	if i := hello.AgentInfo; i != nil {
		program = strings.TrimSpace(i.Name + " " + i.Version)
	}
	id := acp.SessionId(o.Session)
	switch {
	case o.Session == "":
		made, err := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: o.Dir, McpServers: []acp.McpServer{}})
		if err != nil {
			return err
		}
		id = made.SessionId
	case !hello.AgentCapabilities.LoadSession:
		c.lost = true
		return nil
	default:
		if _, err := conn.LoadSession(ctx, acp.LoadSessionRequest{SessionId: id, Cwd: o.Dir, McpServers: []acp.McpServer{}}); err != nil {
			c.lost = ctx.Err() == nil
			return err
		}
	}
	c.mu.Lock()
	c.live = true
	c.run.identify(string(id), program)
	c.mu.Unlock()
	if o.Model != "" {
		if _, err := conn.UnstableSetSessionModel(ctx, acp.UnstableSetSessionModelRequest{SessionId: id, ModelId: acp.UnstableModelId(o.Model)}); err != nil {
			return fmt.Errorf("model %s not found: %w", o.Model, err)
		}
	}
	done, err := conn.Prompt(ctx, acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(o.promptWithSystem())}})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.run
	s.turn()
	if u := done.Usage; u != nil {
		s.usage = llm.Usage{In: u.InputTokens + deref(u.CachedReadTokens) + deref(u.CachedWriteTokens), Out: u.OutputTokens + deref(u.ThoughtTokens), Cached: deref(u.CachedReadTokens)}
	}
	switch done.StopReason {
	case acp.StopReasonEndTurn:
		s.end(nil)
	case acp.StopReasonMaxTurnRequests:
		s.stop("turns")
		s.end(nil)
	case acp.StopReasonMaxTokens:
		s.stop("tokens")
		s.end(nil)
	default:
		s.end(&fault{kind: extagent.NoResult, message: "it stopped: " + string(done.StopReason)})
	}
	return nil
}

func deref(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// SessionUpdate implements [acp.Client].
func (c *client) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.live || c.run.stopped != "" {
		return nil
	}
	s := c.run
	switch u := n.Update; {
	case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
		s.piece(u.AgentMessageChunk.Content.Text.Text)
	case u.AgentThoughtChunk != nil && u.AgentThoughtChunk.Content.Text != nil:
		s.think(u.AgentThoughtChunk.Content.Text.Text)
	case u.ToolCall != nil:
		c.call(*u.ToolCall)
	case u.ToolCallUpdate != nil:
		c.update(*u.ToolCallUpdate)
	case u.UsageUpdate != nil && u.UsageUpdate.Cost != nil:
		s.cost = u.UsageUpdate.Cost.Amount
		s.check()
	}
	if s.stopped != "" {
		c.signal()
	}
	return nil
}

// A toolCall is an announced call. Its arguments often come later.
type toolCall struct {
	name, title string
	input       any
	begun       bool
}

func (c *client) call(t acp.SessionUpdateToolCall) {
	c.run.turn()
	c.calls[t.ToolCallId] = &toolCall{name: cmp.Or(string(t.Kind), "tool"), title: t.Title, input: t.RawInput}
	c.advance(t.ToolCallId, t.Status, t.Content)
}

func (c *client) update(t acp.SessionToolCallUpdate) {
	call := c.calls[t.ToolCallId]
	if call == nil {
		return
	}
	if t.RawInput != nil {
		call.input = t.RawInput
	}
	if t.Title != nil && *t.Title != "" {
		call.title = *t.Title
	}
	status := acp.ToolCallStatusPending
	if t.Status != nil {
		status = *t.Status
	}
	c.advance(t.ToolCallId, status, t.Content)
}

// begin reports that a call starts, once its arguments are known.
func (c *client) begin(id acp.ToolCallId) {
	call := c.calls[id]
	if call == nil || call.begun {
		return
	}
	call.begun = true
	args := call.title
	if b, err := json.Marshal(call.input); err == nil && call.input != nil && string(b) != "{}" {
		args = string(b)
	}
	c.run.start(string(id), call.name, args)
}

func (c *client) advance(id acp.ToolCallId, status acp.ToolCallStatus, content []acp.ToolCallContent) {
	if status == acp.ToolCallStatusPending || status == "" {
		return
	}
	c.begin(id)
	c.settle(id, status, content)
}

// settle reports that a call ended and what it changed.
func (c *client) settle(id acp.ToolCallId, status acp.ToolCallStatus, content []acp.ToolCallContent) {
	if status != acp.ToolCallStatusCompleted && status != acp.ToolCallStatusFailed {
		return
	}
	s := c.run
	state := extagent.StatusOK
	if status == acp.ToolCallStatusFailed {
		state = extagent.StatusError
	}
	said := ""
	for _, x := range content {
		if x.Content != nil && x.Content.Content.Text != nil {
			said = cmp.Or(said, x.Content.Content.Text.Text)
		}
	}
	s.finish(string(id), c.calls[id].name, state, nil, said)
	delete(c.calls, id)
	for _, x := range content {
		if x.Diff != nil && state == extagent.StatusOK {
			s.file(x.Diff.Path, "update")
		}
	}
}

var errNotOffered = errors.New("this client does not offer it")

// The rest of [acp.Client] is not offered: programs have their own files and
// terminals.

func (*client) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, errNotOffered
}

func (*client) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, errNotOffered
}

func (*client) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, errNotOffered
}

func (*client) KillTerminal(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, errNotOffered
}

func (*client) TerminalOutput(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{}, errNotOffered
}

func (*client) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, errNotOffered
}

func (*client) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	return acp.WaitForTerminalExitResponse{}, errNotOffered
}

var _ acp.Client = (*client)(nil)
