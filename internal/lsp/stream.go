package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
)

const (
	maxMessage = 64 << 20         // bytes of one message of a server
	maxHeader  = 4 << 10          // bytes of its header
	maxWrite   = 10 * time.Second // for a server to take what it is sent
)

// A stream frames messages as the protocol does: a header with the length,
// then JSON. Unlike the library's own it bounds what a server may announce and
// how long it may leave us waiting to be read.
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
	// Read as it comes: what is announced need not be what arrives.
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
