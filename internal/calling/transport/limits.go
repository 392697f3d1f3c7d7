package transport

import (
	"errors"
	"io"
	"time"
)

const (
	// MaxLine bounds a line of a stream and the data of one event.
	MaxLine = 16 << 20
	// maxAnswer bounds a whole answer, so that a runaway server cannot take
	// all memory.
	maxAnswer = 64 << 20
	// maxText bounds what an error repeats of a server's words.
	maxText = 2 << 10

	defaultIdle  = 5 * time.Minute // a local model may load and read a long prompt first
	defaultTotal = 30 * time.Minute
	// grace is how long a finished answer waits for its usage and the end of
	// the stream.
	grace = 5 * time.Second
)

var errHuge = errors.New("the answer is larger than 64 MB")

type bounded struct {
	r    io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errHuge
	}
	if len(p) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}
