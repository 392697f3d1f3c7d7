// Package backup copies a data directory to one file, and brings it back.
package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/sqlite"
	"github.com/adroit-run/adroit/pkg/jobs"
)

const (
	databaseFile = "adroit.db"
	manifestFile = "backup.json" // the first entry of an archive
)

// A Manifest says what a backup holds.
type Manifest struct {
	Made    time.Time `json:"made"`
	Version string    `json:"version,omitempty"` // of the program
	Jobs    int       `json:"jobs"`
	Running []string  `json:"running,omitempty"` // jobs that had not ended
	Files   int       `json:"files"`             // besides the database
}

// Write writes a copy of the data directory to file, which must not exist: a
// tar archive, compressed if its name ends in .gz or .tgz. It has the database,
// what undo needs, worktrees and trust decisions, and leaves out caches. It is
// consistent while jobs run: the database is copied in one read transaction,
// and everything else, which is written before the database refers to it, after
// that. It holds prompts and file contents; only its owner can read it.
func Write(ctx context.Context, data, file, version string) (*Manifest, error) {
	data, err := filepath.Abs(data)
	if err != nil {
		return nil, err
	}
	file, err = filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(data, file); err == nil && filepath.IsLocal(rel) {
		return nil, fmt.Errorf("backup: %s is inside of the data directory %s; choose a place outside of it", file, data)
	}
	if _, err := os.Lstat(file); err == nil {
		return nil, fmt.Errorf("backup: %s exists; choose another name", file)
	}
	part, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".part*") // 0600
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	defer os.Remove(part.Name())
	defer part.Close()
	m, err := writeBackup(ctx, data, part, strings.HasSuffix(file, ".gz") || strings.HasSuffix(file, ".tgz"), version)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	// Link, unlike rename, never replaces a file that somebody made meanwhile.
	if err := errors.Join(part.Sync(), os.Link(part.Name(), file)); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	return m, nil
}

func writeBackup(ctx context.Context, data string, to io.Writer, compress bool, version string) (m *Manifest, err error) {
	tmp, err := os.MkdirTemp("", "adroit-backup-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	if m, err = copyDatabase(ctx, filepath.Join(data, databaseFile), filepath.Join(tmp, databaseFile), version); err != nil {
		return nil, err
	}
	if compress {
		z := gzip.NewWriter(to)
		defer func() { err = errors.Join(err, z.Close()) }()
		to = z
	}
	w := tar.NewWriter(to)
	defer func() { err = errors.Join(err, w.Close()) }()
	root, err := os.OpenRoot(data)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	names, err := backupNames(ctx, root)
	if err != nil {
		return nil, err
	}
	m.Files = len(names)
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if err := w.WriteHeader(&tar.Header{Name: manifestFile, Mode: 0o600, Size: int64(len(b)), ModTime: m.Made, Format: tar.FormatPAX}); err != nil {
		return nil, err
	}
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	copied, err := os.OpenRoot(tmp)
	if err != nil {
		return nil, err
	}
	defer copied.Close()
	if err := addFile(w, copied, databaseFile); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := addFile(w, root, name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return m, nil
}

// copyDatabase makes a consistent copy and counts what is in it.
func copyDatabase(ctx context.Context, from, to, version string) (*Manifest, error) {
	if _, err := os.Lstat(from); err != nil {
		return nil, fmt.Errorf("there is no database: %w", err)
	}
	db, err := sqlite.Open(ctx, from, sqlite.Options{Version: version})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(db.Backup(ctx, to), db.Close()); err != nil {
		return nil, err
	}
	// The copy says what it has: the original may have gone on.
	db, err = sqlite.Open(ctx, to, sqlite.Options{Version: version, Check: true})
	if err != nil {
		return nil, err
	}
	list, err := db.List(ctx, jobs.Query{})
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	m := &Manifest{Made: time.Now().UTC().Truncate(time.Second), Version: version, Jobs: len(list)}
	for _, j := range list {
		if !j.Status.Final() {
			m.Running = append(m.Running, j.ID)
		}
	}
	return m, nil
}

// backupNames lists what belongs to a backup besides the database. The journals
// of ledgers come first: the content that they refer to was there before them.
func backupNames(ctx context.Context, root *os.Root) ([]string, error) {
	var names []string
	err := fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
			return nil
		case err != nil:
			return err
		case p == ".":
			return nil
		case p == "cache", p == "adroit.token", strings.HasPrefix(p, ".token-"), d.IsDir() && d.Name() == "sandbox" && path.Dir(path.Dir(p)) == "jobs", strings.HasPrefix(p, "replaced-"), strings.HasPrefix(p, ".restore-"):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case strings.HasPrefix(p, databaseFile):
			return nil
		}
		names = append(names, p)
		return nil
	})
	journal := func(p string) bool { return path.Base(p) == "journal" }
	slices.SortStableFunc(names, func(a, b string) int {
		if journal(a) == journal(b) {
			return 0
		} else if journal(a) {
			return -1
		}
		return 1
	})
	return names, err
}

// addFile adds a file as long as it is now: journals only grow.
func addFile(w *tar.Writer, root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	link := ""
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		if link, err = root.Readlink(name); err != nil {
			return err
		}
	case !info.IsDir() && !info.Mode().IsRegular():
		return nil // a socket or the like
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name, h.Format = name, tar.FormatPAX
	h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""
	if !info.Mode().IsRegular() {
		return w.WriteHeader(h)
	}
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return err
	}
	h.Size = info.Size()
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(f, h.Size))
	if err == nil && n < h.Size {
		err = errors.New("became shorter while it was read; try again")
	}
	return err
}

// A Restored says what Restore did.
type Restored struct {
	Manifest
	Aside string `json:"aside,omitempty"` // where what was there before is now
}

// Restore brings back a backup into the data directory, whose jobs must not
// run. What is there already is moved aside, into a directory that Restored
// names, and only if replace is set. A backup that is damaged changes nothing.
func Restore(ctx context.Context, data, file, version string, replace bool) (*Restored, error) {
	data, err := filepath.Abs(data)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.MkdirAll(data, 0o700), restorable(ctx, data, version, replace)); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	tmp, err := os.MkdirTemp(data, ".restore-")
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	defer os.RemoveAll(tmp)
	out := &Restored{}
	if err := extract(ctx, file, tmp, &out.Manifest); err != nil {
		return nil, fmt.Errorf("restore: reading %s: %w", file, err)
	}
	db, err := sqlite.Open(ctx, filepath.Join(tmp, databaseFile), sqlite.Options{Version: version, Check: true})
	if err != nil {
		return nil, fmt.Errorf("restore: the database in %s: %w", file, err)
	}
	if err := db.Close(); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	if out.Aside, err = exchange(data, tmp); err != nil {
		return nil, fmt.Errorf("restore: %w; what was there is in %s, and the restore can be run again", err, out.Aside)
	}
	return out, nil
}

// restorable is an error if a data directory may not be replaced.
func restorable(ctx context.Context, data, version string, replace bool) error {
	dbPath := filepath.Join(data, databaseFile)
	if _, err := os.Lstat(dbPath); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	db, err := sqlite.Open(ctx, dbPath, sqlite.Options{Version: version})
	if err != nil {
		if replace {
			return nil // it is damaged, which is what backups are for
		}
		return fmt.Errorf("there is a database that cannot be opened (%w); --replace moves it aside", err)
	}
	list, err := db.List(ctx, jobs.Query{})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	for _, j := range list {
		if j.Lease.Owner != "" { // it runs, or is queued
			return fmt.Errorf("job %s runs; stop it first: adroit jobs cancel %s", j.ID, j.ID)
		}
	}
	if len(list) > 0 && !replace {
		return fmt.Errorf("%s has jobs already (%d); --replace moves them aside", data, len(list))
	}
	return nil
}

// extract unpacks an archive into dir, and nowhere else.
func extract(ctx context.Context, file, dir string, m *Manifest) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var in io.Reader = f
	if z, err := gzip.NewReader(f); err == nil {
		defer z.Close()
		in = z
	} else if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := tar.NewReader(in)
	type stamp struct {
		name string
		mode fs.FileMode
		time time.Time
	}
	var dirs []stamp
	for first := true; ; first = false {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil && first {
			if h.Name != manifestFile {
				return errors.New("it is not a backup made by adroit")
			}
			if err = json.NewDecoder(io.LimitReader(r, 16<<20)).Decode(m); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(h.Name, 0o700)
			dirs = append(dirs, stamp{h.Name, h.FileInfo().Mode().Perm(), h.ModTime})
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, h.Name)
		case tar.TypeReg:
			err = extractFile(root, r, h)
		default:
			err = fmt.Errorf("%s has a type that backups do not have", h.Name)
		}
		if err != nil {
			return err
		}
	}
	if _, err := root.Lstat(databaseFile); err != nil {
		return errors.New("it has no database; it may have been cut short")
	}
	for _, d := range slices.Backward(dirs) { // a directory may be read-only
		if err := errors.Join(root.Chmod(d.name, d.mode), root.Chtimes(d.name, d.time, d.time)); err != nil {
			return err
		}
	}
	return nil
}

func extractFile(root *os.Root, r io.Reader, h *tar.Header) error {
	if dir := path.Dir(h.Name); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil { // the journals come before their directories
			return err
		}
	}
	f, err := root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Chmod(h.FileInfo().Mode().Perm()), f.Sync(), f.Close(), root.Chtimes(h.Name, h.ModTime, h.ModTime))
}

// exchange puts what is in tmp in the place of what is in data. The database
// goes first and comes last: without it, nothing can be taken for whole.
func exchange(data, tmp string) (aside string, err error) {
	entries, err := os.ReadDir(tmp)
	if err != nil {
		return "", err
	}
	move := []string{databaseFile, databaseFile + "-wal", databaseFile + "-shm"}
	for _, e := range entries {
		if e.Name() != databaseFile {
			move = append(move, e.Name())
		}
	}
	for _, name := range move {
		if _, err := os.Lstat(filepath.Join(data, name)); err != nil {
			continue
		}
		if aside == "" {
			if aside, err = os.MkdirTemp(data, "replaced-"+time.Now().Format("20060102-150405-")); err != nil {
				return "", err
			}
		}
		if err := os.Rename(filepath.Join(data, name), filepath.Join(aside, name)); err != nil {
			return aside, err
		}
	}
	for _, name := range append(move[3:], databaseFile) {
		if err := os.Rename(filepath.Join(tmp, name), filepath.Join(data, name)); err != nil {
			return aside, err
		}
	}
	d, err := os.Open(data)
	if err != nil {
		return aside, err
	}
	return aside, errors.Join(d.Sync(), d.Close())
}
