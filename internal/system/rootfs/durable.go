package rootfs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// The functions of this file are the only ones that write files outside of
// workspaces; internal/dev/lint/vet refuses os.WriteFile, os.Rename and their like
// elsewhere. A file is whole or not there, also after a power cut: its content is
// synced before it gets its name, and its name before the function returns.

// WriteFile writes a file that only its user can read, in place of one that is
// there. It makes the directories above it.
func WriteFile(path string, b []byte) error {
	f, err := Begin(path)
	if err != nil {
		return err
	}
	defer f.Drop()
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.Replace()
}

// CreateFile writes a file that is not there; else the error is fs.ErrExist. Its
// directory must be there.
func CreateFile(path string, perm fs.FileMode, b []byte) error {
	f, err := beginIn(filepath.Dir(path), path)
	if err != nil {
		return err
	}
	defer f.Drop()
	if _, err = f.Write(b); err == nil && perm != 0o600 {
		err = f.Chmod(perm &^ Umask())
	}
	if err != nil {
		return err
	}
	return f.Place()
}

// WriteJSON is WriteFile of a value.
func WriteJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return WriteFile(path, b)
}

// A NewFile is a file on its way: what is written to it has another name until
// Replace or Place, and is nowhere after Drop.
type NewFile struct {
	*os.File
	path string
}

// Begin begins a file and makes the directories above it.
func Begin(path string) (*NewFile, error) {
	dir := filepath.Dir(path)
	if err := MkdirAll(dir); err != nil {
		return nil, err
	}
	return beginIn(dir, path)
}

// BeginAs is Begin with a name on its way that the caller chose and has on record. Its
// directory must be there.
func BeginAs(path, temp string) (*NewFile, error) {
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &NewFile{f, path}, nil
}

func beginIn(dir, path string) (*NewFile, error) {
	f, err := os.CreateTemp(dir, "new-*") // 0600
	if err != nil {
		return nil, err
	}
	return &NewFile{f, path}, nil
}

// Replace ends the file and gives it its name, whoever had that before.
func (f *NewFile) Replace() error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err // what has the name stays
	}
	if err := os.Rename(f.Name(), f.path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(f.path))
}

// Place is Replace for a name that nobody has; else the error is fs.ErrExist.
func (f *NewFile) Place() error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	// Link, unlike rename, never replaces a file that somebody made meanwhile.
	err := os.Link(f.Name(), f.path)
	if noLinks(err) {
		// An empty file claims the name, and only that is replaced.
		var claim *os.File
		if claim, err = os.OpenFile(f.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			err = errors.Join(claim.Close(), os.Rename(f.Name(), f.path))
		}
	}
	if err != nil {
		return err
	}
	_ = os.Remove(f.Name()) // its content has its name
	return SyncDir(filepath.Dir(f.path))
}

// noLinks reports whether a link failed because the file system has none, as FAT has not.
func noLinks(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EMLINK)
}

// Drop takes away what has no name yet. After Replace or Place it does nothing.
func (f *NewFile) Drop() {
	if f.Close() == nil { // else it was ended, well or not
		_ = os.Remove(f.Name())
		return
	}
	if _, err := os.Lstat(f.Name()); err == nil {
		_ = os.Remove(f.Name())
	}
}

// CreateIn is CreateFile below a root.
func CreateIn(root *os.Root, name string, perm fs.FileMode, b []byte) error {
	temp := TempName(name)
	defer func() { _ = root.Remove(temp) }() // its content has its name, or nobody needs it
	if err := writeIn(root, temp, perm, b); err != nil {
		return err
	}
	err := root.Link(temp, name)
	if noLinks(err) {
		var claim *os.File
		if claim, err = root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm); err == nil {
			err = errors.Join(claim.Close(), root.Rename(temp, name))
		}
	}
	if err != nil {
		return err
	}
	return (&Tree{Root: root}).Sync(path.Dir(name))
}

// ReplaceIn is WriteFile below a root.
func ReplaceIn(root *os.Root, name string, perm fs.FileMode, b []byte) error {
	temp := TempName(name)
	err := writeIn(root, temp, perm, b)
	if err == nil {
		err = (&Tree{Root: root}).Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}

func writeIn(root *os.Root, temp string, perm fs.FileMode, b []byte) error {
	f, err := root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

// MkdirAll makes a directory that only its user can read, with those above it,
// durably.
func MkdirAll(dir string) error {
	var made []string
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); !errors.Is(err, fs.ErrNotExist) || d == filepath.Dir(d) {
			break
		}
		made = append(made, d)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, d := range made {
		if err := SyncDir(filepath.Dir(d)); err != nil {
			return err
		}
	}
	return nil
}

// Move gives a file or a directory another name, durably, in place of what has it.
func Move(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	err := SyncDir(filepath.Dir(to))
	if filepath.Dir(from) != filepath.Dir(to) {
		err = errors.Join(err, SyncDir(filepath.Dir(from)))
	}
	return err
}

// WriteScratch writes a file of which nobody has any use after this process: it
// is neither whole nor synced.
func WriteScratch(path string, perm fs.FileMode, b []byte) error { return os.WriteFile(path, b, perm) }

// OpenLog opens a file to which lines are appended, for its user alone. What a
// power cut leaves of the last ones is unknown. With os.O_EXCL it is a new one.
func OpenLog(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|os.O_RDWR|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
}

func ReadJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) { // some file systems cannot
		return err
	}
	return nil
}
