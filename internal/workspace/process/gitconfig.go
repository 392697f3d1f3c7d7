package process

import (
	"slices"
	"strings"
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

// A gitSetting is one line of a repository's settings: core.bare=false.
type gitSetting struct{ section, name, key, value string }

// gitSettings reads settings as git writes them. It fails on anything else that
// git would read, such as a line that goes on in the next or a setting behind its
// section on the same line.
func gitSettings(config []byte) (all []gitSetting, ok bool) {
	var s gitSetting
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
			s = gitSetting{section: strings.ToLower(section), name: name}
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		s.key, s.value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		all = append(all, s)
	}
	return all, true
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
func (s gitSetting) plain(inside func(dir string) bool) bool {
	section := s.section
	if s.name != "" {
		section += "."
	}
	switch {
	case slices.Contains(plainKeys[section], s.key):
		return true
	case strings.Contains(s.value, `"`): // what git makes of it may look different
		return false
	case s.key == "url" && (section == "remote." || section == "submodule."), s.key == "remote" && section == "branch.":
		return plainURL(s.value)
	case section == "core" && s.key == "worktree":
		return inside(s.value)
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
	now, ok := gitSettings(config)
	if !ok {
		return false
	}
	had, ok := gitSettings(before)
	if !ok {
		had = nil
	}
	for _, s := range now {
		if !s.plain(inside) && !slices.Contains(had, s) {
			return false
		}
	}
	return true
}

// bound reports whether settings mean something else in another place: they name
// files relative to the repository.
func bound(config []byte) bool {
	all, ok := gitSettings(config)
	return !ok || slices.ContainsFunc(all, func(s gitSetting) bool {
		return s.key == "hookspath" || s.key == "worktree" || s.section == "include" || s.section == "includeif"
	})
}

// gitDirOf reads a file named .git: where the repository is, an absolute name or
// one relative to the directory of the file.
func gitDirOf(content []byte) (dir string, ok bool) {
	rest, ok := strings.CutPrefix(string(content), "gitdir: ")
	dir = strings.TrimRight(rest, "\r\n")
	return dir, ok && dir != "" && !strings.ContainsAny(dir, "\n\x00")
}
