package config

import (
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Options returns the options of a runtime with what the user has configured, in
// the file and in the environment that getenv reads: models, agents, pipelines,
// limits, permissions, sandbox, trust and the jobs of the command line. Tools, and
// workflows beside those that ship, are the program's.
func Options(getenv func(string) string, list []tools.Tool, more ...flow.Workflow) (adroit.Options, error) {
	c, err := Load(Env{Getenv: getenv}, Flags{})
	if err != nil {
		return adroit.Options{}, err
	}
	return c.Options(Program{Tools: list, Workflows: more})
}
