package overlay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// Which files git ignores is decided by the state before the command: otherwise the command would
// decide what is recorded about it. The ignore files of the workspace are still unchanged, since
// the command wrote its own into the upper layer. The git directory is not below the overlay, so
// its settings are saved separately before.

// maxIgnoreFile bounds an ignore file, in bytes.
const maxIgnoreFile = 32 << 20

// noteExcludes saves the repository's own ignore settings in a git directory of the overlay's own.
func (o *Overlay) noteExcludes(ctx context.Context, t *rootfs.Tree) error {
	top, _, ok := t.WorkTree()
	if !ok {
		return nil
	}
	file := filepath.Join(top, ".git", "info", "exclude")
	if info, err := os.Lstat(filepath.Join(top, ".git")); err != nil || !info.IsDir() {
		out, err := t.Git(ctx, nil, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude")
		if err != nil && rootfs.BrokenRepository(ctx, t.Dir) != nil {
			return o.gitDir(nil) // a run goes on without git: what it would ignore is recorded
		} else if err != nil {
			return err
		}
		file = strings.TrimSuffix(string(out), "\n")
	}
	// Without the setting, the user's own file applies.
	out, _ := t.Git(ctx, nil, "config", "--type=path", "--get", "core.excludesFile")
	o.Excludes = strings.TrimSuffix(string(out), "\n")
	var text []byte
	if dir, err := unix.Open(filepath.Dir(file), rootfs.PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
		text, _ = rootfs.ReadAt(dir, filepath.Base(file), maxIgnoreFile) // what cannot be read has git ignore nothing
		unix.Close(dir)
	}
	return o.gitDir(text)
}

// sameExcludes reports whether the repository's own list is as it was before the
// command. It looks where it usually is; a command that can write another one has
// changed the index too.
func (o *Overlay) sameExcludes(t *rootfs.Tree) bool {
	was, err := os.ReadFile(filepath.Join(o.dir, "git", "info", "exclude"))
	if err != nil {
		return true
	}
	dir, err := rootfs.OpenBeneath(t.FD(), ".git/info")
	if err != nil {
		return len(was) == 0
	}
	defer unix.Close(dir)
	now, err := rootfs.ReadAt(dir, "exclude", maxIgnoreFile)
	return err == nil && string(now) == string(was) || errors.Is(err, unix.ENOENT) && len(was) == 0
}

// gitDir makes the git directory of the overlay's own.
func (o *Overlay) gitDir(exclude []byte) error {
	dir := filepath.Join(o.dir, "git")
	for _, d := range []string{"objects", "refs", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return err
		}
	}
	if err := rootfs.WriteScratch(filepath.Join(dir, "info", "exclude"), 0o600, exclude); err != nil {
		return err
	}
	return o.gitHead()
}

// gitHead writes HEAD, anew for each use: after a power failure it may be empty.
func (o *Overlay) gitHead() error {
	return rootfs.WriteScratch(filepath.Join(o.dir, "git", "HEAD"), 0o600, []byte("ref: refs/heads/none\n"))
}

// ignored finds which of the paths git did not list before the command, or before the job by what rules has of
// its ignore files. Outside of a repository, and where there is no git, these are the files in the usual directories
// of dependencies.
func (j *joiner) ignored(ctx context.Context, t *rootfs.Tree, paths []string, rules map[string]rootfs.State) (map[string]bool, error) {
	out := map[string]bool{}
	withoutGit := func() (map[string]bool, error) {
		for _, p := range paths {
			out[p] = ledger.InDependencies(p)
		}
		return out, nil
	}
	dir := filepath.Join(j.o.dir, "git")
	top, sub, ok := t.WorkTree()
	if _, err := os.Stat(dir); err != nil && (!ok || !j.o.old()) {
		return withoutGit()
	}
	if !ok {
		top, sub = t.Dir, "." // the command took it away
	}
	if j.o.old() {
		if err := j.o.gitDir(nil); err != nil {
			return nil, err
		}
	}
	if err := j.o.gitHead(); err != nil {
		return nil, err
	}
	work := filepath.Join(j.o.dir, "ignore")
	defer os.RemoveAll(work)
	if err := j.ignoreFiles(top, sub, work, rules); err != nil {
		return nil, err
	}
	var in strings.Builder
	for _, p := range paths {
		in.WriteString(path.Join(sub, p) + "\x00")
	}
	stdout := rootfs.LimitedBuffer{Max: 256 * rootfs.MaxNames}
	args := []string{"check-ignore", "--no-index", "-z", "--stdin"}
	if j.o.Excludes != "" {
		args = append([]string{"-c", "core.excludesFile=" + j.o.Excludes}, args...)
	}
	err := rootfs.RunGit(ctx, work, []string{"GIT_DIR=" + dir, "GIT_WORK_TREE=" + work}, []byte(in.String()), &stdout, args...)
	var exit *exec.ExitError
	if errors.Is(err, exec.ErrNotFound) {
		return withoutGit()
	} else if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // 1: git ignores none of them
		return nil, fmt.Errorf("finding out what git ignores: %w", err)
	}
	for p := range strings.SplitSeq(stdout.Buffer.String(), "\x00") {
		if rel, err := filepath.Rel(filepath.FromSlash(path.Join("/", sub)), path.Join("/", p)); err == nil {
			out[filepath.ToSlash(rel)] = true
		}
	}
	return out, nil
}

// ignoreFiles copies the ignore files that held for the visited directories, as rules has them.
func (j *joiner) ignoreFiles(top, sub, work string, rules map[string]rootfs.State) error {
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	read := func(root int, from string) ([]byte, error) {
		if was, ok := rules[from]; ok && root == j.root {
			return j.o.led.Load(was.Digest)
		}
		up, base, err := rootfs.OpenParent(root, from)
		if err != nil {
			return nil, err
		}
		defer unix.Close(up)
		return rootfs.ReadAt(up, base, maxIgnoreFile)
	}
	put := func(dir string, root int, from string) error {
		b, err := read(root, from)
		if err != nil {
			return nil // there is none
		}
		to := filepath.Join(work, dir)
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
		return rootfs.WriteScratch(filepath.Join(to, ".gitignore"), 0o600, b)
	}
	around, err := unix.Open(top, rootfs.PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(around)
	for d := sub; d != "."; {
		d = path.Dir(d)
		if err := put(d, around, path.Join(d, ".gitignore")); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for _, op := range j.ops {
		for d := path.Dir(op.path); !seen[d]; d = path.Dir(d) {
			seen[d] = true
			if err := put(path.Join(sub, d), j.root, path.Join(d, ".gitignore")); err != nil {
				return err
			}
		}
	}
	return nil
}
