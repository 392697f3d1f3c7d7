package process

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// SandboxOptions configure the sandbox of a Runner's commands. A command may change the workspace,
// Write, a /tmp and home of its own, and nothing else. See [sandbox] for the levels.
//
// The names that the file tools refuse cannot be read in the workspace either, and the files that
// make git, agents and editors run a program (.git/hooks, .git/config, .claude, .vscode and the
// like) cannot be changed. Those that do not exist are looked for when the command has ended: if
// it made any, they are put aside, and Output.Note reports that. While it runs they are there.
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

// level returns the level in force, determined at the first call.
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

// A commandSandbox is the sandbox of one command, to be settled when it has ended.
type commandSandbox struct {
	protection *protection
	slot       *slot
	hidden     []string // in the workspace, where the level hides it
}

// abandon releases the sandbox of a command that did not run.
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

// mostNamed bounds how many hidden files a note names.
const mostNamed = 8

// mentions reports whether a text has a file's name in it, as more than a part of
// another word: process.env is not .env.
func mentions(text, name string) bool {
	letter := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || text[i] == '-' || text[i] >= '0' && text[i] <= '9' || text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z' || text[i] >= 0x80)
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		if !letter(i-1) && !letter(end) && !(end < len(text) && text[end] == '.' && letter(end+1)) {
			return true
		}
		from = i + 1
	}
}

// covered explains, for the reader of a failed command's output, which files it could not read, if
// that may be the cause. Each is named once in a job.
func (c *runnerSandbox) covered(s *commandSandbox, text string, unseen bool) string {
	if why := c.outer.unnamed; why != "" && mentions(text, "git") {
		c.outer.unnamed = ""
		return why
	}
	root := c.base.Write[0]
	var named, rest []string
	for _, f := range s.hidden {
		if c.mentioned[f] {
			continue
		}
		if mentions(text, filepath.Base(f)) {
			named = append(named, f)
		} else {
			rest = append(rest, f)
		}
	}
	lower := strings.ToLower(text)
	if len(named) == 0 && (unseen || strings.Contains(lower, "permission denied") || strings.Contains(lower, "eacces")) {
		named = rest
	}
	if len(named) == 0 {
		return ""
	}
	more := ""
	if n := len(named) - mostNamed; n > 0 {
		named, more = named[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	for i, f := range named {
		c.mentioned[f] = true
		if rel, err := filepath.Rel(root, f); err == nil && filepath.IsLocal(rel) {
			named[i] = filepath.ToSlash(rel)
		}
	}
	return "commands cannot read " + strings.Join(named, ", ") + more +
		", which by their names may be secrets: permission denied there is no fault of the code; the person who runs you can allow a name with secrets.allow in the configuration"
}
