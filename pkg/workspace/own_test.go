package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func openDir(t *testing.T, files map[string]string) (*workspace.Files, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	dirtest.Must(t, err)
	for name, text := range files {
		dirtest.Write(t, filepath.Join(dir, name), text)
	}
	f, err := workspace.Open(dir, nil)
	dirtest.Must(t, err)
	t.Cleanup(func() { f.Close() })
	return f, dir
}

// refused reports whether a change was refused by a guard.
func refused(err error, words string) bool {
	return err != nil && strings.Contains(err.Error(), words)
}

const asRepository = "git takes for a repository"

// In whatever order the parts of a git directory are written, the last of them is refused.
func TestNoGitDirectoryIsMade(t *testing.T) {
	parts := []string{"docs/HEAD", "docs/objects/x", "docs/refs/x"}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		f, _ := openDir(t, map[string]string{"docs/config": "[core]\n"})
		for i, n := range order {
			if err := f.WriteFile(parts[n], []byte("x")); refused(err, asRepository) != (i == 2) {
				t.Errorf("%v: %s: %v", order, parts[n], err)
			}
		}
	}
	// By a rename of a file, of a directory, and at the top.
	f, _ := openDir(t, map[string]string{"docs/objects/x": "", "docs/refs/x": "", "h": "ref: refs/heads/main\n", "a/HEAD": "x", "a/refs/x": "", "o/x": "", "HEAD": "x", "objects/x": ""})
	for from, to := range map[string]string{"h": "docs/HEAD", "o": "a/objects", "o/x": "refs/x"} {
		if err := f.Rename(from, to); !refused(err, asRepository) {
			t.Errorf("%s to %s: %v", from, to, err)
		}
	}
	for _, name := range []string{"notes/HEAD", "docs/HEAD/x"} { // a headline; a directory
		if err := f.WriteFile(name, []byte("x")); err != nil {
			t.Error(err)
		}
	}
}

// Those that are there, bare or with their work tree elsewhere, are read and not changed.
func TestGitDirectoriesByStructure(t *testing.T) {
	f, _ := openDir(t, map[string]string{
		"fixture.git/HEAD": "ref: x\n", "fixture.git/objects/x": "", "fixture.git/refs/x": "", "fixture.git/config": "[core]\n",
		"linked/HEAD": "ref: x\n", "linked/commondir": "../x\n", "cfg": "x",
	})
	for _, name := range []string{"fixture.git/config", "fixture.git/hooks/post-update", "fixture.git/config.worktree", "linked/config.worktree", "linked/HEAD", "fixture.git/objects/y"} {
		if err := f.WriteFile(name, []byte("x")); !refused(err, asRepository) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := f.Remove("fixture.git/config"); !refused(err, asRepository) {
		t.Errorf("removed: %v", err)
	}
	if err := f.Rename("cfg", "linked/config"); !refused(err, asRepository) {
		t.Errorf("renamed: %v", err)
	}
	if b, err := f.ReadFile("fixture.git/config"); err != nil || len(b) == 0 {
		t.Errorf("read: %v", err)
	}
}

// The program's own files are known by where they are: through links of their directory,
// from another directory, under a second name.
func TestOwnFiles(t *testing.T) {
	f, dir := openDir(t, map[string]string{
		"dotfiles/adroit/config.yaml": "mode: edits\n", "dotfiles/adroit/agents/w.md": "w", "dotfiles/zshrc": "x", "bin/h": "#!/bin/sh\n",
		"elsewhere/a.md": "a", "plain.txt": "x", "deep/me.md": "m", "claude.md": "c", "hooks/real": "#!/bin/sh\n",
	})
	home, err := filepath.EvalSymlinks(t.TempDir())
	dirtest.Must(t, err)
	dirtest.Must(t, os.Mkdir(filepath.Join(home, ".config"), 0o755))
	dirtest.Must(t, os.Symlink(filepath.Join(dir, "dotfiles/adroit"), filepath.Join(home, ".config/adroit")))
	dirtest.Must(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "dotfiles/adroit/skills")))
	dirtest.Must(t, os.Symlink(filepath.Join(dir, "dotfiles/zshrc"), filepath.Join(home, ".zshrc")))
	dirtest.Must(t, os.Link(filepath.Join(dir, "bin/h"), filepath.Join(dir, "h2")))
	dirtest.Must(t, os.Symlink("dotfiles", filepath.Join(dir, "d")))
	// Links on the way, deeper than the directory itself, to what is not there, and in what they lead to.
	for name, to := range map[string]string{
		filepath.Join(dir, "dotfiles/adroit/agents/me.md"): filepath.Join(dir, "deep"), filepath.Join(dir, "deep/next"): filepath.Join(dir, "further"),
		filepath.Join(dir, "hook"): "hooks/way", filepath.Join(dir, "hooks/way"): filepath.Join(home, "h"), filepath.Join(home, ".claude"): filepath.Join(dir, "c1"),
		filepath.Join(dir, "c1"): "c2", filepath.Join(home, "agents.md"): filepath.Join(dir, "claude.md"),
	} {
		dirtest.Must(t, os.Symlink(to, name))
	}
	dirtest.Write(t, filepath.Join(home, "h"), "#!/bin/sh\n")
	rootfs.Own(filepath.Join(home, ".config/adroit"), filepath.Join(dir, "bin/h"), filepath.Join(dir, "hook"), filepath.Join(home, ".claude"), filepath.Join(home, "agents.md"))
	for name, to := range map[string]string{".config/nvim": "vim", ".tmux.conf": "dotfiles/tmux", "bin": "tools", ".whole": ".", "src": "sub"} {
		dirtest.Must(t, os.Symlink(filepath.Join(dir, to), filepath.Join(home, name)))
	}
	dirtest.Must(t, os.MkdirAll(filepath.Join(home, ".config/fish"), 0o755))
	dirtest.Must(t, os.Symlink(filepath.Join(dir, "dotfiles/fish"), filepath.Join(home, ".config/fish/config.fish")))
	rootfs.OwnStart(home)
	for _, name := range []string{"dotfiles/adroit/config.yaml", "d/adroit/config.yaml", "dotfiles/adroit/agents/w.md", "dotfiles/adroit/new.yaml", "elsewhere/a.md", "elsewhere/b.md", "bin/h", "h2",
		"deep/me.md", "deep/new.md", "further", "further/x", "c2/agents/x.md", "claude.md"} {
		if err := f.WriteFile(name, []byte("evil")); !refused(err, "adroit's own") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"hook", "hooks/way", "c1"} {
		if err := f.Remove(name); !refused(err, "adroit's own") {
			t.Errorf("remove %s: %v", name, err)
		}
	}
	for from, to := range map[string]string{"dotfiles": "x", "bin": "y", "hooks": "z", "c1": "w", "plain.txt": "dotfiles/adroit/agents/x.md"} {
		if err := f.Rename(from, to); !refused(err, "adroit's own") {
			t.Errorf("%s to %s: %v", from, to, err)
		}
	}
	for name, want := range map[string]bool{"dotfiles/zshrc": true, "d/zshrc": true, "vim/lua/x.lua": true, "dotfiles/tmux": true, "dotfiles/fish": true, "tools/git": true, "plain.txt": false, "sub/x": false} {
		if f.NeedsApproval(name) != want {
			t.Errorf("%s is asked about: %v", name, !want)
		}
	}
	if err := f.WriteFile("plain.txt", []byte("y")); err != nil {
		t.Error(err)
	}
}

// What git obeys by its settings is asked about: included files, and hooks elsewhere.
func TestGitObeys(t *testing.T) {
	f, dir := openDir(t, map[string]string{"tools/text.sh": "", "tools/secret": "", "tools/other": "", "user.cfg": "[include]\n\tpath = deep.cfg\n", "shared.cfg": "[include]\n\tpath = more.cfg\n", "more.cfg": "", "other.cfg": "", "hooks/pre-commit": "", "sub/x": ""})
	dirtest.Git(t, dir, "init", "-q")
	dirtest.Git(t, dir, "config", "include.path", "../shared.cfg")
	dirtest.Git(t, dir, "config", "core.hooksPath", "hooks")
	dirtest.Git(t, dir, "config", "diff.word.textconv", "bash tools/text.sh --all")
	dirtest.Git(t, dir, "config", "remote.origin.url", "./sub/x")
	// The user's own settings lie in a repository too, or name what lies there.
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_GLOBAL", "")
	dirtest.Must(t, os.Symlink(dir, filepath.Join(home, "w")))
	dirtest.Write(t, filepath.Join(home, ".gitconfig"), "[includeIf \"gitdir:~/\"]\n\tpath = ~/w/user.cfg\n[credential]\n\thelper = \"!~/w/tools/secret get\"\n[core]\n\texcludesFile = ~/w/other.cfg\n")
	dirtest.Write(t, filepath.Join(home, ".config/git/config"), "[core]\n\thooksPath = .githooks\n[init]\n\ttemplateDir = ~/w/template\n")
	for name, want := range map[string]bool{"shared.cfg": true, "more.cfg": true, "other.cfg": false, "hooks/pre-commit": true, "hooks/new": true, "sub/x": false,
		"user.cfg": true, "deep.cfg": true, "tools/text.sh": true, "tools/secret": true, "tools/other": false, ".githooks/pre-commit": true, "template/hooks/x": true} {
		if f.NeedsApproval(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
