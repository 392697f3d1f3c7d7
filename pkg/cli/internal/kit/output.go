package kit

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// An Output remembers whether what was written to it got there: a result
// that was lost on a full disk must not end with exit code 0. It is safe for
// concurrent use as far as its Writer is.
type Output struct {
	io.Writer
	mu  sync.Mutex
	err error
}

func (o *Output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// Terminal is the terminal that is written to, nil if it is none.
func (o *Output) Terminal() *os.File {
	if f, ok := o.Writer.(*os.File); ok && IsTerminal(f) {
		return f
	}
	return nil
}

// Err is the first error of a Write, nil if all was written.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
