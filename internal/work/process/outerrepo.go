package process

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// An outerRepo is the part of a workspace's repository that lies outside of the workspace:
// commands see it, or git would find no repository, and report missing files.
type outerRepo struct {
	git string // the git directory, which commands may change as they may a .git
	top string // the top of the work tree, read-only; empty: it is the workspace

	unnamed string // what to do where the git directory names no work tree
}

const unseen = "commands do not see the repository that %s leads to, since its git directory names no work tree, and another may be its own; "

func nameTree(top string) string { return fmt.Sprintf("git -C %[1]q config core.worktree %[1]q", top) }

// UnseenRepository returns a note for a person whose workspace has a repository that commands
// in a sandbox do not see, with the command that shows it to them; empty if they see it, or
// there is none. root has no links.
func UnseenRepository(root string) string {
	top, ok := rootfs.Repository(root)
	if !ok {
		return ""
	}
	if _, _, err := rootfs.GitDirs(top); !errors.Is(err, rootfs.ErrGitUnnamed) {
		return ""
	}
	return fmt.Sprintf(unseen+"if it is that of this one, %s shows it to them", path.Join(top, ".git"), nameTree(top))
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
