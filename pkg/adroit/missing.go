package adroit

import (
	"encoding/json"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// missingFor returns in a line what the workspace dir lacks for a tool to check
// anything with args, "" if nothing is lacking or that cannot be seen. test is
// the command that runs the project's tests, if one is configured. It is for
// agents.Defaults.Missing; it reads files and runs nothing.
func missingFor(dir string, t tools.Tool, args json.RawMessage, test string) string {
	if t.Missing == nil {
		return ""
	}
	files, err := workspace.Open(dir, nil)
	if err != nil {
		return "" // the job itself says what is wrong with it
	}
	defer files.Close()
	return t.Missing(&tools.Env{Files: files, Artifacts: testCommand(test)}, args)
}

// testCommand has the command that runs a project's tests as the artifact that
// tools are given, none if it is empty.
type testCommand string

var _ tools.ArtifactReader = testCommand("")

// Value implements tools.ArtifactReader.
func (c testCommand) Value(name string) json.RawMessage {
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
func (c testCommand) Names() []string {
	if c == "" {
		return nil
	}
	return []string{tools.TestCommand}
}
