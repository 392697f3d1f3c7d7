package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/builtin/test"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows"
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

// Missing describes in a line what the workspace dir lacks for a tool to check anything with args,
// or returns "" if nothing is lacking or that cannot be determined. test is the command that runs
// the project's tests, if one is configured. It is for [agents.Env]; it reads files and runs
// nothing.
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

// Bounds of the description of the workspace in a first message.
const (
	mostNames   = 60
	mostFolders = 40
	mostListed  = 5000
)

// Describe describes the workspace of files to an agent that is to change it: its files, or its
// directories if they are many, and, if tests is set, how the tests are run, by command if one is
// configured. denied are names that are left out, nil for the usual ones. It reads names and runs
// nothing; the result may be "".
func Describe(ctx context.Context, files *workspace.Files, tests bool, command string, denied *workspace.DenyList) string {
	if files == nil {
		return "" // the job itself says what is wrong with it
	}
	if denied != nil {
		files = files.WithDenyList(denied)
	}
	entries, more, err := files.List(ctx, workspace.ListOptions{Max: mostListed})
	if err != nil || len(entries) == 0 {
		return ""
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	text := "Files: " + strings.Join(names, ", ")
	if len(names) > mostNames {
		text = "Directories, with the number of their files: " + folders(names, more)
	}
	if !tests {
		return text
	}
	if command == "" {
		command = test.Command(files)
	}
	if command != "" {
		text += "\nTests: " + command
	}
	return text
}

// folders counts files by directory, those further up first.
func folders(names []string, more bool) string {
	count := map[string]int{}
	for _, name := range names {
		count[path.Dir(name)]++
	}
	dirs := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var out []string
	for _, dir := range dirs[:min(len(dirs), mostFolders)] {
		out = append(out, fmt.Sprintf("%s %d", dir, count[dir]))
	}
	if n := len(dirs) - mostFolders; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	} else if more {
		out = append(out, "and more")
	}
	return strings.Join(out, ", ")
}

// StagesFile lists the commands that validate a workspace.
const StagesFile = ".adroit/validation.yaml"

// Given returns the artifacts that the workspace provides to an agent: stages, if it takes them.
func (d Decision) Given(in agents.Input, cat *agents.Catalog) (map[string]json.RawMessage, error) {
	agent := in.Spec
	if agent == nil {
		var err error
		if agent, err = cat.Lookup(in.Agent); err != nil {
			return nil, nil // resolving it fails with this error
		}
	}
	takes := slices.ContainsFunc(agent.Inputs, func(f agents.Field) bool { return f.Artifact == "stages" && in.Inputs[f.Name] == nil })
	if !takes {
		return nil, nil
	}
	_, raw, err := d.stages()
	if raw == nil || err != nil {
		return nil, err
	}
	return map[string]json.RawMessage{"stages": raw}, nil
}

// stages reads the stages in the workspace's own file, as far as d trusts it; raw is nil if there
// is none.
func (d Decision) stages() (s workflows.Stages, raw json.RawMessage, err error) {
	if d.dir == "" {
		return s, nil, nil
	}
	b, err := fs.ReadFile(d.files(), StagesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil, nil
	}
	if err == nil {
		s, raw, err = ParseStages(b)
	}
	if err != nil {
		return s, nil, fmt.Errorf("%s: %w", StagesFile, err)
	}
	return s, raw, nil
}

// ParseStages reads stages as a person writes them.
func ParseStages(b []byte) (s workflows.Stages, raw json.RawMessage, err error) {
	text, err := rootfs.Plain(b)
	if err != nil {
		return s, nil, err
	}
	doc, bad := plainyaml.Parse(text, 1)
	if bad != nil {
		return s, nil, bad
	}
	var errs []error
	root := doc.Read(func(p plainyaml.Place, _, message string) {
		errs = append(errs, fmt.Errorf("line %d: %s", p.Line, message))
	})
	switch err := errors.Join(errs...); {
	case err != nil:
		return s, nil, err
	case root == nil:
		return s, nil, errors.New("it says nothing; write for example stages: [{name: lint, run: make lint}]")
	}
	raw = root.JSON()
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, nil, err
	}
	return s, raw, s.Check()
}
