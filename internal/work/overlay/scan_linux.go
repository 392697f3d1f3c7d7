package overlay

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// An operation is the planned treatment of one name.
type operation struct {
	kind   opKind
	path   string
	up     unix.Stat_t // in the upper layer, unless the name is to go
	low    *unix.Stat_t
	copied bool // the upper layer has a changed copy of a file of the lower one
	quiet  bool // no work: not for the ledger, or only to be kept
	aside  bool // of a quiet one, what was there is kept
	late   bool // git ignores it by what the job wrote
	after  int  // for opTree: index of the first op behind what is in it
	why    string
	denied bool              // of opKeep: why is a rule
	asked  bool              // of opKeep: it has a person asked
	traits string            // those that the command changed, see ledger.Traits
	attrs  map[string]string // of a directory of both, in the upper layer

	was, now rootfs.State
	unkept   bool
	inPlace  bool   // the file stays the one it is
	merged   string // file with the result of a merge
}

type opKind int

const (
	opNothing opKind = iota
	opRemove         // a file or link, and what stands for that in the upper layer
	opRmdir          // a directory, if it is empty then
	opTree           // a directory that is new, with all that follows
	opDir            // a directory of both: mode and times
	opPut            // a file, link, FIFO or socket
	opKeep           // a conflict: moved aside instead
	opDrop           // the upper layer's whiteout or copy is of no use
)

// scan compares the names of the upper layer's directory at rel with the workspace. lower is -1 if
// the workspace has no such directory.
func (j *joiner) scan(ctx context.Context, upper, lower int, rel string, opaque, quiet bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	names, err := readNames(upper)
	if err != nil {
		return fmt.Errorf("%s: %w", rel, err)
	}
	if gone := j.o.removed[rel]; len(gone) > 0 {
		names = slices.Concat(names, gone)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	if lower >= 0 {
		_ = rootfs.UnlinkAt(lower, j.o.Temp, 0) // of a join that was killed
		j.noteTimes(upper, lower, rel)
	}
	if opaque && lower >= 0 {
		below, err := readNames(lower)
		if err != nil {
			return fmt.Errorf("%s: %w", rel, err)
		}
		for _, n := range below {
			if _, found := slices.BinarySearch(names, n); !found {
				if err := j.gone(ctx, lower, path.Join(rel, n), quiet); err != nil {
					return err
				}
			}
		}
	}
	for _, n := range names {
		if err := j.visit(ctx, upper, lower, path.Join(rel, n), opaque, quiet); err != nil {
			return err
		}
	}
	return nil
}

// visit decides about one name of the upper layer. In an opaque directory every directory is
// opaque, marked or not: overlayfs looks no further.
func (j *joiner) visit(ctx context.Context, upper, lower int, p string, opaque, quiet bool) error {
	name := path.Base(p)
	op := operation{path: p, quiet: quiet || name == ".git"}
	var err error
	if op.up, err = rootfs.StatAt(upper, name); err == unix.ENOENT && j.o.lists(p) {
		if lower < 0 {
			return nil
		}
		return j.gone(ctx, lower, p, op.quiet)
	} else if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	if lower >= 0 {
		op.low = lstat(lower, name)
	}
	kind := op.up.Mode & unix.S_IFMT
	if kind == unix.S_IFCHR && op.up.Rdev == 0 {
		if op.low != nil {
			if err := j.gone(ctx, lower, p, op.quiet); err != nil {
				return err
			}
		}
		op.kind = opDrop
		j.ops = append(j.ops, op)
		return nil
	}
	if why := j.guard(upper, p); why != "" && (op.low == nil || op.low.Mode&unix.S_IFMT != kind || kind != unix.S_IFDIR) {
		op.kind, op.why = opKeep, why
		j.ops = append(j.ops, op)
		return nil
	}
	if rule := ledger.DenialOf(j.o.Denied, p); rule != nil && (op.low == nil || op.low.Mode&unix.S_IFMT != kind || kind != unix.S_IFDIR) {
		j.deny(op, rule)
		return nil
	}
	if op.low != nil {
		now := ledger.TraitsAt(upper, name, &op.up)
		op.traits, op.attrs = ledger.TraitsAt(lower, name, op.low).Changed(now), now.Attrs
	}
	lowDir := op.low != nil && op.low.Mode&unix.S_IFMT == unix.S_IFDIR
	if op.low != nil && lowDir != (kind == unix.S_IFDIR) { // one has taken the place of the other
		ops, denied := len(j.ops), len(j.report.Denied)
		if err := j.gone(ctx, lower, p, op.quiet); err != nil {
			return err
		}
		if len(j.report.Denied) > denied {
			j.ops = j.ops[:ops]
			j.deny(op, &ledger.Denied{Rule: j.report.Denied[denied].Reason}) // a person is shown texts, not what takes their place
			return nil
		}
		op.low = nil
	}
	if kind != unix.S_IFDIR {
		op.kind = opPut
		_, op.copied = rootfs.AttrAt(upper, name, "user.overlay.origin")
		op.copied = op.copied || j.o.copied[p]
		j.ops = append(j.ops, op)
		return nil
	}
	return j.visitDir(ctx, op, upper, lower, opaque)
}

// visitDir decides about a directory of the upper layer, and what is in it.
func (j *joiner) visitDir(ctx context.Context, op operation, upper, lower int, opaque bool) error {
	p, name := op.path, path.Base(op.path)
	sub, err := openBelow(upper, name)
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	defer unix.Close(sub)
	opaque = opaque || fxattr(sub, "user.overlay.opaque") == "y" || j.o.opaque[p]
	below := -1
	op.kind = opTree
	if op.low != nil {
		op.kind = opDir
		if below, err = openBelow(lower, name); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		defer unix.Close(below)
	} else {
		stripXattrs(sub)
	}
	at := len(j.ops)
	j.ops = append(j.ops, op)
	if err := j.scan(ctx, sub, below, p, opaque, op.quiet); err != nil {
		return err
	}
	j.ops[at].after = len(j.ops)
	if op.kind == opDir && ledger.DenialOf(j.o.Denied, p) != nil {
		j.ops[at].kind = opNothing
	} else if op.kind == opDir { // its mode and times come last, when what is in it has been changed
		j.ops = append(j.ops, op)
		j.ops[at].kind = opNothing
	}
	return nil
}

// deny leaves what lies in the workspace as a rule wants it. What the command wrote is kept
// aside, unless it is the same.
func (j *joiner) deny(op operation, rule *ledger.Denied) {
	op.kind, op.why, op.denied, op.asked = opKeep, rule.Rule, true, rule.Ask
	if op.low != nil && j.equal(op.path) {
		op.kind = opDrop
	}
	j.ops = append(j.ops, op)
}

// gone lists the files in the workspace at p that do not exist for the command.
func (j *joiner) gone(ctx context.Context, lower int, p string, quiet bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := path.Base(p)
	op := operation{kind: opRemove, path: p, low: lstat(lower, name), quiet: quiet || name == ".git"}
	if op.low == nil || name == j.o.Temp {
		return nil
	}
	op.traits = ledger.TraitsAt(lower, name, op.low).Changed(ledger.Traits{})
	if rule := ledger.DenialOf(j.o.Denied, p); rule != nil {
		j.report.Denied = append(j.report.Denied, ledger.Skipped{Path: p, Reason: rule.Rule})
		return nil
	}
	if op.low.Mode&unix.S_IFMT == unix.S_IFDIR {
		sub, err := openBelow(lower, name)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		defer unix.Close(sub)
		_ = rootfs.UnlinkAt(sub, j.o.Temp, 0)
		names, err := readNames(sub)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		for _, n := range names {
			if err := j.gone(ctx, sub, path.Join(p, n), op.quiet); err != nil {
				return err
			}
		}
		op.kind = opRmdir
	}
	j.ops = append(j.ops, op)
	return nil
}

// noteTimes records the final times of a directory: those of the last writer.
func (j *joiner) noteTimes(upper, lower int, rel string) {
	var up, low unix.Stat_t
	if unix.Fstat(upper, &up) != nil || unix.Fstat(lower, &low) != nil {
		return
	}
	j.times[rel] = low.Mtim
	if up.Mtim.Nano() > low.Mtim.Nano() {
		j.times[rel] = up.Mtim
	}
}

// openBelow opens a directory to list it, also one that keeps its owner out: the
// command has changed that for itself.
func openBelow(dir int, name string) (int, error) {
	const how = unix.O_RDONLY | unix.O_DIRECTORY
	fd, err := rootfs.OpenAt(dir, name, how, 0)
	if err != unix.EACCES {
		return fd, err
	}
	at, err := rootfs.OpenDirAt(dir, name)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return -1, err
	}
	if rootfs.ChmodFile(at, st.Mode&0o7777|0o700) != nil {
		return -1, unix.EACCES
	}
	return rootfs.OpenAt(at, ".", how, 0)
}

// touched reports whether somebody changed a file since the command began.
func (j *joiner) touched(st *unix.Stat_t) bool { return st.Ctim.Nano() > j.o.Began }

func lstat(dir int, name string) *unix.Stat_t {
	st, err := rootfs.StatAt(dir, name)
	if err != nil {
		return nil
	}
	return &st
}

// readNames lists a directory, sorted, from its beginning.
func readNames(fd int) ([]string, error) {
	again, err := rootfs.OpenAt(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(again), "directory")
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func fxattr(fd int, attr string) string {
	buf := make([]byte, 16)
	n, err := unix.Fgetxattr(fd, attr, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

// stripXattrs takes the overlay's own marks off a file or directory that becomes one
// of the workspace.
func stripXattrs(fd int) {
	for _, a := range []string{"opaque", "origin", "impure", "uuid"} {
		_ = unix.Fremovexattr(fd, "user.overlay."+a)
	}
}
