package hostexec

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	_ "github.com/adroit-run/adroit/internal/system/unixonly" // one sentence for a build on Windows
)

// Repository finds the top of the repository that a directory is in, without git. dir is absolute
// and has no links. Any .git in dir itself counts. One above counts as it does for git: if it is a
// repository, or leads to one, and belongs to the user, or to the owner of dir. One in a directory
// such as /tmp, where everybody may make files, does not count: others would decide what the
// directories below it belong to, and programs leave an empty .git there (codex guards the name
// so).
func Repository(dir string) (top string, ok bool) {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil && (d == dir || isRepository(d, dir)) {
			return d, true
		}
		if d == filepath.Dir(d) {
			return "", false
		}
	}
}

// Branch returns the branch that is checked out in the repository of dir; "" if there is none.
func Branch(dir string) string {
	top, ok := Repository(dir)
	if !ok {
		return ""
	}
	at := filepath.Join(top, ".git")
	if to, ok := strings.CutPrefix(beginning(at), gitDir); ok { // of a worktree, or a submodule
		if at = strings.TrimSpace(to); !filepath.IsAbs(at) {
			at = filepath.Join(top, at)
		}
	}
	_, name, _ := strings.Cut(strings.TrimSpace(beginning(filepath.Join(at, "HEAD"))), "ref: refs/heads/")
	return name
}

// isRepository reports whether top has a .git that makes it the repository of dir, a directory
// below it.
func isRepository(top, dir string) bool {
	if info, err := os.Stat(top); err != nil || info.Mode()&os.ModeSticky != 0 && info.Mode()&0o002 != 0 {
		return false
	}
	at := filepath.Join(top, ".git")
	info, err := os.Stat(at)
	switch {
	case err != nil || !ownerCounts(info, dir):
		return false
	case info.IsDir():
		_, err := os.Lstat(filepath.Join(at, "HEAD"))
		return err == nil
	}
	return info.Mode().IsRegular() && strings.HasPrefix(beginning(at), gitDir)
}

// gitDir begins a file that names a git directory.
const gitDir = "gitdir:"

// beginning is the beginning of a file; "" if it cannot be read.
func beginning(file string) string {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, 4<<10)) // of a directory, nothing
	return string(b)
}

// ownerCounts reports whether a file belongs to this user, to the user who called sudo, or to the
// owner of a directory.
func ownerCounts(info os.FileInfo, dir string) bool {
	uid, ok := ownerOf(info)
	if !ok || uid == os.Geteuid() {
		return true
	}
	if caller, err := strconv.Atoi(os.Getenv("SUDO_UID")); err == nil && os.Geteuid() == 0 && uid == caller {
		return true
	}
	of, err := os.Stat(dir)
	if err != nil {
		return false
	}
	owner, _ := ownerOf(of)
	return uid == owner
}

// ownerOf returns the owner of a file, if the system reports one.
func ownerOf(info os.FileInfo) (uid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
