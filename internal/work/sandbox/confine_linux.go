//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// confine restricts the calling thread, which must be locked. Landlock, the filter and
// no_new_privs are properties of a thread: execve keeps those of the calling thread and ends all
// others, and a child inherits those of the thread that started it. So nothing has to reach all
// threads of the Go runtime.
func (p *Policy) confine() error {
	if err := p.limit(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	if err := p.restrictFiles(); err != nil {
		return err
	}
	if err := dropCaps(); err != nil {
		return err
	}
	if p.Collect != "" {
		fd, err := notifyRenames()
		if err != nil {
			return err
		}
		p.renames = fd
	}
	// The last step: the filter forbids most of the above.
	n := noNet
	switch {
	case p.NetOpen:
		n = anyNet
	case p.Level == Full, p.Level == Bubblewrap:
		n = lonely
	}
	if landlockABI() >= unixABI {
		n |= anyUnix
	}
	return restrictCalls(n)
}

// limit sets the limits that the kernel can enforce on a process by itself. Memory is not among
// them: a limit on address space breaks race detectors and JavaScript engines, which reserve far
// more than they use; see watchMemory.
func (p *Policy) limit() error {
	l := p.Limits.or()
	set := func(what string, resource, n, unit int) error {
		if n < 0 {
			return nil
		}
		v := uint64(n) * uint64(unit)
		var old unix.Rlimit
		if err := unix.Getrlimit(resource, &old); err != nil {
			return fmt.Errorf("limiting %s: %w", what, err)
		}
		v = min(v, old.Max)
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: v, Max: v}); err != nil {
			return fmt.Errorf("limiting %s: %w", what, err)
		}
		return nil
	}
	err := errors.Join(
		set("core dumps", unix.RLIMIT_CORE, 0, 1),
		set("file size", unix.RLIMIT_FSIZE, l.FileMB, 1<<20),
		set("processor time", unix.RLIMIT_CPU, l.CPUSecs, 1))
	// Without namespaces the limit counts all processes of the user, so only a number that the
	// operator chose can mean anything.
	if p.Level == Full || p.Limits.Processes > 0 {
		err = errors.Join(err, set("processes", unix.RLIMIT_NPROC, l.Processes, 1))
	}
	if p.Level != Full && p.Limits.MemoryMB > 0 {
		err = errors.Join(err, set("memory", unix.RLIMIT_AS, p.Limits.MemoryMB, 1<<20))
	}
	// If memory runs out, the kernel kills a command before any process of the user's. It is a
	// preference: where /proc cannot be written it stays as it is.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("800"), 0)
	return err
}
