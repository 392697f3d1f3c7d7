package cliagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/llm"
)

// maxStream is how much a program may write before it is ended: an agent's
// whole day is less.
const maxStream = 512 << 20

func (a *Agent) most() int64 { return cmp.Or(a.stream, maxStream) }

// An ending is how a process ended.
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

// state is what decides about ending the process now.
func (w *watch) state() (done, stop bool, idle time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	quiet := time.Duration(0)
	if len(w.run.open) == 0 && w.waiting == 0 { // a tool may be silent for as long as it runs
		quiet = time.Since(w.seen)
	}
	return w.run.ended, w.run.stopped != "" || w.flood, quiet
}

// perform runs the program and reads its stream to the end.
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
		return ending{}, r.unstarted(err)
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

// unstarted says why the program could not be started.
func (a *Agent) unstarted(err error) error {
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
