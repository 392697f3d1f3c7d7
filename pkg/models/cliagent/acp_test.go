package cliagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"

	"github.com/coder/acp-go-sdk"
)

// fakeACP is an ACP agent that does what its prompt says.
type fakeACP struct {
	conn  *acp.AgentSideConnection
	loads bool
	cwd   string
}

func serveACP(loads bool) int {
	a := &fakeACP{loads: loads}
	a.conn = acp.NewAgentSideConnection(a, os.Stdout, os.Stdin)
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	<-a.conn.Done()
	return 0
}

func (a *fakeACP) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber, AgentInfo: &acp.Implementation{Name: "fake", Version: "3"},
		AgentCapabilities: acp.AgentCapabilities{LoadSession: a.loads}, AuthMethods: []acp.AuthMethod{}}, nil
}

func (a *fakeACP) NewSession(_ context.Context, r acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	a.cwd = r.Cwd
	return acp.NewSessionResponse{SessionId: "s-1"}, nil
}

func (a *fakeACP) LoadSession(ctx context.Context, r acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	a.cwd = r.Cwd
	// What is replayed is the past.
	a.say(ctx, r.SessionId, acp.UpdateAgentMessageText("of the past"))
	return acp.LoadSessionResponse{}, nil
}

func (a *fakeACP) say(ctx context.Context, id acp.SessionId, u acp.SessionUpdate) {
	if err := a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: id, Update: u}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (a *fakeACP) Prompt(ctx context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	words := r.Prompt[0].Text.Text
	switch {
	case strings.Contains(words, "fail"):
		return acp.PromptResponse{}, errors.New("status 401: unauthorized")
	case strings.Contains(words, "refuse"):
		return acp.PromptResponse{StopReason: acp.StopReasonRefusal}, nil
	case strings.Contains(words, "die"):
		os.Exit(0)
	case strings.Contains(words, "hang"):
		<-ctx.Done()
		return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
	case strings.Contains(words, "loop"):
		for i := 0; ctx.Err() == nil; i++ {
			id := acp.ToolCallId(fmt.Sprint(i))
			a.say(ctx, r.SessionId, acp.StartToolCall(id, "look", acp.WithStartKind(acp.ToolKindRead), acp.WithStartRawInput(map[string]any{"path": "a"})))
			a.say(ctx, r.SessionId, acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusCompleted)))
		}
	case strings.Contains(words, "write"):
		a.write(ctx, r.SessionId)
	}
	a.say(ctx, r.SessionId, acp.UpdateAgentMessageText("said: "))
	a.say(ctx, r.SessionId, acp.UpdateAgentMessageText(words[strings.LastIndexByte(words, '\n')+1:]))
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn, Usage: &acp.Usage{InputTokens: 7, OutputTokens: 3, TotalTokens: 10}}, nil
}

// write asks before it writes a file and before it runs a command.
func (a *fakeACP) write(ctx context.Context, id acp.SessionId) {
	file := filepath.Join(a.cwd, "b.txt")
	edit, run := acp.ToolKindEdit, acp.ToolKindExecute
	for _, c := range []struct {
		id   acp.ToolCallId
		kind *acp.ToolKind
		args map[string]any
		do   func() error
	}{
		{"w", &edit, map[string]any{"filePath": file}, func() error { return os.WriteFile(file, []byte("beta\n"), 0o644) }},
		{"x", &run, map[string]any{"command": "rm a.txt"}, func() error { return os.Remove(filepath.Join(a.cwd, "a.txt")) }},
	} {
		a.say(ctx, id, acp.StartToolCall(c.id, "do it", acp.WithStartKind(*c.kind), acp.WithStartRawInput(c.args)))
		resp, err := a.conn.RequestPermission(ctx, acp.RequestPermissionRequest{SessionId: id,
			ToolCall: acp.ToolCallUpdate{ToolCallId: c.id, Kind: c.kind, RawInput: c.args, Title: acp.Ptr("do it")},
			Options:  []acp.PermissionOption{{Kind: acp.PermissionOptionKindAllowAlways, OptionId: "always"}, {Kind: acp.PermissionOptionKindAllowOnce, OptionId: "yes"}, {Kind: acp.PermissionOptionKindRejectOnce, OptionId: "no"}}})
		status := acp.ToolCallStatusFailed
		if err == nil && resp.Outcome.Selected != nil && resp.Outcome.Selected.OptionId == "yes" && c.do() == nil {
			status = acp.ToolCallStatusCompleted
		}
		update := []acp.ToolCallUpdateOpt{acp.WithUpdateStatus(status)}
		if *c.kind == edit {
			update = append(update, acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolDiffContent(file, "beta\n")}))
		}
		a.say(ctx, id, acp.UpdateToolCall(c.id, update...))
	}
}

func (*fakeACP) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil
}
func (*fakeACP) Cancel(context.Context, acp.CancelNotification) error { return nil }
func (*fakeACP) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return acp.CloseSessionResponse{}, nil
}
func (*fakeACP) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, nil
}
func (*fakeACP) ResumeSession(context.Context, acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return acp.ResumeSessionResponse{}, nil
}
func (*fakeACP) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, nil
}
func (*fakeACP) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, nil
}

var _ io.Writer = (*drain)(nil)

func acpProgram(t *testing.T, kind string) *Agent {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Config{Name: "fake", Format: "acp", Command: []string{exe, "fake:" + kind}, Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func asking(words string) *llm.Request {
	return &llm.Request{Messages: []llm.Message{{Role: llm.User, Text: words}}}
}

// What it asks is decided by the place, and what it was denied did not happen.
func TestACPPermissions(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("alpha\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var asked []extagent.PermissionRequest
	var did []string
	resp, err := acpProgram(t, "acp").Open(extagent.Session{Dir: dir, Access: extagent.Access{Write: true}, Approve: func(p extagent.PermissionRequest) string {
		asked = append(asked, p)
		if p.Kind == "execute" {
			return "no commands here"
		}
		return ""
	}}).Generate(t.Context(), asking("write"), func(d llm.Delta) {
		if d.Activity != nil {
			did = append(did, d.Activity.Kind+" "+extagent.Text(*d.Activity))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) != 2 || !slices.Equal(asked[0].Paths, []string{filepath.Join(dir, "b.txt")}) || asked[1].Command != "rm a.txt" {
		t.Errorf("asked %+v", asked)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "b.txt")); string(b) != "beta\n" {
		t.Errorf("b.txt holds %q", b)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); err != nil {
		t.Errorf("what was denied was done: %v", err)
	}
	w := resp.Work
	switch {
	case resp.Message.Text != "said: write":
		t.Errorf(`resp.Message.Text is %v, want "said: write": %q, %+v, %+v`, resp.Message.Text, resp.Message.Text, w, resp.Usage)
	case w.Session != "s-1":
		t.Errorf(`w.Session is %v, want "s-1": %q, %+v, %+v`, w.Session, resp.Message.Text, w, resp.Usage)
	case w.Program != "fake 3":
		t.Errorf(`w.Program is %v, want "fake 3": %q, %+v, %+v`, w.Program, resp.Message.Text, w, resp.Usage)
	case w.Calls != 2:
		t.Errorf("w.Calls is %v, want 2: %q, %+v, %+v", w.Calls, resp.Message.Text, w, resp.Usage)
	case w.Denied != 1:
		t.Errorf("w.Denied is %v, want 1: %q, %+v, %+v", w.Denied, resp.Message.Text, w, resp.Usage)
	case w.Changed != 1:
		t.Errorf("w.Changed is %v, want 1: %q, %+v, %+v", w.Changed, resp.Message.Text, w, resp.Usage)
	case resp.Usage != (llm.Usage{In: 7, Out: 3}):
		t.Errorf("resp.Usage is not (llm.Usage{In: 7, Out: 3}): %q, %+v, %+v", resp.Message.Text, w, resp.Usage)
	}
	for _, want := range []string{"permission asked to execute: rm a.txt: no, no commands here", "file.changed update", "tool.finished execute rm a.txt (error)"} {
		if !slices.ContainsFunc(did, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("%q was not reported:\n%s", want, strings.Join(did, "\n"))
		}
	}
}

// With nobody to decide the answer is no.
func TestACPNobody(t *testing.T) {
	dir := t.TempDir()
	if _, err := acpProgram(t, "acp").Open(extagent.Session{Dir: dir}).Generate(t.Context(), asking("write"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.txt")); err == nil {
		t.Error("it wrote a file that nobody allowed")
	}
}

func TestACPSession(t *testing.T) {
	for _, kind := range []string{"acp", "acp-loads"} {
		a := acpProgram(t, kind)
		first, err := a.Open(extagent.Session{Dir: t.TempDir()}).Generate(t.Context(), asking("one"), nil)
		if err != nil {
			t.Fatal(err)
		}
		req := &llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "one"}, first.Message, {Role: llm.User, Text: "two"}}}
		second, err := a.Open(extagent.Session{Dir: t.TempDir()}).Generate(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if second.Message.Text != "said: two" {
			t.Errorf("%s: %q; the history of a session is not its answer", kind, second.Message.Text)
		}
		if begun := len(second.Notes) > 0; begun != (kind == "acp") {
			t.Errorf("%s: notes %q", kind, second.Notes)
		}
	}
}

func TestACPGuards(t *testing.T) {
	for words, c := range map[string]struct {
		err  llm.ErrorKind
		stop string
		idle time.Duration
	}{
		"fail":   {err: llm.Auth},
		"refuse": {err: extagent.NoResult},
		"die":    {err: extagent.NoResult},
		"hang":   {err: llm.Timeout, idle: 500 * time.Millisecond},
		"loop":   {stop: "same"},
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			resp, err := acpProgram(t, "acp").Open(extagent.Session{Dir: t.TempDir(), Limits: extagent.Limits{Idle: c.idle}}).Generate(t.Context(), asking(words), nil)
			var le *llm.Error
			if c.err != "" && (!errors.As(err, &le) || le.Kind != c.err) {
				t.Errorf("error %v, want %s", err, c.err)
			}
			if c.stop != "" && (err != nil || resp.Work.Stopped != c.stop) {
				t.Errorf("%+v, %v, want stopped by %s", resp, err, c.stop)
			}
		})
	}
}
