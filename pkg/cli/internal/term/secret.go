package term

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/term"
)

// ReadSecret reads a line from a terminal without showing it. When the context
// ends first, the terminal is as it was, and the goroutine that reads is left
// behind: see [LineReader.ReadLine].
func ReadSecret(ctx context.Context, r io.Reader) (string, error) {
	f, ok := r.(*os.File)
	if !ok || !IsTerminal(f) {
		return "", errors.New("a secret is read from a terminal only")
	}
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type answer struct {
		text []byte
		err  error
	}
	ch := make(chan answer, 1)
	go func() {
		b, err := term.ReadPassword(fd)
		ch <- answer{b, err}
	}()
	select {
	case got := <-ch:
		return string(got.text), got.err
	case <-ctx.Done():
		return "", errors.Join(context.Cause(ctx), term.Restore(fd, before))
	}
}
