package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

var order = []Level{Seatbelt}

const seatbelt = "/usr/bin/sandbox-exec"

// What the machine can do does not change while a process lives.
var tried = sync.OnceValue(func() Finding {
	f := Finding{Level: Seatbelt, Gaps: Seatbelt.Gaps()}
	removeStaleProbes(os.TempDir())
	dir, err := os.MkdirTemp("", probePrefix)
	if err == nil {
		defer os.RemoveAll(dir)
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), probeTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "echo x >inside && ! echo x 2>/dev/null >/private/tmp/adroit-probe")
		cmd.Dir = dir
		if _, err = Wrap(cmd, Seatbelt, &Policy{Dir: dir, Write: []string{dir}, Private: filepath.Join(dir, "private")}); err == nil {
			err = cmd.Run()
		}
	}
	if f.OK = err == nil; !f.OK {
		f.Why, f.Help = err.Error(), "run adroit outside of another sandbox"
	}
	return f
})

func try(l Level) Finding {
	if l != Seatbelt {
		return Finding{Level: l, Why: "it is not for macOS", Help: "use auto"}
	}
	return tried()
}

// A Stage is a command on its way into the sandbox.
type Stage struct{}

// Wrap makes cmd start under sandbox-exec.
func Wrap(cmd *exec.Cmd, level Level, p *Policy) (*Stage, error) {
	switch {
	case level == Off:
		return &Stage{}, nil
	case level != Seatbelt:
		return nil, fmt.Errorf("%w: the level %s is not for macOS", ErrRefused, level)
	case cmd.Err != nil:
		return nil, cmd.Err
	}
	if err := p.prepare(); err != nil {
		return nil, fmt.Errorf("preparing the sandbox: %w", err)
	}
	cmd.Args = append([]string{seatbelt, "-p", p.SeatbeltProfile(), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = seatbelt
	return &Stage{}, nil
}

// Started returns err.
func (*Stage) Started(err error) error { return err }
