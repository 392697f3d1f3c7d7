package process

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
)

// An outerRepo is the part of a workspace's repository that lies outside of the workspace:
// commands see it, or git would find no repository, and report missing files.
type outerRepo struct {
	git string // the git directory, which commands may change as they may a .git
	top string // the top of the work tree, read-only; empty: it is the workspace

	unnamed string // what to do where the git directory names no work tree
}

const unseen = "commands do not see the repository that %s leads to, since its git directory names no work tree, and another may be its own; "

const elsewhere = "commands do not see the repository that %s leads to, since its git directory names another work tree as its own; "

func repairTree(top string) string { return fmt.Sprintf("git -C %q worktree repair", top) }

func nameTree(top string) string { return fmt.Sprintf("git -C %[1]q config core.worktree %[1]q", top) }

// unseenRepository returns a note for a person whose workspace has a repository that commands
// in a sandbox do not see, with the command that shows it to them; empty if they see it, or
// there is none. root has no links.
func unseenRepository(root string) string {
	top, ok := rootfs.Repository(root)
	if !ok {
		return ""
	}
	switch _, _, err := rootfs.GitDirs(top); {
	case errors.Is(err, rootfs.ErrGitOther):
		return fmt.Sprintf(elsewhere+"if this one was moved, %s shows it to them", path.Join(top, ".git"), repairTree(top))
	case errors.Is(err, rootfs.ErrGitUnnamed):
		return fmt.Sprintf(unseen+"if it is that of this one, %s shows it to them", path.Join(top, ".git"), nameTree(top))
	}
	return ""
}

// UnusedRepository returns a note for a person whose environment names another repository for a
// directory than its .git does, with what leads adroit to it; empty if it does not.
func UnusedRepository(root string) string {
	real := func(p string) string {
		abs, err := filepath.Abs(p)
		if p == "" || err != nil {
			return ""
		}
		return realPath(abs)
	}
	root, named, work := real(root), real(os.Getenv("GIT_DIR")), real(cmp.Or(os.Getenv("GIT_WORK_TREE"), "."))
	t, err := rootfs.Open(named)
	if named == "" || err != nil {
		return "" // git refuses it, too
	}
	defer t.Close()
	if !rootfs.IsGitDir(t.FD()) || !rootfs.Within(work, root) || rootfs.Within(named, work) {
		return ""
	}
	const unused = "adroit and its commands do not use the repository %s, which GIT_DIR in the environment names, but "
	top, ok := rootfs.Repository(root)
	if !ok {
		return fmt.Sprintf(unused+"a .git, and there is none here; printf 'gitdir: %%s\\n' %[2]s > %[3]s && git config core.worktree %[4]s makes one", named, hint.Quote(named), hint.Quote(path.Join(work, ".git")), hint.Quote(work))
	}
	if dir, common, err := rootfs.GitDirs(top); err != nil || dir == named || common == named {
		return "" // another note has the error
	}
	return fmt.Sprintf(unused+"that of %[2]s; git worktree add DIRECTORY makes a work tree of the other to work in", named, path.Join(top, ".git"))
}

// RepositoryNotes returns notes for a person whose workspace has a repository with which commands,
// or commits, will not get far. show are the paths that commands in a sandbox see although they are
// hidden by default. root has no links.
func RepositoryNotes(root string, sandboxed bool, show []string) (notes []string) {
	if note := UnusedRepository(root); note != "" {
		notes = append(notes, note)
	}
	if note := unseenRepository(root); note != "" && sandboxed {
		return append(notes, note)
	}
	if t, err := rootfs.Open(root); err == nil {
		bare := rootfs.IsGitDir(t.FD())
		t.Close()
		if bare && sandboxed {
			return append(notes, fmt.Sprintf("the workspace is a git directory: at the sandbox levels full and bubblewrap, what commands change in it is in no diff, and an undo leaves it; git -C %s worktree add DIRECTORY makes a work tree to work in", root))
		}
	}
	top, ok := rootfs.Repository(root)
	if !ok {
		return notes
	}
	_, common, err := rootfs.GitDirs(top)
	if err != nil {
		return notes
	}
	hidden := func(p string) bool {
		seen := func(s string) bool { s = realPath(s); return s != "" && rootfs.Within(s, p) }
		return sandboxed && hiddenByDefault(root, p) && !slices.ContainsFunc(append(slices.Clip(show), top, common), seen)
	}
	for _, objects := range borrowed(common) {
		if hidden(objects) {
			notes = append(notes, fmt.Sprintf("commands do not see %s, from which this repository takes objects, so that git fails in them; sandbox: {show: [%[1]s]} in the configuration shows it to them, or git -C %s repack -a -d and the removal of objects/info/alternates makes the repository whole", objects, top))
		}
	}
	return append(notes, filterNotes(root, hidden)...)
}

// filterNotes names the filters through which no file goes here: hidden reports which programs commands do not see.
func filterNotes(root string, hidden func(p string) bool) (notes []string) {
	local := map[string]bool{}
	for _, s := range gitSettings(root) {
		if s.Section != "filter" || s.Key != "clean" && s.Key != "smudge" && s.Key != "process" {
			continue
		}
		if theirs := s.Scope == "local" || s.Scope == "worktree"; theirs && s.Key != "smudge" && !local[s.Name] {
			local[s.Name] = true
			notes = append(notes, fmt.Sprintf("files with the filter %q cannot be committed by adroit, and are in a worktree as the repository stores them: it is of the repository's own settings, whose programs adroit does not run; git add and git commit, by you, run it", s.Name))
		}
		for word := range strings.FieldsSeq(s.Value) {
			program := strings.Trim(word, `"'`)
			if below, ok := strings.CutPrefix(program, "~/"); ok {
				program = path.Join(os.Getenv("HOME"), below)
			}
			if program = realPath(program); program != "" && hidden(program) && !slices.ContainsFunc(toolchains(os.Getenv, os.Getenv("HOME")), func(t string) bool { return rootfs.Within(t, program) }) {
				notes = append(notes, fmt.Sprintf("commands do not see %s, which the filter %q of your git settings runs, so that git refuses files with that filter in them; sandbox: {show: [%[1]s]} in the configuration shows it to them", program, s.Name))
			}
		}
	}
	return notes
}

// readSmall reads a small file that is no link: a project may have brought it.
func readSmall(name string) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(os.ErrInvalid, err)
	}
	return io.ReadAll(io.LimitReader(f, 1<<20))
}

// borrowed returns the directories of objects from which a repository takes what it lacks.
func borrowed(common string) (dirs []string) {
	objects := path.Join(common, "objects")
	b, err := readSmall(path.Join(objects, "info", "alternates"))
	if err != nil {
		return nil
	}
	for l := range strings.Lines(string(b)) {
		if l = strings.TrimRight(l, "\r\n"); l == "" || l[0] == '#' || l[0] == '"' {
			continue
		}
		if !path.IsAbs(l) {
			l = path.Join(objects, l)
		}
		if l = realPath(l); l != "" {
			dirs = append(dirs, l)
		}
	}
	return dirs
}

// hiddenByDefault reports whether commands in a sandbox do not see a path that nothing shows to them.
func hiddenByDefault(root, p string) bool {
	homes := []string{os.Getenv("HOME"), "/tmp", "/var/tmp", "/run"}
	if u, err := user.Current(); err == nil {
		homes = append(homes, u.HomeDir)
	}
	return slices.ContainsFunc(homes, func(h string) bool {
		h = realPath(h)
		return h != "" && h != "/" && rootfs.Within(h, p) && !rootfs.Within(root, h)
	})
}

// outerRepoOf finds the part outside of a workspace. It is empty if the git directory is in the
// workspace, or if .git leads to another work tree's. A home is never shown for being a
// repository.
func outerRepoOf(root string) (o outerRepo) {
	top, ok := rootfs.Repository(root)
	if !ok || path.Dir(top) == top || top != root && holdsHome(top) {
		return o
	}
	_, git, err := rootfs.GitDirs(top)
	if errors.Is(err, rootfs.ErrGitUnnamed) {
		o.unnamed = fmt.Sprintf(unseen+"the person who runs you, if it is that of this one, can run: %s", path.Join(top, ".git"), nameTree(top))
	}
	if errors.Is(err, rootfs.ErrGitOther) {
		o.unnamed = fmt.Sprintf(elsewhere+"the person who runs you, if this one was moved, can run: %s", path.Join(top, ".git"), repairTree(top))
	}
	if err != nil || rootfs.Within(root, git) || rootfs.Within(git, root) {
		return o
	}
	if o.git = git; top != root {
		o.top = top
	}
	return o
}

// holdsHome reports whether the home of the user, or of the account, lies in a
// directory.
func holdsHome(dir string) bool {
	homes := []string{os.Getenv("HOME")}
	if u, err := user.Current(); err == nil {
		homes = append(homes, u.HomeDir)
	}
	return slices.ContainsFunc(homes, func(h string) bool { h = realPath(h); return h != "" && rootfs.Within(dir, h) })
}

// realPath returns a path without links, or "" if it does not exist.
func realPath(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil && filepath.IsAbs(p) {
		return p
	}
	return ""
}

// addOuter protects the part of the repository outside of the workspace: hooks that its settings
// put into the workspace, and secrets beside it.
func (p *protection) addOuter(beside *scan, top string) error {
	for _, r := range p.repos {
		if r.scan.repo && r.rel == "." && r.hooks != "" && len(p.scans) > 0 {
			own := *r
			own.rel, own.hooks = ".git", path.Join(top, r.hooks)
			if path.IsAbs(r.hooks) {
				own.hooks = r.hooks
			}
			p.addHooks(p.scans[0], &own)
		}
	}
	if beside == nil {
		return nil
	}
	if err := beside.update(); err != nil {
		return err
	}
	for f := range beside.all {
		if !f.what.Secret() {
			continue
		}
		if f.kind == unix.S_IFLNK {
			var ok bool
			if f, ok = p.target(beside, f.rel); !ok || beside.skips(f.rel) {
				continue
			}
		}
		if f.kind == unix.S_IFREG || f.kind == unix.S_IFDIR {
			p.secret = append(p.secret, beside.located(f))
			p.masked = append(p.masked, beside.abs(f.rel))
		}
	}
	return nil
}
