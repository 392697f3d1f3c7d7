package process

import (
	"cmp"
	"errors"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
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
	Cache   string        // build caches of workspaces, where Private's cannot have the user's below them, and what commands that run protect; the same for all processes
	Write   []string      // besides the workspace
	Show    []string      // read-only, although in the user's home
	Hide    []string      // seen as empty: adroit's own directories
	NetOpen bool          // the network of this machine
	Limits  sandbox.Limits
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
	outer     outerRepo
	beside    *scan         // of outer.top
	sized     time.Time     // when the size of a build cache was looked at
	sizing    time.Duration // what that cost

	stores map[rootfs.ID]*gitStore

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
		if err := r.Err(); exhaustion.Of(err) != "" {
			return "", err
		}
		c.report = &r
	}
	return c.report.Level, c.report.Err()
}

// A commandSandbox is what one command has of the sandbox, to be settled when it has ended.
type commandSandbox struct {
	protection *protection
	slot       *slot
	hidden     []string // in the workspace, where the level hides it
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
	dropStores(c.stores)
	var err error
	for dir, s := range c.scans {
		err = errors.Join(err, s.tree.Close())
		delete(c.scans, dir)
	}
	if c.beside != nil {
		err = errors.Join(err, c.beside.tree.Close())
		c.beside = nil
	}
	if c.scratch != "" {
		err = errors.Join(err, rootfs.RemoveAll(c.scratch))
	}
	return err
}
