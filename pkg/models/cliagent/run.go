package cliagent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/llm"
)

// maxStream bounds the output of a program, in bytes, after which it is killed. An
// agent's whole day is less.
const maxStream = 512 << 20

func (a *Agent) most() int64 { return cmp.Or(a.stream, maxStream) }

// An ending is the result of a process.
type ending struct {
	code     int
	stderr   string
	timedOut bool // by the wall clock
	idle     bool
	flooded  bool
}

// A watch stands between the goroutine that reads the stream and the one that
// ends the process.
type watch struct {
	mu    sync.Mutex
	run   *run
	form  format
	seen  time.Time // the last sign of life
	bytes int64
	wake  chan struct{} // something changed that may end the process
	flood bool
	// waiting counts questions that are being answered: the program is silent
	// because of us.
	waiting int
	most    int64 // bytes that the program may write
}

func (w *watch) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watch) line(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = time.Now()
	if w.run.stopped != "" {
		return // it is being ended; what it still says is not asked for
	}
	if line[0] != '{' {
		w.run.warn("not a message: %s", line[:min(len(line), maxText)])
		return
	}
	w.form.read(w.run, line)
	if w.run.ended || w.run.stopped != "" {
		w.signal()
	}
}

func (w *watch) long() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = time.Now()
	w.run.warn("a line of more than %d MB was left out", maxLine>>20)
}

// A meter counts what goes through it.
type meter struct {
	*splitter
	w *watch
}

func (m meter) Write(p []byte) (int, error) {
	m.w.mu.Lock()
	m.w.bytes += int64(len(p))
	flood := m.w.bytes > m.w.most
	m.w.flood = m.w.flood || flood
	m.w.mu.Unlock()
	if flood {
		m.w.signal()
		return len(p), nil
	}
	return m.splitter.Write(p)
}

// state reports whether the run has ended, whether the process must be stopped, and for
// how long it has been silent.
func (w *watch) state() (done, stop bool, idle time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	quiet := time.Duration(0)
	if len(w.run.open) == 0 && w.waiting == 0 { // a tool may be silent for as long as it runs
		quiet = time.Since(w.seen)
	}
	return w.run.ended, w.run.stopped != "" || w.flood, quiet
}

// runProgram runs the program and reads its stream to the end.
func (r *opened) runProgram(ctx context.Context, o invocation, s *run) (ending, error) {
	inv, err := r.format.command(o)
	if err != nil {
		return ending{}, fmt.Errorf("cli %s: %w", r.Name, err)
	}
	w := &watch{run: s, form: r.format, seen: time.Now(), wake: make(chan struct{}, 1), most: r.most()}
	lines := &splitter{line: w.line, long: w.long}
	e, err := r.process(ctx, o, w, process.Cmd{
		Args: slices.Concat(r.Command, inv.args), Env: append(r.environ(r.format.keys()), inv.env...), Stdin: inv.stdin, Stdout: meter{lines, w},
	}, nil)
	if err != nil {
		return e, err
	}
	w.mu.Lock()
	live := s.stopped == ""
	w.mu.Unlock()
	if live {
		lines.close()
	}
	if !s.ended && s.stopped == "" && !e.timedOut && !e.idle && !e.flooded {
		r.format.exited(s, e.code, e.stderr)
	}
	return e, nil
}

// process starts a program and returns when it has ended, by itself or because
// it passed a bound. talk, if set, exchanges messages with it over standard
// input meanwhile; when talk returns, the program is killed.
func (r *opened) process(ctx context.Context, o invocation, w *watch, c process.Cmd, talk func(context.Context, *process.Process)) (ending, error) {
	if err := ctx.Err(); err != nil {
		return ending{}, err
	}
	runner := process.New(o.Dir, "", nil)
	defer runner.Close() // everything is dead by then
	if o.Limits.Wall > 0 {
		c.Timeout = o.Limits.Wall
	}
	p, err := runner.Start(ctx, c)
	if err != nil {
		return ending{}, r.startError(err)
	}
	var talked chan struct{}
	if talk != nil {
		inner, stop := context.WithCancel(ctx)
		talked = make(chan struct{})
		go func() { // waited for below
			defer close(talked)
			talk(inner, p)
		}()
		defer func() { stop(); p.Kill(); <-talked }()
	}
	e := r.attend(ctx, o, w, p, talked)
	if err := context.Cause(ctx); ctx.Err() != nil {
		return e, err
	}
	out := p.Output()
	e.code, e.stderr, e.timedOut = out.Code, out.Text, out.TimedOut
	return e, nil
}

// attend waits for the process and ends it when it has to be.
func (r *opened) attend(ctx context.Context, o invocation, w *watch, p *process.Process, talked <-chan struct{}) (e ending) {
	tick := time.NewTicker(min(time.Second, max(o.Limits.Idle/4, 10*time.Millisecond)))
	defer tick.Stop()
	var grace <-chan time.Time
	for {
		select {
		case <-p.Done():
			return e
		case <-ctx.Done():
			p.Kill()
			return e
		case <-grace:
			p.Kill() // it has said how it ended and hangs
			return e
		case <-talked:
			p.Kill()
			return e
		case <-w.wake:
		case <-tick.C:
		}
		done, stop, quiet := w.state()
		switch {
		case stop:
			p.Kill()
			w.mu.Lock()
			e.flooded = w.flood
			w.mu.Unlock()
			return e
		case done && grace == nil:
			t := time.NewTimer(r.Grace)
			defer t.Stop()
			grace = t.C
		case o.Limits.Idle > 0 && quiet > o.Limits.Idle && !done:
			e.idle = true
			p.Kill()
			return e
		}
	}
}

// always are the variables that every such program gets besides those that
// commands get.
var always = []string{
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "NODE_EXTRA_CA_CERTS",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

// environ has the variables of ours that the program gets by name.
func (a *Agent) environ(own []string) []string {
	var env []string
	for _, key := range slices.Concat(always, own, a.Env) {
		if v := a.Getenv(key); v != "" {
			env = append(env, key+"="+v)
		}
	}
	return env
}

// startError explains why the program could not be started.
func (a *Agent) startError(err error) error {
	e := &llm.Error{Kind: extagent.NoProgram, Provider: "cli/" + a.Name, Message: err.Error(), Err: err}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		e.Message = fmt.Sprintf("the program %q was not found", a.Command[0])
		if _, err := hostexec.Find(a.Command[0]); err != nil {
			e.Message += "; it is " + hostexec.Lacking(err)
		}
		e.Hint = a.Install()
	}
	return e
}

// Install explains how to install the program.
func (a *Agent) Install() string {
	if a.kind.pkg != "" {
		return fmt.Sprintf("install it with: npm install -g %s; or name it under cli: %s: command: in the configuration", a.kind.pkg, a.Name)
	}
	return fmt.Sprintf("install it, or correct cli: %s: command: in the configuration", a.Name)
}

// Find gives the path of the program; the error says how to install it.
func (a *Agent) Find() (string, error) {
	path, err := hostexec.Find(a.Command[0])
	if err != nil {
		return "", a.startError(err)
	}
	return path, nil
}

// Version asks the program for its version, a line.
func (a *Agent) Version(ctx context.Context) (string, error) {
	if _, err := a.Find(); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "adroit-cli-")
	if err != nil {
		return "", fmt.Errorf("cli %s: %w", a.Name, err)
	}
	defer os.RemoveAll(dir)
	x := process.New(dir, "", nil)
	defer x.Close()
	var out strings.Builder
	res, err := x.Run(ctx, process.Cmd{Args: []string{a.Command[0], "--version"}, Env: a.environ(nil), Stdout: &out, Timeout: 20 * time.Second})
	if err != nil {
		return "", err
	}
	if v := spelling.FirstLine(out.String()); v != "" && res.Code == 0 {
		return brief(v, 80), nil
	}
	return "", fmt.Errorf("%s --version ended with code %d", a.Command[0], res.Code)
}

// Driven describes in a line how the program is driven and confined.
func (a *Agent) Driven() string { return a.kind.driven }

// maxLine bounds one line of a stream, in bytes. Some programs write whole files into
// one; a longer line is skipped.
const maxLine = 16 << 20

// A splitter cuts a stream into lines, however it comes in pieces. Its writer is
// used by one goroutine.
type splitter struct {
	line func([]byte) // a line without its end, valid until it returns
	long func()       // a line was too long and is left out

	rest    []byte
	skipped bool // the rest of a line that was too long is left out
}

// Write implements [io.Writer]. It never fails: a program must not be stopped by
// what it wrote.
func (s *splitter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.keep(p)
			return n, nil
		}
		switch {
		case s.skipped:
		case len(s.rest) == 0:
			s.give(p[:i])
		default:
			s.keep(p[:i])
			s.give(s.rest)
		}
		s.rest, s.skipped = s.rest[:0], false
		p = p[i+1:]
	}
	return n, nil
}

// close gives the last line, which may lack its end.
func (s *splitter) close() {
	if !s.skipped {
		s.give(s.rest)
	}
	s.rest = nil
}

func (s *splitter) keep(p []byte) {
	if s.skipped {
		return
	}
	if len(s.rest)+len(p) > maxLine {
		s.rest, s.skipped = nil, true
		s.long()
		return
	}
	s.rest = append(s.rest, p...)
}

func (s *splitter) give(line []byte) {
	if line = bytes.TrimSpace(line); len(line) > 0 && !s.skipped {
		s.line(line)
	}
}
