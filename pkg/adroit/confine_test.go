package adroit_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/partstest"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A job in mode auto runs commands unasked where a sandbox confines them, and
// asks where none does; the question says which.
func TestAuto(t *testing.T) {
	agent := agents.DynamicAgent{Name: "worker", Description: "Work.", Prompt: "You work.", Tools: []string{"shell"}, Mode: executor.ModeAuto}
	const turns = "turns:\n  - calls: [{name: shell, args: {command: echo hi >made}}]\n  - text: Done."
	for _, c := range []struct {
		level sandbox.Level
		asks  bool
	}{{sandbox.Auto, sandbox.Choose(sandbox.Auto).Level == sandbox.Off}, {sandbox.Off, true}} {
		if sandbox.Choose(c.level).Err() != nil {
			t.Logf("%s cannot be had here", c.level)
			continue
		}
		dir := t.TempDir()
		rt := open(t, adroit.Options{Tools: []tools.Tool{partstest.Tool("shell")}, Models: scripted(t, turns), Workspace: adroit.Workspace{Dir: dir, Sandbox: process.SandboxOptions{Level: c.level}},
			Defaults: agents.Defaults{Mode: executor.ModeAuto}})
		job, err := rt.Agent(agent).Execute(t.Context(), agents.Input{Prompt: "go"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = job.Wait(t.Context())
		var waits *adroit.StatusError
		if asked := errors.As(err, &waits) && waits.Job.Status == jobs.Waiting; asked != c.asks || err != nil && !asked {
			t.Errorf("%s: asked is %v, want %v; %v", c.level, asked, c.asks, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "made")); (err == nil) == c.asks {
			t.Errorf("%s: made: %v", c.level, err)
		}
		if !c.asks {
			continue
		}
		var q []jobs.Question
		waiting, err := jobs.Find(t.Context(), manager(t, rt).Store, job.ID())
		if err == nil {
			q = waiting.Questions
		}
		var about executor.Question
		switch {
		case err != nil:
			t.Errorf("unexpected error: %s: the question is %+v, %v", c.level, q, err)
		case len(q) != 1:
			t.Errorf("len(q) is %v, want 1: %s: the question is %+v, %v", len(q), c.level, q, err)
		case json.Unmarshal(q[0].About, &about) != nil:
			t.Errorf("json.Unmarshal(q[0].About, &about) is not nil: %s: the question is %+v, %v", c.level, q, err)
		case about.Sandbox != "off":
			t.Errorf(`about.Sandbox is %v, want "off": %s: the question is %+v, %v`, about.Sandbox, c.level, q, err)
		case about.Network != "open":
			t.Errorf(`about.Network is %v, want "open": %s: the question is %+v, %v`, about.Network, c.level, q, err)
		}
	}
}
