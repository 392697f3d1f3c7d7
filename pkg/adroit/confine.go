package adroit

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/adroit-run/adroit/internal/executor/handler"
	"github.com/adroit-run/adroit/internal/workspace/process"
	"github.com/adroit-run/adroit/internal/workspace/sandbox"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// confine is how the commands of jobs run.
func (rt *Runtime) confine() process.SandboxOptions {
	c := rt.o.Sandbox
	c.Hide = append(slices.Clone(c.Hide), rt.home)
	if rt.o.Data != "" {
		c.Hide = append(c.Hide, rt.o.Data)
		if c.Cache == "" {
			c.Cache = filepath.Join(rt.o.Data, "cache")
		}
	}
	return c
}

// fence is what stands around the commands of a job here. Where they are
// refused there is none: then nobody reads that one would be confined. Finding
// out runs this program anew in a sandbox, so a job whose tools run nothing does
// not ask.
func (rt *Runtime) fence(ctx context.Context, j *jobs.Job, c JobConfig, m ModelSource) handler.Confinement {
	f := handler.Confinement{Sandbox: string(sandbox.Off), Network: "open"}
	if !rt.runsCommands(ctx, j, c, m) {
		return f
	}
	r := sandbox.Choose(cmp.Or(c.Sandbox, rt.o.Sandbox.Level, sandbox.Auto))
	if r.Err() != nil || r.Level == sandbox.Off {
		return f
	}
	f.Sandbox = string(r.Level)
	if !rt.o.Sandbox.NetOpen {
		f.Network = "private"
	}
	return f
}

// runsCommands reports whether a job may come to run a command.
func (rt *Runtime) runsCommands(ctx context.Context, j *jobs.Job, c JobConfig, m ModelSource) bool {
	const runs = tools.Exec | tools.Shell
	any := false
	set, _ := rt.tools() // nil is empty; whatever runs a tool reports what is wrong
	for t := range set.All() {
		any = any || t.Needs&runs != 0
	}
	if !any || j.Workflow != agents.Workflow.Name {
		return any
	}
	var in agents.Input
	if json.Unmarshal(j.Input, &in) != nil {
		return true
	}
	task, _, err := rt.resolve(ctx, in, c, m)
	return err != nil || task.Spawn != nil ||
		slices.ContainsFunc(slices.Concat(task.Tools, task.Checks), func(t executor.Tool) bool { return t.Needs&runs != 0 })
}
