package git

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/process"
)

// ErrNothing is that a commit would have nothing.
var ErrNothing = errors.New("nothing differs from the last commit: there is nothing to commit")

// A NotStagedError names what git add left out without a word.
type NotStagedError struct{ Paths []string }

func (e *NotStagedError) Error() string {
	return "git add left out " + strings.Join(e.Paths[:min(len(e.Paths), 10)], ", ") + "; nothing is committed"
}

// Stage stages what the pathspecs name as it is in the work tree: new and deleted files,
// and those that a sparse checkout does not have. What git leaves out is a *NotStagedError.
// config are options of git before its command.
func (g *Repo) Stage(ctx context.Context, specs []string, config ...string) error {
	var before []string
	for {
		add := func(options ...string) error {
			_, err := g.Run(ctx, process.Cmd{Args: Args(config, "add", "-A", options, "--", specs), Snapshot: true, OwnGit: true})
			return err
		}
		err := add("--sparse")
		if exit, ok := errors.AsType[*ExitError](err); ok && exit.Code == 129 { // before 2.34 git has no such option
			err = add()
		}
		if err != nil {
			return err
		}
		left, err := g.unstaged(ctx, specs, config)
		if err != nil {
			return err
		}
		if before != nil { // what is left both times was not written in between
			left = slices.DeleteFunc(left, func(p string) bool { return !slices.Contains(before, p) })
			if len(left) > 0 {
				return &NotStagedError{left}
			}
			return nil
		}
		if before = left; len(left) == 0 {
			return nil
		}
	}
}

// unstaged are files whose change is not in the index at all. One that is written to all
// the time is there as it was a moment ago.
func (g *Repo) unstaged(ctx context.Context, specs, config []string) ([]string, error) {
	off, err := g.drivers(ctx)
	if err != nil {
		return nil, err
	}
	list := func(args ...any) ([]string, error) {
		out, err := g.Capture(ctx, off, process.Cmd{Args: Args(append(append([]any{config}, args...), "-z", "--", specs)...)}, 256*rootfs.MaxNames)
		return SplitNul(out), err
	}
	diff := []string{"diff", "--no-ext-diff", "--no-textconv", "--name-only", "--no-renames", "--relative", "--ignore-submodules=dirty"}
	left, err := list(diff)
	if err == nil && len(left) > 0 {
		var staged []string
		staged, err = list(diff, "--cached")
		left = slices.DeleteFunc(left, func(p string) bool { return slices.Contains(staged, p) })
	}
	if err != nil {
		return nil, err
	}
	others, err := list("ls-files", "--others", "--exclude-standard")
	return append(left, others...), err
}
