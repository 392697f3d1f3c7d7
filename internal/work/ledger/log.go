package ledger

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
)

// undoStep and a number is the step that an Undo's own changes are noted under.
const undoStep = "undo."

// A Ledger is the record of one job's changes in its workspace, kept in a directory of its own
// outside it: a journal of changes and the replaced content. Each record is on disk before the
// change it describes, so a ledger opened after a kill or a power cut knows of every change that
// was made, and of at most one that was not.
//
// A Ledger is safe for concurrent use. One process at a time may add to it; any number may read it
// with Steps, Changes, Diff and Incomplete, which write nothing.
type Ledger struct {
	*log
	StepPath string
}

// log is the state shared by the ledgers that At makes.
type log struct {
	Dir      string
	DenyList *rootfs.DenyList // the operator's; see Naming

	mu        sync.Mutex
	journal   *os.File                // nil until something is added
	good      int64                   // bytes of whole records when the ledger was read
	noted     bool                    // the journal has a note of its length, or had one
	damage    string                  // why records are lost; see lost
	entries   []entry                 // every change of a path, oldest first
	moves     []moveEntry             // every one of a reference
	records   int                     // with changes
	first     map[string]rootfs.State // of a path before the job
	last      map[string]PathChange   // the newest of a path
	undone    int                     // how often Undo was begun
	size      int64                   // bytes of the blobs, -1 until somebody needs it
	seen      map[string]string
	started   map[string]bool // see Begin
	temp      string          // the newest change's temporary file
	cache     map[string]stamp
	ignored   map[string]bool   // paths whose changes are all Ignored ones
	watched   map[string]bool   // see watch
	unkept    map[string]bool   // paths whose original content was too much to keep
	active    map[string]bool   // snapshots of ours that wait for their Record
	partial   []string          // why not everything is in the ledger
	shared    string            // see Share
	memory    map[string][]byte // content that is in no blob; see recall
	scans     sync.Mutex        // held for a scan; guards index, prefix, traits and special
	traits    map[string]seenTraits
	special   map[string]*specialDir
	index     *gitIndex
	prefix    string
	listing   *listing
	packed    map[string]*packedRefs // by file // guarded by mu
	fault     atomic.Pointer[StorageError]
	syncs     atomic.Int64                         // of the workspace, see SyncWorkspace
	peeked    bool                                 // the maps have what no record has; see peek
	JoinPoint func(string)                         // for tests: called at each point of joining a command's changes
	overlays  func(context.Context, *Ledger) error // see OpenLedger
	followed  *Snapshot                            // see Follow
	later     []string                             // what the reader of the next command's output should know
}

// A PathChange is one path's part of a change.
type PathChange struct {
	Path   rootfs.RawName `json:"path"`
	From   rootfs.RawName `json:"from,omitempty"`
	Before rootfs.State   `json:"before,omitzero"`
	After  rootfs.State   `json:"after,omitzero"`
	// Uncertain: the path was compared before and after a command, which does not show who changed
	// it in between. An undo of such a change is uncertain, too.
	Uncertain bool `json:"uncertain,omitempty"`
	// Reported: the program that was watched reported that it changed the path.
	Reported bool `json:"reported,omitempty"`
	// Ignored: git did not list the path before the command. Its content is kept, and an undo
	// restores it, but it is not part of the job's work.
	Ignored bool `json:"ignored,omitempty"`
}

// A record is one line of the journal.
type record struct {
	Step    string           `json:"step,omitempty"`
	Temp    rootfs.RawName   `json:"temp,omitempty"`
	Changes []PathChange     `json:"changes,omitempty"`
	Unkept  []rootfs.RawName `json:"unkept,omitempty"`
	Partial string           `json:"partial,omitempty"`
	Watch   []rootfs.RawName `json:"watch,omitempty"` // see watch
	Git     rootfs.RawName   `json:"git,omitempty"`   // the git directory of Refs
	Refs    []RefMove        `json:"refs,omitempty"`
	Seen    rootfs.RawName   `json:"seen,omitempty"`
	Digest  string           `json:"digest,omitempty"`
	Begun   string           `json:"begun,omitempty"` // a step that is not repeatable
	// Noted: there is a note of the journal's length, see SyncedFile. It is in the first record.
	Noted bool `json:"noted,omitempty"`
}

// An entry is a delta, the step that made it and the number of its record.
type entry struct {
	step   string
	record int
	PathChange
}

// IndexRef is the name under which a change of the index is recorded.
const IndexRef = "index"

// UnderWay is the value of a file that is there while git has begun something.
const UnderWay = "under way"

// A RefMove is a change of one reference of a git repository: a branch, a tag, HEAD, the index
// (see IndexRef), the state of an operation or a file that git obeys (see GitFile).
type RefMove struct {
	Name   rootfs.RawName `json:"name"`
	Before string         `json:"before,omitempty"` // see refState; "": there was none
	After  string         `json:"after,omitempty"`
	// Uncertain: see PathChange.
	Uncertain bool `json:"uncertain,omitempty"`
	// Kept and Left are the digests of the index or file before and after.
	Kept string `json:"kept,omitempty"`
	Left string `json:"left,omitempty"`
}

// A moveEntry is a move, the step that made it and the number of its record.
type moveEntry struct {
	step   string
	record int
	git    string // the git directory
	RefMove
}

// packedRefs are the references of one packed-refs file.
type packedRefs struct {
	stamp  fileStamp
	digest string
	values map[string]string
}

// errDamaged is wrapped by errors about snapshots that no later attempt can read.
var errDamaged = errors.New("its snapshot is damaged")

// A stamp changes when a file is touched after its content was last read.
type stamp struct {
	size  int64
	mod   int64
	inode uint64
	ctime int64
	mode  fs.FileMode
	state rootfs.State
	kept  bool
}

// A listing has the names in a tree for a snapshot. Creating, removing or renaming a file changes
// its directory, so the names are unchanged as long as the directories are, and the files that
// decide which of them git ignores.
type listing struct {
	root   string
	index  *gitIndex
	files  []string            // sorted, without those that the index judges
	nested []string            // of them, repositories
	repos  map[string]gitEntry // what is named .git in the tree
	dirs   map[string]rootfs.State
	more   bool // there are too many
	made   time.Time
	// stamps are the stamps of the directories, the ignore files and the index.
	stamps map[string]fileStamp
}

// A gitEntry is something named .git. One that was moved is the same still; one that was
// made when another was removed may have the number of that, and has another time.
type gitEntry struct {
	id   rootfs.ID
	head int64 // when HEAD was written; 0: it has none
}

// reset forgets the journal's records.
func (b *log) reset() {
	b.good, b.entries, b.moves, b.records, b.undone, b.temp, b.partial, b.peeked, b.noted = 0, nil, nil, 0, 0, "", nil, false, false
	b.first, b.last, b.seen, b.unkept = map[string]rootfs.State{}, map[string]PathChange{}, map[string]string{}, map[string]bool{}
	b.ignored, b.watched, b.started = map[string]bool{}, map[string]bool{}, map[string]bool{}
}

// read reads the records added to the journal since the last read. It stops at a damaged record:
// an undo could take what the records after it began with for what was there before the job.
func (b *log) read() error {
	least := synced(b.Dir) // first, since another process may be adding
	f, err := os.Open(filepath.Join(b.Dir, "journal"))
	if errors.Is(err, fs.ErrNotExist) {
		b.short(least)
		return nil
	}
	if info, serr := os.Stat(filepath.Join(b.Dir, "journal")); serr == nil && !info.Mode().IsRegular() {
		b.lost("what is in its place is not a file")
		if err == nil {
			err = f.Close()
		}
		return err
	}
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(b.good, io.SeekStart); err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	in := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			switch b.short(least); {
			case least >= 0:
			case len(line) > 0:
				b.lost(fmt.Sprintf("it ends within the record at byte %d, and the note of its length cannot be read", b.good))
			case b.noted:
				b.damage = "whether the record of changes in " + filepath.Join(b.Dir, "journal") + " is whole is not known: the note of its length cannot be read"
			}
			return nil // what follows the last newline was never acknowledged
		}
		if err != nil {
			return fmt.Errorf("reading the ledger: %w", err)
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			if _, end := in.Peek(1); end == io.EOF && least >= 0 && b.good+int64(len(line)) > least {
				return nil
			}
			b.lost(fmt.Sprintf("the record at byte %d is damaged: %v", b.good, err))
			return nil
		}
		b.good += int64(len(line))
		b.apply(r)
	}
}

// apply takes a record into the maps.
func (b *log) apply(r record) {
	b.noted = b.noted || r.Noted
	if r.Seen != "" {
		b.seen[string(r.Seen)] = r.Digest
	}
	if r.Begun != "" {
		b.started[r.Begun] = true
	}
	if r.Partial != "" {
		b.partial = append(b.partial, r.Partial)
	}
	if len(r.Changes) > 0 {
		b.temp = string(r.Temp)
	}
	if len(r.Changes)+len(r.Refs) > 0 {
		b.records++
	}
	for _, m := range r.Refs {
		b.moves = append(b.moves, moveEntry{step: r.Step, record: b.records, git: string(r.Git), RefMove: m})
	}
	for _, p := range r.Unkept {
		if _, kept := b.first[string(p)]; !kept {
			b.unkept[string(p)] = true
		}
	}
	for _, p := range r.Watch {
		b.watched[string(p)] = true
	}
	for _, d := range r.Changes {
		p := string(d.Path)
		if _, ok := b.first[p]; !ok {
			b.first[p] = d.Before
			b.ignored[p] = true
		}
		b.ignored[p] = b.ignored[p] && d.Ignored
		b.last[p] = d
		b.entries = append(b.entries, entry{step: r.Step, record: b.records, PathChange: d})
	}
	if n, ok := strings.CutPrefix(r.Step, undoStep); ok && len(r.Changes)+len(r.Refs) > 0 {
		if i, err := strconv.Atoi(n); err == nil {
			b.undone = max(b.undone, i)
		}
	}
}

// begin opens the journal for adding and keeps other processes from doing so.
// What a crash left after the last whole record is cut off.
func (b *log) begin() (err error) {
	if b.journal != nil {
		return nil
	}
	defer func() { _ = b.RecordFailure(err) }()
	if err := b.makeWay(); err != nil {
		return err
	}
	f, err := lock.Create(filepath.Join(b.Dir, "journal"))
	if err != nil {
		return fmt.Errorf("writing the ledger: %w", err)
	}
	for n := 0; ; n++ {
		if err = lock.Try(f); !errors.Is(err, lock.ErrHeld) || n == 10 {
			break
		}
		time.Sleep(5 * time.Millisecond) // who only looks whether somebody writes has it for a moment
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("the ledger in %s is locked by another process; wait until it has ended: %w", b.Dir, err)
	}
	if b.peeked {
		b.reset()
	}
	if err := b.read(); err != nil { // another process may have added to it meanwhile
		_ = lock.Close(f)
		return err
	}
	if err := errors.Join(b.keepDamaged(), f.Truncate(b.good), rootfs.SyncDir(b.Dir)); err != nil {
		_ = lock.Close(f)
		return fmt.Errorf("writing the ledger: %w", err)
	}
	if _, err := f.Seek(b.good, io.SeekStart); err != nil {
		_ = lock.Close(f)
		return fmt.Errorf("writing the ledger: %w", err)
	}
	b.journal = f
	if why := b.damage; why != "" { // whoever reads the ledger later has no other way to know
		if err := b.add(record{Partial: why}, true); err != nil {
			return err
		}
		b.damage = ""
	}
	if synced(b.Dir) < 0 { // content or a torn record without a note means damage: no kill or power cut may leave that
		return b.noteSynced(true)
	}
	_ = b.noteSynced(false) // there is one already, which is not ahead
	return nil
}

// add appends a record; if sync is set it is on disk when add returns.
func (b *log) add(r record, sync bool) error {
	if err := b.begin(); err != nil {
		return err
	}
	r.Noted = b.good == 0
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("writing the ledger: %w", err)
	}
	line = append(line, '\n')
	if _, err := b.journal.Write(line); err != nil {
		_ = b.journal.Truncate(b.good)
		_, _ = b.journal.Seek(b.good, io.SeekStart)
		return b.RecordFailure(fmt.Errorf("writing the ledger: %w", err))
	}
	if sync {
		if err := b.journal.Sync(); err != nil {
			return b.RecordFailure(fmt.Errorf("writing the ledger: %w", err))
		}
	}
	b.good += int64(len(line))
	b.apply(r)
	if sync {
		_ = b.noteSynced(false) // without the note a loss goes unnoticed, and nothing is lost by that
	}
	return nil
}

// A StorageError reports that the machine failed, not the call: the ledger
// cannot be written or is locked by another process, or the disk is full or
// broken. No other call would do better until somebody puts that right.
type StorageError struct{ Err error }

func (e *StorageError) Error() string { return e.Err.Error() }

func (e *StorageError) Unwrap() error { return e.Err }

// RecordFailure keeps the first storage failure, so that it is found even if a tool hides the
// error: see Fault.
func (b *log) RecordFailure(err error) error {
	if err != nil && !b.fault.CompareAndSwap(nil, &StorageError{err}) {
		// One that goes by does not hide one that stays.
		if old := b.fault.Load(); old != nil && exhaustion.Of(old) != "" && exhaustion.Of(err) == "" {
			b.fault.CompareAndSwap(old, &StorageError{err})
		}
	}
	return err
}

// Stale are the files that are not as the job last saw them or left them, in three
// kinds, each sorted.
type Stale struct {
	Changed []string
	Deleted []string
	Undone  []string // by an undo of the job's changes
	Digest  string   // of what they are now; "" if there are none
}

// maxStale bounds the bytes of a file whose content is compared; a larger one is
// compared by its size.
const maxStale = 32 << 20

// Stale compares the job's knowledge of files with their state.
func (l *Ledger) Stale(ctx context.Context, root string) (s Stale, err error) {
	l.mu.Lock()
	seen := maps.Clone(l.seen)
	l.mu.Unlock()
	return l.compare(ctx, root, seen, func(string) bool { return true })
}

// Lost compares the files that finished steps have changed with the states that they left: after a
// power cut files may be missing, or old. Changes of an interrupted command are not lost, whether
// or not Recover has recorded them.
func (l *Ledger) Lost(ctx context.Context, root string, finished func(step string) bool) (Stale, error) {
	if err := l.peek(ctx); err != nil {
		return Stale{}, err
	}
	return l.compare(ctx, root, nil, func(step string) bool { return strings.HasPrefix(step, undoStep) || finished(step) })
}

// compare compares the files that were read, and those that steps changed last that
// count.
func (l *Ledger) compare(ctx context.Context, root string, seen map[string]string, counts func(step string) bool) (s Stale, err error) {
	t, err := rootfs.Open(root)
	if err != nil {
		return s, err
	}
	defer t.Close()
	l.mu.Lock()
	last, by := maps.Clone(l.last), map[string]string{}
	for _, e := range l.entries {
		by[string(e.Path)] = e.step
	}
	l.mu.Unlock()
	paths := map[string]bool{}
	for p := range seen {
		paths[p] = true
	}
	for p := range last {
		paths[p] = counts(by[p])
	}
	sum := sha256.New()
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		if !paths[p] {
			continue
		}
		digest, read := seen[p]
		change, changed := last[p]
		now, known := current(t, p, change.After)
		switch {
		case !known || changed && (change.After.Type == rootfs.TypeDir || change.After.Type == "" && now.Type == rootfs.TypeDir):
			continue
		case strings.HasPrefix(by[p], undoStep) && now.Equal(change.After):
			if seen == nil {
				continue // as the undo left it: nothing is lost
			}
			s.Undone = append(s.Undone, p)
		case read && now.Digest == digest || changed && now.Digest == change.After.Digest:
			continue
		case now.Type == "":
			s.Deleted = append(s.Deleted, p)
		default:
			s.Changed = append(s.Changed, p)
		}
		fmt.Fprintf(sum, "%q %s %d\n", p, now.Digest, now.Size)
		s.Digest = hex.EncodeToString(sum.Sum(nil))
	}
	return s, nil
}

// current returns the state of a path; a directory or special file has its kind as its digest. The
// state is unknown if the file cannot be read, or is large and has its old size.
func current(t *rootfs.Tree, p string, left rootfs.State) (rootfs.State, bool) {
	info, err := t.Root.Lstat(p)
	if err == nil && info.Mode()&^fs.ModePerm == 0 && info.Size() > maxStale {
		return rootfs.State{Type: rootfs.TypeFile, Size: info.Size()}, info.Size() != left.Size
	}
	if err == nil && info.IsDir() {
		return rootfs.State{Type: rootfs.TypeDir, Digest: rootfs.TypeDir}, true
	}
	if err == nil && info.Mode().Type()&^fs.ModeSymlink != 0 {
		kind := info.Mode().Type().String()
		return rootfs.State{Type: kind, Digest: kind}, true
	}
	s, err := t.State(p, nil)
	return s, err == nil
}

// mostNamed bounds the files of one kind that a message names.
const mostNamed = 20

// String describes the files for a model, "" if there are none.
func (s Stale) String() string {
	list := s.List()
	if list == "" {
		return ""
	}
	return "Files are not as you know them, through no call of yours. " + list
}

// List names the files by kind, "" if there are none.
func (s Stale) List() string {
	var parts []string
	for _, k := range []struct {
		what  string
		paths []string
	}{{"changed", s.Changed}, {"deleted", s.Deleted}, {"undone by the user, so as before your changes", s.Undone}} {
		if len(k.paths) == 0 {
			continue
		}
		list := slices.Clone(k.paths)
		for i, p := range list {
			if strings.ContainsFunc(p, func(r rune) bool { return !strconv.IsPrint(r) }) {
				list[i] = strconv.Quote(p)
			}
		}
		parts = append(parts, k.what+": "+spelling.List(list, mostNamed))
	}
	return strings.Join(parts, "; ")
}
