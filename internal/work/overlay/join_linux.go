package overlay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// A joiner brings an upper layer into the workspace: it lists the layer, decides name by name,
// records the decisions in the ledger and performs them. Files that only the command changed are
// taken over; a text that both sides changed is merged; otherwise the workspace's file stays and
// the command's version is moved aside.
type joiner struct {
	o      *Overlay
	snap   *ledger.Snapshot
	guard  func(dir int, path string) string // why what is at its base name in dir must not be made
	report *Report
	stays  map[uint64]place // files that stay the ones they are, by the inode of their copy

	ops     []operation
	deltas  map[string]ledger.PathChange
	kept    bool                     // content was put into the ledger
	aside   int64                    // bytes of it that git ignores
	lost    []string                 // ignored files that are too large to be kept, and directories of dependencies
	odd     []string                 // what an undo does not take back, see name
	deps    *ledger.Dependencies     // in the workspace
	made    map[string]bool          // of them, those that a tool made and the command changed
	crowded map[string]bool          // of them, others that the command changed too much of
	modes   map[string]uint32        // of directories that were made writable
	times   map[string]unix.Timespec // that directories get in the end
	root    int                      // the workspace
	above   int                      // the upper layer
	linked  map[uint64]place         // of the upper layer's hard links, which is here
	t, up   *rootfs.Tree
}

func (j *joiner) at(point string) {
	if j.o.led.JoinPoint != nil {
		j.o.led.JoinPoint(point)
	}
}

func (j *joiner) run(ctx context.Context) error {
	var err error
	if j.t, err = rootfs.Open(j.o.Root); err != nil {
		return err
	}
	defer j.t.Close()
	if j.up, err = rootfs.Open(j.o.upper()); err != nil {
		return err
	}
	defer j.up.Close()
	defer j.t.Lock()()
	j.root, j.above = int(j.t.Self.Fd()), int(j.up.Self.Fd())
	j.modes, j.times, j.linked = map[string]uint32{}, map[string]unix.Timespec{}, map[uint64]place{}
	stripXattrs(j.above)
	if err := j.scan(ctx, j.above, j.root, ".", false, false); err != nil {
		return err
	}
	if err := j.dropIgnored(ctx); err != nil {
		return err
	}
	if err := j.Recall(ctx); err != nil {
		return err
	}
	j.findCrowded()
	for i := range j.ops {
		quiet := j.ops[i].quiet
		if err := j.weigh(ctx, &j.ops[i]); err != nil {
			return err
		}
		j.name(&j.ops[i], quiet)
	}
	j.findEmptied()
	j.findStaying()
	if err := j.Note(); err != nil {
		return err
	}
	j.at("noted")
	return errors.Join(j.perform(), j.watch(ctx), j.snap.Joined(ctx, j.t))
}

// watch makes later snapshots include files that git listed before the command and no longer
// lists.
func (j *joiner) watch(ctx context.Context) error {
	again := j.snap.IndexChanged(j.t)
	for _, op := range j.ops {
		again = again || path.Base(op.path) == ".gitignore" || path.Base(op.path) == ".git"
	}
	if !again && j.o.sameExcludes(j.t) {
		return nil
	}
	return j.snap.Watch(ctx, j.t)
}

// changes reports whether the command changed anything, including ignored files.
func (j *joiner) changes() bool {
	return slices.ContainsFunc(j.ops, func(op operation) bool { return op.kind != opNothing && op.kind != opKeep })
}

// Recall adds to the snapshot the content before the command of files that somebody else changed
// since: for most of them, only git has it.
func (j *joiner) Recall(ctx context.Context) error {
	names := map[string]bool{}
	for _, op := range j.ops {
		if (op.low == nil || j.touched(op.low)) && j.snap.InIndex(op.path) {
			names[op.path] = true
		}
	}
	return j.snap.Recall(ctx, j.t, names)
}

// dropIgnored drops the operations that are not work: changes of files that git ignored before the
// command. Changes of files that it listed are recorded, even if the command makes git ignore
// them; so are those of files that git ignores by what the job wrote before.
func (j *joiner) dropIgnored(ctx context.Context) error {
	var ask []string
	for i := range j.ops {
		op := &j.ops[i]
		switch {
		case j.snap.Listed(op.path):
			op.quiet = false
		case op.kind == opTree && path.Base(op.path) == ".git":
			op.quiet = false // undo leaves what is in it, and so names it
		case (op.kind == opPut || op.kind == opRemove) && !op.quiet:
			ask = append(ask, op.path)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	ignored, err := j.ignored(ctx, j.t, ask, nil)
	if err != nil {
		return err
	}
	first := ignored // before the job
	if rules := j.o.led.FirstRules(); len(rules) > 0 {
		if first, err = j.ignored(ctx, j.t, slices.Collect(maps.Keys(ignored)), rules); err != nil {
			return err
		}
	}
	known := j.o.led.Paths()
	made, making := ledger.DependenciesOf(j.t), ledger.DependenciesOf(j.up)
	var late []string
	for i := range j.ops {
		op := &j.ops[i]
		if ignored[op.path] && !j.snap.Listed(op.path) {
			_, found := slices.BinarySearch(known, op.path)
			_, before := made.Of(op.path)
			_, now := making.Of(op.path)
			if op.late = !found && !first[op.path] && !before && !now; op.late {
				late = append(late, op.path)
			}
			op.quiet = !found && !op.late
		}
	}
	crowded := making.Crowded(late)
	for i := range j.ops {
		if op := &j.ops[i]; op.late && len(crowded) > 0 {
			dir, _ := making.Of(op.path)
			op.late = !crowded[dir]
			op.quiet = !op.late
		}
	}
	// A directory is recorded for its content, or if it is empty.
	for i := range j.ops {
		op := &j.ops[i]
		if op.kind != opTree || op.quiet {
			continue
		}
		noted, files := false, false
		for _, in := range j.ops[i+1 : op.after] {
			if in.kind == opPut {
				files, noted = true, noted || !in.quiet
			}
		}
		op.quiet = files && !noted || slices.Contains(rootfs.DependencyDirs, path.Base(op.path))
	}
	return nil
}

const (
	replacedHere = "was replaced here by something else while the command ran"
	changedHere  = "it was changed here while the command ran"
	removedHere  = "it was changed by the command, and removed here while the command ran"
	keptHere     = "it was removed by the command, and changed here while the command ran"
)

// Note records the planned operations in the ledger.
func (j *joiner) Note() error {
	l := j.o.led
	j.deltas = map[string]ledger.PathChange{}
	var unkept []rootfs.RawName
	for _, op := range j.ops {
		switch op.kind {
		case opNothing, opKeep, opDrop:
			continue
		}
		d, twice := j.deltas[op.path]
		if op.quiet && !twice && !op.aside {
			continue
		}
		if !twice {
			d = ledger.PathChange{Path: rootfs.RawName(op.path), Before: op.was}
		}
		d.After = op.now
		d.Ignored = op.quiet && op.aside || op.late
		j.deltas[op.path] = d
		if op.unkept {
			unkept = append(unkept, rootfs.RawName(op.path))
		}
	}
	var ds []ledger.PathChange
	for _, p := range slices.Sorted(maps.Keys(j.deltas)) {
		d := j.deltas[p]
		if d.Before.Equal(d.After) {
			delete(j.deltas, p)
			continue
		}
		if !l.Has(p, d.After) { // else it was noted before a kill
			ds = append(ds, d)
		}
		if d.Before.Type != rootfs.TypeDir && d.After.Type != rootfs.TypeDir && !d.Ignored {
			j.report.Changed = append(j.report.Changed, p)
		}
	}
	for _, why := range []string{ledger.NotKept(j.lost), ledger.NotTakenBack(j.odd)} {
		if why == "" {
			continue
		}
		if err := l.NotePartial(why); err != nil {
			return err
		}
	}
	if len(ds) == 0 {
		return nil
	}
	ledger.PairRenames(ds)
	if j.kept {
		if err := rootfs.SyncFS(filepath.Join(l.Dir, "blobs")); err != nil {
			return err
		}
	}
	return l.Note(ds, unkept)
}

// perform performs the recorded operations. A path that cannot be changed is removed from the
// ledger again; the first error of the disk is returned in the end.
func (j *joiner) perform() error {
	var bad error
	var back []ledger.PathChange
	failed := func(op *operation, err error) {
		var why *rootfs.PathError
		if err == errNotEmpty {
			// Nothing to report: the directory's content is somebody else's.
		} else if errors.As(err, &why) {
			j.conflict(op, op.kind, why.Reason)
		} else if bad == nil {
			bad = fmt.Errorf("%s: %w", op.path, err)
		}
		if d, ok := j.deltas[op.path]; ok {
			back = append(back, ledger.PathChange{Path: d.Path, Before: d.After, After: d.Before, Ignored: d.Ignored})
			j.report.Changed = slices.DeleteFunc(j.report.Changed, func(p string) bool { return p == op.path })
		}
	}
	for i := 0; i < len(j.ops); i++ {
		op := &j.ops[i]
		whole, err := j.do(i)
		if err != nil {
			failed(op, err)
		} else if whole {
			i = op.after - 1
		}
		j.at("did " + op.path)
	}
	j.settleDirs()
	if len(back) > 0 {
		bad = errors.Join(bad, j.o.led.Note(back, nil))
	}
	return bad
}

// settleDirs gives directories the times and modes that they would have if the
// command had worked in them, unless somebody else did later.
func (j *joiner) settleDirs() {
	for _, d := range slices.Backward(slices.Sorted(maps.Keys(j.times))) {
		fd, err := j.parent(j.root, path.Join(d, "x"))
		if err != nil {
			continue // it is gone
		}
		// Times are a help for build tools, not worth a failure.
		_ = rootfs.SetTimesAt(fd, ".", unix.Timespec{Nsec: unix.UTIME_OMIT}, j.times[d])
		if mode, ok := j.modes[d]; ok {
			_ = unix.Fchmod(fd, mode)
		}
		unix.Close(fd)
	}
}

// parent opens the directory of a path, following no link.
func (j *joiner) parent(root int, p string) (int, error) {
	return rootfs.OpenNoLinks(root, path.Dir(p), unix.O_RDONLY|unix.O_DIRECTORY)
}

// keepAside moves the command's version of a path to where a person finds it.
func (j *joiner) keepAside(op *operation) (string, error) {
	to := filepath.Join(j.o.led.Dir, "kept", filepath.Base(j.o.dir), op.path)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	into, err := unix.Open(filepath.Dir(to), rootfs.PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(into)
	above, err := j.parent(j.above, op.path)
	if err != nil {
		return "", err
	}
	defer unix.Close(above)
	name := path.Base(op.path)
	for n := 2; lstat(into, name) != nil; n++ { // a directory of which something was kept already
		name = fmt.Sprintf("%s-%d", path.Base(op.path), n)
	}
	return filepath.Join(filepath.Dir(to), name), rootfs.MoveAt(above, path.Base(op.path), into, name)
}
