package workspace

import (
	"os"
	"path/filepath"
	"strings"
)

// hooksIn is where a repository keeps its hooks if its settings say so
// (core.hooksPath, as husky and lefthook set it), an absolute path; "" if they
// say nothing of it. Settings that others include are not followed.
func hooksIn(repo string) string {
	info, err := os.Lstat(filepath.Join(repo, "config"))
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return ""
	}
	b, err := os.ReadFile(filepath.Join(repo, "config"))
	if err != nil {
		return ""
	}
	section, found := "", ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, _ := strings.Cut(line, "]")
			section, line = strings.ToLower(strings.TrimSpace(head[1:])), strings.TrimSpace(rest)
		}
		key, value, ok := strings.Cut(line, "=")
		if section != "core" || !ok || !strings.EqualFold(strings.TrimSpace(key), "hookspath") {
			continue
		}
		value = strings.TrimSpace(value)
		if quoted, ok := strings.CutPrefix(value, `"`); ok {
			value, _, _ = strings.Cut(quoted, `"`)
		} else if i := strings.IndexAny(value, "#;"); i >= 0 {
			value = strings.TrimSpace(value[:i])
		}
		found = strings.ReplaceAll(value, `\\`, `\`) // the last one counts
	}
	switch {
	case found == "" || strings.HasPrefix(found, "~"):
		return ""
	case filepath.IsAbs(found):
		return filepath.Clean(found)
	case filepath.Base(repo) == ".git":
		return filepath.Join(filepath.Dir(repo), found)
	}
	return "" // relative to a work tree that is not known here
}

// hookDirs are what must not change for hooks in dir, which lies in tree, to stay
// what they are: husky's own files only run those of the directory around them.
func hookDirs(tree, dir string) []string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = dir
	}
	if !within(tree, real) || real == tree {
		return nil
	}
	out := []string{real}
	if around := filepath.Dir(real); filepath.Base(real) == "_" && around != tree {
		out = []string{around}
	}
	return out
}
