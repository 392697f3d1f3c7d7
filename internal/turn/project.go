package turn

import (
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
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

// Unseen gives the texts that hold for what a call with these arguments touches, the
// outermost first, and adds their directories to seen: no text is shown twice.
func (p *Project) Unseen(args json.RawMessage, seen []string) (texts string, now []string) {
	var v any
	if p == nil || len(p.Texts) == 0 || json.Unmarshal(args, &v) != nil {
		return "", seen
	}
	touched := touchedPaths(p.Dir, v, 0)
	for _, t := range p.Texts {
		below := func(name string) bool { return name == t.Dir || strings.HasPrefix(name, t.Dir+"/") }
		if !slices.Contains(seen, t.Dir) && slices.ContainsFunc(touched, below) {
			seen = append(seen, t.Dir)
			texts += "\n\n" + t.Text
		}
	}
	return texts, seen
}

// maxNest bounds how deep arguments are searched for paths.
const maxNest = 4

// touchedPaths finds what looks like names of files in a call's arguments, relative
// to the workspace dir.
func touchedPaths(dir string, v any, depth int) []string {
	if depth > maxNest {
		return nil
	}
	var out []string
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, touchedPaths(dir, e, depth+1)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if slices.Contains([]string{"path", "paths", "file", "files", "dir", "from", "to"}, key) {
				out = append(out, fileNames(dir, v[key])...)
			}
			out = append(out, touchedPaths(dir, v[key], depth+1)...)
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
