package process

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"golang.org/x/sys/unix"
)

// addRepos opens a git directory of now and those inside.
func (c *check) addRepos(s *scan, rel string, kind gitKind) {
	fd, err := rootfs.OpenBeneath(s.tree.FD(), rel)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	eachRepo(fd, rel, kind, func(fd int, rel string, kind gitKind) {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || c.known[rootfs.FileID(&st)] {
			return
		}
		keep, err := rootfs.OpenDirAt(fd, ".")
		if err != nil {
			c.Note("%s could not be looked at: %v", s.abs(rel), err)
			return
		}
		r := &gitDir{scan: s, rel: rel, fd: keep, kind: kind}
		if was := c.protection.repos[rootfs.FileID(&st)]; was != nil {
			r.had, r.hooks, r.execs = was.had, was.hooks, was.execs
		}
		c.known[rootfs.FileID(&st)] = true
		c.repos = append(c.repos, r)
	})
}

func (c *check) closeRepos() {
	for _, r := range c.repos {
		unix.Close(r.fd)
	}
}

// judgeRepo removes from a git directory new files that make git run a program.
func (c *check) judgeRepo(r *gitDir) {
	eachInnerLink(r.fd, r.rel, func(dir int, rel, to string) {
		if old, ok := c.links[r.scan.abs(rel)]; !ok || old != to {
			c.take(r.scan, dir, rel, rootfs.ConfiguresPrograms)
		}
	})
	c.judgeRebase(r)
	for _, name := range slices.Concat(gitAbsent, gitNames, gitDirs) {
		now, link := r.entry(name)
		if now.id == (rootfs.ID{}) {
			continue
		}
		was, had := r.had[name]
		if had && (link == "" || was.kind == unix.S_IFLNK) {
			continue // it was locked, or is put back
		}
		dir, err := rootfs.OpenBeneath(r.fd, path.Dir(name))
		if err != nil {
			continue
		}
		switch {
		case link == "" && c.harmless(r, dir, name, now):
			if name == "hooks" {
				c.judgeHooks(r.scan, dir, now.rel)
			}
		case r.kind == gitBare && r.had == nil:
			// The content of a directory may be older than its use as a repository: only the file
			// that makes it one is removed.
			c.take(r.scan, r.fd, path.Join(r.rel, "HEAD"), rootfs.ConfiguresPrograms)
			unix.Close(dir)
			return
		default:
			c.take(r.scan, dir, now.rel, rootfs.ConfiguresPrograms)
		}
		unix.Close(dir)
	}
}

// judgeRebase takes away the list of a rebase that a command had run a program, or
// a link in its place.
func (c *check) judgeRebase(r *gitDir) {
	if st, err := rootfs.StatAt(r.fd, path.Dir(todoFile)); err == nil && rootfs.TypeOf(&st) == unix.S_IFLNK {
		c.take(r.scan, r.fd, path.Join(r.rel, path.Dir(todoFile)), rootfs.ConfiguresPrograms)
		return
	}
	dir, err := rootfs.OpenBeneath(r.fd, path.Dir(todoFile))
	if err != nil {
		return
	}
	defer unix.Close(dir)
	st, err := rootfs.StatAt(dir, path.Base(todoFile))
	if err != nil {
		return
	}
	foreign := func(l string) bool { return !slices.Contains(r.execs, l) }
	if rootfs.TypeOf(&st) != unix.S_IFREG || st.Size > maxGitConfig || slices.ContainsFunc(r.rebaseExecs(), foreign) {
		c.take(r.scan, dir, path.Join(r.rel, todoFile), rootfs.ConfiguresPrograms)
		_ = rootfs.UnlinkAt(r.fd, path.Dir(todoFile), unix.AT_REMOVEDIR) // with more in it git rebase --quit ends what is under way, which the ledger names
	}
}

// harmless reports whether a new entry of a git directory may stay, a directory
// as such.
func (c *check) harmless(r *gitDir, dir int, name string, now found) bool {
	base := path.Base(name)
	switch name {
	case "hooks", "info", "modules", "worktrees":
		return now.kind == unix.S_IFDIR
	case "commondir":
		b, err := rootfs.ReadAt(dir, base, rootfs.MaxName)
		return r.kind == gitWorktree && err == nil && strings.TrimRight(string(b), "\n") == "../.."
	}
	if r.kind == gitWorktree && name == "config" { // git reads that of the repository
		return false
	}
	b, err := rootfs.ReadAt(dir, base, maxGitConfig)
	if err != nil {
		return false
	}
	if len(bytes.TrimSpace(b)) == 0 || c.copied(name, b) {
		return true
	}
	return name != "info/attributes" && plainConfig(b, nil, r.Inside)
}

// copied reports whether a repository that was there before has the same content
// under the same name: the new one is a copy of it.
func (c *check) copied(name string, content []byte) bool {
	if path.Base(name) == "config" && bound(content) {
		return false
	}
	for _, r := range c.repos {
		if _, had := r.had[name]; r.had == nil || !had && path.Dir(name) != "hooks" {
			continue
		}
		dir, err := rootfs.OpenBeneath(r.fd, path.Dir(name))
		if err != nil {
			continue
		}
		b, err := rootfs.ReadAt(dir, path.Base(name), maxBackup)
		unix.Close(dir)
		if err == nil && bytes.Equal(b, content) {
			return true
		}
	}
	return false
}

// judgeHooks takes the hooks from a new directory of hooks.
func (c *check) judgeHooks(s *scan, up int, rel string) {
	fd, err := rootfs.OpenDirAt(up, path.Base(rel))
	if err != nil {
		return
	}
	defer unix.Close(fd)
	entries, err := rootfs.ListAt(fd)
	if err != nil {
		c.take(s, up, rel, rootfs.ConfiguresPrograms)
		return
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".sample") {
			continue
		}
		b, err := rootfs.ReadAt(fd, e.Name(), maxBackup)
		if err != nil || !c.copied("hooks/"+e.Name(), b) {
			c.take(s, fd, path.Join(rel, e.Name()), rootfs.ConfiguresPrograms)
		}
	}
}

// judgeWorktree removes the hooks of a new work tree that differ from its repository's, where
// settings put hooks into the work tree. It reports whether the work tree may stay one.
func (c *check) judgeWorktree(s *scan, rel string, r *gitDir) bool {
	if r.kind != gitWorktree {
		return true
	}
	for _, main := range c.repos {
		if main.scan != r.scan || path.Dir(path.Dir(r.rel)) != main.rel || main.hooks == "" || path.IsAbs(main.hooks) {
			continue
		}
		own, ok1 := rootfs.Joined(s.tree.Dir, rel, main.hooks)
		theirs, ok2 := rootfs.Joined(s.tree.Dir, path.Dir(main.rel), main.hooks)
		if !ok1 || !ok2 || own == theirs {
			continue
		}
		dir, base, err := rootfs.OpenParent(s.tree.FD(), own)
		if err != nil {
			continue
		}
		left := int64(maxBackup)
		mine, err := readNode(dir, base, &left)
		if err == nil {
			from, base, err := rootfs.OpenParent(s.tree.FD(), theirs)
			var known *node
			if err == nil {
				known, _ = readNode(from, base, &left)
				unix.Close(from)
			}
			if !mine.same(known) {
				c.take(s, dir, own, rootfs.ConfiguresPrograms)
			}
		} else if !errors.Is(err, unix.ENOENT) {
			c.take(s, dir, own, rootfs.ConfiguresPrograms)
		}
		unix.Close(dir)
	}
	return true
}

// judgeHooksPath takes away a directory of hooks that settings name, where there
// was none or another before, and links on the way to it.
func (c *check) judgeHooksPath(was found) {
	if was.id != (rootfs.ID{}) && !c.everything {
		return // it was locked
	}
	for _, s := range c.scans {
		rel, ok := rootfs.Joined(s.tree.Dir, ".", was.rel)
		if !ok {
			continue
		}
		at := ""
		for part := range strings.SplitSeq(rel, "/") {
			at = path.Join(at, part)
			dir, base, err := rootfs.OpenParent(s.tree.FD(), at)
			if err != nil {
				break
			}
			st, err := rootfs.StatAt(dir, base)
			if err == nil && (rootfs.TypeOf(&st) == unix.S_IFLNK || at == rel && rootfs.FileID(&st) != was.id && !c.unchanged(was.rel)) {
				c.take(s, dir, at, rootfs.ConfiguresPrograms)
			}
			unix.Close(dir)
		}
	}
}

// unchanged reports whether a file has the content of its backup.
func (c *check) unchanged(at string) bool {
	for _, b := range c.backups {
		if b.scan.abs(b.rel) == at {
			n, err := b.now()
			return err == nil && n.same(b.held) || errors.Is(err, errTooLarge) && b.held == nil
		}
	}
	return false
}

// leadsHere reports whether a file named .git names a git directory that is
// protected or was judged.
func (c *check) leadsHere(s *scan, dir int, f found) bool {
	b, err := rootfs.ReadAt(dir, path.Base(f.rel), rootfs.MaxName)
	if err != nil {
		return false
	}
	to, ok := rootfs.GitDirOf(b)
	if !ok {
		return false
	}
	if path.IsAbs(to) && slices.ContainsFunc(c.backups, func(k backup) bool { return path.Base(k.rel) == ".git" && k.held != nil && bytes.Equal(k.held.Data, b) }) {
		return true // moved with its directory
	}
	if !path.IsAbs(to) {
		to = path.Join(s.tree.Dir, path.Dir(f.rel), to)
	}
	for _, t := range c.scans {
		rel, ok := rootfs.Joined(t.tree.Dir, ".", to)
		if !ok {
			continue
		}
		for _, r := range c.repos {
			if fd, err := rootfs.OpenBeneath(t.tree.FD(), rel); err == nil {
				var st unix.Stat_t
				err := unix.Fstat(r.fd, &st)
				same := err == nil && rootfs.SameDir(fd, rootfs.FileID(&st))
				unix.Close(fd)
				if same {
					if !c.judgeWorktree(s, path.Dir(f.rel), r) {
						return false
					}
					if s == c.scans[0] {
						c.made = append(c.made, f.rel)
					}
					return true
				}
			}
		}
	}
	return false
}

// todoFile lists the steps that git rebase --continue will run.
const todoFile = "rebase-merge/git-rebase-todo"

// execLines returns the lines in the list of a rebase that run a program.
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

// plain reports whether a setting is of the kind that git init, git clone and git submodule write,
// or names the committer. inside judges a work tree.
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
