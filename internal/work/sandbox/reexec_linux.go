//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
)

// init takes over before main in a process that Wrap started. It is the one
// init of the project: any binary that links this package, tests and programs
// of other people too, must be able to be the helper, without a line in its main.
func init() {
	if len(os.Args) > 1 && os.Args[0] == selfPath && os.Args[1] == stageName {
		os.Args = os.Args[1:] // started by bwrap, which cannot give a program another name
	}
	if len(os.Args) == 0 || filepath.Base(os.Args[0]) != stageName {
		return
	}
	runtime.LockOSThread()
	// Descriptors after 5 were not passed on purpose, or belong to the runtime's poller if another
	// package read a file before our turn came. So they are not closed, which would crash us, but
	// the command does not get them.
	err := unix.CloseRange(selfFD+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	unix.CloseOnExec(policyFD)
	unix.CloseOnExec(statusFD)
	unix.CloseOnExec(selfFD)
	status := os.NewFile(statusFD, "status")
	if err != nil {
		err = fmt.Errorf("keeping inherited files from the command (close_range): %w", err)
	} else {
		err = stage(os.Args[1:], status)
	}
	if n := exhaustion.Number(err); n != 0 {
		fmt.Fprintf(status, "%s%d\n", numberMark, n)
	}
	fmt.Fprint(status, err)
	os.Exit(126)
}

// stage carries out the policy and returns only if it fails.
func stage(argv []string, status *os.File) error {
	f := os.NewFile(policyFD, "policy")
	raw, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<24))
	if err != nil {
		return fmt.Errorf("reading the policy: %w", err)
	}
	var p Policy
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("reading the policy: %w", err)
	}
	if len(argv) == 0 {
		return errors.New("no command was given")
	}
	switch {
	case p.Level == Full:
		return p.runInit(argv, status)
	case p.Level == Bubblewrap && !p.Locked:
		return p.bwrap(argv)
	case p.Level == Landlock, p.Level == Bubblewrap:
		_ = f.Close()
		return p.become(argv, status)
	}
	return fmt.Errorf("there is no set-up for the level %q", p.Level)
}

// become turns this process into the command.
func (p *Policy) become(argv []string, status *os.File) error {
	switch p.Mounts {
	case mountsInside:
		if err := p.build(p.Limits.or()); err != nil {
			return err
		}
		// The current directory is still the one below the new mounts.
		if err := os.Chdir(p.Dir); err != nil {
			return fmt.Errorf("entering the command's directory: %w", err)
		}
	case mountsByName:
		_ = os.Remove(bwrapSelf)
		if err := p.verifyMounts(); err != nil {
			return err
		}
	}
	exe, err := program(argv[0])
	if err != nil {
		return err
	}
	if err := p.confine(); err != nil {
		return err
	}
	if _, err := io.WriteString(status, ready); err != nil {
		return fmt.Errorf("reporting that the sandbox is set up: %w", err)
	}
	return startFault(argv[0], unix.Exec(exe, argv, os.Environ()))
}
