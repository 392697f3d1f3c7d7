package executor

import (
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// A Project is what parts of a workspace say about themselves. It is pinned
// with the task: the model is shown a part when a call first touches it, in
// the same words however often the run is interrupted.
type Project struct {
	Dir   string    `json:"dir,omitempty"` // the workspace, absolute, as calls may name it
	Texts []DirText `json:"says,omitempty"`
}

// DirText is the text that holds for a directory of the workspace and all below.
type DirText struct {
	Dir  string `json:"dir"` // relative, with slashes
	Text string `json:"text"`
}

// projectTexts gives the texts that hold for what the call touched and that the
// model has not been shown, the outermost first.
func (s *State) projectTexts(p *Project, c llm.Call, r ToolResult) string {
	if p == nil || len(p.Texts) == 0 || r.Failed {
		return ""
	}
	var touched []string
	var args any
	if json.Unmarshal(c.Args, &args) == nil {
		touched = p.paths(args, 0)
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

// paths finds what looks like names of files in a call's arguments, relative
// to the workspace.
func (p *Project) paths(v any, depth int) []string {
	if depth > maxNest {
		return nil
	}
	var out []string
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, p.paths(e, depth+1)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if slices.Contains([]string{"path", "paths", "file", "files", "dir", "from", "to"}, key) {
				out = append(out, p.names(v[key])...)
			}
			out = append(out, p.paths(v[key], depth+1)...)
		}
	}
	return out
}

func (p *Project) names(v any) []string {
	switch v := v.(type) {
	case string:
		name := filepath.ToSlash(v)
		if p.Dir != "" && path.IsAbs(name) {
			name = strings.TrimPrefix(name, strings.TrimSuffix(filepath.ToSlash(p.Dir), "/")+"/")
		}
		return []string{path.Clean(name)}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, p.names(s)...)
			}
		}
		return out
	}
	return nil
}
