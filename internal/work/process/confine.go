package process

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// confine determines what a command may access.
func (r *Runner) confine(ctx context.Context, p *Process, c Cmd) error {
	if c.Outside {
		p.level, p.sandbox = sandbox.Off, string(sandbox.Off)
		return nil
	}
	level, err := r.sandbox.level()
	if err != nil {
		return err
	}
	p.level, p.sandbox = level, r.Sandbox()
	if level == sandbox.Off {
		if own, _ := ctx.Value(ownProgramKey{}).(bool); own && c.Shell == "" {
			host := hostexec.Command(ctx, p.cmd.Args[0])
			p.cmd.Path, p.cmd.Err, p.cmd.Env = host.Path, host.Err, hostexec.Environ(p.cmd.Env)
		}
		return nil
	}
	r.mu.Lock()
	t := r.tree
	r.mu.Unlock()
	if t == nil {
		return errors.New("no command can be started: the job is ending")
	}
	root := filepath.FromSlash(t.Dir)
	settled := false // whether it has an overlay
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
		if !settled {
			return nil
		}
		return p.lock(t)
	}
	if err := p.plan(); err != nil {
		return err
	}
	if err := r.noteLeft(p.confined.protection); err != nil {
		return err
	}
	if err := r.collect(ctx, p, root); err != nil {
		return err
	}
	settled = true
	if err := p.lock(t); err != nil {
		return err
	}
	if p.disks, err = disks(p.policy, r.sandbox.Limits.FreeMB); err != nil {
		return err
	}
	// What the caller set wins, also over where the sandbox puts things.
	p.cmd.Env = append(r.sandbox.environ(level, p.policy, p.cmd.Env), c.Env...)
	return nil
}

// noteLeft records in the ledger the possible remains of a killed process, so that the run, diff
// and undo name them, and adds them to the next command's output.
func (r *Runner) noteLeft(p *protection) error {
	note := p.leftNote()
	if note == "" || r.led == nil {
		return nil
	}
	r.led.AddNotes(note)
	return r.led.NotePartial(note)
}

// LookBack records remains of commands in the workspace whose processes were killed, before any
// command runs.
func (r *Runner) LookBack() error {
	level, err := r.sandbox.level()
	if err != nil || level == sandbox.Off || r.sandbox.Cache == "" || !anyDead(filepath.Join(r.sandbox.Cache, "baselines"), r.root) {
		return nil // a level that cannot be had is reported by the first command
	}
	_, confined, err := r.sandbox.policy(level, r.root, r.root, r.DenyList, false)
	if err != nil {
		return nil // likewise
	}
	defer r.sandbox.abandon(confined)
	return r.noteLeft(confined.protection)
}

// collect gives a command an overlay for its changes, if it records them, is
// waited for, and can have one. A command in the background has none: it and the
// job's other tools have to see each other's changes at once. For the same reason
// no other command has one meanwhile.
func (r *Runner) collect(ctx context.Context, p *Process, root string) error {
	if p.snap == nil {
		return nil
	}
	if !p.awaited || r.background() {
		return nil
	}
	if usable(p.level, root, r.led.Dir, &r.sandbox.overlays) != "" || r.sandbox.overlays.Fits(root, p.policy.Write) != "" {
		return nil
	}
	var err error
	if p.overlay, err = overlay.New(ctx, p.snap.Ledger, p.snap, p.denied); err != nil {
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

// attempts bounds how often a command is started whose workspace changes meanwhile.
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

// finish checks the workspace after the command has ended, and returns a note about the result.
// unseen reports whether some of its output went elsewhere.
func (c *runnerSandbox) finish(p *Process, led *ledger.Ledger, o *Output, unseen bool) string {
	s := p.confined
	if s == nil {
		return ""
	}
	c.release(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	note := s.protection.check(&c.removed, func(rel, to string) bool { return p.moveToHold(led, rel, to) })
	if p.snap != nil && p.overlay != nil && len(s.protection.made) > 0 { // else the ledger names them
		names := strings.Join(s.protection.made[:min(len(s.protection.made), maxNotes)], ", ")
		if err := p.snap.Ledger.NotePartial("an undo leaves the new git directories " + names); err != nil {
			note += "; " + err.Error()
		}
	}
	if p.snap != nil {
		for _, what := range s.protection.lost {
			if err := p.snap.Ledger.NotePartial(what); err != nil {
				note += "; " + err.Error()
			}
		}
	}
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

// moveToHold moves a file that was put aside into the command's hold, and reports whether it has one
// that took it.
func (p *Process) moveToHold(led *ledger.Ledger, rel, to string) bool {
	return p.hold.take(led, p.confined.protection.scans[0].names, rel, to, "")
}

// moveAskedToHold has a hold take what a rule has a person asked about, with what lies there now.
func (p *Process) moveAskedToHold(r *Runner, a overlay.Aside) bool {
	t, err := rootfs.Open(r.root)
	if err != nil {
		return false
	}
	defer t.Close()
	was, err := t.State(a.Path, nil)
	if err != nil || was.Type != "" && was.Type != rootfs.TypeFile || !p.hold.take(r.led, p.confined.protection.scans[0].names, a.Path, a.Kept, a.Why) {
		return false
	}
	if was.Type != "" {
		p.hold.replaces(a.Path, was.Digest)
	}
	return true
}
