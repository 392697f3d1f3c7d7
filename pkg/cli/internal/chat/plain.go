package chat

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// A Plain shows a conversation as a stream of lines: for pipes, and for terminals
// that cannot move the cursor. It reads a line when the turn before has ended.
type Plain struct {
	in       io.Reader
	out      io.Writer
	prompt   bool // somebody types
	posts    chan func()
	quit     bool
	finished bool // the input has ended
}

// NewPlain reads lines from in and prints to out, with a prompt if somebody types.
func NewPlain(in io.Reader, out io.Writer, prompt bool) *Plain {
	return &Plain{in: in, out: out, prompt: prompt, posts: make(chan func(), 64)}
}

func (p *Plain) Print(text string) { _, _ = io.WriteString(p.out, text) } // a closed pipe ends the program elsewhere
func (p *Plain) Post(f func())     { p.posts <- f }
func (p *Plain) Notify(string)     {}
func (p *Plain) Edit(string)       {}
func (p *Plain) Quit()             { p.quit = true }

// Run reads lines until the input ends, /quit, or the end of ctx, which stops a turn.
func (p *Plain) Run(ctx context.Context, s *Session) error {
	lines, next := make(chan string), make(chan bool)
	defer close(next)
	go p.read(lines, next)
	reading := false
	for {
		if s.Busy() || p.quit || p.finished || ctx.Err() != nil {
			if !s.Busy() {
				break
			}
		} else if !reading {
			if reading = true; p.prompt {
				fmt.Fprint(p.out, "> ")
			}
			next <- true
		}
		select {
		case f := <-p.posts:
			f()
		case line, more := <-lines:
			if reading = false; !more {
				p.finished = true
				lines = nil
			} else {
				s.Enter(line)
			}
		case <-done(ctx, s):
		}
	}
	switch {
	case ctx.Err() != nil:
		return kit.Stopped(ctx)
	case s.State() == Asking:
		return kit.With(kit.Waiting)
	case p.finished && !p.prompt && s.failed:
		return kit.With(kit.Failed)
	case p.finished && !p.prompt && s.ran:
		return kit.With(kit.OfJob(ctx, s.status))
	}
	return nil
}

// done is the end of ctx while no turn is in progress, which ends by itself then.
func done(ctx context.Context, s *Session) <-chan struct{} {
	if s.Busy() {
		return nil
	}
	return ctx.Done()
}

// read reads a message for each next: a line, with those after it while one ends
// with a backslash.
func (p *Plain) read(lines chan<- string, next <-chan bool) {
	defer close(lines)
	r := bufio.NewReader(p.in)
	for range next {
		var b strings.Builder
		for {
			line, err := r.ReadString('\n')
			line = strings.TrimRight(line, "\r\n")
			head, more := strings.CutSuffix(line, `\`)
			b.WriteString(head)
			if more && err == nil {
				b.WriteByte('\n')
				continue
			}
			if err != nil && b.Len() == 0 {
				return
			}
			break
		}
		lines <- b.String()
	}
}
