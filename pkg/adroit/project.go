package adroit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/plainyaml"
	"github.com/adroit-run/adroit/internal/projectdir"
	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/toolserver"
	"github.com/adroit-run/adroit/internal/workflows"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// What a workspace may bring. It is used only where the operator trusts it: an
// agent or a pipeline decides what runs.
const (
	projectStages = ".adroit/validation.yaml" // what must hold of it; it names commands
)

// A projectContext is what a job finds in its workspace besides its agent:
// skills to choose from, and what the project's own files tell agents.
type projectContext struct {
	skills   []agents.Skill
	project  agents.Project
	problems agents.Problems
	servers  map[string]toolserver.Tool // the tools that its servers have, by name
}

// projectContext reads that of a workspace, as far as d trusts it.
func (rt *Runtime) projectContext(ctx context.Context, dir string, d trustDecision) (p projectContext, err error) {
	if rt.ignores(d) {
		p.skills, p.problems = agents.LoadSkills(rt.o.Skills...)
		return p, nil
	}
	if p.skills, p.problems, err = rt.skills(dir, d); err != nil {
		return p, err
	}
	names, err := projectFiles(ctx, dir)
	if err != nil {
		return p, fmt.Errorf("looking for %s: %w", strings.Join(agents.ProjectFiles(), " and "), err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return p, err
	}
	defer root.Close()
	in := func(name string) bool { return d.trusted(filepath.Join(dir, filepath.FromSlash(name))) }
	var more agents.Problems
	p.project, more = agents.ReadProject(d.files(root), dir, names, in, rt.o.ProjectBytes)
	p.problems = append(p.problems, more...)
	return p, nil
}

// projectFiles lists the files in which the workspace instructs agents, as far
// as git does not ignore them; the one at the top in any case.
func projectFiles(ctx context.Context, dir string) ([]string, error) {
	files, err := workspace.Open(dir, nil)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	entries, _, err := files.List(ctx, workspace.ListOptions{Glob: "{" + strings.Join(agents.ProjectFiles(), ",") + "}", Hidden: true})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	for _, name := range agents.ProjectFiles() {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// skills loads the user's skills and those of dir that d trusts.
func (rt *Runtime) skills(dir string, d trustDecision) ([]agents.Skill, agents.Problems, error) {
	layers := slices.Clone(rt.o.Skills)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	files := d.files(root)
	for _, name := range projectdir.Skills {
		if _, err := fs.Stat(files, name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		sub, err := fs.Sub(files, name)
		if err != nil {
			return nil, nil, err
		}
		layers = append(layers, agents.Layer{Name: "project", FS: sub, Dir: filepath.Join(dir, filepath.FromSlash(name))})
	}
	skills, problems := agents.LoadSkills(layers...)
	return skills, problems, nil
}

// given are the artifacts that the workspace has for an agent: stages, for one
// that takes some.
func given(in agents.Input, cat *agents.Catalog, d trustDecision) (map[string]json.RawMessage, error) {
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

// stages are those of the workspace's own file, as far as d trusts it; raw is
// nil if there is none.
func (d trustDecision) stages() (s workflows.Stages, raw json.RawMessage, err error) {
	if d.dir == "" {
		return s, nil, nil
	}
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return s, nil, err
	}
	defer root.Close()
	b, err := fs.ReadFile(d.files(root), projectStages)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil, nil
	}
	if err == nil {
		s, raw, err = parseStages(b)
	}
	if err != nil {
		return s, nil, fmt.Errorf("%s: %w", projectStages, err)
	}
	return s, raw, nil
}

// parseStages reads stages as a person writes them.
func parseStages(b []byte) (s workflows.Stages, raw json.RawMessage, err error) {
	doc, bad := plainyaml.Parse(string(b), 1)
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

// testCommandIn returns the command line that runs the tests of a workspace, and
// where it comes from: a key of Options.TestCommands or ProjectStages. Both are
// empty if none is configured. A command for the directory comes before the
// project's own, as far as that is trusted, and that before the one for all.
func (rt *Runtime) testCommandIn(dir string) (command, from string, err error) {
	d, err := rt.trusts(dir, false)
	if err != nil {
		return "", "", err
	}
	command, from = rt.testCommand(dir, d)
	return command, from, nil
}

func (rt *Runtime) testCommand(dir string, d trustDecision) (command, from string) {
	all := rt.o.TestCommands
	if key := testKey(all, dir); key != "" {
		return all[key], key
	}
	if !rt.ignores(d) {
		stages, _, err := d.stages()
		if err != nil {
			rt.warn("the project's test command is not known: %v", err) // what needs the stages fails by them
		}
		if command := stages.TestCommand(); command != "" {
			return command, projectStages
		}
	}
	if command := all[projectdir.Any]; command != "" {
		return command, projectdir.Any
	}
	return "", ""
}

// testKey is the closest directory at or above dir that has a test command, ""
// if there is none.
func testKey(commands map[string]string, dir string) (key string) {
	if r, err := rootfs.Real(dir); err == nil {
		dir = r
	}
	longest := -1
	for _, k := range slices.Sorted(maps.Keys(commands)) {
		at := filepath.Clean(k)
		if r, err := rootfs.Real(at); err == nil {
			at = r
		}
		rel, err := filepath.Rel(at, dir)
		if k == projectdir.Any || err != nil || rel != "." && !filepath.IsLocal(rel) || len(at) <= longest {
			continue
		}
		key, longest = k, len(at)
	}
	return key
}
