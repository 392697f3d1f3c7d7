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
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
)

const (
	databaseFile = "adroit.db"
	manifestFile = "backup.json" // the first entry of an archive
)

// A Manifest describes the contents of a backup.
type Manifest struct {
	Made    time.Time `json:"made"`
	Version string    `json:"version,omitempty"` // of the program
	Jobs    int       `json:"jobs"`
	Running []string  `json:"running,omitempty"` // jobs that had not ended
	Files   int       `json:"files"`             // besides the database
	// Lost lists properties of files of worktrees and of killed commands that the backup lacks, at most
	// maxLost of them; LostMore counts the rest.
	Lost     []Loss `json:"lost,omitempty"`
	LostMore int    `json:"lost_more,omitempty"`
}

// A Loss is a part of a file that a backup does not have, or that could not be restored.
type Loss struct {
	Path rootfs.RawName `json:"path"` // in the data directory
	// What is fifo, socket or device, of which nothing is kept; setuid or setgid; link, of a name of
	// another file, which became a file of its own; or an extended attribute by its name.
	What string `json:"what"`
}

// maxLost bounds the list of losses.
const maxLost = 1000

func (m *Manifest) lose(p, what string) {
	if len(m.Lost) == maxLost {
		m.LostMore++
		return
	}
	m.Lost = append(m.Lost, Loss{rootfs.RawName(p), what})
}

// Write writes a copy of the data directory to file, which must not exist: a tar archive,
// compressed if its name ends in .gz or .tgz. It contains the database, the data for undo,
// worktrees and trust decisions, but no caches. It is consistent while jobs run: the database is
// copied in one read transaction, and everything else, which is written before the database refers
// to it, after that. Since it contains prompts and file contents, only its owner can read it.
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
	if _, err := sqlite.FinishExchange(data); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	if _, err := os.Lstat(filepath.Join(data, databaseFile)); err != nil {
		return nil, fmt.Errorf("backup: there is no database: %w", err)
	}
	if err := rootfs.Sweep(data); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	dir, err := rootfs.New(data, "backup")
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	defer dir.Remove()
	temp := file + ".part" + strings.TrimPrefix(filepath.Base(dir.Path), ".backup")
	if err := dir.Note(temp); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	part, err := rootfs.BeginAs(file, temp)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	defer part.Drop()
	m, err := writeBackup(ctx, data, dir.Path, part, strings.HasSuffix(file, ".gz") || strings.HasSuffix(file, ".tgz"), version)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	if err := part.Place(); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	return m, nil
}

func writeBackup(ctx context.Context, data, tmp string, to io.Writer, compress bool, version string) (m *Manifest, err error) {
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
	notes, err := journalNotes(root)
	if err != nil {
		return nil, err
	}
	lengths, err := journalLengths(root)
	if err != nil {
		return nil, err
	}
	names, marks, extras, err := backupNames(ctx, root, m)
	if err != nil {
		return nil, err
	}
	m.Files = len(names) + len(marks)
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
	if err := addFile(w, copied, databaseFile, math.MaxInt64, nil); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		switch {
		case inLedger(name, "journal"):
			err = addFile(w, root, name, lengths[name], nil)
		case inLedger(name, ledger.SyncedFile):
			err = addNote(w, name, notes[name])
		default:
			err = addFile(w, root, name, math.MaxInt64, extras)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(marks)) {
		b, err := json.Marshal(marks[dir])
		if err == nil {
			err = addBytes(w, path.Join(dir, ledger.MarksFile), b)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// copyDatabase makes a consistent copy and counts its jobs.
func copyDatabase(ctx context.Context, from, to, version string) (*Manifest, error) {
	db, err := sqlite.Open(ctx, from, sqlite.Options{Version: version})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(db.Backup(ctx, to), db.Close()); err != nil {
		return nil, err
	}
	// The copy describes itself: the original may have changed since.
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

// journalNotes returns the notes of the lengths that the ledgers' journals have at least. They are
// read before the lengths, so that none is ahead of what the backup has of its journal.
func journalNotes(root *os.Root) (map[string][]byte, error) {
	names, err := inLedgers(root, ledger.SyncedFile)
	if err != nil {
		return nil, err
	}
	notes := map[string][]byte{}
	for _, name := range names {
		switch b, err := root.ReadFile(name); {
		case err == nil:
			notes[name] = b
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return notes, nil
}

// addNote adds the note of a journal's length. Without one the ledger is newer than the lengths, and
// its journal is empty in the backup.
func addNote(w *tar.Writer, name string, note []byte) error {
	if note == nil {
		note = ledger.LengthNote(0)
	}
	return addBytes(w, name, note)
}

func addBytes(w *tar.Writer, name string, b []byte) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(b)), ModTime: time.Now(), Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

// journalLengths returns the lengths of the ledgers' journals. The content that a journal refers
// to existed before it, so files listed afterwards include all that these lengths need.
func journalLengths(root *os.Root) (map[string]int64, error) {
	names, err := inLedgers(root, "journal")
	if err != nil {
		return nil, err
	}
	lengths := map[string]int64{}
	for _, name := range names {
		switch info, err := root.Lstat(name); {
		case err == nil:
			lengths[name] = info.Size()
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return lengths, nil
}

// ledgers are the directories of ledgers: of a job, and of its sub-agents in copies.
var ledgers = []string{"jobs/*/ledger/", "jobs/*/trees/*/ledger/"}

func inLedgers(root *os.Root, file string) (names []string, err error) {
	for _, dir := range ledgers {
		found, ferr := fs.Glob(root.FS(), dir+file)
		names, err = append(names, found...), errors.Join(err, ferr)
	}
	return names, err
}

func inLedger(name, file string) bool {
	return slices.ContainsFunc(ledgers, func(dir string) bool { ok, _ := path.Match(dir+file, name); return ok })
}

// backupNames lists the files of a backup besides the database, and what it lists in place of marks in the
// upper layers of overlays, by their directories. What is not kept of these files it adds to m.
func backupNames(ctx context.Context, root *os.Root, m *Manifest) (names []string, marks map[string]*ledger.Marks, x *extras, err error) {
	marks, x = map[string]*ledger.Marks{}, newExtras()
	top, err := root.Open(".")
	if err != nil {
		return nil, nil, nil, err
	}
	defer top.Close()
	err = rootfs.WalkDir(root, ".", func(p string, d *rootfs.Entry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
			return nil
		case err != nil:
			return err
		case p == ".":
			return nil
		case leftOut(p), d.Type()&fs.ModeSymlink != 0 && !mayBeLink(p):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if area, in := below(p, areas...); in {
			if err := x.add(int(top.Fd()), p, area, m); err != nil {
				return err
			}
		}
		if upper, _ := below(p, uppers...); upper != "" {
			if kept, err := addMarks(int(top.Fd()), p, upper, marks); err != nil || !kept {
				return err
			}
		}
		if dir, name := path.Split(p); name == ledger.MarksFile && slices.ContainsFunc(uppers, func(u string) bool { ok, _ := path.Match(path.Dir(path.Dir(u)), path.Clean(dir)); return ok }) {
			return readMarks(root, path.Clean(dir), marks)
		}
		names = append(names, p)
		return nil
	})
	maps.DeleteFunc(marks, func(_ string, m *ledger.Marks) bool { return m.Empty() })
	return names, marks, x, err
}

// extras are properties beside content and permissions of files in worktrees, and of those of killed
// commands.
type extras struct {
	attrs map[string]map[string]string // of the user, by file
	links map[string]string            // names of a file that has another in the same area, by name: the first
	first map[fileOf]string
	added map[string]bool // first names that the archive has
}

type fileOf struct {
	area string
	id   rootfs.ID
}

func newExtras() *extras {
	return &extras{attrs: map[string]map[string]string{}, links: map[string]string{}, first: map[fileOf]string{}, added: map[string]bool{}}
}

// attrPrefix begins the names of records of extended attributes, as GNU tar reads and writes them.
const attrPrefix = "SCHILY.xattr."

// mayKeep reports whether everybody may give a file of their own the attribute, and a record can have its name.
func mayKeep(attr string) bool {
	return strings.HasPrefix(attr, "user.") && !strings.HasPrefix(attr, "user.overlay.") && !strings.Contains(attr, "=")
}

// add examines the file at p.
func (x *extras) add(top int, p, area string, m *Manifest) error {
	dir, name, err := rootfs.OpenParent(top, p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	st, err := rootfs.StatAt(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	kind := rootfs.TypeOf(&st)
	switch {
	case kind == unix.S_IFLNK, kind == unix.S_IFCHR && st.Rdev == 0: // a removal
		return nil
	case kind == unix.S_IFIFO:
		m.lose(p, "fifo")
		return nil
	case kind == unix.S_IFSOCK:
		m.lose(p, "socket")
		return nil
	case kind != unix.S_IFREG && kind != unix.S_IFDIR:
		m.lose(p, "device")
		return nil
	}
	if mode := uint32(st.Mode); kind == unix.S_IFREG {
		if mode&unix.S_ISUID != 0 {
			m.lose(p, "setuid")
		}
		if mode&unix.S_ISGID != 0 {
			m.lose(p, "setgid")
		}
	}
	attrs := rootfs.AttrsAt(dir, name)
	for _, attr := range slices.Sorted(maps.Keys(attrs)) {
		if !mayKeep(attr) {
			m.lose(p, attr)
			delete(attrs, attr)
		}
	}
	if len(attrs) > 0 {
		x.attrs[p] = attrs
	}
	if kind == unix.S_IFREG && st.Nlink > 1 {
		of := fileOf{area, rootfs.FileID(&st)}
		if first, ok := x.first[of]; ok {
			x.links[p] = first
		} else {
			x.first[of] = p
		}
	}
	return nil
}

// addMarks adds to the lists what the file at p, in the upper layer upper, has for them. kept reports
// whether the backup has the file itself.
func addMarks(top int, p, upper string, marks map[string]*ledger.Marks) (kept bool, err error) {
	dir, name, err := rootfs.OpenParent(top, p)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // joined meanwhile
	}
	if err != nil {
		return false, err
	}
	defer unix.Close(dir)
	m := marksOf(marks, path.Dir(upper))
	kept, err = m.Add(dir, name, strings.TrimPrefix(p, upper+"/"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return kept, err
}

// readMarks adds the list that an earlier backup brought to the overlay in dir.
func readMarks(root *os.Root, dir string, marks map[string]*ledger.Marks) error {
	old := &ledger.Marks{}
	b, err := root.ReadFile(path.Join(dir, ledger.MarksFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(b, old)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path.Join(dir, ledger.MarksFile), err)
	}
	m := marksOf(marks, dir)
	m.Removed, m.Opaque = append(m.Removed, old.Removed...), append(m.Opaque, old.Opaque...)
	m.Copied, m.Missing = append(m.Copied, old.Copied...), append(m.Missing, old.Missing...)
	return nil
}

func marksOf(all map[string]*ledger.Marks, dir string) *ledger.Marks {
	if all[dir] == nil {
		all[dir] = &ledger.Marks{}
	}
	return all[dir]
}

// leftOut reports whether a file besides the database is left out of backups: files that grant
// access, that can be made again, and temporary ones. A restore refuses the same names, for an
// archive may come from anybody.
func leftOut(p string) bool {
	first, rest, _ := strings.Cut(strings.ToLower(p), "/") // case may not matter where it is restored
	switch {
	case first == "cache", first == rootfs.TokenName, first == rootfs.TokensName, first == "restoring.json", rootfs.Is(first), strings.HasPrefix(first, databaseFile):
		return true
	case first == "jobs":
		_, of, _ := strings.Cut(rest, "/")
		of, _, _ = strings.Cut(of, "/")
		return of == "sandbox"
	}
	return slices.ContainsFunc([]string{".token-", "new-", "replaced-"}, func(head string) bool { return strings.HasPrefix(first, head) })
}

// The directories of worktrees, and of what killed commands changed and no tree has yet.
var (
	trees  = []string{"worktrees/*", "jobs/*/trees/*"}
	uppers = []string{"jobs/*/ledger/overlays/*/upper", "jobs/*/trees/*/ledger/overlays/*/upper"}
	areas  = slices.Concat(trees, uppers)
)

// mayBeLink reports whether a name lies in a worktree, or in what a command changed. Only there may a
// link be: everywhere else it would redirect adroit's writes.
func mayBeLink(p string) bool {
	_, in := below(p, areas...)
	return in
}

// below returns which directory, of those with one of the patterns, a name lies in.
func below(p string, patterns ...string) (dir string, in bool) {
	parts := strings.Split(p, "/")
	for _, pattern := range patterns {
		n := strings.Count(pattern, "/") + 1
		if len(parts) <= n {
			continue
		}
		dir := strings.Join(parts[:n], "/")
		if ok, _ := path.Match(pattern, dir); ok {
			return dir, true
		}
	}
	return "", false
}

// addFile adds a file as long as it is now, at most the first bytes of it, with what x, unless it is nil,
// has of it.
func addFile(w *tar.Writer, root *os.Root, name string, most int64, x *extras) error {
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
	if x != nil {
		for attr, value := range x.attrs[name] {
			if h.PAXRecords == nil {
				h.PAXRecords = map[string]string{}
			}
			h.PAXRecords[attrPrefix+attr] = value
		}
		if first := x.links[name]; x.added[first] && info.Mode().IsRegular() {
			h.Typeflag, h.Linkname, h.Size, h.PAXRecords = tar.TypeLink, first, 0, nil
			return w.WriteHeader(h)
		}
		x.added[name] = true
	}
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
	h.Size = min(info.Size(), most)
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(f, h.Size))
	if err == nil && n < h.Size {
		err = errors.New("became shorter while it was read; try again")
	}
	return err
}
