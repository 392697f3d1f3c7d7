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
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
)

// A Restored describes the result of Restore.
type Restored struct {
	Manifest
	Aside string `json:"aside,omitempty"` // where what was there before is now
	// Disconnected are worktrees that their repositories do not know.
	Disconnected []Disconnected `json:"disconnected,omitempty"`
}

// Disconnected describes what is wrong with a worktree, and what to do.
type Disconnected struct {
	What string `json:"what"`
	Do   string `json:"do,omitempty"`
}

// Restore brings back a backup into the data directory, whose jobs must not
// run. What is there already is moved aside, into a directory that Restored
// names, and only if replace is set. A backup that is damaged changes nothing.
func Restore(ctx context.Context, data, file, version string, replace bool) (*Restored, error) {
	data, err := filepath.Abs(data)
	if err != nil {
		return nil, err
	}
	if err := rootfs.MkdirAll(data); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	if _, err := sqlite.FinishExchange(data); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	if err := errors.Join(restorable(ctx, data, version, replace), rootfs.Sweep(data)); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	dir, err := rootfs.New(data, "restore")
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	tmp := dir.Path
	out := &Restored{}
	recorded := false
	defer func() {
		if !recorded {
			_ = dir.Remove()
		}
	}()
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
	recorded = true // from here on the new files are all that may be left of the jobs
	if out.Aside, err = sqlite.Exchange(data, tmp); err != nil {
		return nil, fmt.Errorf("restore: %w; the next command goes on with it", err)
	}
	if db, err = sqlite.Open(ctx, filepath.Join(data, databaseFile), sqlite.Options{Version: version}); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	list, err := db.List(ctx, jobs.Query{})
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	for _, err := range jobdir.Disconnected(data, list) {
		d := Disconnected{What: err.Error()}
		if we, ok := errors.AsType[*worktree.Error](err); ok {
			d.Do = we.Remedy
		}
		out.Disconnected = append(out.Disconnected, d)
	}
	return out, dir.Remove()
}

// restorable returns an error if a data directory may not be replaced.
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
	err = errors.Join(err, db.Close())
	if replace && errors.Is(err, sqlite.ErrDamaged) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, j := range list {
		if j.Lease.Owner != "" { // it runs, or is queued
			return fmt.Errorf("job %s runs; stop it first: %s", j.ID, hint.Command("jobs cancel %s", j.ID))
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
	made := &unpacked{root: root, files: map[string]bool{}, hard: map[string]string{}, links: map[string]string{}, m: m}
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
		name := path.Clean(h.Name)
		switch {
		case name != databaseFile && leftOut(name):
			return fmt.Errorf("it has %s, which no backup of adroit has: somebody else has put it in; nothing is restored", strconv.Quote(h.Name))
		case (h.Typeflag == tar.TypeSymlink || h.Typeflag == tar.TypeLink) && !mayBeLink(name):
			return fmt.Errorf("it has the link %s, and backups have links only in worktrees and in the changes of killed commands: somebody else has put it in; nothing is restored", strconv.Quote(h.Name))
		}
		if err := made.add(r, h, name); err != nil {
			return err
		}
	}
	if _, err := root.Lstat(databaseFile); err != nil {
		return errors.New("it has no database; it may have been cut short")
	}
	return made.settle()
}

// A stamp is the final metadata of an archive's directory.
type stamp struct {
	name  string
	mode  fs.FileMode
	time  time.Time
	attrs map[string]string
}

// unpacked is the part of an archive in root, and what is made after all its files.
type unpacked struct {
	root  *os.Root
	files map[string]bool // regular, that this archive brought
	dirs  []stamp
	hard  map[string]string // names of those files, by name
	links map[string]string // symbolic ones
	m     *Manifest
}

// add unpacks an entry, or notes it.
func (u *unpacked) add(r io.Reader, h *tar.Header, name string) error {
	attrs := map[string]string{}
	for key, value := range h.PAXRecords {
		attr, ok := strings.CutPrefix(key, attrPrefix)
		if ok && (!mayKeep(attr) || !mayBeLink(name)) {
			return fmt.Errorf("%s has the attribute %s, which backups do not have", strconv.Quote(h.Name), strconv.Quote(attr))
		}
		if ok {
			attrs[attr] = value
		}
	}
	switch h.Typeflag {
	case tar.TypeDir:
		mode := h.FileInfo().Mode() & (fs.ModePerm | fs.ModeSticky | fs.ModeSetgid)
		if !mayBeLink(name) {
			mode = mode.Perm()
		}
		u.dirs = append(u.dirs, stamp{h.Name, mode, h.ModTime, attrs})
		return u.root.MkdirAll(h.Name, 0o700)
	case tar.TypeSymlink:
		u.links[name] = h.Linkname
		return nil
	case tar.TypeLink:
		area, _ := below(name, areas...)
		if of, _ := below(h.Linkname, areas...); of != area || !u.files[h.Linkname] {
			return fmt.Errorf("it has the link %s to %s, which is no file of the archive in the same tree", strconv.Quote(h.Name), strconv.Quote(h.Linkname))
		}
		u.hard[name] = h.Linkname
		return nil
	case tar.TypeReg:
		u.files[name] = true
		refused, err := extractFile(u.root, r, h, attrs)
		for _, attr := range refused {
			u.m.lose(name, attr)
		}
		return err
	}
	return fmt.Errorf("%s has a type that backups do not have", h.Name)
}

// settle makes the links, after all files, so that none is written through a link, and completes the
// directories.
func (u *unpacked) settle() error {
	for _, name := range slices.Sorted(maps.Keys(u.hard)) {
		if err := u.link(u.hard[name], name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(u.links)) {
		if err := u.root.Symlink(u.links[name], name); err != nil {
			return err
		}
	}
	for _, d := range slices.Backward(u.dirs) { // a directory may be read-only
		f, err := u.root.Open(d.name)
		if err != nil {
			return err
		}
		for _, attr := range rootfs.AddAttrs(int(f.Fd()), d.attrs) {
			u.m.lose(d.name, attr)
		}
		if err := errors.Join(f.Chmod(d.mode), f.Close(), u.root.Chtimes(d.name, d.time, d.time)); err != nil {
			return err
		}
	}
	return rootfs.SyncFS(u.root.Name()) // names of files are synced with none of them
}

// link gives a file another name or, where the file system has one name a file, copies it.
func (u *unpacked) link(file, name string) error {
	err := u.root.Link(file, name)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	from, err := u.root.Open(file)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	u.m.lose(name, "link")
	_, err = extractFile(u.root, from, &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}, nil)
	return err
}

// extractFile returns the attributes that the file cannot have here.
func extractFile(root *os.Root, r io.Reader, h *tar.Header, attrs map[string]string) (refused []string, err error) {
	if dir := path.Dir(h.Name); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil { // the journals come before their directories
			return nil, err
		}
	}
	f, err := root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(f, r)
	refused = rootfs.AddAttrs(int(f.Fd()), attrs)
	return refused, errors.Join(err, f.Chmod(h.FileInfo().Mode().Perm()), f.Sync(), f.Close(), root.Chtimes(h.Name, h.ModTime, h.ModTime))
}
