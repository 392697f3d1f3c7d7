package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A notice is what a hook gets at the end of a run.
type notice struct {
	When   When        `json:"when"`
	Job    string      `json:"job"`
	Status jobs.Status `json:"status"`
	Reason string      `json:"reason,omitempty"`
	Agent  string      `json:"agent,omitempty"`
	Title  string      `json:"title,omitempty"`
	Model  string      `json:"model,omitempty"`
	Dir    string      `json:"dir,omitempty"`
}

// desktop are the variables by which a program reaches the screen of the person
// that it notifies. They are no secrets, and not among those that commands get.
var desktop = []string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"}

// Notify runs the hooks of Ended about a job, one after the other, each within its
// time. The error names those that failed.
func (r *Runner) Notify(ctx context.Context, j *jobs.Job) error {
	in, err := json.Marshal(notice{Ended, j.ID, j.Status, j.Reason, j.Agent, j.Title, j.Model, j.Dir})
	if err != nil {
		return err
	}
	env := []string{"ADROIT_JOB=" + j.ID, "ADROIT_STATUS=" + string(j.Status), "ADROIT_REASON=" + text(j.Reason), "ADROIT_AGENT=" + text(j.Agent), "ADROIT_TITLE=" + text(j.Title), "ADROIT_DIR=" + text(j.Dir)}
	for _, name := range desktop {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	var errs []error
	for _, h := range r.list {
		if h.When != Ended || len(h.Status) > 0 && !slices.Contains(h.Status, string(j.Status)) {
			continue
		}
		if err := r.notify(ctx, h, in, env); err != nil {
			errs = append(errs, fmt.Errorf("hook %s %s: %w", filepath.Base(h.Command[0]), h.When, err))
		}
	}
	return errors.Join(errs...)
}

func (r *Runner) notify(ctx context.Context, h Hook, in []byte, env []string) error {
	limit := h.Timeout
	limit = cmp.Or(limit, noticeTimeout)
	o, err := r.exec.Run(ctx, process.Cmd{Args: h.Command, Env: env, Stdin: in, Stdout: &bounded{}, Timeout: limit})
	switch {
	case err != nil:
		return err
	case o.TimedOut:
		return fmt.Errorf("it did not end within %s and was killed", limit)
	case o.Code != 0:
		return fmt.Errorf("exit code %d: %s", o.Code, spelling.Clip(strings.TrimSpace(o.Text), 300))
	}
	return nil
}

// text is what an environment variable can hold.
func text(s string) string { return strings.ReplaceAll(s, "\x00", "") }
