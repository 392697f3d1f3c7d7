package rootfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// DirFS is os.DirFS for a directory whose files others have written: a link that leads
// out of it is refused, and so is what is neither a file nor a directory, as a pipe,
// which would be waited for. The directory is opened in each call.
func DirFS(dir string) fs.FS { return dirFS(dir) }

type dirFS string

func (d dirFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := OpenIn(root, name)
	if err != nil {
		return nil, err // and no nil *os.File
	}
	return f, nil
}

// OpenIn opens a file or a directory below root to read, and nothing else: no link that
// leads out, no pipe and no device.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil && strings.Contains(err.Error(), escapes) {
		return nil, outside(name)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &PathError{Name: name, Reason: "it is not a file", Err: fs.ErrInvalid}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
