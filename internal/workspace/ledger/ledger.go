package ledger

import (
	"bufio"
	"bytes"
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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/filelock"
	"github.com/adroit-run/adroit/internal/rootfs"
)

// MaxKeep bounds the content kept for one file. A larger one is not changed by
// the file tools, and a command's change to it cannot be undone.
const MaxKeep = 256 << 20

// maxShadow bounds what a ledger keeps beyond the files' original content, in
// bytes.
const maxShadow = 2 << 30

// undoStep and a number is the step that an Undo's own changes are noted under.
const undoStep = "undo."

// A Ledger is the record of what one job changed in its workspace, kept in a
// directory of its own outside it: a journal of changes and the content they
// replaced. Each is on disk before the change it describes, so a ledger opened
// after a kill or a power cut knows of everything that was done, and of at most
// one change that was not.
//
// A Ledger is safe for concurrent use. One process at a time may add to it;
// any number may read it with Steps, Changes, Diff and Incomplete, which write
// nothing.
type Ledger struct {
	*log
	StepPath string
}

// log is what the ledgers made by At share.
type log struct {
	Dir      string
	DenyList *rootfs.DenyList // the operator's; see Naming

	mu        sync.Mutex
	journal   *os.File                // nil until something is added
	good      int64                   // bytes of whole records when the ledger was read
	entries   []entry                 // every change of a path, oldest first
	records   int                     // with changes
	first     map[string]rootfs.State // of a path before the job
	last      map[string]PathChange   // the newest of a path
	undone    int                     // how often Undo was begun
	size      int64                   // bytes of the blobs, -1 until somebody needs it
	seen      map[string]string
	temp      string // the newest change's temporary file
	cache     map[string]stamp
	unkept    map[string]bool   // paths whose original content was too much to keep
	active    map[string]bool   // snapshots of ours that wait for their Record
	partial   []string          // why not everything is in the ledger
	shared    string            // see Share
	memory    map[string][]byte // content that is in no blob; see recall
	scans     sync.Mutex        // held for a scan; guards index and prefix
	index     *gitIndex
	prefix    string
	listing   *listing
	fault     atomic.Pointer[StorageError]
	peeked    bool                                 // the maps have what no record has; see peek
	JoinPoint func(string)                         // for tests: called at each point of joining a command's changes
	overlays  func(context.Context, *Ledger) error // see OpenLedger
	later     []string                             // what the reader of the next command's output should know
}

// A PathChange is one path's part of a change.
type PathChange struct {
	Path   rootfs.RawName `json:"path"`
	From   rootfs.RawName `json:"from,omitempty"`
	Before rootfs.State   `json:"before,omitzero"`
	After  rootfs.State   `json:"after,omitzero"`
	// Uncertain: the path was compared before and after a command, which does
	// not show who changed it in between. An undo of such a change has it too.
	Uncertain bool `json:"uncertain,omitempty"`
	// Reported: the program that was watched reported that it changed the path.
	Reported bool `json:"reported,omitempty"`
}

// A record is one line of the journal.
type record struct {
	Step    string           `json:"step,omitempty"`
	Temp    rootfs.RawName   `json:"temp,omitempty"`
	Changes []PathChange     `json:"changes,omitempty"`
	Unkept  []rootfs.RawName `json:"unkept,omitempty"`
	Partial string           `json:"partial,omitempty"`
	Seen    rootfs.RawName   `json:"seen,omitempty"`
	Digest  string           `json:"digest,omitempty"`
}

// Recorded reports whether the ledger in dir has any changes, without opening it.
func Recorded(dir string) bool {
	if cut, _ := filepath.Glob(filepath.Join(dir, "pending-*")); len(cut) > 0 {
		return true // perhaps: a command was cut short, or runs
	}
	f, err := os.Open(filepath.Join(dir, "journal"))
	if err != nil {
		return false
	}
	defer f.Close()
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 && !bytes.HasPrefix(line, []byte(`{"seen":`)) { // which is what was read
			return true
		}
		if err != nil {
			return false
		}
	}
}

// Open opens the ledger in dir, which is made if it does not exist.
// Overlays joins the changes of interrupted commands that had an overlay; nil if
// no command has one.
func Open(dir string, overlays func(context.Context, *Ledger) error) (*Ledger, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(abs, "blobs"), 0o700); err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	b := &log{Dir: abs, overlays: overlays, size: -1, cache: map[string]stamp{}, active: map[string]bool{}}
	b.reset()
	if err := b.read(); err != nil {
		return nil, err
	}
	return &Ledger{log: b}, nil
}

// reset forgets what was read of the journal.
func (b *log) reset() {
	b.good, b.entries, b.records, b.undone, b.temp, b.partial, b.peeked = 0, nil, 0, 0, "", nil, false
	b.first, b.last, b.seen, b.unkept = map[string]rootfs.State{}, map[string]PathChange{}, map[string]string{}, map[string]bool{}
}

// Incomplete returns why not everything that the job's commands changed is in
// the ledger, nil if all is. What is missing is not in Diff and cannot be undone.
func (l *Ledger) Incomplete(ctx context.Context) []string {
	cut := l.peek(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	why := slices.Clone(l.partial)
	if cut != nil {
		why = append(why, unknownChanges+cut.Error())
	}
	return slices.Compact(slices.Sorted(slices.Values(why)))
}

// An entry is a delta, the step that made it and the number of its record.
type entry struct {
	step   string
	record int
	PathChange
}

// At returns a view of the ledger that notes changes under a step's path.
func (l *Ledger) At(step string) *Ledger { return &Ledger{log: l.log, StepPath: step} }

type stepKey struct{}

// AtStep returns a context for the commands of a step: what one with
// Cmd.Snapshot changes is noted under the step's path.
func AtStep(ctx context.Context, step string) context.Context {
	return context.WithValue(ctx, stepKey{}, step)
}

// Close lets another process add to the ledger.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.journal == nil {
		return nil
	}
	err := filelock.Close(l.journal)
	l.journal = nil
	return err
}

// read takes in what was added to the journal since it was last read.
func (b *log) read() error {
	f, err := os.Open(filepath.Join(b.Dir, "journal"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
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
			return nil // what follows the last newline was never acknowledged
		}
		if err != nil {
			return fmt.Errorf("reading the ledger: %w", err)
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			if _, err := in.Peek(1); err == io.EOF {
				return nil
			}
			return fmt.Errorf("reading the ledger in %s: the record at byte %d is damaged; the changes after it are not known: %w", b.Dir, b.good, err)
		}
		b.good += int64(len(line))
		b.apply(r)
	}
}

// apply takes a record into the maps.
func (b *log) apply(r record) {
	if r.Seen != "" {
		b.seen[string(r.Seen)] = r.Digest
	}
	if r.Partial != "" {
		b.partial = append(b.partial, r.Partial)
	}
	if len(r.Changes) > 0 {
		b.temp = string(r.Temp)
		b.records++
	}
	for _, p := range r.Unkept {
		if _, kept := b.first[string(p)]; !kept {
			b.unkept[string(p)] = true
		}
	}
	for _, d := range r.Changes {
		p := string(d.Path)
		if _, ok := b.first[p]; !ok {
			b.first[p] = d.Before
		}
		b.last[p] = d
		b.entries = append(b.entries, entry{step: r.Step, record: b.records, PathChange: d})
	}
	if n, ok := strings.CutPrefix(r.Step, undoStep); ok && len(r.Changes) > 0 {
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
	f, err := os.OpenFile(filepath.Join(b.Dir, "journal"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("writing the ledger: %w", err)
	}
	for n := 0; ; n++ {
		if err = filelock.Try(f); !errors.Is(err, filelock.ErrHeld) || n == 10 {
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
		_ = filelock.Close(f)
		return err
	}
	if err := errors.Join(f.Truncate(b.good), rootfs.SyncDir(b.Dir)); err != nil {
		_ = filelock.Close(f)
		return fmt.Errorf("writing the ledger: %w", err)
	}
	if _, err := f.Seek(b.good, io.SeekStart); err != nil {
		_ = filelock.Close(f)
		return fmt.Errorf("writing the ledger: %w", err)
	}
	b.journal = f
	return nil
}

// add appends a record; if sync is set it is on disk when add returns.
func (b *log) add(r record, sync bool) error {
	if err := b.begin(); err != nil {
		return err
	}
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
	return nil
}

// Change notes deltas that are about to be made. What they replace must have
// been kept before.
func (l *Ledger) Change(temp string, ds ...PathChange) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.add(record{Step: l.StepPath, Temp: rootfs.RawName(temp), Changes: ds}, true)
}

// Note notes deltas that are about to be made, and the paths of them whose
// former content was too much to keep.
func (l *Ledger) Note(ds []PathChange, unkept []rootfs.RawName) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.add(record{Step: l.StepPath, Changes: ds, Unkept: unkept}, true)
}

// TakeBack notes that the newest change was not made after all.
func (l *Ledger) TakeBack(ds ...PathChange) {
	back := make([]PathChange, 0, len(ds))
	for _, d := range ds {
		back = append(back, PathChange{Path: d.Path, Before: d.After, After: d.Before, Uncertain: d.Uncertain})
	}
	// If even this cannot be written, Undo finds the content as it was before
	// the change and takes that for the job's.
	_ = l.Change("", back...)
}

// TakeNotes returns what is to be known about interrupted commands whose changes
// were joined since, once.
func (b *log) TakeNotes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	notes := b.later
	b.later = nil
	return notes
}

// Seen notes the digest of a file as the job last saw it, for the stale check;
// an empty digest means that there was no such file. It is not synced: a lost
// note costs a refusal at worst, never an update.
func (l *Ledger) Seen(path, digest string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, ok := l.seen[path]; ok && old == digest {
		return nil
	}
	return l.add(record{Seen: rootfs.RawName(path), Digest: digest}, false)
}

// LastSeen returns what Seen noted.
func (l *Ledger) LastSeen(path string) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, ok := l.seen[path]
	return d, ok
}

// RemoveTemp removes the temporary file of a write that a crash cut short.
func (l *Ledger) RemoveTemp(t *rootfs.Tree) {
	l.mu.Lock()
	temp := l.temp
	l.mu.Unlock()
	if ok, _ := path.Match(".adroit-*.tmp", path.Base(temp)); ok {
		_ = t.Root.Remove(temp)
	}
}

// SetDenyList makes diffs of l leave out what those names hide. It is called before l
// is used.
func (l *Ledger) SetDenyList(n *rootfs.DenyList) { l.DenyList = n }
