//go:build unix

package request

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// Detach continues a job in the server, or in a process with a session of its own, so
// that neither the end of this process nor the closing of the terminal reaches it. It
// returns once that process has the job, which may be queued. Messages of that process go
// to a log beside the job, the job's events to the job's own log.
func Detach(ctx context.Context, e *kit.Env, c adroit.Client, id string, o adroit.StartOptions) error {
	if e.Served() {
		if _, err := c.Start(ctx, id, o); err != nil {
			return StartError(err)
		}
		return detached(ctx, e, c, id)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("detaching: %w", err)
	}
	data, err := e.DataDir()
	if err != nil {
		return err
	}
	cmd := hostexec.Command(context.WithoutCancel(ctx), self, "--data-dir", data, "continue", id, "--"+startFlag, startValue{&o}.String())
	cmd.Args[0] = os.Args[0] // a program of several names goes by the one it was called
	foreground := hint.Command("continue %s", id) + " runs it in the foreground"
	if l := o.Limits; l.Turns > 0 || l.Tokens > 0 || l.CostUSD > 0 || l.Time > 0 {
		foreground = hint.Command("jobs show %s", id) + " has the command that raises its limit in the foreground"
	}
	return detach(ctx, e, c, id, foreground, filepath.Join(data, "jobs", id, "logs"), cmd)
}

func detach(ctx context.Context, e *kit.Env, c adroit.Client, id, foreground, logs string, cmd *exec.Cmd) error {
	last, err := lastEvent(ctx, c, id)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return fmt.Errorf("detaching: %w", err)
	}
	log, err := rootfs.OpenLog(filepath.Join(logs, "runner.log"), 0)
	if err != nil {
		return fmt.Errorf("detaching: %w", err)
	}
	defer log.Close()
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("detaching: %w", err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return kit.Fail(fmt.Errorf("detaching: %w", err), foreground)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // until the process ends, or this one
	switch begun, err := taken(ctx, c, id, last, ended); {
	case err != nil:
		return err
	case !begun:
		said, _ := io.ReadAll(io.NewSectionReader(log, before, maxSaid))
		return kit.Fail(fmt.Errorf("the process in the background ended before it had the job %s%s", id, quoted(said)), foreground)
	}
	return detached(ctx, e, c, id)
}

// detached prints a job that runs on by itself.
func detached(ctx context.Context, e *kit.Env, c adroit.Client, id string) error {
	d, err := c.Job(ctx, id)
	if err != nil {
		return err
	}
	state := "running in the background"
	if d.Queue > 0 {
		state = fmt.Sprintf("queued in the background, number %d", d.Queue)
	}
	fmt.Fprintln(e.Out, id)
	fmt.Fprintf(e.Err, "%s    %s    %s    %s\n", state, hint.Command("jobs logs %s -f", id), hint.Command("jobs wait %s", id), hint.Command("jobs cancel %s", id))
	return nil
}

// taken waits until a job has begun to run: the first event of a run comes when
// its lease is taken. It reports false if the process has ended before.
func taken(ctx context.Context, c adroit.Client, id string, last int64, ended <-chan error) (bool, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for over := false; ; {
		now, err := lastEvent(ctx, c, id, last)
		if err != nil || now > last || over {
			return now > last, err
		}
		select {
		case <-ended:
			over = true // look once more
		case <-tick.C:
		case <-ctx.Done():
			return false, kit.Stopped(ctx)
		}
	}
}

// lastEvent is the number of a job's last event after those given.
func lastEvent(ctx context.Context, c adroit.Client, id string, after ...int64) (last int64, err error) {
	o := adroit.EventOptions{}
	if len(after) > 0 {
		o.After = after[0]
	}
	for ev, err := range c.Events(ctx, id, o) {
		if err != nil && ctx.Err() != nil {
			return 0, kit.Stopped(ctx)
		}
		if err != nil {
			return 0, err
		}
		last = ev.Seq
	}
	return last, nil
}

// maxSaid bounds what of a process's messages is repeated, in bytes.
const maxSaid = 4 << 10

// quoted formats the output of a process as the end of an error message, "" if there is
// none.
func quoted(said []byte) string {
	text := strings.TrimSpace(string(bytes.ToValidUTF8(said, nil)))
	if text == "" {
		return ""
	}
	return ":\n" + kit.Sanitize(strings.TrimPrefix(text, hint.Program()+": error: "))
}
