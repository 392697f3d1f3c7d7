//go:build unix && !linux

package rootfs

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// PathOnly opens a file for its place in the tree and waits for nothing.
const PathOnly = unix.O_RDONLY | unix.O_NONBLOCK

// ChangeTime returns 0, unknown: these systems name the field differently.
func ChangeTime(*unix.Stat_t) int64 { return 0 }

// Identity is unknown: these systems name the time of birth differently.
func Identity(string) string { return "" }

// notesChanges reports whether the times of changes are known.
func notesChanges(int) bool { return false }

// OpenNoLinks opens a clean name below an open directory and follows no link in it.
func OpenNoLinks(root int, rel string, flags int) (int, error) { return openParts(root, rel, flags) }

// LinkFile makes a file of its own with the content of an open one, which shares its
// blocks: a link cannot be made of a descriptor here.
func LinkFile(fd int, dir int, name string) error {
	if err := oneName(name); err != nil {
		return err
	}
	return unix.Fclonefileat(fd, dir, name, 0)
}

// AttrAt returns none.
func AttrAt(int, string, string) (value string, there bool) { return "", false }

// AttrsAt returns none: on these systems attributes are neither compared nor copied.
func AttrsAt(int, string) map[string]string { return nil }

// SetAttrs does nothing.
func SetAttrs(int, map[string]string) {}

// AddAttrs gives none.
func AddAttrs(_ int, attrs map[string]string) (refused []string) {
	return slices.Sorted(maps.Keys(attrs))
}
