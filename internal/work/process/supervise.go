package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

const (
	grace   = 2 * time.Second        // between asking a command to end and killing it
	linger  = 50 * time.Millisecond  // for output still in the pipe when the command has ended
	abandon = 200 * time.Millisecond // for output of a process that left the group
)

// supervise owns a command from its start to the end of its last output. It
// stays on one thread, since a command is killed when the thread that started
// it ends.
func (r *Runner) supervise(p *Process, c Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	program := p.cmd.Args[0]
	sinks, err := p.plumb(c)
	if err == nil {
		r.guard.begin()
		err = r.launch(p)
		sinks.started()
	}
	if err != nil {
		sinks.Close()
		r.forget(p)
		started <- StartError(program, p.cmd.Dir, err)
		return
	}
	group := p.cmd.Process.Pid
	r.guard.add(group)
	started <- nil

	ended := make(chan struct{})
	var watch sync.WaitGroup
	var timedOut, killed bool
	var room string
	watch.Go(func() { timedOut, killed = p.watch(group, c.Timeout, ended) })
	watch.Go(func() { room = p.leaveRoom(group, ended) })
	rootfs.AwaitExit(group) // and leave it unreaped, so that the group's number stays ours
	close(ended)
	watch.Wait()

	// The leader is gone. What it left behind is killed, after a moment for
	// output that is on its way.
	open := !sinks.wait(linger)
	_ = syscall.Kill(-group, syscall.SIGKILL)
	if open && !sinks.wait(abandon) {
		rootfs.KillTagged(tag(p)) // it left the session and still holds our pipe
		sinks.wait(abandon)
	}
	r.guard.remove(group)
	werr := p.cmd.Wait()
	sinks.Close()

	p.mu.Lock()
	o := p.collect()
	p.mu.Unlock()
	o.Code, o.TimedOut, o.Killed = ExitCode(p.cmd.ProcessState), timedOut, killed
	if p.cmd.ProcessState == nil && werr != nil {
		o.Note = "how it ended is not known: " + werr.Error()
	}
	p.log.Close()
	if room != "" {
		o.Killed = true
	}
	notes := append([]string{room}, r.record(p, o, c)...)
	o.Note = strings.Join(slices.DeleteFunc(append(notes, o.Note), func(s string) bool { return s == "" }), "; ")
	p.mu.Lock()
	p.final = o
	p.out.release()
	p.mu.Unlock()
	r.retire(p)
}

// record records the command's changes and ends the protection of its sandbox. It returns notes
// for the reader of the output. The command is over, whatever happened to the caller: its changes
// are real.
func (r *Runner) record(p *Process, o *Output, c Cmd) (notes []string) {
	if p.overlay != nil {
		rep, err := p.overlay.Finish(p.late, p.snap, p.confined.protection.refuses)
		if rep != nil {
			o.Changed = rep.Changed
			rep.Aside = slices.DeleteFunc(rep.Aside, func(a overlay.Aside) bool { return p.moveToHold(r.led, a.Path, a.Kept) })
			rep.Asked = slices.DeleteFunc(rep.Asked, func(a overlay.Aside) bool { return p.moveAskedToHold(r, a) })
			notes, o.Unjoined = rep.Messages(), rep.Unjoined()
		}
		if err != nil {
			notes = append(notes, err.Error())
		}
	}
	notes = append(notes, r.sandbox.finish(p, r.led, o, c.Stdout != nil))
	if p.snap != nil && p.overlay != nil {
		if err := p.snap.PutBack(p.late); err != nil {
			notes = append(notes, err.Error())
		}
	}
	if p.snap == nil {
		return notes
	}
	if p.overlay == nil {
		changed, err := p.snap.Record(p.late)
		o.Changed, o.Uncertain = changed, len(changed) > 0
		notes = append(notes, p.snap.Partial, p.deniedNote(changed))
		if err != nil {
			notes = append(notes, "what it changed could not be recorded and cannot be undone: "+err.Error())
		}
	}
	return append(notes, r.led.TakeNotes()...)
}

// watch ends the command when its time is over or somebody asks.
func (p *Process) watch(group int, timeout time.Duration, ended <-chan struct{}) (timedOut, killed bool) {
	var over <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-ended:
		return false, false
	case <-over:
		timedOut = true
	case <-p.stop:
		killed = true
	}
	_ = syscall.Kill(-group, syscall.SIGTERM)
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-ended:
	case <-t.C:
		_ = syscall.Kill(-group, syscall.SIGKILL)
		<-ended
	}
	return timedOut, killed
}

// leaveRoom kills the command if it leaves too little room on a disk, and returns the reason.
// There is no time for the command to clean up: it may write gigabytes a second.
func (p *Process) leaveRoom(group int, ended <-chan struct{}) string {
	if len(p.disks) == 0 {
		return ""
	}
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-ended:
			return ""
		case <-t.C:
		}
		why, next := diskFull(p.disks)
		if why != "" {
			_ = syscall.Kill(-group, syscall.SIGKILL)
			if p.level == sandbox.Landlock {
				rootfs.KillTagged(tag(p)) // what left the group
			}
			return why
		}
		t.Reset(next)
	}
}

// StartError adds to err of starting a program which of two is not there: the program, or the
// directory that it was to start in. The kernel does not tell them apart.
func StartError(program, dir string, err error) error {
	if errors.Is(err, os.ErrNotExist) && dir != "" && !rootfs.Exists(dir) {
		return fmt.Errorf("starting %q: its directory %q is not there: %w", program, dir, err)
	}
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("the program %q was not found; check its name, or that it is installed: %w", program, err)
	}
	return fmt.Errorf("starting %q: %w", program, err)
}

// plumbing is the pipes of one command and the goroutines that empty them.
type plumbing struct {
	ours, theirs []*os.File
	input        *os.File // written by the caller, nil unless interactive
	copying      sync.WaitGroup
	copied       chan struct{}
	pumps        []func()
}

// plumb connects the command's standard files. The command gets plain files, so that waiting for
// it never means waiting for another process that has a copy of them.
func (p *Process) plumb(c Cmd) (*plumbing, error) {
	s := &plumbing{copied: make(chan struct{})}
	p.cmd.Env = append(p.cmd.Env, tag(p))
	if c.Stdin != nil {
		in, err := anonymous(c.Stdin)
		if err != nil {
			return s, err
		}
		s.theirs = append(s.theirs, in)
		p.cmd.Stdin = in
	}
	if c.Interactive {
		theirs, ours, err := os.Pipe()
		if err != nil {
			return s, err
		}
		s.theirs, s.input = append(s.theirs, theirs), ours
		p.cmd.Stdin, p.stdin = theirs, ours
	}
	both := io.Writer(p.out)
	if p.log != nil {
		both = io.MultiWriter(p.log, p.out)
	}
	if c.Watch != nil {
		both = io.MultiWriter(both, c.Watch)
	}
	// One goroutine empties this pipe, so a key that comes in two pieces is one.
	clean := p.hide.Writer(both)
	if err := s.pipe(clean, nil); err != nil {
		return s, err
	}
	pump := s.pumps[len(s.pumps)-1]
	s.pumps[len(s.pumps)-1] = func() {
		pump()
		_ = clean.Close() // neither the log nor the tail fails
	}
	out := s.theirs[len(s.theirs)-1]
	p.cmd.Stderr, p.cmd.Stdout = out, out
	if c.Stdout != nil {
		if err := s.pipe(c.Stdout, c.StdoutEnded); err != nil {
			return s, err
		}
		p.cmd.Stdout = s.theirs[len(s.theirs)-1]
	}
	return s, nil
}

// pipe makes a pipe that will be emptied into w, and then calls ended.
func (s *plumbing) pipe(w io.Writer, ended func()) error {
	r, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	s.ours, s.theirs = append(s.ours, r), append(s.theirs, theirs)
	s.pumps = append(s.pumps, func() {
		if _, err := io.Copy(w, r); err != nil {
			_, _ = io.Copy(io.Discard, r) // a reader that gave up must not block the command
		}
		if ended != nil {
			ended()
		}
	})
	return nil
}

// started closes the command's ends of the pipes and begins to empty ours.
func (s *plumbing) started() {
	for _, f := range s.theirs {
		f.Close()
	}
	s.theirs = nil
	for _, pump := range s.pumps {
		s.copying.Go(pump)
	}
	go func() { // ends when the pumps do, which close waits for
		s.copying.Wait()
		close(s.copied)
	}()
}

// wait reports whether all output had been read within d.
func (s *plumbing) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.copied:
		return true
	case <-t.C:
		return false
	}
}

// Close stops reading and returns when nobody writes to the sinks any more.
func (s *plumbing) Close() {
	for _, f := range append(s.ours, s.theirs...) {
		f.Close()
	}
	if s.input != nil {
		s.input.Close() // the caller may have done it: then this only says so
	}
	s.copying.Wait()
}

// anonymous returns a file with the given content and no name.
func anonymous(data []byte) (*os.File, error) {
	f, err := os.CreateTemp("", "adroit-in-")
	if err != nil {
		return nil, fmt.Errorf("preparing the command's input: %w", err)
	}
	defer os.Remove(f.Name())
	if _, err = f.Write(data); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("preparing the command's input: %w", err)
	}
	return f, nil
}

// tag marks a command's processes in their environment.
func tag(p *Process) string {
	return fmt.Sprintf("ADROIT_COMMAND=%d-%s-%d", os.Getpid(), p.ID, p.began.UnixNano())
}
