//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/hostexec"
)

// stageName is the name under which a program starts itself as its own helper. Nobody types it; ps
// shows it for a command being set up.
const stageName = "adroit-sandbox"

// The files that a stage inherits. The command inherits neither.
const (
	policyFD = 3
	statusFD = 4 // set-up failures as text; ready when the command is about to run
	selfFD   = 5 // this program, for bwrap: its path may be hidden inside
)

// Helper is the program that is started as the helper: this one. Tests that were
// built with the race detector, which takes longer to start than the helper works,
// have a program built without, that links this package.
var Helper = "/proc/self/exe"

// ready comes before the end of the status of a set-up that worked. Anything
// else, silence too, means that the command did not run.
const ready = "\x06"

const commandMark = "command "

// notFound ends the report of a program that is not there.
const notFound = ": executable file not found"

// numberMark precedes the error number by which the host is exhausted, and a line end, in front of
// the error's text.
const numberMark = "\x05"

// readNumber extracts the error number from a helper's output; nil if there is none.
func readNumber(text string) (rest string, number error) {
	after, ok := strings.CutPrefix(text, numberMark)
	if !ok {
		return text, nil
	}
	digits, rest, _ := strings.Cut(after, "\n")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return rest, nil
	}
	return rest, syscall.Errno(n)
}

// program finds a command as a shell would, but never in the current directory
// by accident.
func program(name string) (string, error) {
	exe, err := hostexec.InSandbox(name)
	if err != nil {
		return "", startFault(name, err)
	}
	return exe, nil
}

// startFault marks an error as the command's own fault, not the sandbox's.
func startFault(name string, err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s%s"+notFound, commandMark, name)
	}
	return fmt.Errorf("%s%s: %w", commandMark, name, err)
}

// memory returns an unnamed file with the policy.
func memory(p *Policy) (*os.File, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("policy", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("preparing the sandbox: %w", err)
	}
	f := os.NewFile(uintptr(fd), "policy")
	if _, err := f.Write(raw); err != nil {
		f.Close()
		return nil, fmt.Errorf("preparing the sandbox: %w", err)
	}
	return f, nil
}
