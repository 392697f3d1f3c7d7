package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/system/lock"
)

// restoring is the record of a restore that has begun; see pkg/jobs/sqlite.
const restoring = "restoring.json"

// kinds lists the purposes of directories.
var kinds = []string{"backup", "restore"}

// noteSuffix ends the name of the file beside a directory with its note: the directory has only
// its user's files.
const noteSuffix = ".note"

// Is reports whether a name in a data directory is one of this package.
func Is(name string) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasPrefix(name, "."+kind+"-") })
}

// A Dir is a directory for the work of this process.
type Dir struct {
	Path string
	lock *os.File
}

// New makes a directory for the work named by kind in data, which must be there.
func New(data, kind string) (*Dir, error) {
	unlock, err := lockData(data) // nobody may find it without its lock
	if err != nil {
		return nil, err
	}
	defer unlock()
	path, err := os.MkdirTemp(data, "."+kind+"-")
	if err != nil {
		return nil, err
	}
	d := &Dir{Path: path}
	if d.lock, err = os.Open(path); err == nil {
		err = lock.Lock(d.lock)
	}
	if err != nil {
		return nil, errors.Join(err, d.Remove())
	}
	return d, nil
}

func lockData(data string) (unlock func(), err error) {
	f, err := os.Open(data)
	if err != nil {
		return nil, err
	}
	if err := lock.Lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = lock.Close(f) }, nil
}

// Note records a file outside that is to go with the directory.
func (d *Dir) Note(file string) error { return WriteJSON(d.Path+noteSuffix, file) }

// Remove removes the directory, but not its note. It may be called twice.
func (d *Dir) Remove() error {
	err := errors.Join(RemoveAll(d.Path), remove(d.Path+noteSuffix))
	if d.lock != nil {
		err = errors.Join(err, lock.Close(d.lock))
		d.lock = nil
	}
	return err
}

func remove(file string) error {
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Left lists the directories in data that nobody works in, which Sweep removes.
func Left(data string) ([]string, error) {
	var left []string
	err := each(data, func(path string) error {
		left = append(left, path)
		return nil
	})
	return left, err
}

// Sweep removes the directories of processes that were killed, with their notes.
func Sweep(data string) error {
	err := each(data, func(path string) error {
		var file string
		err := ReadJSON(path+noteSuffix, &file)
		if err == nil && filepath.IsAbs(file) {
			err = remove(file)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // what is noted stays named
		}
		return errors.Join(RemoveAll(path), remove(path+noteSuffix))
	})
	return errors.Join(err, sweepTemp())
}

// each calls do for the directories whose lock is free, with the data directory locked.
func each(data string, do func(path string) error) error {
	unlock, err := lockData(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer unlock()
	names, err := os.ReadDir(data)
	errs := []error{err}
	if _, err := os.Lstat(filepath.Join(data, restoring)); err == nil {
		return nil // one of the directories has what is to be restored: whoever opens the data next finishes that
	}
	for _, e := range names {
		path := filepath.Join(data, strings.TrimSuffix(e.Name(), noteSuffix))
		if !Is(e.Name()) || !e.IsDir() && path == filepath.Join(data, e.Name()) {
			continue
		}
		if _, err := os.Lstat(path); !e.IsDir() && err == nil {
			continue // the note of a directory that has its own turn
		}
		if e.IsDir() {
			held, err := held(path)
			if held || err != nil {
				errs = append(errs, err)
				continue
			}
		}
		errs = append(errs, do(path))
	}
	return errors.Join(errs...)
}

func held(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	err = lock.Try(f)
	_ = lock.Close(f)
	if errors.Is(err, lock.ErrHeld) {
		return true, nil
	}
	return false, err
}

// sweepTemp removes databases that killed backups of earlier versions left in the directory for
// temporary files, if they are a day old.
func sweepTemp() error {
	old, err := filepath.Glob(filepath.Join(os.TempDir(), "adroit-backup-*"))
	errs := []error{err}
	for _, path := range old {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Geteuid() && time.Since(info.ModTime()) > 24*time.Hour {
			errs = append(errs, RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}
