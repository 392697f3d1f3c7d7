package rootfs

import (
	"path/filepath"
	"slices"
)

// Closest is the one of dirs that is dir or the nearest above it, "" if none is. Links are
// followed; a name that is not absolute is none.
func Closest(dirs []string, dir string) (key string) {
	if r, err := Real(dir); err == nil {
		dir = r
	}
	longest := -1
	for _, k := range slices.Sorted(slices.Values(dirs)) {
		at := filepath.Clean(k)
		if r, err := Real(at); err == nil {
			at = r
		}
		rel, err := filepath.Rel(at, dir)
		if err != nil || rel != "." && !filepath.IsLocal(rel) || len(at) <= longest {
			continue
		}
		key, longest = k, len(at)
	}
	return key
}
