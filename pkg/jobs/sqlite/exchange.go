package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// An exchange is the recorded intent to put a database and other files in the place of
// those in its directory. Opening the database finishes an exchange that was cut short:
// a directory whose database is on its way has no database, and is not an empty one.
// Names are relative to the directory.
type exchange struct {
	From  string   `json:"from"`  // the directory of the new files
	Aside string   `json:"aside"` // the directory for the old ones
	Names []string `json:"names"` // all there were in From; the database comes last
}

const (
	databaseFile = "adroit.db"
	exchangeFile = "restoring.json"
)

// Exchange moves the database and the other files of from, a directory in dir, to dir.
// Files of the same names in dir are moved aside to the directory that it returns, "" if
// there were none. After an error, FinishExchange completes the move.
func Exchange(dir, from string) (aside string, err error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return "", err
	}
	x := exchange{From: filepath.Base(from), Aside: "replaced-" + time.Now().Format("20060102-150405.000")}
	for _, e := range entries {
		if e.Name() != databaseFile {
			x.Names = append(x.Names, e.Name())
		}
	}
	x.Names = append(x.Names, databaseFile)
	if err := rootfs.WriteJSON(filepath.Join(dir, exchangeFile), x); err != nil {
		return "", err
	}
	return FinishExchange(dir)
}

// FinishExchange finishes what Exchange has recorded. It returns where what was there
// before is, "" if nothing had to be done.
func FinishExchange(dir string) (aside string, err error) {
	path := filepath.Join(dir, exchangeFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // opening the directory reports what is wrong with it
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("a restore that was cut short: %w", err)
	}
	if err := lock.Lock(f); err != nil {
		return "", errors.Join(err, f.Close())
	}
	defer lock.Close(f)
	var x exchange
	if err := rootfs.ReadJSON(path, &x); errors.Is(err, fs.ErrNotExist) {
		return "", nil // somebody else has finished it
	} else if err != nil {
		return "", fmt.Errorf("a restore that was cut short: %w", err)
	}
	if err := x.finish(dir); err != nil {
		return "", fmt.Errorf("a restore that was cut short cannot be finished: %w; what was there before is in %s", err, filepath.Join(dir, x.Aside))
	}
	if err := errors.Join(rootfs.RemoveAll(filepath.Join(dir, x.From)), os.Remove(path), rootfs.SyncDir(dir)); err != nil {
		return "", err
	}
	aside = filepath.Join(dir, x.Aside)
	if _, err := os.Lstat(aside); err != nil {
		aside = ""
	}
	return aside, nil
}

// finish can be called again after any of its steps. A name that is still in From has
// not been exchanged; what has its name in the directory is old.
func (x *exchange) finish(dir string) error {
	for _, name := range append([]string{x.From, x.Aside}, x.Names...) {
		if name != filepath.Base(name) || !filepath.IsLocal(name) {
			return fmt.Errorf("%s names %q", exchangeFile, name)
		}
	}
	if !there(dir, x.From, databaseFile) {
		if !there(dir, databaseFile) {
			return fmt.Errorf("what was to be restored is gone from %s", filepath.Join(dir, x.From))
		}
		return nil // it was the last
	}
	// What was being removed is of the jobs before, not of those that are restored.
	old := []string{databaseFile, databaseFile + "-wal", databaseFile + "-shm", "removing"}
	for _, name := range x.Names[:len(x.Names)-1] {
		if there(dir, x.From, name) {
			old = append(old, name)
		}
	}
	for _, name := range old {
		if !there(dir, name) {
			continue
		}
		if err := rootfs.MkdirAll(filepath.Join(dir, x.Aside)); err != nil {
			return err
		}
		to := name
		for n := 1; there(dir, x.Aside, to); n++ { // somebody made it anew meanwhile
			to = fmt.Sprintf("%s.%d", name, n)
		}
		if err := rootfs.Move(filepath.Join(dir, name), filepath.Join(dir, x.Aside, to)); err != nil {
			return err
		}
	}
	for _, name := range x.Names {
		if !there(dir, x.From, name) {
			continue
		}
		if err := rootfs.Move(filepath.Join(dir, x.From, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func there(path ...string) bool {
	_, err := os.Lstat(filepath.Join(path...))
	return err == nil
}
