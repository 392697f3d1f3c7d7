package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/render"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// projectSkills are where a workspace keeps skills, the stronger last.
func projectSkills() []string { return []string{".claude/skills", ".adroit/skills"} }

// surroundings are what a job finds around it besides its agent: skills to
// choose from, and what the project says about itself.
type surroundings struct {
	skills   []agents.Skill
	project  agents.Project
	problems agents.Problems
}

// surround reads the surroundings of a workspace, as far as v vouches for them.
func (a *app) surround(ctx context.Context, dir string, v vouch) (surroundings, error) {
	var s surroundings
	conf, err := a.config()
	if err != nil {
		return s, err
	}
	var ps agents.Problems
	if s.skills, ps, err = a.skills(dir, v); err != nil {
		return s, err
	}
	s.problems = append(s.problems, ps...)
	names, err := words(ctx, dir)
	if err != nil {
		return s, fmt.Errorf("looking for %s: %w", strings.Join(agents.ProjectFiles(), " and "), err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return s, err
	}
	defer root.Close()
	in := func(name string) bool { return v.trusted(filepath.Join(dir, filepath.FromSlash(name))) }
	s.project, ps = agents.ReadProject(v.files(root), dir, names, in, conf.Conventions.Bytes)
	s.problems = append(s.problems, ps...)
	return s, nil
}

// files are those of the workspace that have a say, as they were when that was
// judged. Below the root, a link cannot lead out of the workspace.
func (v vouch) files(root *os.Root) fs.FS {
	if v.all {
		return root.FS()
	}
	return v.status.FS()
}

// words lists the files in which the workspace speaks of itself, as far as git
// does not ignore them; the one at the top in any case.
func words(ctx context.Context, dir string) ([]string, error) {
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

// skills loads the user's skills and those of dir that v vouches for.
func (a *app) skills(dir string, v vouch) ([]agents.Skill, agents.Problems, error) {
	var layers []agents.Layer
	if d := a.configDir(); d != "" {
		layers = append(layers, layer("user", filepath.Join(d, "skills"), false))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	files := v.files(root)
	for _, name := range projectSkills() {
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

// tellSurroundings says what of the surroundings is not used, and why.
func (a *app) tellSurroundings(s surroundings) {
	for _, p := range s.problems {
		fmt.Fprintf(a.Stderr, "adroit: note: %s\n", render.Sanitize(p.String()))
	}
}
