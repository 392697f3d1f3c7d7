package serve

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// Serve serves one client, such as the program that has started this one, until it
// goes away or the context of the server ends.
func (s *Server) Serve(r io.Reader, w io.Writer) error {
	ctx := s.life
	out := newOutbox(w)
	in := &inbox{lines: jsontext.Lines{R: bufio.NewReaderSize(r, 64<<10), Max: maxMessage, Check: out.check, Answer: out.refuse}, out: out, gone: func() { s.gone.Store(true) }}
	out.gone = in.gone
	ss, err := s.sdk.Connect(context.WithoutCancel(ctx), &sdk.IOTransport{Reader: in, Writer: out, MaxLineLength: 2 * maxMessage}, nil)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { // ends with the connection
		defer close(ended)
		_ = ss.Wait() // that it was cut is how it ends
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		go ss.Close()
		select {
		case <-ended:
		case <-time.After(grace):
		}
	}
	out.flush()
	return in.err()
}

// An inbox reads messages, one a line. It reads nothing while too much output waits.
type inbox struct {
	lines jsontext.Lines
	out   *outbox
	gone  func()
	line  []byte // what is left of one

	mu     sync.Mutex
	failed error
}

// Read implements [io.Reader].
func (in *inbox) Read(p []byte) (int, error) {
	for len(in.line) == 0 {
		in.out.wait()
		line, err := in.lines.Next()
		if err != nil {
			in.out.answered(drainTime) // a client may send all it asks and close its end
			in.gone()
			time.AfterFunc(grace, in.out.abandon)
			in.mu.Lock()
			defer in.mu.Unlock()
			if !errors.Is(err, io.EOF) {
				in.failed = err
			}
			return 0, io.EOF
		}
		in.line = line
	}
	n := copy(p, in.line)
	in.line = in.line[n:]
	return n, nil
}

// Close implements [io.Closer]. What is blocked in reading ends with the process.
func (in *inbox) Close() error { return nil }

func (in *inbox) err() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.failed
}

// An outbox writes in the background, so that a client that does not read holds up
// nobody but itself.
type outbox struct {
	w    io.Writer
	gone func()

	mu      sync.Mutex
	changed *sync.Cond
	waiting []byte
	writing int // bytes
	asked   int // requests without an answer
	failed  error
}

// drainTime is the time for which requests are still answered after the client has closed
// its end. Jobs take longer: they are interrupted.
const drainTime = 500 * time.Millisecond

var errGone = errors.New("the client has gone")

func newOutbox(w io.Writer) *outbox {
	o := &outbox{w: w}
	o.changed = sync.NewCond(&o.mu)
	go o.run() // until it fails or is abandoned
	return o
}

func (o *outbox) full() bool { return o.failed == nil && len(o.waiting)+o.writing > maxOutput }

// wait waits while too much output waits.
func (o *outbox) wait() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.full() {
		o.changed.Wait()
	}
}

// check decodes a message, and counts a request that is to be answered.
func (o *outbox) check(line []byte) error {
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return errors.New(kit.Cut(kit.SanitizeLine(err.Error()), maxLine))
	}
	if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.asked++
	}
	return nil
}

// answered waits until all requests are answered, at most for a while.
func (o *outbox) answered(most time.Duration) {
	late := false
	timer := time.AfterFunc(most, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		late = true
		o.changed.Broadcast()
	})
	defer timer.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.asked > 0 && !late && o.failed == nil {
		o.changed.Wait()
	}
}

// Write implements [io.Writer]. p is one message.
func (o *outbox) Write(p []byte) (int, error) {
	m, _ := jsonrpc.DecodeMessage(p) // what is none answers nothing
	r, answer := m.(*jsonrpc.Response)
	return o.put(p, answer && r.ID.IsValid())
}

// refuse answers a line that was not counted as a request.
func (o *outbox) refuse(p []byte) error {
	_, err := o.put(p, false)
	return err
}

func (o *outbox) put(p []byte, answer bool) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.full() {
		o.changed.Wait()
	}
	if o.failed != nil {
		return 0, o.failed
	}
	o.waiting = append(o.waiting, p...)
	if answer {
		o.asked--
	}
	o.changed.Broadcast()
	return len(p), nil
}

func (o *outbox) run() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.waiting) == 0 && o.failed == nil {
			o.changed.Wait()
		}
		if o.failed != nil {
			return
		}
		chunk := o.waiting
		o.waiting, o.writing = nil, len(chunk)
		o.mu.Unlock()
		_, err := o.w.Write(chunk)
		o.mu.Lock()
		if o.writing = 0; err != nil && o.failed == nil {
			o.failed = err
			o.gone()
		}
		o.changed.Broadcast()
	}
}

// abandon gives up what waits.
func (o *outbox) abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil {
		o.failed = errGone
	}
	o.changed.Broadcast()
}

// flush waits a while for what is to be written, and ends.
func (o *outbox) flush() {
	timer := time.AfterFunc(grace, o.abandon)
	defer timer.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.waiting)+o.writing > 0 && o.failed == nil {
		o.changed.Wait()
	}
	o.failed = errGone
	o.changed.Broadcast()
}

// Close implements [io.Closer].
func (o *outbox) Close() error { return nil }
