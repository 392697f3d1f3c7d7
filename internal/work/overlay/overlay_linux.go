package overlay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// An Overlay collects the changes of one command: the command sees the workspace as the lower
// layer and writes to the upper one, a directory of the ledger's. When the command has ended, join
// brings the upper layer into the workspace. Joined files leave the upper layer, so that the layer
// itself is the journal of the join: after a kill or an error it continues with the rest.
type Overlay struct {
	note
	led  *ledger.Ledger
	dir  string
	lock *os.File
	// Of an overlay that a backup brought back, what its upper layer has no marks for; see ledger.Marks.
	removed        map[string][]string // names, sorted, by their directories
	opaque, copied map[string]bool
}

// A note has the data that join needs besides the upper layer. It is on disk before the command
// starts.
type note struct {
	Root    string `json:"root"`
	Step    string `json:"step,omitempty"`
	Began   int64  `json:"began"`             // what was touched later has a later ctime; Unix nanoseconds
	Pending string `json:"pending,omitempty"` // base name of the snapshot's file in the ledger
	Temp    string `json:"temp"`              // name of temporary files that join makes in the workspace
	// Excludes is core.excludesFile. In notes of older versions it is missing, and ignored files
	// are not kept separately; see Kept.
	Excludes string `json:"excludes,omitempty"`
	Kept     bool   `json:"kept,omitempty"`
	// Denied are the paths that the command must not change, even if another process joins it.
	Denied []ledger.Denied `json:"denied,omitempty"`
}

// Path returns the directory for sandbox.Policy.Collect.
func (o *Overlay) Path() string { return o.dir }

// old reports whether an older version made the overlay.
func (o *Overlay) old() bool { return !o.Kept }

func (o *Overlay) upper() string { return filepath.Join(o.dir, "upper") }

// New prepares the directories of an overlay for a command that belongs to the snapshot and must
// not change the denied paths. It returns once the times of files distinguish later changes from
// earlier ones.
func New(ctx context.Context, led *ledger.Ledger, s *ledger.Snapshot, denied []ledger.Denied) (*Overlay, error) {
	fail := func(err error) (*Overlay, error) {
		return nil, fmt.Errorf("preparing the overlay for the command's changes: %w", err)
	}
	all := filepath.Join(led.Dir, "overlays")
	if err := os.MkdirAll(all, 0o700); err != nil {
		return fail(err)
	}
	all, err := filepath.EvalSymlinks(all) // the sandbox follows no links
	if err != nil {
		return fail(err)
	}
	dir, err := os.MkdirTemp(all, "")
	if err != nil {
		return fail(err)
	}
	o := &Overlay{led: led, dir: dir, note: note{
		Root: s.Root, Step: led.StepPath, Pending: filepath.Base(s.File), Temp: filepath.Base(rootfs.TempName("x")), Denied: denied}}
	if err := o.prepare(ctx); err != nil {
		o.Discard()
		return fail(err)
	}
	return o, nil
}

func (o *Overlay) prepare(ctx context.Context) error {
	var root unix.Stat_t
	t, err := rootfs.Open(o.Root)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := unix.Fstat(t.FD(), &root); err != nil {
		return err
	}
	for _, d := range []string{"upper", "work"} {
		if err := os.Mkdir(filepath.Join(o.dir, d), 0o700); err != nil {
			return err
		}
	}
	// The upper directory gives the mounted root its mode and times.
	upper, err := unix.Open(o.upper(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(upper)
	if err := rootfs.SetTimesAt(upper, ".", root.Atim, root.Mtim); err != nil {
		return err
	}
	if err := unix.Fchmod(upper, root.Mode&0o7777); err != nil {
		return err
	}
	if o.lock, err = lock.Create(filepath.Join(o.dir, "lock")); err != nil {
		return err
	}
	if err := unix.Flock(int(o.lock.Fd()), unix.LOCK_SH); err != nil {
		return err
	}
	if o.Began, err = passTick(); err != nil {
		return err
	}
	if err := o.noteExcludes(ctx, t); err != nil {
		return err
	}
	o.Kept = true
	return rootfs.WriteJSON(filepath.Join(o.dir, "overlay.json"), o.note)
}

// passTick returns the time and waits until the clock by which file systems
// stamp changes, which advances in ticks, is past it.
func passTick() (int64, error) {
	began := time.Now().UnixNano()
	for {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts); err != nil {
			return 0, err
		}
		if ts.Nano() > began || time.Now().UnixNano() < began { // or somebody set the clock back
			return began, nil
		}
		time.Sleep(time.Millisecond)
	}
}

// Discard removes the overlay with its remaining content.
func (o *Overlay) Discard() {
	if o == nil {
		return
	}
	if o.lock != nil {
		_ = lock.Close(o.lock)
	}
	// The note goes first: without it nothing is joined any more.
	_ = os.Remove(filepath.Join(o.dir, "overlay.json"))
	_ = rootfs.RemoveAll(o.dir) // what is left of it goes with the ledger
}

// A Report is the result of a join.
type Report struct {
	Changed   []string
	Conflicts []ledger.Skipped
	Aside     []Aside
	Denied    []ledger.Skipped // what a rule keeps as it is
	Asked     []Aside          // what a rule has a person asked about
}

// Finish joins a command's changes and takes the overlay and the snapshot away.
// The command must have ended. Where something could not be joined because of
// the disk, the overlay stays, and the next command or Undo tries again.
func (o *Overlay) Finish(ctx context.Context, s *ledger.Snapshot, guard func(int, string) string) (*Report, error) {
	if err := o.alone(); err != nil {
		return nil, err
	}
	var j *joiner
	err := o.led.Await(ctx, func() error {
		j = &joiner{o: o, snap: s, guard: guard, report: &Report{}}
		err := j.run(ctx)
		if err == nil && j.changes() {
			err = o.led.SyncWorkspace(o.Root)
		}
		return err
	})
	if err != nil {
		_ = lock.Close(o.lock) // for the next command
		s.Leave()
		// A job does not end as done whose files are not in the workspace.
		return j.report, o.led.RecordFailure(fmt.Errorf("bringing the command's changes into the workspace: %w; what is left of them is kept in %s, and the next command of the job tries again", err, o.upper()))
	}
	err = s.Drop()
	j.at("dropped")
	o.Discard()
	return j.report, err
}

// alone waits until no process of the command is left.
func (o *Overlay) alone() error {
	for wait := time.Millisecond; ; wait *= 2 {
		err := lock.Try(o.lock)
		if !errors.Is(err, lock.ErrHeld) {
			return err
		}
		if wait > 4*time.Second {
			return errors.New("processes of the command that wrote it are still running")
		}
		time.Sleep(wait)
	}
}

// Recover joins the changes of commands whose runner was killed. It does nothing while another
// process has the ledger.
func Recover(ctx context.Context, l *ledger.Ledger) error {
	notes, err := filepath.Glob(filepath.Join(l.Dir, "overlays", "*", "overlay.json"))
	if err != nil {
		return fmt.Errorf("looking for interrupted commands: %w", err)
	}
	if len(notes) == 0 || l.Lock() != nil { // another process has the ledger, and the commands
		return nil
	}
	slices.Sort(notes)
	for _, note := range notes {
		if err := recoverOverlay(ctx, l, note); err != nil {
			return err
		}
	}
	return nil
}

func recoverOverlay(ctx context.Context, l *ledger.Ledger, note string) error {
	o := &Overlay{dir: filepath.Dir(note)}
	data, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, &o.note)
	}
	if err != nil {
		// It is written before the command starts: a part of it means none did.
		o.Discard()
		return nil
	}
	if l.InUse(o.Pending) {
		return nil
	}
	o.led = l.At(o.Step)
	if o.lock, err = lock.Create(filepath.Join(o.dir, "lock")); err != nil {
		return fmt.Errorf("looking for interrupted commands: %w", err)
	}
	if err := o.readMarks(); err != nil {
		return err
	}
	s, err := o.led.Reopen(o.Pending, o.Root)
	if err != nil {
		return err
	}
	r, err := o.Finish(ctx, s, rootfs.RefuseConfig(l.DenyList))
	if err != nil {
		return err
	}
	l.AddNotes(r.Messages()...)
	return nil
}

// readMarks reads what a backup lists in place of the upper layer's own marks.
func (o *Overlay) readMarks() error {
	m, err := ledger.ReadMarks(o.dir)
	if err != nil {
		return err
	}
	set := func(names []rootfs.RawName) map[string]bool {
		all := map[string]bool{}
		for _, n := range names {
			all[string(n)] = true
		}
		return all
	}
	o.removed, o.opaque, o.copied = map[string][]string{}, set(m.Opaque), set(m.Copied)
	for _, p := range slices.Sorted(maps.Keys(set(m.Removed))) {
		dir := path.Dir(p)
		o.removed[dir] = append(o.removed[dir], path.Base(p))
	}
	for _, p := range m.Missing {
		if err := o.led.NotePartial(string(p) + ", a FIFO or socket of a killed command, was in no backup"); err != nil {
			return err
		}
	}
	return nil
}

// lists reports whether a backup lists p as removed by the command.
func (o *Overlay) lists(p string) bool {
	_, found := slices.BinarySearch(o.removed[path.Dir(p)], path.Base(p))
	return found
}

// maxListed bounds how many paths are listed.
const maxListed = 8

// Messages returns notes for the reader of the command's output.
func (r *Report) Messages() []string {
	var out []string
	for _, a := range r.Aside {
		out = append(out, fmt.Sprintf("%s was made by the command and not brought into the workspace, since it %s; it is kept in %s", a.Path, a.Why, a.Kept))
	}
	denied := slices.Clone(r.Denied)
	for _, a := range r.Asked {
		denied = append(denied, ledger.Skipped{Path: a.Path, Reason: a.Why + "; the command's version is kept in " + a.Kept})
	}
	if len(denied) > 0 {
		out = append(out, "not changed in the workspace, since a rule keeps it: "+list(denied))
	}
	if len(r.Conflicts) > 0 {
		out = append(out, "not brought into the workspace, where somebody else's version stays: "+list(r.Conflicts))
	}
	return out
}

// Unjoined are the paths that the command changed and that are not in the workspace so.
func (r *Report) Unjoined() []string {
	var out []string
	for _, all := range [][]Aside{r.Aside, r.Asked} {
		for _, a := range all {
			out = append(out, a.Path)
		}
	}
	for _, s := range slices.Concat(r.Denied, r.Conflicts) {
		out = append(out, s.Path)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func list(all []ledger.Skipped) string {
	var out []string
	for _, c := range all {
		out = append(out, c.Path+" ("+c.Reason+")")
	}
	return strings.Join(spelling.First(out, maxListed), ", ")
}
