package adroit

import (
	"context"
	"errors"

	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/tools/edit"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// treeRepairs are what agents of a coordinator have changed in a job's workspaces, which
// are a *jobdir.Workspaces; without them every method fails.
type treeRepairs struct{ host.Worktrees }

// Changed implements [coordinator.Ledger].
func (r treeRepairs) Changed(ctx context.Context, at, path string) (out coordinator.Changes, err error) {
	part, _, err := r.part(ctx, at, path)
	if err != nil || part == nil {
		return out, err
	}
	changes, err := part.IncludeReported().Changes(ctx)
	for _, c := range changes {
		out.Changed = append(out.Changed, c.Path)
	}
	return out, err
}

// Undo implements [coordinator.Ledger].
func (r treeRepairs) Undo(ctx context.Context, at, path string) (out coordinator.Changes, err error) {
	part, dir, err := r.part(ctx, at, path)
	if err != nil || part == nil {
		return out, err
	}
	got, err := part.Undo(ctx, dir)
	out.Undone = append(append(out.Undone, got.Restored...), got.Removed...)
	for _, s := range got.Skipped {
		out.Kept = append(out.Kept, s.Path+": "+s.Reason)
	}
	return out, err
}

// part is what the step at path and those below it have changed; nil if they
// changed nothing.
func (r treeRepairs) part(ctx context.Context, at, path string) (*ledger.Selection, string, error) {
	b, err := r.workspaces()
	if err != nil {
		return nil, "", err
	}
	l, dir, err := b.Ledger(at)
	if err != nil {
		return nil, "", err
	}
	part, err := l.Step(ctx, path)
	if errors.As(err, new(*ledger.StepError)) {
		return nil, "", nil
	}
	return &part, dir, err
}

func (r treeRepairs) workspaces() (*jobdir.Workspaces, error) {
	b, ok := r.Worktrees.(*jobdir.Workspaces)
	if !ok {
		return nil, errors.New("this job has no workspace")
	}
	return b, nil
}

// Diff implements [coordinator.Fixes].
func (r treeRepairs) Diff(ctx context.Context, at, path string) (string, error) {
	part, dir, err := r.part(ctx, at, path)
	if err != nil || part == nil {
		return "", err
	}
	return part.IncludeReported().Diff(ctx, dir)
}

// Fits implements [coordinator.Fixes].
func (r treeRepairs) Fits(ctx context.Context, at, diff string) error {
	b, err := r.workspaces()
	if err != nil {
		return err
	}
	env, err := b.Env(ctx, "", at)
	if err != nil {
		return err
	}
	return edit.Fits(env.Files, diff)
}
