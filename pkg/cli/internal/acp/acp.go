// Package acp lets editors drive agents over the Agent Client Protocol.
//
//	err := acp.Serve(ctx, client, acp.Options{Request: request, In: os.Stdin, Out: os.Stdout, Log: os.Stderr})
//
// A session is a job: its first prompt submits the job, a later one is a message to
// it, and a session that is loaded is the job again, also one of another process.
// Everything is a call of adroit.Client. The editor's files and terminals are not
// used: see ADR 85.
package acp

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/chat"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	sdk "github.com/coder/acp-go-sdk"
	"github.com/spf13/cobra"
)

// New is adroit serve acp.
func New(e *kit.Env) *cobra.Command {
	var q request.Flags
	cmd := &cobra.Command{
		Use:   "acp [AGENT]",
		Short: "Let an editor talk with an agent",
		Long: "Serves the Agent Client Protocol on standard input and output, for editors such as Zed, JetBrains,\n" +
			"neovim and Emacs. Without AGENT it is the agent chat. A session is a job: it is on disk before a\n" +
			"prompt counts as sent, the editor can load it again, and adroit jobs shows it. docs/integrations.md has the\n" +
			"lines for each editor.",
		Example: "  adroit serve acp\n  adroit serve acp builder -m ollama/qwen3:8b --mode plan",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Target = "chat"
			if len(args) == 1 {
				q.Target = args[0]
			}
			return run(cmd.Context(), e, &q)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&q.Model, "model", "m", "", "provider/model, or script:FILE (or ADROIT_MODEL)")
	f.StringVar(&q.BaseURL, "base-url", "", "address of the model's server")
	f.StringVar((*string)(&q.Mode), "mode", "", "permission mode that sessions begin with: plan, edits, auto (or ADROIT_MODE)")
	f.StringVar((*string)(&q.Approve), "approve", "", "what is approved without asking: ask (nothing), edits, all; none denies what would be asked")
	f.StringVar((*string)(&q.Sandbox), "sandbox", "", "confine commands at this level: auto, full, bubblewrap, landlock, off (or ADROIT_SANDBOX)")
	f.StringVar(&q.Memory, "memory", "", "what is recalled of earlier jobs: project, user, off; else what the agent's file says")
	f.BoolVar(&q.Trust, "trust-project", false, "load each project's agents, skills and AGENTS.md")
	return cmd
}

func run(ctx context.Context, e *kit.Env, q *request.Flags) error {
	q.Workspace = "."
	if err := cmp.Or(q.Read(e), q.Check()); err != nil {
		return err
	}
	c, err := e.Client()
	if err != nil {
		return err
	}
	err = Serve(ctx, c, Options{Request: q.Request, In: e.In, Out: e.Out, Log: e.Err, Version: kit.Read().Version,
		Commands: func(ctx context.Context, dir string) ([]Command, error) {
			list, err := chat.Commands(ctx, e.Getenv, c, dir)
			var out []Command
			for _, t := range list {
				out = append(out, Command(t))
			}
			return out, err
		},
		Attend: func(ask func(context.Context, []byte) (string, error)) func() {
			return e.Attendant.Attend(func(ctx context.Context, about json.RawMessage) (string, error) { return ask(ctx, about) })
		}})
	if ctx.Err() != nil {
		return kit.Stopped(ctx)
	}
	return err
}

// Options configure a server for editors.
type Options struct {
	adroit.Request // of each session; its prompt and directory are the editor's
	In             io.Reader
	Out            io.Writer // nothing else may write to it
	Log            io.Writer // what is wrong with the connection
	Version        string    // of the program
	// Commands lists the named prompts that a person can send in a directory; may be nil.
	Commands func(ctx context.Context, dir string) ([]Command, error)
	// Attend makes ask the function by which models at work ask the person, until leave
	// is called. May be nil: then such questions are denied.
	Attend func(ask func(ctx context.Context, about []byte) (no string, err error)) (leave func())
}

// A server is one connection.
type server struct {
	c     adroit.Client
	o     Options
	ctx   context.Context
	conn  *sdk.AgentSideConnection
	out   *output
	reads atomic.Bool // the editor has the texts of files, as they are in it

	mu       sync.Mutex
	sessions map[sdk.SessionId]*session
	turns    sync.WaitGroup
	kinds    func() map[string]sdk.ToolKind
}

// Serve serves an editor until it goes away or ctx ends. Turns in progress are
// interrupted then, and their sessions can be loaded again.
func Serve(ctx context.Context, c adroit.Client, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &server{c: c, o: o, ctx: ctx, out: &output{Writer: o.Out, then: map[string]func(){}}, sessions: map[sdk.SessionId]*session{}}
	s.kinds = sync.OnceValue(func() map[string]sdk.ToolKind { return toolKinds(ctx, c) })
	ready := make(chan struct{})
	s.conn = sdk.NewAgentSideConnection(s, s.out, gate{ready, &editorInput{lines: jsontext.Lines{R: bufio.NewReader(o.In), Max: maxMessage, Answer: s.out.put}}})
	s.conn.SetLogger(s.log())
	if o.Attend != nil {
		defer o.Attend(s.permit)()
	}
	close(ready)
	select {
	case <-s.conn.Done():
	case <-ctx.Done():
	}
	stop()
	s.turns.Wait()
	return nil
}

// A gate lets nothing be read before it is open.
type gate struct {
	open <-chan struct{}
	io.Reader
}

func (g gate) Read(b []byte) (int, error) {
	<-g.open
	return g.Reader.Read(b)
}

// short cuts what an editor sent that cannot be understood.
func short(_ []string, a slog.Attr) slog.Attr {
	const most = 200
	if a.Key == "raw" && len(a.Value.String()) > most {
		a.Value = slog.StringValue(a.Value.String()[:most] + "…")
	}
	return a
}

// Initialize implements [sdk.Agent]. There is one version that both sides can have.
func (s *server) Initialize(_ context.Context, p sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	s.reads.Store(p.ClientCapabilities.Fs.ReadTextFile)
	return sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		AgentInfo:       &sdk.Implementation{Name: "adroit", Version: s.o.Version},
		AuthMethods:     []sdk.AuthMethod{{Agent: &sdk.AuthMethodAgent{Id: loginMethod, Name: hint.Name("config login"), Description: sdk.Ptr("Run " + hint.Command("config login PROVIDER") + " in a terminal once: it keeps the key of a provider of models.")}}},
		AgentCapabilities: sdk.AgentCapabilities{LoadSession: true,
			McpCapabilities:     sdk.McpCapabilities{Http: true},
			PromptCapabilities:  sdk.PromptCapabilities{EmbeddedContext: true, Image: true},
			SessionCapabilities: sdk.SessionCapabilities{List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{}, Close: &sdk.SessionCloseCapabilities{}}},
	}, nil
}

// loginMethod is the only way to authenticate: keys are read from a terminal, never from
// an editor.
const loginMethod = "login"

// Authenticate implements [sdk.Agent]: it reports whether there is a model to ask.
func (s *server) Authenticate(ctx context.Context, p sdk.AuthenticateRequest) (out sdk.AuthenticateResponse, err error) {
	if p.MethodId != loginMethod {
		return out, sdk.NewInvalidParams(map[string]any{"error": "there is no method " + string(p.MethodId)})
	}
	_, err = s.resolve(ctx, &session{}, "")
	return out, failure(err)
}

// NewSession implements [sdk.Agent].
func (s *server) NewSession(ctx context.Context, p sdk.NewSessionRequest) (out sdk.NewSessionResponse, err error) {
	if err := directory(p.Cwd); err != nil {
		return out, err
	}
	ses := &session{id: sdk.SessionId("acp-" + jobs.New(time.Now())), dir: p.Cwd, servers: s.servers(p.McpServers)}
	plan, err := s.resolve(ctx, ses, "") // what is wrong with it is reported now
	if err != nil {
		return out, failure(err)
	}
	ses.mode, ses.model, ses.window = plan.Task.Mode, plan.Task.Model, plan.Task.Options.Window
	s.add(ses)
	s.out.after(string(ses.id), func() { s.announce(ses) })
	return sdk.NewSessionResponse{SessionId: ses.id, Modes: ses.modes(), ConfigOptions: s.options(ctx, ses)}, nil
}

func (s *server) add(ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[ses.id] = ses
}

func (s *server) session(id sdk.SessionId) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ses := s.sessions[id]; ses != nil {
		return ses, nil
	}
	return nil, &sdk.RequestError{Code: -32002, Message: "there is no session " + string(id) + "; load it, or begin a new one"}
}

// directory returns why a session cannot work in a directory.
func directory(dir string) error {
	if !filepath.IsAbs(dir) {
		return sdk.NewInvalidParams(map[string]any{"error": "cwd is not an absolute path: " + dir})
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return sdk.NewInvalidParams(map[string]any{"error": "there is no directory " + dir})
	}
	return nil
}

// failure is an error of adroit as the protocol has it: with its words, and what
// helps.
func failure(err error) error {
	e := problem.AsError(err)
	if e == nil {
		return nil
	}
	out := &sdk.RequestError{Code: -32603, Message: e.Message}
	if e.Kind == problem.Invalid || e.Kind == problem.NotFound {
		out.Code = -32602
	}
	if e.Hint != "" {
		out.Message += "\n" + e.Hint
	}
	return out
}

// Cancel implements [sdk.Agent].
func (s *server) Cancel(_ context.Context, p sdk.CancelNotification) error {
	if ses, err := s.session(p.SessionId); err == nil {
		ses.cancel()
	}
	return nil
}

// CloseSession implements [sdk.Agent]. The job stays.
func (s *server) CloseSession(_ context.Context, p sdk.CloseSessionRequest) (out sdk.CloseSessionResponse, err error) {
	ses, err := s.session(p.SessionId)
	if err != nil {
		return out, err
	}
	ses.mu.Lock()
	ses.closed = true
	ses.mu.Unlock()
	ses.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, p.SessionId)
	return out, nil
}

// SetSessionMode implements [sdk.Agent]. The mode is for the next prompt: a turn in
// progress keeps its own.
func (s *server) SetSessionMode(_ context.Context, p sdk.SetSessionModeRequest) (out sdk.SetSessionModeResponse, err error) {
	ses, err := s.session(p.SessionId)
	if err != nil {
		return out, err
	}
	mode := executor.Mode(p.ModeId)
	if !slices.Contains(executor.Modes, mode) {
		return out, sdk.NewInvalidParams(map[string]any{"error": "there is no mode " + string(p.ModeId)})
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	ses.mode = mode
	return out, nil
}

// ListSessions implements [sdk.Agent]: the jobs of a directory that take messages.
func (s *server) ListSessions(ctx context.Context, p sdk.ListSessionsRequest) (out sdk.ListSessionsResponse, err error) {
	const most = 100
	o := adroit.ListOptions{Limit: most}
	if p.Cwd != nil {
		o.Dir = *p.Cwd
	}
	list, err := s.c.Jobs(ctx, o)
	if err != nil {
		return out, failure(err)
	}
	out.Sessions = []sdk.SessionInfo{}
	for _, j := range list {
		if j.Agent == "" || p.Cwd != nil && j.Dir != *p.Cwd {
			continue
		}
		out.Sessions = append(out.Sessions, sdk.SessionInfo{SessionId: sessionID(j.Job), Cwd: j.Dir, Title: sdk.Ptr(j.Title), UpdatedAt: sdk.Ptr(j.Updated.UTC().Format(time.RFC3339))})
	}
	return out, nil
}

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
