package adroit

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/workspace"
	"github.com/adroit-run/adroit/pkg/workspace/sandbox"
)

// confine is how the commands of jobs run.
func (rt *Runtime) confine() workspace.Confine {
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

// fence is what stands around commands here. Where they are refused there is
// none to speak of: then nobody is told that one would be confined.
func (rt *Runtime) fence() executor.Fence {
	r := sandbox.Choose(cmp.Or(rt.o.Sandbox.Level, sandbox.Auto))
	f := executor.Fence{Sandbox: string(sandbox.Off), Network: "open"}
	if r.Err() != nil || r.Level == sandbox.Off {
		return f
	}
	f.Sandbox = string(r.Level)
	if !rt.o.Sandbox.NetOpen {
		f.Network = "private"
	}
	return f
}
