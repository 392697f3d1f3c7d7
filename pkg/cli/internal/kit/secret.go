package kit

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// ReadSecret writes a prompt and reads a line from a terminal without showing it:
// the prompt comes once the terminal shows nothing, for some people type before
// they have read it. When the context ends first, the terminal is as it was, and
// the goroutine that reads is left behind: see [LineReader.ReadLine].
func ReadSecret(ctx context.Context, r io.Reader, w io.Writer, prompt string) (string, error) {
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
	// A terminal that did not echo before does not change: a second is all it gets.
	for until := time.Now().Add(time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if now, err := term.GetState(fd); err != nil || *now != *before || len(ch) > 0 {
			break
		}
	}
	_, _ = io.WriteString(w, prompt)
	select {
	case got := <-ch:
		return string(got.text), got.err
	case <-ctx.Done():
		return "", errors.Join(context.Cause(ctx), term.Restore(fd, before))
	}
}
