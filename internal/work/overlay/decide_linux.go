package overlay

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// name notes what the command did to a name that an undo does not take back. quiet is from before
// it was decided about.
func (j *joiner) name(op *operation, quiet bool) {
	var what string
	switch {
	case op.kind == opNothing || op.kind == opKeep || op.kind == opDrop || quiet && !op.aside && op.kind != opRemove:
		return
	case op.kind == opRemove && ledger.Special(op.low.Mode) != "":
		what = ledger.Special(op.low.Mode) + ", removed"
	case quiet && !op.aside:
		return
	case op.kind == opPut && ledger.Special(op.up.Mode) != "":
		what = ledger.Special(op.up.Mode) + ", made"
	case op.kind == opPut && op.low != nil && ledger.Special(op.low.Mode) != "":
		what = ledger.Special(op.low.Mode) + ", replaced"
	case op.low != nil && op.low.Mode&unix.S_IFMT == unix.S_IFREG && op.low.Nlink > 1 && !op.alike():
		what = strings.TrimPrefix(op.traits+", hard link", ", ")
	default:
		what = op.traits
	}
	if what != "" {
		j.odd = append(j.odd, op.path+" ("+what+")")
	}
}

// weigh decides about one name. An error is one of the ledger or the disk.
func (j *joiner) weigh(ctx context.Context, op *operation) error {
	switch op.kind {
	case opTree:
		op.now = rootfs.State{Type: rootfs.TypeDir, Mode: fs.FileMode(op.up.Mode & 0o777)}
	case opDir:
		op.was = rootfs.State{Type: rootfs.TypeDir, Mode: fs.FileMode(op.low.Mode & 0o777)}
		op.now = rootfs.State{Type: rootfs.TypeDir, Mode: fs.FileMode(op.up.Mode & 0o777)}
		base, known := j.snap.StateBefore(op.path)
		if known && base.Mode == op.now.Mode || !known && j.touched(op.low) {
			op.now = op.was
		}
	case opRmdir:
		op.was = rootfs.State{Type: rootfs.TypeDir, Mode: fs.FileMode(op.low.Mode & 0o777)}
	case opRemove:
		return j.weighRemove(op)
	case opPut:
		if op.quiet {
			if j.weighQuiet(op); op.kind == opPut {
				return j.setAside(op)
			}
			return nil
		}
		return j.weighPut(ctx, op)
	}
	return nil
}

func (j *joiner) conflict(op *operation, kind opKind, why string) {
	op.kind = kind
	j.report.Conflicts = append(j.report.Conflicts, ledger.Skipped{Path: op.path, Reason: why})
}

func (j *joiner) weighRemove(op *operation) error {
	if op.quiet {
		if j.touched(op.low) {
			j.conflict(op, opNothing, keptHere)
			return nil
		}
		return j.setAside(op)
	}
	base, known := j.snap.StateBefore(op.path)
	if j.touched(op.low) {
		here, err := j.t.State(op.path, nil)
		switch {
		case err != nil || known && !base.Equal(here):
			j.conflict(op, opNothing, keptHere)
			return nil
		case !known:
			op.kind = opNothing // the command did not see it
			return nil
		}
	}
	return j.remember(op)
}

// remember keeps the workspace's file for undo.
func (j *joiner) remember(op *operation) error {
	l, p := j.o.led, op.path
	var err error
	secret := l.DenyList.Check(p, p, false) != nil || op.low != nil && j.snap.OtherNameOfSecret(uint64(op.low.Dev), op.low.Ino, uint64(op.low.Nlink))
	if !secret && !l.Full() {
		op.was, err = l.Capture(j.t, p, false)
		j.kept = j.kept || err == nil
		var large *rootfs.TooLargeError
		if !errors.As(err, &large) {
			return j.oddState(op, err)
		}
	}
	op.unkept = true
	op.was, err = j.t.State(p, nil)
	return j.oddState(op, err)
}

// setAside keeps the content of an ignored file that the command removed or overwrote, unless it
// is too large, or a tool can make it again.
func (j *joiner) setAside(op *operation) error {
	if !op.hadContent() {
		return nil
	}
	switch dir, made := j.deps.Of(op.path); {
	case made && dir != "" && path.Base(dir) != ".git":
		j.made[dir] = true
		return nil
	case made:
		return nil
	case j.crowded[dir]:
		if d := dir + "/"; !slices.Contains(j.lost, d) {
			j.lost = append(j.lost, d)
		}
		return nil
	}
	if j.writing() == op.path { // a join that was killed kept it
		return nil
	}
	size := op.low.Size
	if size > ledger.MaxIgnored || j.aside+size > ledger.MaxAllIgnored {
		j.lost = append(j.lost, op.path)
		return nil
	}
	if op.kind == opPut {
		var err error
		if op.now, err = j.up.State(op.path, nil); err != nil {
			j.lost = append(j.lost, op.path)
			return nil
		}
	}
	if err := j.remember(op); err != nil {
		return err
	}
	j.aside += size
	if op.aside = !op.unkept && op.was.Type != ""; !op.aside {
		op.unkept = false
		j.lost = append(j.lost, op.path)
	}
	return nil
}

// hadContent reports whether there was a file or link in the workspace.
func (op *operation) hadContent() bool {
	return op.low != nil && (op.low.Mode&unix.S_IFMT == unix.S_IFREG || op.low.Mode&unix.S_IFMT == unix.S_IFLNK)
}

// findCrowded looks for directories of dependencies of which too much is removed or
// overwritten.
func (j *joiner) findCrowded() {
	j.deps, j.made = ledger.DependenciesOf(j.t), map[string]bool{}
	var names []string
	for i := range j.ops {
		if op := &j.ops[i]; op.quiet && op.hadContent() && (op.kind == opPut || op.kind == opRemove) {
			names = append(names, op.path)
		}
	}
	j.crowded = j.deps.Crowded(names)
}

// findEmptied names the directories that tools have made and that the command left
// nothing in: undo leaves that to the tools.
func (j *joiner) findEmptied() {
	for _, dir := range slices.Sorted(maps.Keys(j.made)) {
		left := map[string]bool{}
		if fd, err := rootfs.OpenNoLinks(j.root, dir, unix.O_RDONLY|unix.O_DIRECTORY); err == nil {
			names, _ := readNames(fd)
			unix.Close(fd)
			for _, n := range names {
				left[n] = true
			}
		}
		for _, op := range j.ops {
			if path.Dir(op.path) != dir {
				continue
			}
			switch op.kind {
			case opRemove, opRmdir:
				delete(left, path.Base(op.path))
			case opPut, opTree:
				left[path.Base(op.path)] = true
			}
		}
		if len(left) == 0 {
			j.lost = append(j.lost, dir+"/")
		}
	}
}

// oddState leaves files without a recordable state, such as a FIFO, out of the ledger.
func (j *joiner) oddState(op *operation, err error) error {
	var odd *rootfs.PathError
	if errors.As(err, &odd) || errors.Is(err, fs.ErrPermission) {
		op.quiet = true
		return nil
	}
	return err
}

// weighQuiet decides about files that the ledger does not record, by times alone.
func (j *joiner) weighQuiet(op *operation) {
	if op.low == nil {
		return
	}
	alike := op.up.Mode == op.low.Mode && op.up.Size == op.low.Size && op.up.Mtim == op.low.Mtim
	switch {
	case alike && op.copied && op.traits == "":
		op.kind = opDrop
	case j.touched(op.low) && j.writing() != op.path && !j.equal(op.path):
		j.conflict(op, opKeep, changedHere)
	}
}

// equal reports whether a path has the same content in both layers.
func (j *joiner) equal(p string) bool {
	a, err := j.t.State(p, nil)
	if err != nil {
		return false
	}
	b, err := j.up.State(p, nil)
	return err == nil && a.Equal(b)
}

func (j *joiner) weighPut(ctx context.Context, op *operation) error {
	p := op.path
	var err error
	if op.now, err = j.up.State(p, nil); err != nil {
		if op.low != nil && !j.touched(op.low) { // a FIFO, for one, in its place
			op.now = rootfs.State{}
			return j.remember(op)
		}
		op.quiet = true
		j.weighQuiet(op)
		return j.oddState(op, err)
	}
	base, known := j.snap.StateBefore(p)
	if op.low == nil {
		if known && op.copied && base.Type == rootfs.TypeFile {
			j.conflict(op, opKeep, removedHere)
		}
		return nil
	}
	if ledger.Special(op.low.Mode) != "" && !j.touched(op.low) { // a file takes its place: a new one, for what was there has no content
		return nil
	}
	if j.touched(op.low) && j.writing() != p {
		here, err := j.t.State(p, nil)
		switch {
		case err != nil:
			j.conflict(op, opKeep, changedHere)
			return nil
		case here.Equal(op.now), known && base.Equal(op.now):
			op.kind = opDrop
			return nil
		case !known || !base.Equal(here):
			return j.merge(ctx, op, base, here)
		}
	}
	if err := j.remember(op); err != nil {
		return err
	}
	return nil
}

// merge decides about a file that both sides changed.
func (j *joiner) merge(ctx context.Context, op *operation, base, here rootfs.State) error {
	if base.Type != rootfs.TypeFile || here.Type != rootfs.TypeFile || op.now.Type != rootfs.TypeFile || max(base.Size, here.Size, op.now.Size) > ledger.MaxDiff {
		j.conflict(op, opKeep, changedHere)
		return nil
	}
	l := j.o.led
	old, err := l.Load(base.Digest)
	if err != nil {
		j.conflict(op, opKeep, changedHere+", and what it was like before is not known")
		return nil
	}
	if err := j.remember(op); err != nil {
		return err
	}
	ours, err := l.Load(here.Digest)
	if err != nil || !op.was.Equal(here) || op.quiet {
		j.conflict(op, opKeep, changedHere)
		return nil
	}
	var theirs bytes.Buffer
	if _, err := j.up.State(op.path, &theirs); err != nil {
		return err
	}
	merged, clean := ours, true
	if op.now.Digest != base.Digest {
		if !rootfs.IsText(old) || !rootfs.IsText(ours) || !rootfs.IsText(theirs.Bytes()) {
			j.conflict(op, opKeep, changedHere)
			return nil
		}
		if merged, clean, err = rootfs.MergeText(ctx, j.o.dir, old, ours, theirs.Bytes()); err != nil || !clean {
			j.conflict(op, opKeep, rootfs.SameLines)
			return ctx.Err()
		}
	}
	mode := here.Mode
	if here.Mode == base.Mode {
		mode = op.now.Mode
	}
	op.now = rootfs.State{Type: rootfs.TypeFile, Mode: mode, Digest: rootfs.Digest(merged), Size: int64(len(merged))}
	if op.now.Equal(here) { // a join that was killed did it
		op.kind = opDrop
		return nil
	}
	op.merged = "merged-" + strconv.Itoa(len(j.deltas)) + "-" + op.now.Digest
	file := filepath.Join(j.o.dir, op.merged)
	if err := rootfs.WriteScratch(file, 0o600, merged); err != nil { // made again if the join is
		return err
	}
	return os.Chmod(file, mode)
}
