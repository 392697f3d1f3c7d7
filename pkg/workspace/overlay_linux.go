package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// An overlay collects what one command changes: the command sees the workspace
// as the lower layer and writes to the upper one, a directory of the ledger's.
// When the command has ended, join brings the upper layer into the workspace.
// What is joined leaves the upper layer, so that the layer itself is the journal
// of the join: after a kill or an error it goes on with what is left.
type overlay struct {
	overlayNote
	led  *Ledger
	dir  string
	lock *os.File
}

// An overlayNote is what join needs to know besides the upper layer. It is on
// disk before the command starts.
type overlayNote struct {
	Root    string `json:"root"`
	Step    string `json:"step,omitempty"`
	Began   int64  `json:"began"`             // what was touched later has a later ctime; Unix nanoseconds
	Pending string `json:"pending,omitempty"` // base name of the snapshot's file in the ledger
	Temp    string `json:"temp"`              // name of temporary files that join makes in the workspace
}

// path is the directory for sandbox.Policy.Collect.
func (o *overlay) path() string { return o.dir }

func (o *overlay) upper() string { return filepath.Join(o.dir, "upper") }

// makeOverlay prepares the directories of an overlay for a command that
// belongs to the snapshot. It returns once a change made from now on can be
// told from those before by its time.
func makeOverlay(s *Snapshot) (*overlay, error) {
	fail := func(err error) (*overlay, error) {
		return nil, fmt.Errorf("preparing the overlay for the command's changes: %w", err)
	}
	all := filepath.Join(s.l.dir, "overlays")
	if err := os.MkdirAll(all, 0o700); err != nil {
		return fail(err)
	}
	dir, err := os.MkdirTemp(all, "")
	if err != nil {
		return fail(err)
	}
	o := &overlay{led: s.l, dir: dir, overlayNote: overlayNote{
		Root: s.root, Step: s.l.step, Pending: filepath.Base(s.file), Temp: filepath.Base(tempName("x"))}}
	if err := o.prepare(); err != nil {
		o.discard()
		return fail(err)
	}
	return o, nil
}

func (o *overlay) prepare() error {
	var root unix.Stat_t
	if err := unix.Stat(o.Root, &root); err != nil {
		return err
	}
	for _, d := range []string{"upper", "work"} {
		if err := os.Mkdir(filepath.Join(o.dir, d), 0o700); err != nil {
			return err
		}
	}
	// The upper directory gives the mounted root its mode and times.
	if err := unix.Chmod(o.upper(), root.Mode&0o7777); err != nil {
		return err
	}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, o.upper(), []unix.Timespec{root.Atim, root.Mtim}, 0); err != nil {
		return err
	}
	var err error
	if o.lock, err = os.OpenFile(filepath.Join(o.dir, "lock"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	if err := unix.Flock(int(o.lock.Fd()), unix.LOCK_SH); err != nil {
		return err
	}
	if o.Began, err = passTick(); err != nil {
		return err
	}
	data, err := json.Marshal(o.overlayNote)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.dir, "overlay.json"), data, 0o600)
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

// discard removes the overlay with what is left in it.
func (o *overlay) discard() {
	if o == nil {
		return
	}
	if o.lock != nil {
		o.lock.Close()
	}
	// The note goes first: without it nothing is joined any more.
	_ = os.Remove(filepath.Join(o.dir, "overlay.json"))
	_ = Discard(o.dir) // what is left of it goes with the ledger
}

// An overlayReport is what join did.
type overlayReport struct {
	Changed   []string
	Conflicts []Skipped
	Notes     []string
}

// finish joins a command's changes and takes the overlay and the snapshot away.
// The command must have ended. Where something could not be joined because of
// the disk, the overlay stays, and the next command or Undo tries again.
func (o *overlay) finish(ctx context.Context, s *Snapshot, guard func(int, string) string) (*overlayReport, error) {
	if err := o.alone(); err != nil {
		return nil, err
	}
	j := &overlayJoin{o: o, snap: s, guard: guard, report: &overlayReport{}}
	err := j.run(ctx)
	if err != nil {
		o.lock.Close()
		s.leave()
		return j.report, fmt.Errorf("bringing the command's changes into the workspace: %w; what is left of them is kept in %s, and the next command of the job tries again", err, o.upper())
	}
	err = s.drop()
	j.at("dropped")
	o.discard()
	return j.report, err
}

// alone waits until no process of the command is left.
func (o *overlay) alone() error {
	for wait := time.Millisecond; ; wait *= 2 {
		err := unix.Flock(int(o.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || err != unix.EWOULDBLOCK && err != unix.EINTR {
			return err
		}
		if wait > 4*time.Second {
			return errors.New("processes of the command that wrote it are still running")
		}
		time.Sleep(wait)
	}
}

// recoverOverlays joins what commands changed whose runner was killed. It does
// nothing while another process has the ledger.
func (l *Ledger) recoverOverlays(ctx context.Context) error {
	notes, err := filepath.Glob(filepath.Join(l.dir, "overlays", "*", "overlay.json"))
	if err != nil {
		return fmt.Errorf("looking for interrupted commands: %w", err)
	}
	if len(notes) == 0 {
		return nil
	}
	l.mu.Lock()
	busy := l.begin() != nil
	l.mu.Unlock()
	if busy { // another process has the ledger, and the commands
		return nil
	}
	slices.Sort(notes)
	for _, note := range notes {
		o := &overlay{dir: filepath.Dir(note)}
		data, err := os.ReadFile(note)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(data, &o.overlayNote)
		}
		if err != nil {
			// It is written before the command starts: a part of it means none did.
			o.discard()
			continue
		}
		file := filepath.Join(l.dir, o.Pending)
		l.mu.Lock()
		ours := l.active[file]
		l.mu.Unlock()
		if ours {
			continue
		}
		o.led = l.At(o.Step)
		if o.lock, err = os.OpenFile(filepath.Join(o.dir, "lock"), os.O_RDWR, 0); err != nil {
			return fmt.Errorf("looking for interrupted commands: %w", err)
		}
		s, err := o.led.reopen(file)
		if err != nil {
			return err
		}
		if s == nil {
			s = &Snapshot{l: o.led, root: o.Root, file: file}
		}
		r, err := o.finish(ctx, s, refusesAny(l.names))
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.later = append(l.later, r.words()...)
		l.mu.Unlock()
	}
	return nil
}

// words are what the reader of the command's output should know.
func (r *overlayReport) words() []string {
	out := slices.Clone(r.Notes)
	if n := len(r.Conflicts); n > 0 {
		var list []string
		for _, c := range r.Conflicts[:min(n, mostNamed)] {
			list = append(list, c.Path+" ("+c.Reason+")")
		}
		if n > mostNamed {
			list = append(list, fmt.Sprintf("and %d more", n-mostNamed))
		}
		out = append(out, "not brought into the workspace, where somebody else's version stays: "+strings.Join(list, ", "))
	}
	return out
}

// overlaid reports whether the command of a snapshot had an overlay whose changes
// are not joined.
func (b *book) overlaid(file string) bool {
	notes, _ := filepath.Glob(filepath.Join(b.dir, "overlays", "*", "overlay.json")) // the pattern is well formed
	return slices.ContainsFunc(notes, func(note string) bool {
		var n overlayNote
		return readJSON(note, &n) == nil && n.Pending == filepath.Base(file)
	})
}
