package catalog

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// TestCommand returns the command line that runs the tests of the workspace, and
// where it comes from: a key of all, which has them by directory, or StagesFile. Both
// are empty if none is configured. A command for the directory comes before the
// project's own, as far as that is trusted, and that before the one for all.
func (d Decision) TestCommand(all map[string]string, warn func(format string, args ...any)) (command, from string) {
	if key := rootfs.Closest(slices.Collect(maps.Keys(all)), d.dir); key != "" {
		return all[key], key
	}
	if !d.ignores {
		stages, _, err := d.stages()
		if err != nil {
			warn("the project's test command is not known: %v", err) // what needs the stages fails by them
		}
		if command := stages.TestCommand(); command != "" {
			return command, StagesFile
		}
	}
	if command := all[configs.Any]; command != "" {
		return command, configs.Any
	}
	return "", ""
}

// Missing returns in a line what the workspace dir lacks for a tool to check
// anything with args, "" if nothing is lacking or that cannot be seen. test is
// the command that runs the project's tests, if one is configured. It is for
// agentfile.Env.Missing; it reads files and runs nothing.
func Missing(dir string, t tools.Tool, args json.RawMessage, test string) string {
	if t.Missing == nil {
		return ""
	}
	files, err := workspace.Open(dir, nil)
	if err != nil {
		return "" // the job itself says what is wrong with it
	}
	defer files.Close()
	return t.Missing(&tools.Env{Files: files, Artifacts: TestCommand(test)}, args)
}

// A TestCommand is the command that runs a project's tests as the artifact that
// tools are given, none if it is empty.
type TestCommand string

var _ tools.ArtifactReader = TestCommand("")

// Value implements tools.ArtifactReader.
func (c TestCommand) Value(name string) json.RawMessage {
	if name != tools.TestCommand || c == "" {
		return nil
	}
	b, err := json.Marshal(string(c))
	if err != nil {
		panic(err) // a string
	}
	return b
}

// Names implements tools.ArtifactReader.
func (c TestCommand) Names() []string {
	if c == "" {
		return nil
	}
	return []string{tools.TestCommand}
}
