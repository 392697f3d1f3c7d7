package rootfs

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// GitInUse is the name of an empty directory that lies beside a branch while a job works on it, in
// a work tree of its own. Git never takes a name with a leading dot for a branch. Git removes the
// directory of a branch that it packs if the directory is empty, and a command whose sandbox
// cannot make it again cannot commit.
const GitInUse = ".in-use"

var (
	errNotOwn = errors.New("the git directory is not that of this work tree")
	// ErrGitOther: a .git file leads to the git directory of a linked work tree that has another place.
	ErrGitOther = errors.New("the git directory names another work tree")
	// ErrGitUnnamed: a .git file leads to a git directory that names no work tree.
	ErrGitUnnamed = errors.New("the git directory names no work tree")
)

// GitDirs returns the git directory of a work tree, which names the work tree as its own, and the
// git directory of its repository, which differs for a linked work tree. Top is absolute and has
// no links.
func GitDirs(top string) (dir, common string, err error) {
	at := path.Join(top, ".git")
	info, err := os.Lstat(at)
	switch {
	case err != nil:
		return "", "", err
	case info.IsDir():
		return at, at, nil
	}
	if dir, err = ledTo(at, info); err != nil {
		return "", "", err
	}
	b, err := os.ReadFile(path.Join(dir, "gitdir"))
	if err != nil {
		return dir, dir, ownDir(dir, top)
	}
	// It is of a linked work tree.
	if back, err := realBelow(dir, strings.TrimRight(string(b), "\r\n")); err != nil || back != at {
		return "", "", ErrGitOther
	}
	if b, err = os.ReadFile(path.Join(dir, "commondir")); err != nil {
		return "", "", err
	}
	common, err = realBelow(dir, strings.TrimRight(string(b), "\r\n"))
	if err != nil || path.Dir(path.Dir(dir)) != common || path.Base(path.Dir(dir)) != "worktrees" {
		return "", "", errNotOwn
	}
	return dir, common, nil
}

// ledTo returns the directory that a .git leads to which is a file, or a link.
func ledTo(at string, info os.FileInfo) (dir string, err error) {
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		return realBelow(path.Dir(at), at)
	case !info.Mode().IsRegular():
		return "", errNotOwn
	}
	b, err := os.ReadFile(at)
	if err != nil {
		return "", err
	}
	to, ok := GitDirOf(b)
	if !ok {
		return "", errNotOwn
	}
	return realBelow(path.Dir(at), to)
}

// ownDir returns an error if a git directory does not name a work tree as its own. One that was
// made with --separate-git-dir names none until a person has set core.worktree in it: the .git
// file that leads there may be a stranger's.
func ownDir(dir, top string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	config, err := ReadAt(fd, "config", maxGitConfig)
	if err != nil || !IsGitDir(fd) {
		return errors.Join(errNotOwn, err)
	}
	settings, ok := GitSettings(config)
	if !ok {
		return errNotOwn
	}
	named := ""
	for _, s := range settings {
		switch {
		case s.Section == "core" && s.Key == "worktree":
			named = GitSettingValue(s.Value)
		case s.Section == "core" && s.Key == "bare" && GitSettingValue(s.Value) != "false":
			return errNotOwn
		}
	}
	if named == "" && path.Base(dir) != ".git" {
		return ErrGitUnnamed
	}
	if real, err := realBelow(dir, named); named == "" || err != nil || real != top {
		return errNotOwn
	}
	return nil
}

// realBelow resolves the links of a name that is relative to a directory.
func realBelow(dir, name string) (string, error) {
	if !path.IsAbs(name) {
		name = path.Join(dir, name)
	}
	real, err := filepath.EvalSymlinks(name)
	return filepath.ToSlash(real), err
}

// IsGitDir reports whether an open directory looks like a git directory.
func IsGitDir(fd int) bool {
	head, err := StatAt(fd, "HEAD")
	if err != nil || TypeOf(&head) == unix.S_IFDIR {
		return false
	}
	_, objects := StatAt(fd, "objects")
	_, common := StatAt(fd, "commondir")
	return objects == nil || common == nil
}

// GitDirOf reads a file named .git: where the repository is, an absolute name or
// one relative to the directory of the file.
func GitDirOf(content []byte) (dir string, ok bool) {
	rest, ok := strings.CutPrefix(string(content), "gitdir: ")
	dir = strings.TrimRight(rest, "\r\n")
	return dir, ok && dir != "" && !strings.ContainsAny(dir, "\n\x00")
}

// A GitSetting is one line of a repository's settings: core.bare=false. Scope is that of the file that has it, as git
// lists it: local, global …; it is empty if one file was read.
type GitSetting struct{ Scope, Section, Name, Key, Value string }

// ListedSettings reads what git config --list --show-scope -z prints.
func ListedSettings(list string) (all []GitSetting) {
	fields := strings.Split(list, "\x00") // scope, key LF value, scope, …
	for i := 0; i+1 < len(fields); i += 2 {
		full, value, given := strings.Cut(fields[i+1], "\n")
		section, rest, _ := strings.Cut(full, ".")
		last := strings.LastIndexByte(rest, '.')
		if !given {
			value = "true"
		}
		all = append(all, GitSetting{fields[i], section, rest[:max(last, 0)], rest[last+1:], value})
	}
	return all
}

// GitSettings reads settings as git writes them. It fails on anything else that
// git would read, such as a line that goes on in the next or a setting behind its
// section on the same line.
func GitSettings(config []byte) (all []GitSetting, ok bool) {
	var s GitSetting
	for line := range strings.Lines(string(config)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case strings.ContainsAny(line, `\`):
			return nil, false
		case line[0] == '[':
			head, ok := strings.CutSuffix(line[1:], "]")
			section, name, quoted := strings.Cut(head, ` "`)
			if quoted {
				if name, ok = strings.CutSuffix(name, `"`); !ok {
					return nil, false
				}
			}
			if !ok || strings.ContainsAny(section, `"[]=`) || strings.ContainsAny(name, `"`) {
				return nil, false
			}
			s = GitSetting{Section: strings.ToLower(section), Name: name}
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		s.Key, s.Value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		all = append(all, s)
	}
	return all, true
}

// GitDirAround returns the directory around p, a clean name, that git takes for a repository of
// its own whatever its name, or would take for one if there were a file at p; "" if there is none.
// Git runs programs in its settings and hooks for whoever is in it. look reports whether a name
// exists, and whether it is a directory.
func GitDirAround(p string, look func(name string) (there, dir bool)) string {
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		below := strings.TrimPrefix(p, dir+"/")
		if dir == "." {
			below = p
		}
		first, _, deeper := strings.Cut(below, "/")
		has := func(name string) bool {
			if Fold(first) == strings.ToLower(name) {
				return name != "HEAD" || !deeper
			}
			there, isDir := look(path.Join(dir, name))
			return there && (name != "HEAD" || !isDir)
		}
		if has("HEAD") && (has("objects") && has("refs") || has("commondir")) {
			return dir
		}
		if dir == "." {
			return ""
		}
	}
}

// GitDirWith is GitDirAround for the files in the tree.
func (t *Tree) GitDirWith(p string) string {
	return GitDirAround(p, func(name string) (there, dir bool) {
		info, err := t.Root.Lstat(name)
		return err == nil, err == nil && info.IsDir()
	})
}
