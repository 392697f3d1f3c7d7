package process

import (
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// todoFile is what git rebase --continue goes on with.
const todoFile = "rebase-merge/git-rebase-todo"

// execLines are the lines of a list of a rebase that run a program.
func execLines(todo []byte) (lines []string) {
	for line := range strings.Lines(string(todo)) {
		if f := strings.Fields(line); len(f) > 1 && (f[0] == "exec" || f[0] == "x") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// plainKeys are the settings that name no program, no file that names one, and no
// place outside of the repository. Those with a name in their section have a dot.
var plainKeys = map[string][]string{
	"core": {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "autocrlf", "eol"},
	"user": {"name", "email"}, "init": {"defaultbranch"}, "pull": {"rebase", "ff"}, "fetch": {"prune"}, "submodule": {"active"},
	"extensions": {"objectformat", "refstorage"},
	"remote.":    {"fetch", "tagopt", "prune"}, "branch.": {"merge", "rebase", "description"}, "submodule.": {"active", "branch", "ignore"},
}

// plain reports whether a setting is of the kind that git init, git clone and
// git submodule write, or says who commits. inside judges a work tree.
func plain(s rootfs.GitSetting, inside func(dir string) bool) bool {
	section := s.Section
	if s.Name != "" {
		section += "."
	}
	switch {
	case slices.Contains(plainKeys[section], s.Key):
		return true
	case strings.Contains(s.Value, `"`): // what git makes of it may look different
		return false
	case s.Key == "url" && (section == "remote." || section == "submodule."), s.Key == "remote" && section == "branch.":
		return plainURL(s.Value)
	case section == "core" && s.Key == "worktree":
		return inside(s.Value)
	}
	return false
}

// plainURL reports whether git reaches a repository by itself, without a helper
// that the URL names.
func plainURL(u string) bool {
	scheme, rest, ok := strings.Cut(u, "://")
	if ok {
		return slices.Contains([]string{"https", "http", "ssh", "git", "file"}, scheme) && !strings.HasPrefix(rest, "-")
	}
	return u != "" && u[0] != '-' && !strings.Contains(u, "::")
}

// plainConfig reports whether settings hold nothing but plain ones and those that
// were there before.
func plainConfig(config, before []byte, inside func(dir string) bool) bool {
	now, ok := rootfs.GitSettings(config)
	if !ok {
		return false
	}
	had, ok := rootfs.GitSettings(before)
	if !ok {
		had = nil
	}
	for _, s := range now {
		if !plain(s, inside) && !slices.Contains(had, s) {
			return false
		}
	}
	return true
}

// bound reports whether settings mean something else in another place: they name
// files relative to the repository.
func bound(config []byte) bool {
	all, ok := rootfs.GitSettings(config)
	return !ok || slices.ContainsFunc(all, func(s rootfs.GitSetting) bool {
		return s.Key == "hookspath" || s.Key == "worktree" || s.Section == "include" || s.Section == "includeif"
	})
}
