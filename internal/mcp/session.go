package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// How long a server may take to answer at first: when it is probed for the newest
// revision of the protocol, and in all; with its tools, and where it declares none.
var (
	probeTime      = 5 * time.Second
	connectTime    = 30 * time.Second
	listTime       = 30 * time.Second
	undeclaredTime = 3 * time.Second
)

const settleTime = 150 * time.Millisecond // for a list that changes right after the start

const (
	legacyRevision = "2025-11-25" // the newest one that begins with a handshake
	firstRevision  = "2024-11-05"
)

// A session is one connection to a server. It is safe for concurrent use.
type session struct {
	name   string
	hint   string // what may help if it does not start
	cs     *sdk.ClientSession
	manner manner
	proc   *process.Process // of a server that was started
	out    *messageReader
	wire   *wire
	sse    *sseTransport // of a server behind an address
	close  func()
	dead   chan struct{} // closed when the connection is gone
	err    error         // why; set before dead is closed
	stale  atomic.Bool   // the server says that its tools have changed
	calls  *calls
	// cancels has one for each cancel that was written to the server while calls were ending.
	// The library returns from a call that is cancelled before it writes that, and writes
	// nothing any more once the connection is being closed.
	cancels   chan struct{}
	ending    atomic.Int32 // calls that wait for one
	cancelled atomic.Bool  // there has been one
}

// A manner is the protocol of a server that fails the usual beginning.
type manner struct {
	Legacy bool `json:"legacy,omitempty"` // it does not get over being probed for the newest revision
	Framed bool `json:"framed,omitempty"` // its messages have headers, as those of language servers
	SSE    bool `json:"sse,omitempty"`    // its transport is HTTP+SSE of 2024-11-05
}

// dial starts or reaches a server, probing for the newest revision unless it is
// known not to get over that.
func (p *Pool) dial(ctx context.Context, name string, s Server, dir string, known manner) (*session, error) {
	full, err := s.expand(dir, p.o.Getenv, os.ReadFile)
	if err != nil {
		return nil, fmt.Errorf("the MCP server %s: %w", name, err)
	}
	probe, connect := full.limits()
	var c *session
	refused := new(revisionError)
	if !known.Legacy && !known.Framed {
		c, err = p.open(ctx, name, full, dir, "", manner{}, probe)
		if err == nil || ctx.Err() != nil || errors.As(err, new(*startError)) {
			return c, err
		}
	}
	if !errors.As(err, &refused) {
		c, err = p.open(ctx, name, full, dir, legacyRevision, manner{Legacy: true, Framed: known.Framed}, connect)
	}
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.As(err, &refused):
		return p.open(ctx, name, full, dir, refused.has, manner{Legacy: true, Framed: known.Framed}, connect)
	case errors.As(err, new(*muteError)) && !known.Framed:
		if framed, ferr := p.open(ctx, name, full, dir, legacyRevision, manner{Legacy: true, Framed: true}, probe); ferr == nil {
			return framed, nil
		}
	}
	return c, err
}

// A revisionError is of a server that refuses a revision of the protocol and names one that is
// known here.
type revisionError struct {
	error
	has string
}

func (e *revisionError) Unwrap() error { return e.error }

// A muteError is of a program that runs and has written nothing on its standard output.
type muteError struct{ error }

func (e *muteError) Unwrap() error { return e.error }

// A startError is of a program that could not even be started.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// open makes one connection within a time limit.
func (p *Pool) open(ctx context.Context, name string, s Server, dir, revision string, how manner, limit time.Duration) (*session, error) {
	c := &session{name: name, manner: how, dead: make(chan struct{}), calls: newCalls(name), cancels: make(chan struct{}, 64)}
	c.wire = &wire{calls: c.calls, changed: func() { c.stale.Store(true) }, asked: map[string]request{}}
	var t sdk.Transport
	var err error
	if s.URL != "" {
		if t, c.close, err = p.overHTTP(c, s); err != nil {
			return nil, err
		}
	} else if t, err = p.program(ctx, c, s, dir); err != nil {
		return nil, fmt.Errorf("the MCP server %s: %w%s", name, &startError{err}, c.hint)
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "adroit", Version: cmp.Or(p.o.Version, "0")}, &sdk.ClientOptions{
		// No roots, no sampling: both are going away.
		Capabilities:                &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}},
		ElicitationHandler:          c.calls.elicit,
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { c.stale.Store(true) },
		ProgressNotificationHandler: c.calls.progress,
	})
	// The connection outlives ctx, which must still end the attempt.
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	limit = max(limit, p.patience)
	timer := time.AfterFunc(limit, stop)
	unhook := context.AfterFunc(ctx, stop)
	c.cs, err = client.Connect(life, t, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	unhook()
	if late := !timer.Stop(); err != nil || late {
		why := c.reason(err, late && ctx.Err() == nil, limit)
		stop()
		c.end()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if login := new(problem.Error); errors.As(err, &login) {
			return nil, login // without what the library has put before it
		}
		err = fmt.Errorf("the MCP server %s %s%s", name, why, c.hint)
		switch has := c.wire.otherRevision(revision); {
		case has != "":
			return nil, &revisionError{err, has}
		case late && c.out != nil && c.out.mute():
			return nil, &muteError{err}
		}
		return nil, err
	}
	c.manner.SSE = c.sse != nil && c.sse.session() != nil
	end := c.close
	c.close = func() { stop(); end() }
	go func() { // ends with the connection, which end closes
		err := c.cs.Wait()
		c.err = errors.New(c.reason(cmp.Or(err, io.EOF), false, 0))
		close(c.dead)
	}()
	return c, nil
}

// reason explains why there is no connection, as the end of a sentence.
func (c *session) reason(err error, late bool, limit time.Duration) string {
	var said, code string
	if c.proc != nil {
		select {
		case <-c.proc.Done():
		case <-time.After(300 * time.Millisecond): // it may be about to end
		}
		o := c.proc.Output()
		if o.Code >= 0 {
			c.out.finish()
			code = fmt.Sprintf("ended with exit code %d", o.Code)
		}
		if c.out != nil && c.out.Noise() != "" {
			said = fmt.Sprintf("; it wrote something on its standard output that is no message: %q", c.out.Noise())
		}
		if tail := strings.TrimSpace(o.Text); tail != "" {
			said += "; its standard error ends with: " + clipHead(rootfs.Visible(tail), 600)
		}
	}
	if other := line(c.wire.passed()); other != "" {
		said += fmt.Sprintf("; it answered with something that is no message: %q", other)
	}
	refused, ended := new(jsonrpc.Error), err == nil || errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.EOF) || errors.Is(err, fs.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, context.Canceled)
	switch {
	case c.out != nil && c.out.Fault() != "":
		return c.out.Fault() + said
	case c.proc != nil && errors.As(err, &refused):
		return fmt.Sprintf("refuses the connection with the error %d: %s", refused.Code, line(cmp.Or(refused.Message, "without words"))) + said
	case c.wire.unknown() != "":
		return fmt.Sprintf("supports the revision %q of MCP; here are %s: update the older one", line(c.wire.unknown()), strings.Join(sdk.SupportedProtocolVersions(), ", ")) + said
	case late:
		return fmt.Sprintf("did not answer within %s", limit) + said
	case code != "" && ended: // else it has ended because the connection was left
		return code + said
	case err != nil:
		return "cannot be talked to: " + line(err.Error()) + said
	}
	return "is gone" + said
}

// clipHead keeps the end of a text.
func clipHead(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-most:], "")
}

// endWait bounds the time that a server has to read the last messages sent to it, such as a
// cancel, and to exit. The reference implementation waits as long.
const endWait = 2 * time.Second

// end closes the connection and its program, and returns when that is gone.
func (c *session) end() {
	if c.cs != nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = c.cs.Close() // it is asked; what it answers does not matter
			if c.proc != nil && c.cancelled.Load() {
				<-c.proc.Done() // it reads that a call is cancelled, then that there is no more
			}
		}()
		select {
		case <-done:
		case <-time.After(endWait): // it does not react: the process is ended
		}
	}
	c.close()
}

// wrote inspects a message that was written to the server.
func (c *session) wrote(message []byte) {
	if bytes.Contains(message, []byte("notifications/cancelled")) {
		c.cancelled.Store(true)
		if c.ending.Load() == 0 {
			return // of a list, say
		}
		select {
		case c.cancels <- struct{}{}:
		default: // nobody waits for so many
		}
	}
}

// alive reports whether the connection is there.
func (c *session) alive() bool {
	select {
	case <-c.dead:
		return false
	default:
		return true
	}
}

// list reads the tools of a server, and once more if they change at once.
func (c *session) list(ctx context.Context, s Server) (l listing, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	for range 3 {
		c.stale.Store(false)
		if l, err = c.listOnce(ctx, s); err != nil {
			return l, fmt.Errorf("the MCP server %s does not list its tools: %w", c.name, c.connectionError(ctx, err))
		}
		select {
		case <-time.After(settleTime):
		case <-ctx.Done():
		}
		if !c.stale.Load() {
			break
		}
	}
	return l, nil
}

func (c *session) listOnce(ctx context.Context, s Server) (l listing, err error) {
	caps := c.cs.InitializeResult().Capabilities
	if caps != nil && caps.Prompts != nil {
		l.prompts = c.listPrompts(ctx)
	}
	l.resources = caps != nil && caps.Resources != nil
	undeclared := caps == nil || caps.Tools == nil
	if undeclared {
		if l.resources || caps != nil && caps.Prompts != nil {
			return l, nil
		}
		// It declares nothing, as servers do that somebody wrote by hand.
		within, cancel := context.WithTimeout(ctx, undeclaredTime)
		defer cancel()
		ctx = within
	}
	seen, size := map[string]string{}, 0
	err = c.pages(ctx, func(t *sdk.Tool) {
		if t == nil || !s.offers(t.Name) {
			return
		}
		if len(l.tools) >= maxTools || size > maxListBytes {
			l.more++
			return
		}
		d, problem := define(t)
		if had, again := seen[d.Name]; again && problem == "" {
			if had != d.Digest {
				l.unusable = append(l.unusable, unusable{t.Name, line(t.Name) + ": another tool of that name is listed before it"})
			}
			return
		}
		size += len(d.Input) + len(d.Description)
		if problem != "" {
			l.unusable = append(l.unusable, unusable{t.Name, cmp.Or(line(t.Name), `""`) + ": " + problem})
			return
		}
		seen[d.Name] = d.Digest
		l.tools = append(l.tools, d)
	})
	if len(l.tools) > 0 && err != nil && ctx.Err() == nil && c.alive() {
		l.unusable = append(l.unusable, unusable{Why: "what follows in the list: " + line(err.Error())})
	} else if err != nil && (!undeclared || !c.soon()) {
		return l, err
	}
	slices.SortFunc(l.tools, func(a, b definition) int { return strings.Compare(a.Name, b.Name) })
	return l, nil
}

// pages reads a list of tools page by page, up to maxListed of them.
func (c *session) pages(ctx context.Context, each func(*sdk.Tool)) error {
	const most = 100 // pages in turn that bring none
	had, params, empty := map[string]bool{}, &sdk.ListToolsParams{}, 0
	for n := 0; n < maxListed; {
		page, err := c.cs.ListTools(ctx, params)
		if err != nil {
			return err
		}
		for _, t := range page.Tools {
			each(t)
		}
		n += len(page.Tools)
		if empty++; len(page.Tools) > 0 {
			empty = 0
		}
		switch params.Cursor = page.NextCursor; {
		case params.Cursor == "":
			return nil
		case had[params.Cursor]:
			return fmt.Errorf("it goes in a circle: the cursor %q comes twice", line(params.Cursor))
		case empty == most:
			return fmt.Errorf("it does not end: %d pages in turn have no tool", most)
		}
		had[params.Cursor] = true
	}
	return nil
}

// connectionError returns err, or the reason why the connection is gone.
func (c *session) connectionError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", listTime)
	}
	if ctx.Err() == nil && !c.soon() {
		return fmt.Errorf("it %w", c.err)
	}
	return errors.New(line(err.Error()))
}

// soon reports whether the connection is there, giving it a moment to be found gone.
func (c *session) soon() bool {
	select {
	case <-c.dead:
		return false
	case <-time.After(500 * time.Millisecond):
		return true
	}
}

// Bounds of a server's descriptions of its tools.
const (
	maxTools       = 10_000   // of a server that are offered
	maxListBytes   = 16 << 20 // of their schemas and descriptions
	maxListed      = 20_000   // that are read at all
	maxSchemaBytes = 32 << 10 // of a tool's arguments as its server sends them; longer ones are shortened
	maxDescription = 2 << 10
	maxWireName    = 256 // of a tool as its server names it
)

// A definition is a server's description of a tool, as it is kept.
type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input"`
	ReadOnly    bool            `json:"read_only,omitempty"`
	Idempotent  bool            `json:"idempotent,omitempty"`
	Harmless    bool            `json:"harmless,omitempty"` // it says that it destroys nothing
	Digest      string          `json:"digest"`             // of all of it, as the server says it
	// Unchecked lists the parts of the schema that are not understood, and left out of Input.
	Unchecked []string `json:"unchecked,omitempty"`
}

// define takes the usable parts of a tool; problem explains why it cannot be used.
func define(t *sdk.Tool) (d definition, problem string) {
	d = definition{Name: t.Name, Description: spelling.Clip(rootfs.Visible(cmp.Or(t.Description, t.Title)), maxDescription)}
	input, err := json.Marshal(t.InputSchema)
	if err != nil {
		return d, "its schema cannot be read"
	}
	whole, err := json.Marshal(struct {
		Name, Title, Description string
		Input                    json.RawMessage
		Annotations              *sdk.ToolAnnotations
	}{t.Name, t.Title, t.Description, input, t.Annotations})
	if err != nil {
		return d, "its annotations cannot be read"
	}
	d.Input, d.Digest = input, digest(whole)
	if a := t.Annotations; a != nil {
		d.ReadOnly, d.Idempotent = a.ReadOnlyHint, a.IdempotentHint || a.ReadOnlyHint
		d.Harmless = a.ReadOnlyHint || a.DestructiveHint != nil && !*a.DestructiveHint
	}
	if t.Name == "" || len(t.Name) > maxWireName || rootfs.Visible(t.Name) != t.Name || strings.ContainsAny(t.Name, "\n\t") {
		return d, fmt.Sprintf("its name is empty, not printable or longer than %d bytes", maxWireName)
	}
	if len(input) <= maxSchemaBytes && string(input) != "false" && !bytes.Contains(input, []byte(`"enum":[]`)) && tools.Func(tools.Metadata{Name: "probe", Description: "Probe."}, input, nil).Input.Err() == nil {
		return d, ""
	}
	s, left, err := schema.Relax(input)
	if err != nil {
		return d, "its schema cannot be used: " + spelling.Clip(strings.Join(strings.Fields(err.Error()), " "), 200)
	}
	d.Input = s.JSON()
	for _, l := range left {
		d.Unchecked = append(d.Unchecked, line(l))
	}
	return d, ""
}

// unchecked describes, in a line, the parts of a tool's schema that are not checked; "" for none.
func (d definition) unchecked() string {
	if d.Unchecked == nil {
		return ""
	}
	return spelling.Clip("not checked before a call: "+strings.Join(d.Unchecked, "; "), 600)
}

// offers reports whether an entry lets a tool be offered. A pattern that equals a name matches
// that tool, and slashes are ordinary letters: names of tools are not paths.
func (s Server) offers(tool string) bool {
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	return len(s.Tools) == 0 || slices.ContainsFunc(s.Tools, func(p string) bool {
		ok, _ := path.Match(flat(p), flat(tool))
		return ok || p == tool
	})
}

// offline reports whether the program of a server is kept from the network.
func (s Server) offline() bool {
	return s.URL == "" && s.Sandbox != "off" && s.level != "off" && !s.Net
}

// describeReach describes what a server really can reach, for the person who is asked about a call.
func (s Server) describeReach() string {
	switch {
	case s.URL != "":
		return "it is behind an address"
	case s.Sandbox == "off", s.level == "off":
		return "its program runs without a sandbox, with the network and all files"
	}
	has := []string{"the network"}
	if s.offline() {
		has[0] = "no network"
	}
	if s.Workspace != "" {
		has = append(has, "the workspace to "+s.Workspace)
	}
	if len(s.Write) > 0 {
		has = append(has, "to write "+strings.Join(s.Write, ", "))
	}
	return "its program is in the sandbox and has " + strings.Join(has, ", ")
}

// tool converts a definition to a tool of a job. A call reaches something outside that nobody here
// confines, so it needs the network, is untrusted, and asks unless the server declares that it
// changes nothing.
func (d definition) tool(name, server string, s Server) turn.Tool {
	m := tools.Metadata{
		Name: name, Description: cmp.Or(strings.TrimSpace(d.Description), fmt.Sprintf("The tool %s of the server %s.", d.Name, server)),
		Category: "mcp", Optionality: tools.Optional, Needs: tools.Net, Effect: tools.Unsafe, Timeout: s.Timeout, Source: string(s.source), Produces: []string{name + "/*"}, Offline: s.offline(),
	}
	if s.Workspace == "write" || len(s.Write) > 0 || s.Sandbox == "off" {
		m.Needs |= tools.Write // it can write, whatever it says: mode plan has none of its tools
	}
	if s.Workspace == "read" {
		m.Needs |= tools.Read // that of the agent, which may be in a work tree
	}
	switch {
	case d.ReadOnly && m.Needs&tools.Write == 0:
		m.Effect = tools.Pure
	case d.ReadOnly, d.Idempotent:
		m.Effect = tools.Idempotent
	}
	switch {
	case d.ReadOnly:
	case d.Harmless:
		m.Asks = fmt.Sprintf("the server %s says that it changes something", server)
	default:
		m.Asks = fmt.Sprintf("the server %s does not say that it only reads; it may change or delete something", server)
	}
	if m.Asks != "" {
		m.Asks += "; " + s.describeReach()
	}
	if words := d.unchecked(); words != "" {
		m.Description += "\n(" + words + ")"
	}
	return turn.Tool{Metadata: m, Input: d.Input, Server: server, Tool: d.Name, Digest: d.Digest}
}
