//go:build linux && (amd64 || arm64)

package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageName is the name under which a program starts itself as its own helper.
// Nobody types it; it is what ps shows of a command being set up.
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
	// What comes after fd 5 was not given to us on purpose, or is what the
	// runtime polls if another package read a file before our turn came. So it is
	// not closed, which would end us, but the command does not get it.
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
	fmt.Fprint(status, err)
	os.Exit(126)
}

// stage does what the policy says and returns only if it fails.
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
		return p.first(argv, status)
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

// program finds a command as a shell would, but never in the current directory
// by accident.
func program(name string) (string, error) {
	exe, err := exec.LookPath(name)
	if err != nil {
		return "", startFault(name, err)
	}
	return exe, nil
}

// startFault marks what went wrong as the command's own fault, not the sandbox's.
func startFault(name string, err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s%s: executable file not found", commandMark, name)
	}
	return fmt.Errorf("%s%s: %w", commandMark, name, err)
}

const commandMark = "command "

// A Stage is a command on its way into the sandbox.
type Stage struct {
	level  Level
	files  []*os.File // handed to the child
	status *os.File
}

// Wrap changes cmd, which is not started yet, so that it starts confined. It
// keeps cmd's files, environment and SysProcAttr and adds to the latter. The
// policy's level is set to level. Call Started with what cmd.Start returned.
func Wrap(cmd *exec.Cmd, level Level, p *Policy) (*Stage, error) {
	if level == Off {
		return &Stage{level: level}, nil
	}
	if len(cmd.ExtraFiles) > 0 {
		return nil, errors.New("a confined command cannot inherit files")
	}
	if p.Collect != "" && level != Full {
		return nil, errors.New("only the level full collects what a command writes")
	}
	if err := p.prepare(); err != nil {
		return nil, fmt.Errorf("preparing the sandbox: %w", err)
	}
	q := *p
	if q.Level = level; level == Bubblewrap && q.Mounts == "" {
		q.Mounts = bwrapMounts()
	}
	st := &Stage{level: level}
	policy, err := memory(&q)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		policy.Close()
		return nil, fmt.Errorf("preparing the sandbox: %w", err)
	}
	st.files, st.status = []*os.File{policy, w}, r
	if level == Bubblewrap {
		self, err := os.Open(Helper)
		if err != nil {
			st.close()
			return nil, fmt.Errorf("preparing the sandbox: %w", err)
		}
		st.files = append(st.files, self)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if level == Full {
		namespaces(cmd.SysProcAttr, q.NetOpen)
	}
	cmd.Err = nil // the program is looked for inside
	cmd.Path = Helper
	cmd.Args = append([]string{stageName}, cmd.Args...)
	cmd.ExtraFiles = st.files
	return st, nil
}

// memory is a file without a name that holds the policy.
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

// Started returns when the command is running under its policy, or why it is
// not. err is what cmd.Start returned. After an error the process, if there is
// one, is about to end and must still be waited for.
func (s *Stage) Started(err error) error {
	if s.level == Off {
		return err
	}
	for _, f := range s.files {
		f.Close()
	}
	s.files = nil
	defer s.close()
	if err != nil {
		return fmt.Errorf("%w: starting the helper: %w", ErrRefused, err)
	}
	var said []byte
	buf := make([]byte, 4096)
	for len(said) < 1<<16 {
		n, err := s.status.Read(buf)
		said = append(said, buf[:n]...)
		// bwrap keeps our end of the pipe for as long as it lives.
		if err != nil || s.level == Bubblewrap && string(said) == ready {
			break
		}
	}
	text, ok := strings.CutPrefix(string(said), ready)
	if ok && text == "" {
		return nil
	}
	if _, what, changed := strings.Cut(text, ErrChanged.Error()+": "); changed {
		return fmt.Errorf("%w: %w: %s; the command did not run", ErrRefused, ErrChanged, what)
	}
	if rest, mine := strings.CutPrefix(text, commandMark); mine {
		if name, missing := strings.CutSuffix(rest, ": executable file not found"); missing {
			return &exec.Error{Name: name, Err: exec.ErrNotFound}
		}
		return errors.New(rest)
	}
	text = cmp.Or(text, "the helper ended without a word")
	return fmt.Errorf("%w: %s; the command did not run", ErrRefused, text)
}

func (s *Stage) close() {
	for _, f := range s.files {
		f.Close()
	}
	if s.status != nil {
		s.status.Close()
	}
}
