package rootfs

import (
	"cmp"
	"io"
	"iter"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"golang.org/x/sys/unix"
)

const maxGitConfig = 1 << 20

// maxIncluded bounds how many files of settings are read: git includes them ten levels deep.
const maxIncluded = 100

// GitObeys reports whether git obeys p, a clean name without links, because of the
// settings of the repository that the tree is in, or of the user's own.
func (t *Tree) GitObeys(p string) bool {
	top, ok := Repository(t.Dir)
	if !ok {
		top = t.Dir
	}
	abs := path.Join(t.Dir, p)
	return slices.ContainsFunc(GitPlaces(top), func(at string) bool { return Within(at, abs) })
}

// GitPlaces returns the absolute names of what git obeys in a work tree besides its git directory:
// files that settings include, directories of hooks, and files that settings name to run. The
// settings come from the repository and the user, whose hooks may lie in each work tree.
func GitPlaces(top string) (places []string) {
	files := []string{os.Getenv("GIT_CONFIG_GLOBAL"), gitHome("~/.gitconfig"), path.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), gitHome("~/.config")), "git/config")}
	if dir := commonDir(top); dir != "" {
		files = append(files, path.Join(dir, "config"), path.Join(dir, "config.worktree"))
	}
	seen := map[string]bool{}
	for _, file := range files {
		if path.IsAbs(file) {
			places = append(places, gitPlaces(top, file, seen)...)
		}
	}
	return slices.DeleteFunc(places, func(at string) bool { return Within(at, top) })
}

// commonDir returns the git directory of a work tree that has its settings, "" if there is none.
func commonDir(top string) string {
	dir := path.Join(top, ".git")
	b, err := os.ReadFile(dir)
	if err != nil { // a directory
		return dir
	}
	to, ok := GitDirOf(b) // of a linked work tree, or a submodule
	if !ok {
		return ""
	}
	if !path.IsAbs(to) {
		to = path.Join(top, to)
	}
	if b, err := os.ReadFile(path.Join(to, "commondir")); err == nil {
		if dir = strings.TrimSpace(string(b)); !path.IsAbs(dir) {
			dir = path.Join(to, dir)
		}
		return dir
	}
	return to
}

// gitHome expands a name as git does in settings: "" if it cannot.
func gitHome(name string) string {
	rest, below := strings.CutPrefix(name, "~")
	if !below {
		return name
	}
	home, err := os.UserHomeDir()
	if err != nil || !strings.HasPrefix(rest, "/") {
		return ""
	}
	return path.Join(home, rest)
}

// gitPlaces reads each file once, however often settings include it.
func gitPlaces(top, config string, seen map[string]bool) (places []string) {
	if seen[config] || len(seen) == maxIncluded {
		return nil
	}
	seen[config] = true
	b := readRegular(config)
	at := func(dir, name string) string {
		if name = gitHome(name); !path.IsAbs(name) {
			name = path.Join(dir, name)
		}
		if links, err := hostexec.Links(name); err == nil && len(links) > 0 {
			return links[len(links)-1]
		}
		return path.Clean(name)
	}
	for s := range gitLines(b) {
		value := GitSettingValue(s.Value)
		switch {
		case value == "":
		case strings.HasPrefix(s.Section, "include") && s.Key == "path":
			name := at(path.Dir(config), value)
			places = append(append(places, name), gitPlaces(top, name, seen)...)
		case s.Section == "core" && s.Key == "hookspath", s.Section == "init" && s.Key == "templatedir":
			hooks := at(top, strings.ReplaceAll(value, `\\`, `\`))
			if path.Base(hooks) == "_" { // husky's only run those around them
				hooks = path.Dir(hooks)
			}
			places = append(places, hooks)
		case !gitReads(s):
			for _, word := range strings.FieldsFunc(s.Value, func(r rune) bool { return strings.ContainsRune(" \t\\\"'`!;&|()<>$", r) }) {
				if !strings.Contains(word, "/") || gitHome(word) == "" {
					continue
				}
				word = at(top, word)
				if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
					places = append(places, word)
				}
			}
		}
	}
	return places
}

// gitReads reports whether a setting names addresses, or files that are read and not obeyed.
func gitReads(s GitSetting) bool {
	section, _, _ := strings.Cut(s.Section, " ")
	return slices.Contains([]string{"remote", "branch", "url", "submodule", "includeif"}, section) ||
		slices.Contains([]string{"excludesfile", "attributesfile", "ignorerevsfile", "template", "worktree"}, s.Key)
}

// readRegular returns the content of a file of settings, nil if it is none.
func readRegular(name string) []byte {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxGitConfig {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(f, maxGitConfig))
	if err != nil {
		return nil
	}
	return b
}

// gitLines yields settings as far as they can be read, one a line, their sections in lower case
// with what is quoted in them. Unlike [GitSettings] it accepts what git would.
func gitLines(config []byte) iter.Seq[GitSetting] {
	return func(yield func(GitSetting) bool) {
		section := ""
		for line := range strings.Lines(string(config)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "[") {
				head, rest, _ := strings.Cut(line, "]")
				section, line = strings.ToLower(strings.TrimSpace(head[1:])), strings.TrimSpace(rest)
			}
			key, value, ok := strings.Cut(line, "=")
			if ok && !yield(GitSetting{Section: section, Key: strings.ToLower(strings.TrimSpace(key)), Value: value}) {
				return
			}
		}
	}
}

// GitHooksPath returns the core.hooksPath setting of a repository (husky and lefthook set it) as
// it is written there, or "". Settings that others include are not followed.
func GitHooksPath(config []byte) (found string) {
	for s := range gitLines(config) {
		if s.Section == "core" && s.Key == "hookspath" {
			found = strings.ReplaceAll(GitSettingValue(s.Value), `\\`, `\`) // the last one counts
		}
	}
	if strings.HasPrefix(found, "~") {
		return "" // see GitPlaces
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
