package adroit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// part selects changes from a ledger.
func (s Selection) part(ctx context.Context, id string, led *ledger.Ledger) (part ledger.Selection, err error) {
	switch {
	case s.Step != "" && s.From != "":
		return part, problem.Invalidf("--from has --step in it", "--step and --from exclude each other")
	case s.Step != "":
		part, err = led.Step(ctx, s.Step)
	case s.From != "":
		part, err = led.From(ctx, s.From)
	default:
		part = led.All()
	}
	if none := new(ledger.StepError); errors.As(err, &none) {
		return part, problem.Invalidf(hint.Command("jobs steps %s", id)+" lists those that did", "%s: %v", id, err)
	}
	if err == nil && s.Uncertain {
		part = part.IncludeUncertain()
	}
	if s.Patch {
		part = part.Patch()
	}
	return part, err
}

// Steps implements [Changes].
func (rt *Runtime) Steps(ctx context.Context, ref string) (*StepList, error) {
	j, m, err := rt.findFor(ctx, ScopeRead, ref)
	if err != nil {
		return nil, err
	}
	list := &StepList{Job: j.ID, Steps: []Step{}}
	led, err := jobdir.OpenLedger(rt.data(), j.ID)
	if err == nil && led == nil {
		list.Incomplete, err = rt.incompleteWithout(ctx, j.ID)
	}
	if err != nil || led == nil {
		return list, asError(err)
	}
	defer led.Close()
	all, err := led.Steps(ctx)
	if err != nil {
		return nil, problem.AsError(err)
	}
	names := map[string]string{}
	for ev, err := range m.Store.Events(ctx, j.ID, 0, false) {
		if err != nil {
			return nil, problem.AsError(err)
		}
		if ev.Kind == event.StepStarted && (ev.Step == "tool" || ev.Step == "model" || ev.Step == "worktree") {
			names[ev.Path] = ev.Name
		}
	}
	for _, s := range all {
		list.Steps = append(list.Steps, Step{s.Step, named(s.Changes), names[s.Step], named(s.Refs), named(s.Dirs)})
	}
	list.Incomplete = led.Incomplete(ctx)
	return list, nil
}

// named gives the paths of changes the names that JSON can hold.
func named(cs []ledger.Change) []ledger.Change {
	for i := range cs {
		cs[i].Path, cs[i].From = ledger.JSONName(cs[i].Path), ledger.JSONName(cs[i].From)
	}
	return cs
}

// namedPaths is named for paths alone.
func namedPaths(paths []string) []string {
	for i := range paths {
		paths[i] = ledger.JSONName(paths[i])
	}
	return paths
}

// Diff implements [Changes].
func (rt *Runtime) Diff(ctx context.Context, ref string, s Selection) (*Diff, error) {
	if err := rt.may(ctx, ScopeRead); err != nil {
		return nil, err
	}
	j, err := rt.findOrFolder(ctx, ref)
	if err != nil {
		return nil, problem.AsError(err)
	}
	if err := rt.goneTree(j); err != nil {
		return nil, problem.AsError(err)
	}
	d := &Diff{Job: j.ID, Changes: []ledger.Change{}}
	led, err := jobdir.OpenLedger(rt.data(), j.ID)
	if err == nil && led == nil {
		d.Incomplete, err = rt.incompleteWithout(ctx, j.ID)
	}
	if err != nil || led == nil {
		return d, asError(err)
	}
	defer led.Close()
	part, err := s.part(ctx, j.ID, led)
	if err != nil {
		return nil, problem.AsError(err)
	}
	if d.Diff, err = part.Diff(ctx, j.Dir); err != nil {
		return nil, problem.AsError(err)
	}
	if !utf8.ValidString(d.Diff) {
		d.Raw = []byte(d.Diff)
	}
	changes, err := part.Changes(ctx)
	if err != nil {
		return nil, problem.AsError(err)
	}
	d.Changes = append(d.Changes, named(changes)...)
	if d.Dirs, err = part.Directories(ctx); err != nil {
		return nil, problem.AsError(err)
	}
	if d.Refs, err = part.Refs(ctx); err != nil {
		return nil, problem.AsError(err)
	}
	d.Dirs, d.Refs = named(d.Dirs), named(d.Refs)
	commits, cerr := part.Commits(ctx, j.Dir)
	d.Commits = commits
	d.Incomplete = led.Incomplete(ctx)
	if cerr != nil {
		d.Incomplete = append(d.Incomplete, cerr.Error())
	}
	return d, nil
}

// Undo implements [Changes].
func (rt *Runtime) Undo(ctx context.Context, ref string, s Selection) (*UndoReport, error) {
	if err := rt.may(ctx, ScopeRun); err != nil {
		return nil, err
	}
	j, err := rt.findOrFolder(ctx, ref)
	if err != nil {
		return nil, problem.AsError(err)
	}
	if held(j) {
		return nil, problem.WithHint(fmt.Errorf("%s: %w", j.ID, jobs.ErrRunning), hint.Command("jobs cancel %s", j.ID))
	}
	if err := rt.goneTree(j); err != nil {
		return nil, problem.AsError(err)
	}
	if w := rt.worktree(j); w != nil { // its branch and its index are the repository's
		if err := w.Connect(); err != nil {
			return nil, problem.AsError(fmt.Errorf("%s: %w", j.ID, err))
		}
	}
	report := &UndoReport{Job: j.ID}
	led, err := jobdir.OpenLedger(rt.data(), j.ID)
	if err == nil && led == nil {
		report.Incomplete, err = rt.incompleteWithout(ctx, j.ID)
	}
	if err != nil {
		return nil, problem.AsError(err)
	}
	if led != nil {
		defer led.Close()
		if err := led.Share(jobdir.ContentDir(rt.data())); err != nil {
			return nil, problem.AsError(err)
		}
		part, err := s.part(ctx, j.ID, led)
		if err != nil {
			return nil, problem.AsError(err)
		}
		done, err := part.Undo(ctx, j.Dir)
		if err != nil {
			return nil, problem.AsError(err)
		}
		for i, s := range done.Skipped {
			done.Skipped[i].Path = ledger.JSONName(s.Path)
		}
		report.Restored, report.Removed, report.Moved = namedPaths(done.Restored), namedPaths(done.Removed), named(done.Moved)
		report.Skipped, report.Step = done.Skipped, done.Step
		report.Incomplete = led.Incomplete(ctx)
	}
	if j.Status != lost && (led == nil || !led.RecordsRefs()) {
		report.Commits, err = rt.commits(ctx, j.ID)
	}
	return report, asError(err)
}

// commits lists the commits that a job made with its tool, by hash and subject.
func (rt *Runtime) commits(ctx context.Context, id string) (out []string, err error) {
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, err
	}
	for ev, err := range m.Store.Events(ctx, id, 0, false) {
		if err != nil {
			return nil, err
		}
		var d struct{ Failed, Asks bool }
		if ev.Kind != event.StepFinished || ev.Name != "git_commit" || ev.Error != "" || json.Unmarshal(ev.Data, &d) != nil || d.Failed || d.Asks {
			continue
		}
		out = append(out, ev.Text)
	}
	return out, nil
}

// Merge implements [Changes].
func (rt *Runtime) Merge(ctx context.Context, ref, message string) (*MergeReport, error) {
	j, _, err := rt.findFor(ctx, ScopeRun, ref)
	if err != nil {
		return nil, err
	}
	if held(j) {
		return nil, problem.WithHint(fmt.Errorf("%s: %w", j.ID, jobs.ErrRunning), fmt.Sprintf("%s, or %s", hint.Command("jobs wait %s", j.ID), hint.Command("jobs cancel %s", j.ID)))
	}
	w, err := jobdir.Worktree(rt.data(), j)
	if err != nil {
		return nil, problem.AsError(err)
	}
	if w == nil {
		return nil, problem.Invalidf(hint.Command("run --worktree")+" gives a job a worktree", "%s worked in %s itself: there is nothing to merge", j.ID, j.Dir)
	}
	if err := rt.goneTree(j); err != nil {
		return nil, problem.AsError(err)
	}
	waits, err := jobdir.Waiting(rt.data(), j.ID)
	if err != nil {
		return nil, problem.AsError(err)
	}
	if len(waits) > 0 {
		waiting := &jobdir.WaitingError{Waiting: waits}
		return nil, problem.WithHint(fmt.Errorf("%s: %w", j.ID, waiting), joinHint(j, waiting))
	}
	message = cmp.Or(message, j.Title, "Work of "+j.Agent)
	if message == j.Title {
		message += "\n\nadroit job " + j.ID
	}
	deleted, err := deletions(ctx, rt.data(), j.ID)
	if err != nil {
		return nil, problem.AsError(err)
	}
	written, err := jobdir.Written(ctx, rt.data(), j.ID)
	if err != nil {
		return nil, problem.AsError(err)
	}
	merged, err := w.Merge(ctx, message, jobdir.MergeRecord(rt.data(), j.ID), written, deleted)
	if err != nil {
		return nil, problem.AsError(fmt.Errorf("%s: %w", j.ID, err))
	}
	return &MergeReport{j.ID, w.Repo, merged.Into, merged.Commit, namedPaths(merged.Paths), namedPaths(merged.Left), namedPaths(merged.Hidden)}, nil
}

// deletions reports of a path, relative to the job's directory, whether the job's
// ledger knows that the job removed it, or that it was removed while the job worked.
func deletions(ctx context.Context, data, id string) (func(path string) bool, error) {
	led, err := jobdir.OpenLedger(data, id)
	if err != nil || led == nil {
		return func(string) bool { return false }, err
	}
	defer led.Close()
	changes, err := led.Changes(ctx)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, c := range changes {
		if c.Kind != ledger.Deleted { // a file above it would have been in its way
			for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
				gone[dir] = true
			}
		}
		switch c.Kind {
		case ledger.Deleted:
			gone[c.Path] = true
		case ledger.Renamed:
			gone[c.From] = true
		}
	}
	return func(path string) bool { return gone[path] }, nil
}

// treeRepairs gives coordinators the changes of their agents in a job's workspaces,
// which are a *jobdir.Workspaces; without them every method fails.
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

// part returns the changes of the step at path and those below it; nil if they changed
// nothing.
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
