package cli

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/cli/exit"
	"github.com/adroit-run/adroit/pkg/cli/render"
	"github.com/adroit-run/adroit/pkg/tools/test"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// anyProject is the key of the configuration's test for projects that it does
// not name.
const anyProject = "*"

// testCommand is the command line that runs the tests of a workspace, and where
// it is configured; empty if it is not. A command that the configuration has for the
// directory comes before the project's own, as far as v trusts it, and that
// before the one that the configuration has for all projects.
func (a *app) testCommand(dir string, v vouch) (command, from string, err error) {
	conf, err := a.config()
	if err != nil {
		return "", "", err
	}
	if key, ok := a.testKey(conf, dir); ok {
		return conf.Test[key], fmt.Sprintf("test of %s in %s", key, a.home(a.configPath())), nil
	}
	stages, _, err := v.stages()
	if err != nil {
		a.note("the project's test command is not known: %v", err) // what needs the stages fails by them
	}
	if command := stages.TestCommand(); command != "" {
		return command, projectStages, nil
	}
	if command := conf.Test[anyProject]; command != "" {
		return command, "test in " + a.home(a.configPath()), nil
	}
	return "", "", nil
}

// testKey is the closest directory at or above dir that the configuration has
// a test command for.
func (a *app) testKey(conf *config, dir string) (key string, ok bool) {
	if real, err := realPath(dir); err == nil {
		dir = real
	}
	longest := -1
	for _, k := range slices.Sorted(maps.Keys(conf.Test)) {
		at := filepath.Clean(a.tilde(k))
		if real, err := realPath(at); err == nil {
			at = real
		}
		rel, err := filepath.Rel(at, dir)
		if k == anyProject || err != nil || rel != "." && !filepath.IsLocal(rel) || len(at) <= longest {
			continue
		}
		key, ok, longest = k, true, len(at)
	}
	return key, ok
}

func (c *config) checkTest(where string) error {
	for _, dir := range slices.Sorted(maps.Keys(c.Test)) {
		switch {
		case dir != anyProject && !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "~/"):
			return exit.Fail(fmt.Errorf("%s: test: %q is no directory", where, dir), "for example test: {~/shop: make check}, or \"*\" for all projects")
		case strings.TrimSpace(c.Test[dir]) == "":
			return exit.Fail(fmt.Errorf("%s: test: %q has no command", where, dir), "for example test: {~/shop: make check}")
		}
	}
	return nil
}

func (c *config) testSettings() (out []setting) {
	for _, dir := range slices.Sorted(maps.Keys(c.Test)) {
		out = append(out, setting{"test." + dir, c.Test[dir], true})
	}
	return out
}

// examineTests reports how the tests of the current directory are run.
func (a *app) examineTests() finding {
	const name = "tests"
	dir, err := directory(".")
	if err != nil {
		return finding{name, lacks, err.Error(), ""}
	}
	v, err := a.vouchFor(dir, false)
	if err != nil {
		return finding{name, lacks, err.Error(), "adroit trust --list shows what is trusted"}
	}
	command, from, err := a.testCommand(dir, v)
	if err != nil {
		return finding{name, broke, err.Error(), "correct the file"}
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
		return finding{name, lacks, "no tests found in " + a.home(dir), "if there are some, name the command that runs them: test: COMMAND in " + projectStages + ", or adroit run --test COMMAND"}
	case command != "":
		return finding{name, fine, fmt.Sprintf("%s (from %s)", render.SanitizeLine(command), from), ""}
	}
	var all []string
	for _, s := range found {
		all = append(all, fmt.Sprintf("%s (found: %s)", s.Command, s.From))
	}
	return finding{name, fine, strings.Join(all, "; "), ""}
}
