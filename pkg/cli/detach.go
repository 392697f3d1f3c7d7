//go:build unix

package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// detach goes on with a job in a process of its own session, so that neither
// the end of this one nor that of the terminal reaches it. What it has to say
// goes to a log beside the job; what the job does goes to the job's own log.
func (a *app) detach(_ context.Context, j *jobs.Job, flags ...string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("detaching: %w", err)
	}
	data, err := a.dataDir()
	if err != nil {
		return err
	}
	logs := filepath.Join(data, "jobs", j.ID, "logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return fmt.Errorf("detaching: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(logs, "runner.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("detaching: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(self, append([]string{"--data-dir", data, "jobs", "resume", j.ID}, flags...)...)
	cmd.Args[0] = os.Args[0] // a program of several names goes by the one it was called
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return exit.Fail(fmt.Errorf("detaching: %w", err), "adroit jobs resume "+j.ID+" runs it in the foreground")
	}
	fmt.Fprintln(a.Stdout, j.ID)
	fmt.Fprintf(a.Stderr, "running in the background    adroit jobs logs %s -f    adroit jobs wait %s    adroit jobs cancel %s\n", j.ID, j.ID, j.ID)
	return cmd.Process.Release()
}
