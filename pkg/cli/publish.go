package cli

import (
	"slices"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/publish"
	"github.com/adroit-run/adroit/pkg/workflows"
)

// publishing puts the publishing tools as the configuration sets them up in
// the place of those that know of no target.
func (a *app) publishing(list []tools.Tool) []tools.Tool {
	c, err := a.config()
	if err != nil {
		return list // whoever needs the configuration says what is wrong with it
	}
	conf := c.Publish.Targets()
	conf.Getenv, conf.Now = a.Getenv, a.now
	return publish.Configure(list, conf)
}

// workflows are those that ship and the program's own.
func (a *app) workflows() []flow.Workflow {
	return slices.Concat(workflows.All(), a.Workflows)
}
