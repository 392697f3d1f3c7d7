//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/adroit-run/adroit/internal/system/hostexec"
)

// A Stage is a command on its way into the sandbox.
type Stage struct {
	level  Level
	files  []*os.File // handed to the child
	status *os.File
}

// Wrap changes cmd, which is not started yet, so that it starts confined. It keeps cmd's files,
// environment and SysProcAttr and adds to the latter. The policy's level is set to level. Call
// Started with the result of cmd.Start.
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

var (
	bwrapOnce  sync.Once
	bwrapFound bwrapMount
)

// bwrapMounts determines who makes the mounts at the level Bubblewrap on this machine.
func bwrapMounts() bwrapMount {
	bwrapOnce.Do(func() {
		bwrapFound = mountsByName
		if attempt(Bubblewrap, mountsInside) == nil {
			bwrapFound = mountsInside
		}
	})
	return bwrapFound
}

func attempt(l Level, mounts bwrapMount) error {
	if l == Bubblewrap {
		if _, err := hostexec.Find("bwrap"); err != nil {
			return errors.New("bwrap is not installed")
		}
	}
	dir, err := probeDir()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	ws := filepath.Join(dir, "ws")
	if err := os.Mkdir(ws, 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	// The last word shows that the view is the one that was asked for.
	script := "echo x >" + "inside && ! echo x 2>/dev/null >/adroit-probe && echo confined"
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	cmd.Dir, cmd.Env = ws, probeEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var said, out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	st, err := Wrap(cmd, l, &Policy{Dir: ws, Write: []string{ws}, Private: filepath.Join(dir, "private"), Mounts: mounts})
	if err != nil {
		return err
	}
	err = st.Started(cmd.Start())
	if cmd.Process != nil {
		werr := cmd.Wait()
		if err == nil {
			err = werr
		}
	}
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	if err == nil && strings.TrimSpace(out.String()) != "confined" {
		err = errors.New("a command could write outside of its workspace")
	}
	return err
}

// probeEnv returns the environment of a probe. It keeps GORACE: otherwise a helper that was built
// with -race sleeps for a second before it exits.
func probeEnv() []string {
	return []string{"PATH=/usr/bin:/bin", "GORACE=" + os.Getenv("GORACE")}
}

// notRun ends the errors of a level under which the command did not run.
const notRun = "; the command did not run"

// Started returns nil when the command is running under its policy, or else the reason why it is
// not. err is the result of cmd.Start. After an error the process, if there is one, is about to
// end and must still be waited for.
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
	text, number := readNumber(text)
	if number != nil {
		return fmt.Errorf("%w: %s: %w"+notRun, ErrRefused, text, number)
	}
	if _, what, changed := strings.Cut(text, ErrChanged.Error()+": "); changed {
		return fmt.Errorf("%w: %w: %s"+notRun, ErrRefused, ErrChanged, what)
	}
	if rest, mine := strings.CutPrefix(text, commandMark); mine {
		if name, missing := strings.CutSuffix(rest, notFound); missing {
			return &exec.Error{Name: name, Err: exec.ErrNotFound}
		}
		return errors.New(rest)
	}
	text = cmp.Or(text, "the helper process of the sandbox gave no reason")
	return fmt.Errorf("%w: %s"+notRun, ErrRefused, text)
}

func (s *Stage) close() {
	for _, f := range s.files {
		f.Close()
	}
	if s.status != nil {
		s.status.Close()
	}
}
