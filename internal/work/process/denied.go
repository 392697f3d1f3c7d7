package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// Denied is a path that commands must not change, with the rule that denies it.
type Denied = ledger.Denied

type deniedKey struct{}

// WithDenied returns a context in which commands do not change denied paths, however they name
// them: where their changes are collected, those are left out, or held back until a person has
// answered, and elsewhere existing paths are read-only to them. At levels that cannot lock them,
// and for new names, the output reports that they were changed.
func WithDenied(ctx context.Context, denied []Denied) context.Context {
	return context.WithValue(ctx, deniedKey{}, denied)
}

// DeniedOf returns what WithDenied put into a context.
func DeniedOf(ctx context.Context) []Denied {
	d, _ := ctx.Value(deniedKey{}).([]Denied)
	return d
}

type ownProgramKey struct{}

// WithOwnProgram returns a context in which a program that no sandbox confines is found where no job
// may write: a tool names it, and nobody was asked about the call.
func WithOwnProgram(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownProgramKey{}, true)
}

// maxDenied bounds how many denied entries of a workspace are locked one by one.
const maxDenied = 2000

// lock makes denied paths read-only to a command whose changes are not collected.
func (p *Process) lock(t *rootfs.Tree) error {
	if p.overlay != nil || len(p.denied) == 0 || p.level == sandbox.Landlock {
		return nil
	}
	n := 0
	return rootfs.WalkDir(t.Root, ".", func(rel string, d *rootfs.Entry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		}
		rule := ledger.DenialOf(p.denied, rel)
		if rule == nil || !d.IsDir() && !d.Type().IsRegular() {
			return nil
		}
		if n++; n > maxDenied {
			return fmt.Errorf("the command was not run: rules deny more than %d files and directories of the workspace, and here each has to be locked by itself; name a directory in place of the files (%s)", maxDenied, rule.Rule)
		}
		p.fix(t, rel)
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}

// fix locks one name, and keeps the directories around it from being replaced with it.
func (p *Process) fix(t *rootfs.Tree, rel string) {
	add := func(list *[]string, rel string) {
		dir, base, err := rootfs.OpenParent(t.FD(), rel)
		if err != nil {
			return
		}
		defer unix.Close(dir)
		st, err := rootfs.StatAt(dir, base)
		at := path.Join(t.Dir, rel)
		_, twice := p.policy.Expect[at]
		if err != nil || twice || slices.ContainsFunc(p.policy.Mask, func(m string) bool { return rootfs.Within(m, at) }) {
			return // gone, or locked or hidden already
		}
		*list = append(*list, at)
		p.policy.Expect[at] = rootfs.FileID(&st)
	}
	add(&p.policy.Fix, rel)
	for up := path.Dir(rel); up != "."; up = path.Dir(up) {
		add(&p.policy.Pin, up)
	}
}

// deniedNote names the changed files that a rule denies and that could not be kept from changing,
// or returns "".
func (p *Process) deniedNote(changed []string) string {
	var list []string
	for _, c := range changed {
		if rule := ledger.DenialOf(p.denied, c); rule != nil {
			list = append(list, spelling.PathLine(c)+" ("+rule.Rule+")")
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "changed while the command ran, although a rule is about it: " + strings.Join(spelling.First(list, maxNotes), ", ")
}
