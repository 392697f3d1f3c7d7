package kit

import (
	"bufio"
	"context"
	"io"
)

// A LineReader reads lines until its context ends.
type LineReader struct {
	ctx context.Context
	r   *bufio.Reader
}

// NewLineReader reads from r.
func NewLineReader(ctx context.Context, r io.Reader) *LineReader {
	return &LineReader{ctx: ctx, r: bufio.NewReader(r)}
}

// ReadLine waits for a line. When the context ends first, the goroutine that reads
// is left behind: a read of a terminal cannot be stopped, and the process is
// about to end.
func (r *LineReader) ReadLine() (string, error) {
	type answer struct {
		text string
		err  error
	}
	ch := make(chan answer, 1)
	go func() {
		s, err := r.r.ReadString('\n')
		if err == io.EOF && s != "" {
			err = nil
		}
		ch <- answer{s, err}
	}()
	select {
	case got := <-ch:
		return got.text, got.err
	case <-r.ctx.Done():
		return "", context.Cause(r.ctx)
	}
}
