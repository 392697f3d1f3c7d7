package adroit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// trustStore is the record of the options, or why there is none.
func (rt *Runtime) trustStore() (*trust.Store, error) {
	if rt.trust == nil {
		return nil, problem.Invalidf("set Options.Trust", "this runtime keeps no decisions about trust")
	}
	return rt.trust, nil
}

// Trust implements [Machine].
func (rt *Runtime) Trust(ctx context.Context, dir string) (*trust.Status, error) {
	if err := rt.mayIn(ctx, ScopeRead, dir); err != nil {
		return nil, err
	}
	if err := rt.mayLook(ctx, ScopeRead, dir); err != nil {
		return nil, err
	}
	s, err := rt.trustStore()
	if err != nil {
		return nil, err
	}
	st, err := s.Check(dir)
	if err != nil {
		return nil, problem.WithHint(err, "remove the file to start anew: then nothing is trusted")
	}
	st = st.WithText()
	return &st, nil
}

// Trusts implements [Machine].
func (rt *Runtime) Trusts(ctx context.Context) ([]trust.Place, error) {
	if err := rt.may(ctx, ScopeRead); err != nil {
		return nil, err
	}
	s, err := rt.trustStore()
	if err != nil {
		return nil, err
	}
	places, err := s.List()
	places = slices.DeleteFunc(places, func(p trust.Place) bool { return !AuthorityOf(ctx).Covers(p.Root) })
	if places == nil {
		places = []trust.Place{}
	}
	return places, asError(err)
}

// SetTrust implements [Machine].
func (rt *Runtime) SetTrust(ctx context.Context, c TrustChange) (*trust.Status, error) {
	if err := rt.mayIn(ctx, ScopeAdmin, c.Dir); err != nil {
		return nil, err
	}
	s, err := rt.trustStore()
	if err != nil {
		return nil, err
	}
	if c.Revoke {
		had, err := s.Revoke(c.Dir)
		if err == nil && !had {
			err = &problem.Error{Kind: problem.NotFound, Message: c.Dir + " has no trust decision", Hint: hint.Command("config trust --list") + " lists the projects"}
		}
		return nil, asError(err)
	}
	st, err := rt.Trust(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	files := c.Files
	if files == nil {
		files = st.Open()
	}
	for _, f := range files {
		known := func(now trust.File) bool { return now.Path == f.Path && now.State != trust.Never }
		if !slices.ContainsFunc(st.Files, known) {
			return nil, problem.Invalidf(hint.Command("config trust --show")+" lists the files", "%s is no file of %s that can be trusted", f.Path, st.Root)
		}
		unshown := func(now trust.File) bool { return now.Path == f.Path && now.Unshown }
		if c.Trust && slices.ContainsFunc(st.Files, unshown) {
			return nil, problem.Invalidf("decide first about the files before it", "%s is not shown yet, since %s has too much text for once", f.Path, st.Root)
		}
	}
	if err := s.Record(*st, files, c.Trust); err != nil {
		return nil, problem.AsError(err)
	}
	return rt.Trust(ctx, c.Dir)
}

// Remove implements [JobWriter].
func (rt *Runtime) Remove(ctx context.Context, ref string, o RemoveOptions) (*Removed, error) {
	if err := rt.may(ctx, ScopeAdmin); err != nil {
		return nil, err
	}
	j, err := rt.findOrFolder(ctx, ref)
	var notes []string
	if err == nil {
		notes, err = rt.remove(ctx, j, o)
	} else if r := rt.resumedRemoval(ref); r != nil {
		j, err = r.job, r.err
	}
	if err != nil {
		return nil, problem.AsError(err)
	}
	rt.sweep(ctx)
	return &Removed{j, notes}, nil
}

// sweep frees the former content of files that no job has any more, and removes what
// killed commands left and no row names. What cannot be removed is named.
func (rt *Runtime) sweep(ctx context.Context) {
	_, err := ledger.SweepContent(jobdir.ContentDir(rt.data()))
	err = errors.Join(err, rootfs.Sweep(rt.data()))
	ids, e := jobdir.NeverAdded(rt.data())
	err = errors.Join(err, e)
	if len(ids) > 0 {
		store, e := rt.store(ctx)
		err = errors.Join(err, e)
		for _, id := range ids {
			if e != nil {
				break
			}
			list, fault := store.List(ctx, jobs.Query{ID: id, Brief: true})
			if fault == nil && len(list) == 0 {
				fault = rt.forget(ctx, id)
			}
			err = errors.Join(err, fault)
		}
	}
	if err != nil {
		rt.warn("removing what killed commands left: %v", err)
	}
}

// remove removes a job: from the store first, so that nobody can claim, merge or
// continue it while its files go. A kill after Begin is made up for by finishRemovals. The
// notes are for [Removed].
func (rt *Runtime) remove(ctx context.Context, j *jobs.Job, o RemoveOptions) (notes []string, err error) {
	if held(j) {
		return nil, problem.WithHint(fmt.Errorf("%s: %w; cancel it first", j.ID, jobs.ErrRunning), hint.Command("jobs cancel %s", j.ID))
	}
	if err := stored.Unknown(j.ID+": its status", string(j.Status), j.Status.Known() || j.Status == lost); err != nil && !o.Force {
		return nil, problem.WithHint(err, hint.Command("jobs rm --force %s", j.ID)+" removes it with all that is kept of it")
	}
	r, err := jobdir.CheckRemoval(ctx, rt.data(), j, o.Force)
	if we := new(worktree.Error); errors.As(err, &we) {
		if we.Other != "" {
			return nil, problem.WithHint(fmt.Errorf("%s: %w", j.ID, err), hint.Command("jobs rm --force %s", j.ID)+" removes this one alone, and nothing of the other")
		}
		return nil, problem.WithHint(fmt.Errorf("%s: %w", j.ID, err), fmt.Sprintf("%s; or %s throws the work away", cmp.Or(we.Remedy, hint.Command("jobs merge %s", j.ID)), hint.Command("jobs rm --force %s", j.ID)))
	}
	if errors.Is(err, jobdir.ErrMerging) {
		return nil, problem.WithHint(fmt.Errorf("%s: %w", j.ID, err), hint.Command("jobs merge %s", j.ID))
	}
	if waits := new(jobdir.WaitingError); errors.As(err, &waits) {
		return nil, problem.WithHint(fmt.Errorf("%s: %w", j.ID, err), joinHint(j, waits)+"\n"+hint.Command("jobs rm --force %s", j.ID)+" deletes it")
	}
	if err != nil {
		return nil, err
	}
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.Begin(); err != nil {
		return nil, err
	}
	if err := finishRemoval(ctx, m.Store, r); err != nil {
		return nil, err
	}
	if len(r.Waiting) > 0 {
		notes = append(notes, fmt.Sprintf("%s is removed with what a killed command of it had changed: %s", j.ID, jobdir.Describe(r.Waiting)))
	}
	if w := r.Worktree; w != nil && !r.Branch && w.Stays(ctx) {
		notes = append(notes, fmt.Sprintf("branch %[1]s of %[2]s stays, as it is not merged: git -C %[2]s merge %[1]s merges it", w.Branch, w.Repo))
	}
	return notes, nil
}

// joinHint explains how what waits comes into the tree of a job.
func joinHint(j *jobs.Job, waits *jobdir.WaitingError) string {
	keep := "copy what you need from " + waits.Waiting[0].Dir
	_, gone := os.Stat(j.Dir)
	switch {
	case gone != nil || j.Status == lost || capped(j):
	case j.Status == jobs.Limit:
		return raiseHint(j)
	case !j.Status.Final() || j.Status.Halted() || j.Status == jobs.Failed:
		return hint.Command("continue %s", j.ID) + " brings it there and goes on"
	case j.Workflow == agents.Workflow.Name:
		return hint.Command("continue %s \"...\"", j.ID) + " brings it there and goes on"
	}
	return keep
}

// A shrinker is a store that keeps the space of removed jobs until it is asked to give
// it back to the disk.
type shrinker interface {
	Shrink(ctx context.Context) (bool, error)
}

// Prune implements [JobWriter].
func (rt *Runtime) Prune(ctx context.Context, o PruneOptions) (*PruneReport, error) {
	if err := rt.may(ctx, ScopeAdmin); err != nil {
		return nil, err
	}
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, problem.AsError(err)
	}
	all, err := m.Store.List(ctx, jobs.Query{Brief: true})
	if err != nil {
		return nil, problem.AsError(err)
	}
	r, now := &PruneReport{Removed: []string{}}, time.Now()
	for _, j := range all {
		if !j.Status.Final() || !rt.sees(ctx, j) || j.Finished.IsZero() || now.Sub(j.Finished) < o.Age {
			continue
		}
		if !o.DryRun {
			notes, err := rt.remove(ctx, j, RemoveOptions{})
			if err != nil {
				r.Kept = append(r.Kept, KeptJob{j.ID, problem.AsError(err)})
				continue
			}
			r.Notes = append(r.Notes, notes...)
		}
		r.Removed = append(r.Removed, j.ID)
	}
	if !o.DryRun {
		rt.sweep(ctx)
	}
	if s, ok := m.Store.(shrinker); ok && err == nil && !o.DryRun && len(r.Removed) > 0 {
		_, err = s.Shrink(ctx)
	}
	return r, asError(err)
}

type (
	// An Error is an error in a form that survives JSON: Kind, Message, and in Hint what
	// helps. A program that branches on it asks errors.Is for an error of pkg/jobs, such as
	// jobs.ErrNotExist, or compares its Kind with [Invalid].
	Error = problem.Error
	// A Kind is an error's subject.
	Kind = problem.Kind
)

// Invalid is the kind of errors about an invalid request, the only one that
// no error of pkg/jobs stands for and that a program can do something about.
const Invalid = problem.Invalid

// asError is AsError for a result of type error.
func asError(err error) error {
	if err == nil {
		return nil
	}
	return problem.AsError(err)
}

// finishRemoval completes a recorded removal; a Ctrl-C does not stop it in the middle.
func finishRemoval(ctx context.Context, store jobs.Store, r *jobdir.Removal) error {
	ctx = context.WithoutCancel(ctx)
	err := store.Remove(ctx, r.Job.ID)
	switch {
	case errors.Is(err, jobs.ErrRunning): // somebody goes on with it
		return problem.WithHint(errors.Join(err, r.Cancel()), hint.Command("jobs cancel %s", r.Job.ID))
	case err != nil && !errors.Is(err, jobs.ErrNotExist):
		return errors.Join(err, r.Release())
	}
	if err := r.Finish(ctx); err != nil {
		return problem.WithHint(fmt.Errorf("%s is removed but for its files: %w", r.Job.ID, err), "correct what is in the way; the next command removes the rest")
	}
	return nil
}

// finishRemovals finishes the removals that were cut short, by a kill or an error.
func (rt *Runtime) finishRemovals(ctx context.Context, store jobs.Store) {
	left, err := jobdir.Removals(rt.data())
	if err != nil {
		rt.warn("reading which removals were cut short: %v", err)
	}
	for _, r := range left {
		if wentOn(ctx, store, r.Job) {
			if err := r.Cancel(); err != nil {
				rt.warn("%v", err)
			}
			rt.warn("%s is not removed: it has gone on since its removal was cut short; %s removes it", r.Job.ID, hint.Command("jobs rm %s", r.Job.ID))
			continue
		}
		err := finishRemoval(ctx, store, r)
		if err != nil {
			rt.warn("finishing the removal of a job: %v", err)
		} else {
			rt.warn("%s is removed: the removal had been cut short", r.Job.ID)
		}
		rt.resumed = append(rt.resumed, resumedRemoval{r.Job, err})
	}
}

// reportMerges names the merges that were killed. They are not finished unasked: they
// change files of a person.
func (rt *Runtime) reportMerges() {
	ids, err := jobdir.MergesCutShort(rt.data())
	if err != nil {
		rt.warn("reading which merges were killed: %v", err)
	}
	for _, id := range ids {
		rt.warn("the merge of %s was killed in the middle; %s does it again", id, hint.Command("jobs merge %s", id))
	}
}

// lock is the Lock of a [jobs.Manager]. A process that has had the data open since before
// a removal was killed could go on with the job otherwise. Of jobs in memory no other process
// knows.
func (rt *Runtime) lock(j *jobs.Job) (release func(), clean bool, err error) {
	if rt.forgets {
		return func() {}, true, nil
	}
	release, clean, err = jobdir.Lock(filepath.Join(rt.home, j.ID))
	if err == nil && jobdir.Removing(rt.data(), j.ID) {
		release()
		return nil, false, problem.WithHint(errors.New("it is being removed, or was until that was killed"), hint.Command("jobs rm %s", j.ID))
	}
	return release, clean, err
}

// wentOn reports whether a job has changed since its removal was recorded: a process that had
// opened the data before does not see the record.
func wentOn(ctx context.Context, store jobs.Store, was *jobs.Job) bool {
	list, err := store.List(ctx, jobs.Query{ID: was.ID, Brief: true})
	return err == nil && len(list) == 1 && !was.Updated.IsZero() && !list[0].Updated.Equal(was.Updated)
}

// resumedRemoval is the removal that ref means, nil if there is none.
func (rt *Runtime) resumedRemoval(ref string) *resumedRemoval {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	ref = strings.ToUpper(strings.TrimSpace(ref))
	for i, r := range rt.resumed {
		if len(ref) >= 2 && (strings.HasPrefix(r.job.ID, ref) || strings.HasSuffix(r.job.ID, ref)) {
			return &rt.resumed[i]
		}
	}
	return nil
}
