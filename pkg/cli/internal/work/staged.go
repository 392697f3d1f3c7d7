package work

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A staged is what a commit would have.
type staged struct{ root, diff, log string }

// subjects is how many earlier commits show the style of messages.
const subjects = 12

func readStaged(ctx context.Context, e *kit.Env, dir string) (s staged, err error) {
	conf, err := e.Config()
	if err != nil {
		return s, err
	}
	names := conf.Names()
	g, done := open(dir, names)
	s.root, err = g.Root(ctx)
	if err = errors.Join(err, done()); err != nil {
		if broken := cause(ctx, dir, err); broken != err {
			return s, broken
		}
		return s, kit.Usagef("-C names a directory of a git repository", "%v", err)
	}
	g, done = open(s.root, names)
	defer func() { err = errors.Join(err, done()) }()
	status, err := g.Status(ctx)
	if err != nil {
		return s, cause(ctx, s.root, err)
	}
	if err := check(e, status, names); err != nil {
		return s, err
	}
	if s.diff, err = g.Diff(ctx, git.DiffOptions{Staged: true}); err != nil {
		return s, err
	}
	if s.diff == "" {
		return s, kit.Usagef("write the message yourself: git commit", "all that is staged is on the list of secrets, which no model is shown")
	}
	if status.Commit == "" {
		return s, nil // there are no subjects before the first commit
	}
	commits, err := g.Log(ctx, subjects, "")
	for _, c := range commits {
		s.log += c.Subject + "\n"
	}
	return s, err
}

// open is a repository, to be closed with done.
func open(dir string, names *workspace.DenyList) (g *git.Repo, done func() error) {
	ex := process.New(dir, "", nil)
	ex.DenyList = names
	return git.New(ex), ex.Close
}

// check refuses an index that cannot be committed, and notes what is committed
// that the model does not see.
func check(e *kit.Env, status *git.Status, names *workspace.DenyList) error {
	any := false
	for _, entry := range status.Entries {
		if entry.Conflict {
			return kit.Usagef("resolve it and git add it", "%s is in conflict", entry.Path)
		}
		if entry.Index != "" && entry.Index != "D" && names.NameError(entry.Path) != nil {
			e.Warn("%s is on the list of secrets: the model does not see it, but it is staged and will be committed", entry.Path)
		}
		any = any || entry.Index != ""
	}
	if !any {
		return kit.Usagef("git add what the commit is to have", "nothing is staged")
	}
	return nil
}

// cause is what is broken of the repository of a directory, where git has failed because
// of it; else err.
func cause(ctx context.Context, dir string, err error) error {
	if _, ok := errors.AsType[*git.ExitError](err); !ok {
		return err
	}
	if real, e := filepath.EvalSymlinks(dir); e == nil {
		dir = real
	}
	if broken := rootfs.BrokenRepository(ctx, dir); broken != nil {
		return broken
	}
	return err
}
