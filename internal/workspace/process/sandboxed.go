package process

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/workspace/overlay"
	"github.com/adroit-run/adroit/internal/workspace/sandbox"
)

// A SandboxOptions says how the commands of a Runner are confined. What a command may
// change is the workspace, Write, a /tmp and home of its own, and nothing else.
// See [sandbox] for the levels.
//
// The names that the file tools refuse cannot be read in the workspace either,
// and the files that make git, agents and editors run something (.git/hooks,
// .git/config, .claude, .vscode and the like) cannot be changed. Those that do
// not exist are looked for when the command has ended: what it made of them is
// put aside, and Output.Note says so. While it runs they are there.
type SandboxOptions struct {
	Level   sandbox.Level // Auto if empty
	Private string        // keeps /tmp, home and build caches of the commands; empty: a temporary directory
	Removed string        // keeps what commands must not leave in the workspace; empty: a directory of Private, or a temporary one that stays
	Cache   string        // build caches of workspaces, where Private's cannot have the user's below them
	Write   []string      // besides the workspace
	Show    []string      // read-only, although in the user's home
	Hide    []string      // seen as empty: adroit's own directories
	NetOpen bool          // the network of this machine
	Limits  sandbox.Limits
}

// An Option changes how a Runner runs commands.
type Option func(*Runner)

// WithSandbox puts every command of a Runner into the sandbox. If the level cannot
// be had, every command is refused. Without this option there is no sandbox.
func WithSandbox(c SandboxOptions) Option {
	return func(r *Runner) {
		r.sandbox = &runnerSandbox{SandboxOptions: c, scans: map[string]*scan{}, mentioned: map[string]bool{}}
	}
}

// A runnerSandbox is the sandbox of one Runner. It is safe for concurrent use.
type runnerSandbox struct {
	SandboxOptions

	mu        sync.Mutex
	report    *sandbox.Report
	base      *sandbox.Policy
	scratch   string           // to be removed in the end
	removed   removed          // what commands must not leave
	scans     map[string]*scan // by tree
	mentioned map[string]bool  // hidden files that a note has named
	sized     time.Time        // when the size of a build cache was looked at
	sizing    time.Duration    // what that cost

	overlays overlay.Support
}

// level is the one in force, found out at the first call.
func (c *runnerSandbox) level() (sandbox.Level, error) {
	if c == nil {
		return sandbox.Off, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report == nil {
		r := sandbox.Choose(cmp.Or(c.Level, sandbox.Auto))
		c.report = &r
	}
	return c.report.Level, c.report.Err()
}

// Sandbox is the level in force for commands, "refused" if none runs.
func (r *Runner) Sandbox() string {
	level, err := r.sandbox.level()
	switch {
	case err != nil:
		return "refused"
	case level != sandbox.Off && r.sandbox.NetOpen:
		return string(level) + ", network open"
	}
	return string(level)
}

// A commandSandbox is what one command has of the sandbox, to be settled when it has ended.
type commandSandbox struct {
	protection *protection
	slot       *slot
	hidden     []string // in the workspace, where the level hides it
}

// confine settles what a command may touch.
func (r *Runner) confine(p *Process, c Cmd) error {
	level, err := r.sandbox.level()
	if err != nil {
		return err
	}
	p.level, p.sandbox = level, r.Sandbox()
	if level == sandbox.Off {
		return nil
	}
	r.mu.Lock()
	t := r.tree
	r.mu.Unlock()
	if t == nil {
		return errors.New("no command can be started: the job is ending")
	}
	root := filepath.FromSlash(t.Dir)
	p.plan = func() error {
		if p.policy, p.confined, err = r.sandbox.policy(level, root, p.cmd.Dir, r.DenyList, c.Interactive); err != nil {
			return err
		}
		if c.Net && !p.policy.NetOpen {
			p.policy.NetOpen, p.sandbox = true, string(level)+", network open"
			p.policy.Show = append(slices.Clone(p.policy.Show), resolver()...)
		}
		if p.overlay != nil {
			p.policy.Collect = p.overlay.Path()
		}
		return nil
	}
	if err := p.plan(); err != nil {
		return err
	}
	if err := r.collect(p, root); err != nil {
		return err
	}
	if p.disks, err = disks(p.policy, r.sandbox.Limits.FreeMB); err != nil {
		return err
	}
	// What the caller set wins, also over where the sandbox puts things.
	p.cmd.Env = append(r.sandbox.environ(level, p.policy, p.cmd.Env), c.Env...)
	return nil
}

// collect gives a command an overlay for its changes, if it records them, is
// waited for, and can have one. A command in the background has none: it and the
// job's other tools have to see each other's changes at once. For the same reason
// no other command has one meanwhile.
func (r *Runner) collect(p *Process, root string) error {
	if p.snap == nil {
		return nil
	}
	if !p.awaited || r.background() || p.confined.protection.nested() {
		return nil
	}
	if usable(p.level, root, r.led.Dir, &r.sandbox.overlays) != "" || r.sandbox.overlays.Fits(root, p.policy.Write) != "" {
		return nil
	}
	var err error
	if p.overlay, err = overlay.New(p.snap.Ledger, p.snap); err != nil {
		return err
	}
	p.policy.Collect = p.overlay.Path()
	return nil
}

// background reports whether a recorded command runs that nobody waits for.
func (r *Runner) background() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.procs {
		if p.recorded && !p.awaited && p.running() {
			return true
		}
	}
	return false
}

// attempts is how often a command is started whose workspace changes meanwhile.
const attempts = 3

// launch starts the command, in its sandbox or not at all. If something else lies
// where the policy expects a file, the workspace is looked at again.
func (r *Runner) launch(p *Process) error {
	plain := *p.cmd
	for n := 1; ; n++ {
		cmd := plain
		cmd.SysProcAttr = rootfs.SessionAttr()
		p.cmd = &cmd
		st, err := sandbox.Wrap(p.cmd, p.level, p.policy)
		if err != nil {
			return err
		}
		if err = st.Started(p.cmd.Start()); err != nil && p.cmd.Process != nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait() // what went wrong has been said
		}
		if n == attempts || !errors.Is(err, sandbox.ErrChanged) {
			return err
		}
		r.sandbox.abandon(p.confined)
		p.confined = nil
		if err := p.plan(); err != nil {
			return err
		}
	}
}

// finish does what is left when the command has ended, and says what that was.
// unseen is whether some of its output went elsewhere.
func (c *runnerSandbox) finish(s *commandSandbox, o *Output, unseen bool) string {
	if s == nil {
		return ""
	}
	c.release(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	note := s.protection.check(&c.removed)
	s.protection = nil
	if o.Code != 0 {
		if h := c.covered(s, o.Text, unseen); h != "" && note != "" {
			note += "; " + h
		} else if h != "" {
			note = h
		}
	}
	return note
}

// abandon gives back what a command had that did not run.
func (c *runnerSandbox) abandon(s *commandSandbox) {
	if s == nil {
		return
	}
	s.protection.Close()
	c.release(s)
}

// release gives back the build cache of a command, whether it ran or not. Looking at the
// size of a cache is kept to a twentieth of the time.
func (c *runnerSandbox) release(s *commandSandbox) {
	if s == nil || s.slot == nil {
		return
	}
	began, limit := time.Now(), int64(0)
	c.mu.Lock()
	if began.Sub(c.sized) > 20*c.sizing {
		c.sized, limit = began, maxCache
	}
	c.mu.Unlock()
	s.slot.free(limit)
	s.slot = nil
	if limit > 0 {
		c.mu.Lock()
		c.sizing = time.Since(began)
		c.mu.Unlock()
	}
}

func (c *runnerSandbox) Close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for dir, s := range c.scans {
		err = errors.Join(err, s.tree.Close())
		delete(c.scans, dir)
	}
	if c.scratch != "" {
		err = errors.Join(err, rootfs.RemoveAll(c.scratch))
	}
	return err
}
