package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/sourcegraph/jsonrpc2"
)

const (
	maxDocs     = 32   // documents that are kept open
	maxProblems = 1000 // of one file
	maxReplies  = 256  // that a server may wait for at once
)

// A peer is one running server. Unless marked otherwise, a field belongs to the goroutine that has
// the host's turn.
type peer struct {
	h     *host
	root  string
	proc  *process.Process
	conn  *jsonrpc2.Conn
	can   answered
	docs  map[string]*doc // by name
	clock int             // of document versions and uses
	seen  map[string]stamp
	asked chan *jsonrpc2.Request
	once  sync.Once
	end   sync.WaitGroup

	mu        sync.Mutex
	published map[string]*published // by name of each open document; nil until there is something
	news      chan struct{}         // closed when published changes
}

// A doc is an open document.
type doc struct {
	text    string
	version int
	used    int
}

// start starts the server and shakes hands.
func (h *host) start(ctx context.Context) (*peer, error) {
	in, out := io.Pipe()
	// The process outlives the start; Close ends it.
	at, err := hostexec.Find(h.Command[0])
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", h.Name, err)
	}
	proc, err := h.all.exec.Start(ctx, process.Cmd{Args: append([]string{at}, h.Command[1:]...), Interactive: true, Stdout: out})
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", h.Name, err)
	}
	p := &peer{h: h, root: h.all.files.Dir(), proc: proc, docs: map[string]*doc{}, published: map[string]*published{},
		news: make(chan struct{}), asked: make(chan *jsonrpc2.Request, maxReplies)}
	s := newStream(in, proc.Stdin(), func() error {
		// Closing the pipe lets the command's output run into the void rather
		// than block.
		return errors.Join(in.CloseWithError(io.ErrClosedPipe), proc.Stdin().Close())
	})
	p.conn = jsonrpc2.NewConn(context.WithoutCancel(ctx), s, p, jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	p.end.Go(func() {
		<-proc.Done()
		_ = out.CloseWithError(io.EOF)
	})
	p.end.Go(p.reply)
	if err := p.call(ctx, "initialize", initializeParams(p.root, h.Options), &p.can); err != nil {
		p.close()
		return nil, fmt.Errorf("%s did not start: %w", h.Name, p.why(err))
	}
	if err := p.tell(ctx, "initialized", struct{}{}); err != nil {
		p.close()
		return nil, fmt.Errorf("%s did not start: %w", h.Name, err)
	}
	return p, nil
}

// close ends the server and returns when it is gone. It may be called more
// than once.
func (p *peer) close() {
	p.once.Do(func() {
		_ = p.conn.Close() // its input ends, which is how it is asked to go
		p.proc.Kill()
		p.end.Wait()
	})
}

// dead reports whether the server can be talked to no more. One that broke the
// protocol is as dead as one that ended.
func (p *peer) dead() bool {
	select {
	case <-p.conn.DisconnectNotify():
		// Its process may live on; it is of no use.
		p.h.all.runs.Go(p.close)
		return true
	case <-p.proc.Done():
		return true
	default:
		return false
	}
}

// why makes an error of the connection one for people.
func (p *peer) why(err error) error {
	if !errors.Is(err, jsonrpc2.ErrClosed) {
		return err
	}
	ending := time.NewTimer(time.Second) // of a process whose pipes are gone already
	defer ending.Stop()
	select {
	case <-p.proc.Done():
		o := p.proc.Output()
		return fmt.Errorf("it ended with code %d %s", o.Code, spelling.Clip(oneLine(o.Text), 300))
	case <-ending.C:
		return errors.New("it broke off the connection, or what it sent could not be understood")
	}
}

func (p *peer) call(ctx context.Context, method string, params, result any) error {
	err := p.conn.Call(ctx, method, params, result)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s did not answer %s in time: %w", p.h.Name, method, context.DeadlineExceeded)
	}
	return fmt.Errorf("%s: %s: %w", p.h.Name, method, p.why(err))
}

func (p *peer) tell(ctx context.Context, method string, params any) error {
	if err := p.conn.Notify(ctx, method, params); err != nil {
		return fmt.Errorf("%s: %s: %w", p.h.Name, method, p.why(err))
	}
	return nil
}

// Handle implements jsonrpc2.Handler. Nothing else is read meanwhile, so it
// never waits.
func (p *peer) Handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) {
	if r.Notif {
		if r.Method == "textDocument/publishDiagnostics" && r.Params != nil {
			p.publish(*r.Params)
		}
		return
	}
	select {
	case p.asked <- r:
	default:
		_ = p.conn.Close() // it asks without end and does not listen
	}
}

// reply answers the server's requests, in a goroutine of its own so that two full pipes never wait
// for each other.
func (p *peer) reply() {
	for {
		var r *jsonrpc2.Request
		select {
		case r = <-p.asked:
		case <-p.conn.DisconnectNotify():
			return
		}
		var result any
		switch r.Method {
		case "workspace/configuration":
			var asked struct {
				Items []struct{} `json:"items"`
			}
			if r.Params != nil {
				_ = json.Unmarshal(*r.Params, &asked)
			}
			result = make([]any, min(len(asked.Items), maxReplies)) // null each: no setting
		case "workspace/workspaceFolders":
			result = initializeParams(p.root, nil)["workspaceFolders"]
		case "workspace/applyEdit":
			result = map[string]any{"applied": false}
		}
		if p.conn.Reply(context.Background(), r.ID, result) != nil {
			return
		}
	}
}

func (p *peer) publish(params json.RawMessage) {
	var got published
	if json.Unmarshal(params, &got) != nil {
		return
	}
	file, ok := fileOf(p.root, got.URI)
	if !ok {
		return
	}
	got.Diagnostics = got.Diagnostics[:min(len(got.Diagnostics), maxProblems)]
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, open := p.published[file]; !open {
		return // nobody asks, and there may be any number of them
	}
	p.published[file] = &got
	close(p.news)
	p.news = make(chan struct{})
}

// show sends text to the server as the content of the file.
func (p *peer) show(ctx context.Context, file, text string) error {
	p.clock++
	uri := uriOf(p.root, file)
	d, open := p.docs[file]
	switch {
	case !open:
		if len(p.docs) >= maxDocs {
			oldest := slices.MinFunc(slices.Sorted(maps.Keys(p.docs)), func(a, b string) int { return p.docs[a].used - p.docs[b].used })
			if err := p.hide(ctx, oldest); err != nil {
				return err
			}
		}
		d = &doc{text: text, version: p.clock}
		p.docs[file] = d
		p.expect(file)
		if err := p.tell(ctx, "textDocument/didOpen", map[string]any{
			"textDocument": opening{URI: uri, LanguageID: language(file), Version: d.version, Text: text}}); err != nil {
			return err
		}
	case d.text != text:
		d.text, d.version = text, p.clock
		p.expect(file)
		if err := p.tell(ctx, "textDocument/didChange", map[string]any{
			"textDocument":   document{URI: uri, Version: d.version},
			"contentChanges": []any{map[string]any{"text": text}}}); err != nil {
			return err
		}
	}
	d.used = p.clock
	return nil
}

// hide closes a document: the server reads the file from disk again.
func (p *peer) hide(ctx context.Context, file string) error {
	if p.docs[file] == nil {
		return nil
	}
	delete(p.docs, file)
	p.mu.Lock()
	delete(p.published, file)
	p.mu.Unlock()
	return p.tell(ctx, "textDocument/didClose", map[string]any{"textDocument": document{URI: uriOf(p.root, file)}})
}

// expect forgets the published diagnostics of an open document.
func (p *peer) expect(file string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.published[file] = nil
}

const (
	maxMessage = 64 << 20         // bytes of one message of a server
	maxHeader  = 4 << 10          // bytes of its header
	maxWrite   = 10 * time.Second // for a server to take what it is sent
)

// A stream frames messages as the protocol does: a header with the length, then JSON. Unlike the
// library's own it bounds the length that a server may announce, and the time that it may take to
// read.
type stream struct {
	in  *bufio.Reader
	out io.WriteCloser

	mu   sync.Mutex
	shut func() error
}

func newStream(in io.Reader, out io.WriteCloser, shut func() error) *stream {
	return &stream{in: bufio.NewReaderSize(in, 64<<10), out: out, shut: shut}
}

// WriteObject implements jsonrpc2.ObjectStream.
func (s *stream) WriteObject(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok := s.out.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = d.SetWriteDeadline(time.Now().Add(maxWrite)) // without one, closing unblocks it
	}
	_, err = s.out.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...))
	if err != nil {
		// Half a message may be out: nothing after it could be understood.
		return errors.Join(err, s.shut())
	}
	return nil
}

// ReadObject implements jsonrpc2.ObjectStream.
func (s *stream) ReadObject(v any) error {
	size, seen := -1, 0
	for {
		line, err := s.in.ReadSlice('\n')
		if err != nil {
			return err // also a line longer than the buffer
		}
		if seen += len(line); seen > maxHeader {
			return errors.New("the server's message has no end of its header")
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			if size >= 0 {
				break
			}
			return errors.New("the server's message does not say how long it is")
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return fmt.Errorf("the server sent %q where a header should be", spelling.Clip(text, 80))
		}
		if strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil || n < 0 || n > maxMessage {
				return fmt.Errorf("the server announces a message of %s bytes; %d are allowed", spelling.Clip(value, 40), maxMessage)
			}
			size = n
		}
	}
	// Read what arrives: the announced length may be wrong.
	body, err := io.ReadAll(io.LimitReader(s.in, int64(size)))
	if err != nil {
		return err
	}
	if len(body) < size {
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(body, v)
}

// Close implements jsonrpc2.ObjectStream.
func (s *stream) Close() error { return s.shut() }
