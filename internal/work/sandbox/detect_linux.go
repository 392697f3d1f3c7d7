//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
)

// order lists the levels that Auto tries, best first.
var order = []Level{Full, Bubblewrap, Landlock}

// What this machine can do does not change while a process lives, and finding
// out costs a child for each level: so it is kept.
var tried = map[Level]*trial{
	Full:       {attempt: func() error { return attempt(Full, "") }},
	Bubblewrap: {attempt: func() error { return attempt(Bubblewrap, "") }},
	Landlock:   {attempt: func() error { return attempt(Landlock, "") }},
}

// A trial finds out once whether a level can be had.
type trial struct {
	attempt func() error // runs a command that does nothing under the level, for real

	mu    sync.Mutex
	found *Finding
}

func try(l Level) Finding {
	t, ok := tried[l]
	if !ok {
		return Finding{Level: l, Why: "it is not for Linux", Help: "use auto"}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.found != nil {
		return *t.found
	}
	f := Finding{Level: l, Gaps: l.Gaps()}
	err := t.attempt()
	switch {
	case err == nil:
		f.OK, f.Detail = true, fmt.Sprintf("Landlock version %d", landlockABI())
	case exhaustion.Of(err) != "" && (!errors.Is(err, syscall.ENOSPC) || errors.As(err, new(noRoom))): // else a system that allows no namespaces
		f.Why, f.short = err.Error(), err
		return f
	default:
		f.Why = strings.TrimSuffix(strings.TrimPrefix(err.Error(), ErrRefused.Error()+": "), notRun)
		f.Help = help(l)
	}
	t.found = &f
	return f
}

// noRoom is an error of the directory for temporary files, not of the level.
type noRoom struct{ error }

func (e noRoom) Unwrap() error { return e.error }

// probeDir makes the directory of a probe in which its command has room to write.
func probeDir() (string, error) {
	removeStaleProbes(os.TempDir())
	dir, err := os.MkdirTemp("", probePrefix)
	if err != nil {
		return "", noRoom{err}
	}
	f, err := os.Create(filepath.Join(dir, "room"))
	if err == nil {
		_, err = f.Write(make([]byte, 4096))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return "", noRoom{errors.Join(err, os.RemoveAll(dir))}
	}
	return dir, nil
}

// help advises an operator about a level that is not available.
func help(l Level) string {
	read := func(name string) string {
		b, _ := os.ReadFile("/proc/sys/" + name)
		return strings.TrimSpace(string(b))
	}
	dir := os.TempDir()
	_, err := os.Stat(dir)
	switch {
	case err != nil:
		return "make the directory " + dir + ", or have TMPDIR name another one"
	case l == Landlock:
		return "Landlock needs Linux 5.13 or later with lsm=…,landlock"
	case l == Bubblewrap && read("kernel/apparmor_restrict_unprivileged_userns") != "1":
		return "install the package bubblewrap"
	case l == Bubblewrap:
		return "install the package bubblewrap, which this system's AppArmor lets make namespaces"
	case read("kernel/unprivileged_userns_clone") == "0":
		return "sysctl kernel.unprivileged_userns_clone=1 lets programs make user namespaces"
	case read("user/max_user_namespaces") == "0":
		return "sysctl user.max_user_namespaces=15000 lets programs make user namespaces"
	case read("kernel/apparmor_restrict_unprivileged_userns") == "1":
		return "AppArmor keeps user namespaces from this program: install bubblewrap, or an AppArmor profile for adroit with the rule userns"
	}
	return "in a container, allow user namespaces and an unmasked /proc (docker: --security-opt seccomp=unconfined --security-opt systempaths=unconfined)"
}

// ProbeCollect runs a command, at Full with the policy's Collect and Probe, and fails if the
// command could not remove .adroit-gone in the first of the policy's Write, rename .adroit-old
// there, make new/made, and make a file in Probe.
func ProbeCollect(ctx context.Context, p *Policy) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `mkdir made "$1" && echo x >"$1/made" && echo x >made/made && rm -r .adroit-gone && mv -T .adroit-old older && mv -T made new`,
		"sh", filepath.Join(p.Probe, ".adroit-probe-"+strings.ToLower(filepath.Base(p.Collect))))
	cmd.Dir, cmd.Env = p.Dir, probeEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var said bytes.Buffer
	cmd.Stderr = &said
	st, err := Wrap(cmd, Full, p)
	if err != nil {
		return err
	}
	err = st.Started(cmd.Start())
	if cmd.Process != nil {
		err = errors.Join(err, cmd.Wait())
	}
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}
