package rootfs

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

const maxGitConfig = 1 << 20

// maxInclude bounds how deep settings include each other, as git does.
const maxInclude = 10

// GitObeys reports whether git obeys p, a clean name without links, because of the
// settings of the repository that the tree is in: they include it, or have their hooks
// there.
func (t *Tree) GitObeys(p string) bool {
	top, ok := Repository(t.Dir)
	if !ok {
		return false
	}
	dir := path.Join(top, ".git")
	if b, err := os.ReadFile(dir); err == nil { // of a linked work tree, or a submodule
		to, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir:")
		if !ok {
			return false
		}
		if to = strings.TrimSpace(to); !path.IsAbs(to) {
			to = path.Join(top, to)
		}
		dir = to
		if b, err := os.ReadFile(path.Join(dir, "commondir")); err == nil {
			if to = strings.TrimSpace(string(b)); !path.IsAbs(to) {
				to = path.Join(dir, to)
			}
			dir = to
		}
	}
	abs := path.Join(t.Dir, p)
	for _, name := range []string{"config", "config.worktree"} {
		if gitObeys(top, path.Join(dir, name), abs, 0) {
			return true
		}
	}
	return false
}

func gitObeys(top, config, abs string, depth int) bool {
	info, err := os.Stat(config)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxGitConfig || depth == maxInclude {
		return false
	}
	b, err := os.ReadFile(config)
	if err != nil {
		return false
	}
	at := func(dir, name string) string {
		if !path.IsAbs(name) {
			name = path.Join(dir, name)
		}
		if real, err := filepath.EvalSymlinks(name); err == nil {
			return real
		}
		return path.Clean(name)
	}
	if hooks := GitHooksPath(b); hooks != "" {
		if hooks = at(top, hooks); path.Base(hooks) == "_" { // husky's only run those around them
			hooks = path.Dir(hooks)
		}
		if hooks != top && Within(hooks, abs) {
			return true
		}
	}
	for _, name := range GitIncluded(b) {
		name = at(path.Dir(config), name)
		if name == abs || gitObeys(top, name, abs, depth+1) {
			return true
		}
	}
	return false
}

// GitHooksPath returns the core.hooksPath setting of a repository (husky and lefthook set it) as
// it is written there, or "". Settings that others include are not followed.
func GitHooksPath(config []byte) string {
	section, found := "", ""
	for line := range strings.Lines(string(config)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, _ := strings.Cut(line, "]")
			section, line = strings.ToLower(strings.TrimSpace(head[1:])), strings.TrimSpace(rest)
		}
		key, value, ok := strings.Cut(line, "=")
		if section != "core" || !ok || !strings.EqualFold(strings.TrimSpace(key), "hookspath") {
			continue
		}
		value = GitSettingValue(value)
		found = strings.ReplaceAll(value, `\\`, `\`) // the last one counts
	}
	if strings.HasPrefix(found, "~") {
		return ""
	}
	return found
}

// GitSettingValue returns the value after the equals sign, without quotes and comment.
func GitSettingValue(text string) string {
	text = strings.TrimSpace(text)
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		text, _, _ = strings.Cut(quoted, `"`)
	} else if i := strings.IndexAny(text, "#;"); i >= 0 {
		text = strings.TrimSpace(text[:i])
	}
	return text
}

// GitIncluded lists the files that settings include, as they are written there.
func GitIncluded(config []byte) (files []string) {
	section := ""
	for line := range strings.Lines(string(config)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, _ := strings.Cut(line, "]")
			section, line = strings.ToLower(strings.TrimSpace(head[1:])), strings.TrimSpace(rest)
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || !strings.HasPrefix(section, "include") || !strings.EqualFold(strings.TrimSpace(key), "path") {
			continue
		}
		value = GitSettingValue(value)
		if value != "" && !strings.HasPrefix(value, "~") {
			files = append(files, value)
		}
	}
	return files
}

// Joined resolves a name relative to a directory, both relative to the root of a tree whose
// absolute name is root. It fails for names outside of the tree.
func Joined(root, dir, name string) (string, bool) {
	abs := name
	if !path.IsAbs(name) {
		abs = path.Join(root, dir, name)
	}
	abs = path.Clean(abs)
	switch {
	case abs == root:
		return ".", true
	case !Within(root, abs):
		return "", false
	}
	return strings.TrimPrefix(strings.TrimPrefix(abs, root), "/"), true
}
