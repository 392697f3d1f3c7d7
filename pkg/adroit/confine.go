package adroit

import (
	"path/filepath"
	"slices"

	"github.com/adroit-run/adroit/pkg/workspace"
)

// confined is how the commands of a job run whose directory is home.
func (rt *Runtime) confined(home string) workspace.Option {
	c := rt.o.Sandbox
	c.Private = filepath.Join(home, "sandbox")
	c.Hide = append(slices.Clone(c.Hide), rt.home)
	if rt.o.Data != "" {
		c.Hide = append(c.Hide, rt.o.Data)
		if c.Cache == "" {
			c.Cache = filepath.Join(rt.o.Data, "cache")
		}
	}
	return workspace.Confined(c)
}
