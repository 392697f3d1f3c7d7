package rootfs

import (
	"io/fs"
	"os"
	"path"
	"syscall"
)

// hardLink refuses a file that is one of the list of secrets under another name: a
// hard link beside it or to one at the top of the workspace. A link to a file
// somewhere else is not found; what is read of it is still looked at for
// secrets.
func (t *Tree) hardLink(name, p string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Nlink < 2 {
		return nil
	}
	dirs := []string{"."}
	if d := path.Dir(p); d != "." {
		dirs = append(dirs, d)
	}
	for _, d := range dirs {
		f, err := t.Root.Open(d)
		if err != nil {
			continue
		}
		names, _ := f.Readdirnames(-1) // those that were read
		f.Close()
		for _, n := range names {
			other := path.Join(d, n)
			if CheckName(other, other, false) == nil {
				continue
			}
			if same, err := t.Root.Lstat(other); err == nil && os.SameFile(same, info) {
				return &PathError{Name: name, Reason: "is another name of " + other + ", which no tool may touch", Advice: "ask the person who runs you"}
			}
		}
	}
	return nil
}
