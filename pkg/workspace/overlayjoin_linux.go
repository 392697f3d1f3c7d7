package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// An overlayJoin brings an upper layer into the workspace: it lists what is
// there, decides name by name, notes the decisions in the ledger and performs
// them. What the command changed and nobody else did is taken over; a text that
// both changed is merged; of everything else, what lies in the workspace stays
// and the command's version is moved aside.
type overlayJoin struct {
	o      *overlay
	snap   *Snapshot
	guard  func(dir int, path string) string // why what is at its base name in dir must not be made
	report *overlayReport
	stays  map[uint64]string // files that stay the ones they are, by the inode of their copy

	ops    []overlayOp
	deltas map[string]delta
	kept   bool                     // content was put into the ledger
	modes  map[string]uint32        // of directories that were made writable
	times  map[string]unix.Timespec // that directories get in the end
	root   int                      // the workspace
	above  int                      // the upper layer
	linked map[uint64]string        // of the upper layer's hard links, which is here
	t, up  *tree
}

func (j *overlayJoin) at(point string) {
	if j.o.led.brink != nil {
		j.o.led.brink(point)
	}
}

func (j *overlayJoin) run(ctx context.Context) error {
	var err error
	if j.t, err = openTree(j.o.Root); err != nil {
		return err
	}
	defer j.t.close()
	if j.up, err = openTree(j.o.upper()); err != nil {
		return err
	}
	defer j.up.close()
	defer j.t.lock()()
	j.root, j.above = int(j.t.self.Fd()), int(j.up.self.Fd())
	j.modes, j.times, j.linked = map[string]uint32{}, map[string]unix.Timespec{}, map[uint64]string{}
	stripXattrs(j.above)
	if err := j.scan(ctx, j.above, j.root, ".", false, false); err != nil {
		return err
	}
	if err := j.sift(ctx); err != nil {
		return err
	}
	if err := j.recall(ctx); err != nil {
		return err
	}
	for i := range j.ops {
		if err := j.weigh(ctx, &j.ops[i]); err != nil {
			return err
		}
	}
	j.findStaying()
	if err := j.note(); err != nil {
		return err
	}
	j.at("noted")
	return j.perform()
}

// recall has the snapshot know what the files were like before the command that
// somebody else changed since: of most, only git has that.
func (j *overlayJoin) recall(ctx context.Context) error {
	x := j.snap.index
	if x == nil {
		return nil
	}
	names := map[string]bool{}
	for _, op := range j.ops {
		if (op.low == nil || j.touched(op.low)) && x.find(op.path) != nil {
			names[op.path] = true
		}
	}
	return j.snap.recall(ctx, j.t, names)
}

// sift finds the ops that are not for the ledger: what git ignores, unless the
// ledger knows it.
func (j *overlayJoin) sift(ctx context.Context) error {
	var ask []string
	for _, op := range j.ops {
		if (op.kind == opPut || op.kind == opRemove) && !op.quiet {
			ask = append(ask, op.path)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	ignored, err := j.ignored(ctx, j.t, ask)
	if err != nil {
		return err
	}
	known := j.o.led.paths()
	for i := range j.ops {
		op := &j.ops[i]
		if ignored[op.path] {
			_, found := slices.BinarySearch(known, op.path)
			op.quiet = !found
		}
	}
	// A directory is noted for what is in it, or if nothing is.
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
		op.quiet = files && !noted || slices.Contains(skipped, path.Base(op.path))
	}
	return nil
}

const (
	changedHere = "it was changed here while the command ran"
	removedHere = "it was changed by the command, and removed here while the command ran"
	keptHere    = "it was removed by the command, and changed here while the command ran"
)

// weigh decides about one name. An error is one of the ledger or the disk.
func (j *overlayJoin) weigh(ctx context.Context, op *overlayOp) error {
	switch op.kind {
	case opTree:
		op.now = state{Type: isDir, Mode: fs.FileMode(op.up.Mode & 0o777)}
	case opDir:
		op.was = state{Type: isDir, Mode: fs.FileMode(op.low.Mode & 0o777)}
		op.now = state{Type: isDir, Mode: fs.FileMode(op.up.Mode & 0o777)}
		base, known := j.snap.before[op.path]
		if known && base.Mode == op.now.Mode || !known && j.touched(op.low) {
			op.now = op.was
		}
	case opRmdir:
		op.was = state{Type: isDir, Mode: fs.FileMode(op.low.Mode & 0o777)}
	case opRemove:
		return j.weighRemove(op)
	case opPut:
		if op.quiet {
			j.weighQuiet(op)
			return nil
		}
		return j.weighPut(ctx, op)
	}
	return nil
}

func (j *overlayJoin) conflict(op *overlayOp, kind overlayKind, why string) {
	op.kind = kind
	j.report.Conflicts = append(j.report.Conflicts, Skipped{Path: op.path, Reason: why})
}

func (j *overlayJoin) weighRemove(op *overlayOp) error {
	if op.quiet {
		if j.touched(op.low) {
			j.conflict(op, opNothing, keptHere)
		}
		return nil
	}
	base, known := j.snap.before[op.path]
	if j.touched(op.low) {
		here, err := j.t.state(op.path, nil)
		switch {
		case err != nil || known && !base.same(here):
			j.conflict(op, opNothing, keptHere)
			return nil
		case !known:
			op.kind = opNothing // the command did not see it
			return nil
		}
	}
	return j.remember(op)
}

// remember keeps what lies in the workspace for undo.
func (j *overlayJoin) remember(op *overlayOp) error {
	l, p := j.o.led, op.path
	var err error
	if l.names.deny(p, p, false) == nil && !l.full() {
		op.was, err = l.capture(j.t, p, false)
		j.kept = j.kept || err == nil
		var large *TooLargeError
		if !errors.As(err, &large) {
			return j.oddState(op, err)
		}
	}
	op.unkept = true
	op.was, err = j.t.state(p, nil)
	return j.oddState(op, err)
}

// oddState leaves out of the ledger what has no state that could be noted, such as
// a FIFO.
func (j *overlayJoin) oddState(op *overlayOp, err error) error {
	var odd *PathError
	if errors.As(err, &odd) || errors.Is(err, fs.ErrPermission) {
		op.quiet = true
		return nil
	}
	return err
}

// weighQuiet decides about what the ledger does not note, by times alone.
func (j *overlayJoin) weighQuiet(op *overlayOp) {
	if op.low == nil {
		return
	}
	alike := op.up.Mode == op.low.Mode && op.up.Size == op.low.Size && op.up.Mtim == op.low.Mtim
	switch {
	case alike && op.copied:
		op.kind = opDrop
	case j.touched(op.low) && j.writing() != op.path && !j.equal(op.path):
		j.conflict(op, opKeep, changedHere)
	}
}

// equal reports whether a path has the same content in both layers.
func (j *overlayJoin) equal(p string) bool {
	a, err := j.t.state(p, nil)
	if err != nil {
		return false
	}
	b, err := j.up.state(p, nil)
	return err == nil && a.same(b)
}

func (j *overlayJoin) weighPut(ctx context.Context, op *overlayOp) error {
	p := op.path
	var err error
	if op.now, err = j.up.state(p, nil); err != nil {
		if op.low != nil && !j.touched(op.low) { // a FIFO, for one, in its place
			op.now = state{}
			return j.remember(op)
		}
		op.quiet = true
		j.weighQuiet(op)
		return j.oddState(op, err)
	}
	base, known := j.snap.before[p]
	if op.low == nil {
		if known && op.copied && base.Type == isFile {
			j.conflict(op, opKeep, removedHere)
		}
		return nil
	}
	if j.touched(op.low) && j.writing() != p {
		here, err := j.t.state(p, nil)
		switch {
		case err != nil:
			j.conflict(op, opKeep, changedHere)
			return nil
		case here.same(op.now), known && base.same(op.now):
			op.kind = opDrop
			return nil
		case !known || !base.same(here):
			return j.merge(ctx, op, base, here)
		}
	}
	if err := j.remember(op); err != nil {
		return err
	}
	return nil
}

// merge decides about a file that both sides changed.
func (j *overlayJoin) merge(ctx context.Context, op *overlayOp, base, here state) error {
	if base.Type != isFile || here.Type != isFile || op.now.Type != isFile || max(base.Size, here.Size, op.now.Size) > maxDiff {
		j.conflict(op, opKeep, changedHere)
		return nil
	}
	l := j.o.led
	old, err := l.load(base.Digest)
	if err != nil {
		j.conflict(op, opKeep, changedHere+", and what it was like before is not known")
		return nil
	}
	if err := j.remember(op); err != nil {
		return err
	}
	ours, err := l.load(here.Digest)
	if err != nil || !op.was.same(here) || op.quiet {
		j.conflict(op, opKeep, changedHere)
		return nil
	}
	theirs, err := os.ReadFile(filepath.Join(j.o.upper(), op.path))
	if err != nil {
		return err
	}
	merged, clean := ours, true
	if op.now.Digest != base.Digest {
		if !isText(old) || !isText(ours) || !isText(theirs) {
			j.conflict(op, opKeep, changedHere)
			return nil
		}
		if merged, clean, err = mergeText(ctx, j.o.dir, old, ours, theirs); err != nil || !clean {
			j.conflict(op, opKeep, bothLines)
			return ctx.Err()
		}
	}
	mode := here.Mode
	if here.Mode == base.Mode {
		mode = op.now.Mode
	}
	op.now = state{Type: isFile, Mode: mode, Digest: digest(merged), Size: int64(len(merged))}
	if op.now.same(here) { // a join that was killed did it
		op.kind = opDrop
		return nil
	}
	op.merged = filepath.Join(j.o.dir, "merged-"+strconv.Itoa(len(j.deltas))+"-"+op.now.Digest)
	if err := os.WriteFile(op.merged, merged, 0o600); err != nil {
		return err
	}
	return os.Chmod(op.merged, mode)
}

// note puts what is about to be done into the ledger.
func (j *overlayJoin) note() error {
	l := j.o.led
	j.deltas = map[string]delta{}
	var unkept []rawName
	for _, op := range j.ops {
		switch op.kind {
		case opNothing, opKeep, opDrop:
			continue
		}
		d, twice := j.deltas[op.path]
		if op.quiet && !twice {
			continue
		}
		if !twice {
			d = delta{Path: rawName(op.path), Before: op.was}
		}
		d.After = op.now
		j.deltas[op.path] = d
		if op.unkept {
			unkept = append(unkept, rawName(op.path))
		}
	}
	var ds []delta
	for _, p := range slices.Sorted(maps.Keys(j.deltas)) {
		d := j.deltas[p]
		if d.Before.same(d.After) {
			delete(j.deltas, p)
			continue
		}
		if !l.has(p, d.After) { // else it was noted before a kill
			ds = append(ds, d)
		}
		if d.Before.Type != isDir && d.After.Type != isDir {
			j.report.Changed = append(j.report.Changed, p)
		}
	}
	if len(ds) == 0 {
		return nil
	}
	pair(ds)
	if j.kept {
		if err := syncBlobs(filepath.Join(l.dir, "blobs")); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.add(record{Step: l.step, Changes: ds, Unkept: unkept}, true)
}

// perform does what was noted. A path that cannot be changed is taken out of the
// ledger again; the first error that is the disk's is returned in the end.
func (j *overlayJoin) perform() error {
	var bad error
	var back []delta
	failed := func(op *overlayOp, err error) {
		var why *PathError
		if err == errLeft {
			// Nothing to report: what is in it is somebody else's.
		} else if errors.As(err, &why) {
			j.conflict(op, op.kind, why.Reason)
		} else if bad == nil {
			bad = fmt.Errorf("%s: %w", op.path, err)
		}
		if d, ok := j.deltas[op.path]; ok {
			back = append(back, delta{Path: d.Path, Before: d.After, After: d.Before})
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
		l := j.o.led
		l.mu.Lock()
		defer l.mu.Unlock()
		bad = errors.Join(bad, l.add(record{Step: l.step, Changes: back}, true))
	}
	return bad
}

// settleDirs gives directories the times and modes that they would have if the
// command had worked in them, unless somebody else did later.
func (j *overlayJoin) settleDirs() {
	for _, d := range slices.Backward(slices.Sorted(maps.Keys(j.times))) {
		fd, err := j.parent(j.root, path.Join(d, "x"))
		if err != nil {
			continue // it is gone
		}
		if mode, ok := j.modes[d]; ok {
			_ = unix.Fchmod(fd, mode)
		}
		// Times are a help for build tools, not worth a failure.
		_ = unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), []unix.Timespec{{Nsec: unix.UTIME_OMIT}, j.times[d]}, 0)
		unix.Close(fd)
	}
}

// parent opens the directory of a path, following no link.
func (j *overlayJoin) parent(root int, p string) (int, error) {
	return unix.Openat2(root, path.Dir(p), &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
}

// keepAside moves the command's version of a path to where a person finds it.
func (j *overlayJoin) keepAside(op *overlayOp) (string, error) {
	to := filepath.Join(j.o.led.dir, "kept", filepath.Base(j.o.dir), op.path)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	return to, os.Rename(filepath.Join(j.o.upper(), op.path), to)
}
