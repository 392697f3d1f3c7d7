package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	in := &inbox{r: bufio.NewReaderSize(r, 64<<10), out: out, gone: func() { s.gone.Store(true) }}
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

// An inbox reads messages, one a line. It answers and skips a line that is not a message,
// so that the connection survives it. It reads nothing while too much output waits.
type inbox struct {
	r    *bufio.Reader
	out  *outbox
	gone func()
	line []byte // what is left of one

	mu     sync.Mutex
	failed error
}

// Read implements [io.Reader].
func (in *inbox) Read(p []byte) (int, error) {
	for len(in.line) == 0 {
		in.out.wait()
		line, err := in.next()
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

// next is the next message with its line end, nil for a line that has none.
func (in *inbox) next() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := in.r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxMessage; !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			return nil, err
		}
		break
	}
	line = bytes.TrimSpace(line)
	switch {
	case long:
		return nil, in.refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d MiB", maxMessage>>20))
	case len(line) == 0:
		return nil, nil
	}
	if !json.Valid(line) {
		return nil, in.refuse(jsonrpc.CodeParseError, "the line is not one JSON value")
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, in.refuse(jsonrpc.CodeInvalidRequest, "the line is no message: "+kit.Cut(kit.SanitizeLine(err.Error()), maxLine))
	}
	if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() {
		in.out.expect()
	}
	return append(line, '\n'), nil
}

// refuse answers a line that is not a message.
func (in *inbox) refuse(code int, words string) error {
	b, err := jsontext.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": words}})
	if err == nil {
		_, err = in.out.Write(append(b, '\n'))
	}
	return err
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

// expect counts a request that is to be answered.
func (o *outbox) expect() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked++
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
	answer = answer && r.ID.IsValid() // else it is of a line that was no request
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
