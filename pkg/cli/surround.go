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

// surround reads the surroundings of a workspace. trusted says of a path in it
// whether the operator vouches for what is there.
func (a *app) surround(ctx context.Context, dir string, trusted func(path string) bool) (surroundings, error) {
	var s surroundings
	conf, err := a.config()
	if err != nil {
		return s, err
	}
	var ps agents.Problems
	if s.skills, ps, err = a.skills(dir, trusted); err != nil {
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
	in := func(name string) bool { return trusted(filepath.Join(dir, filepath.FromSlash(name))) }
	s.project, ps = agents.ReadProject(root.FS(), dir, names, in, conf.Conventions.Bytes)
	s.problems = append(s.problems, ps...)
	return s, nil
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

// skills loads the user's skills and, where it is trusted, those of dir.
func (a *app) skills(dir string, trusted func(path string) bool) ([]agents.Skill, agents.Problems, error) {
	var layers []agents.Layer
	if d := a.configDir(); d != "" {
		layers = append(layers, layer("user", filepath.Join(d, "skills"), false))
	}
	if dir != "" {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, nil, err
		}
		defer root.Close()
		for _, name := range projectSkills() {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if _, err := root.Stat(filepath.FromSlash(name)); errors.Is(err, fs.ErrNotExist) || !trusted(path) {
				continue
			}
			// Below the root, a link cannot lead out of the workspace.
			sub, err := fs.Sub(root.FS(), name)
			if err != nil {
				return nil, nil, err
			}
			layers = append(layers, agents.Layer{Name: "project", FS: sub, Dir: path})
		}
	}
	skills, problems := agents.LoadSkills(layers...)
	return skills, problems, nil
}

// tellSurroundings says what of the surroundings is not used, and why.
func (a *app) tellSurroundings(s surroundings) {
	for _, p := range s.problems {
		fmt.Fprintf(a.Stderr, "adroit: note: %s\n", lines(p.String()))
	}
}
