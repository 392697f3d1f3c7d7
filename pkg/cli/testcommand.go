package cli

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/tools/test"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// examineTests reports how the tests of the current directory are run.
func (a *app) examineTests() finding {
	const name = "tests"
	dir, err := env.Directory(".")
	if err != nil {
		return finding{name, lacks, err.Error(), ""}
	}
	rt, err := a.runtime()
	if err != nil {
		return finding{name, lacks, err.Error(), ""}
	}
	command, from, err := rt.TestCommandIn(dir, false)
	if err != nil {
		return finding{name, lacks, err.Error(), "adroit trust --list shows what is trusted"}
	}
	switch from {
	case "", adroit.ProjectStages:
	case adroit.AnyProject:
		from = "test in " + a.home(a.configPath())
	default:
		from = fmt.Sprintf("test of %s in %s", a.home(from), a.home(a.configPath()))
	}
	files, err := workspace.Open(dir, nil)
	if err != nil {
		return finding{name, lacks, err.Error(), ""}
	}
	defer files.Close()
	found, err := test.Find(files, command)
	switch {
	case err != nil:
		return finding{name, lacks, err.Error(), "correct the file"}
	case len(found) == 0:
		return finding{name, lacks, "no tests found in " + a.home(dir), "if there are some, name the command that runs them: test: COMMAND in " + adroit.ProjectStages + ", or adroit run --test COMMAND"}
	case command != "":
		return finding{name, fine, fmt.Sprintf("%s (from %s)", render.SanitizeLine(command), from), ""}
	}
	var all []string
	for _, s := range found {
		all = append(all, fmt.Sprintf("%s (found: %s)", s.Command, s.From))
	}
	return finding{name, fine, strings.Join(all, "; "), ""}
}
