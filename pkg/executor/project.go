package executor

import (
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/pkg/llm"
)

// projectTexts gives the texts that hold for what the call touched and that the
// model has not been shown, the outermost first.
func (s *State) projectTexts(p *stepio.Project, c llm.Call, r ToolResult) string {
	if p == nil || len(p.Texts) == 0 || r.Failed {
		return ""
	}
	var touched []string
	var args any
	if json.Unmarshal(c.Args, &args) == nil {
		touched = projectPaths(p.Dir, args, 0)
	}
	var b strings.Builder
	for _, says := range p.Texts {
		below := func(name string) bool { return name == says.Dir || strings.HasPrefix(name, says.Dir+"/") }
		if slices.Contains(s.ShownDirs, says.Dir) || !slices.ContainsFunc(touched, below) {
			continue
		}
		s.ShownDirs = append(s.ShownDirs, says.Dir)
		b.WriteString("\n\n" + says.Text)
	}
	return b.String()
}

// maxNest bounds how deep arguments are searched for paths.
const maxNest = 4

// projectPaths finds what looks like names of files in a call's arguments, relative
// to the workspace dir.
func projectPaths(dir string, v any, depth int) []string {
	if depth > maxNest {
		return nil
	}
	var out []string
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, projectPaths(dir, e, depth+1)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if slices.Contains([]string{"path", "paths", "file", "files", "dir", "from", "to"}, key) {
				out = append(out, fileNames(dir, v[key])...)
			}
			out = append(out, projectPaths(dir, v[key], depth+1)...)
		}
	}
	return out
}

func fileNames(dir string, v any) []string {
	switch v := v.(type) {
	case string:
		name := filepath.ToSlash(v)
		if dir != "" && path.IsAbs(name) {
			name = strings.TrimPrefix(name, strings.TrimSuffix(filepath.ToSlash(dir), "/")+"/")
		}
		return []string{path.Clean(name)}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, fileNames(dir, s)...)
			}
		}
		return out
	}
	return nil
}
