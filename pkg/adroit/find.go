package adroit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// findFor returns the one job that ref means to a caller who has the scope.
func (rt *Runtime) findFor(ctx context.Context, need TokenScope, ref string) (*jobs.Job, *jobs.Manager, error) {
	if err := rt.may(ctx, need); err != nil {
		return nil, nil, err
	}
	j, m, err := rt.find(ctx, ref)
	return j, m, asError(err)
}

// find returns the one job that ref means.
func (rt *Runtime) find(ctx context.Context, ref string) (*jobs.Job, *jobs.Manager, error) {
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, nil, err
	}
	typed := strings.TrimSpace(ref)
	ref = strings.ToUpper(typed)
	q := jobs.Query{}
	switch ref {
	case "":
	case "LAST":
		if !AuthorityOf(ctx).everywhere() {
			break // it would be somebody else's
		}
		j, err := rt.newest(ctx, m.Store)
		return j, m, err
	default: // most are the whole id
		one, err := m.Store.List(ctx, jobs.Query{ID: ref})
		if err != nil {
			return nil, nil, err
		}
		if len(one) > 0 && rt.sees(ctx, one[0]) {
			return one[0], m, nil
		}
	}
	all, err := m.Store.List(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	var found []*jobs.Job
	for _, j := range all {
		if len(ref) >= 2 && rt.sees(ctx, j) && (strings.HasPrefix(j.ID, ref) || strings.HasSuffix(j.ID, ref)) {
			found = append(found, j)
		}
	}
	switch len(found) {
	case 1:
		return found[0], m, nil
	case 0:
		return nil, nil, &problem.Error{Kind: problem.NotFound, Message: fmt.Sprintf("no such job: %q", typed), Hint: hint.Command("jobs") + " lists them"}
	}
	var ids []string
	for _, j := range found[:min(len(found), 4)] {
		ids = append(ids, j.ID)
	}
	return nil, nil, problem.Invalidf("give more of the id", "%q means any of %d jobs: %s", ref, len(found), strings.Join(ids, ", "))
}

// newest is the job that last means in this process: the newest one of its directory's
// project, or of all where it has none.
func (rt *Runtime) newest(ctx context.Context, store jobs.Store) (*jobs.Job, error) {
	list, err := rt.jobsIn(ctx, store, jobs.Query{Limit: 1}, rt.o.Dir, true)
	if err == nil && len(list) == 0 {
		list, err = store.List(ctx, jobs.Query{Limit: 1, Brief: true})
		for _, other := range list {
			return nil, problem.NoLast(other.ID, other.Dir, rt.o.Dir)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, problem.NoLast("", "", "")
	}
	return list[0], nil
}

// jobsIn lists jobs that work in a directory, in any for "", with here only those that
// ListOptions.Here selects. The store does not know directories: it is asked for more
// jobs until enough of them are there.
func (rt *Runtime) jobsIn(ctx context.Context, store jobs.Store, q jobs.Query, dir string, here bool) ([]*jobs.Job, error) {
	limit := q.Limit
	if dir == "" && !here && AuthorityOf(ctx).everywhere() {
		return store.List(ctx, q)
	}
	other := func(j *jobs.Job) bool {
		if !rt.sees(ctx, j) {
			return true
		}
		if here {
			return rt.config(j).Aside || dir != "" && !rt.worksHere(j, dir)
		}
		return dir != "" && !rt.worksIn(j, dir)
	}
	for q.Limit *= 10; ; q.Limit *= 10 {
		all, err := store.List(ctx, q)
		if err != nil {
			return nil, err
		}
		last := q.Limit == 0 || len(all) < q.Limit
		all = slices.DeleteFunc(all, other)
		if limit > 0 && len(all) >= limit {
			return all[:limit], nil
		}
		if last {
			return all, nil
		}
	}
}

// worksIn reports whether a job works in a directory, around or below it, or in a
// worktree of such a repository.
func (rt *Runtime) worksIn(j *jobs.Job, dir string) bool {
	if overlap(j.Dir, dir) {
		return true
	}
	if !overlap(j.Dir, rt.data()) {
		return false
	}
	w := rt.worktree(j)
	return w != nil && overlap(filepath.Join(w.Repo, filepath.FromSlash(w.Sub)), dir)
}

// worksHere reports whether a directory belongs to a job, or its worktree's
// repository: it lies in it, or both lie in one repository.
func (rt *Runtime) worksHere(j *jobs.Job, dir string) bool {
	if sameProject(dir, j.Dir) {
		return true
	}
	w := rt.worktree(j)
	return w != nil && sameProject(dir, filepath.Join(w.Repo, filepath.FromSlash(w.Sub)))
}

// sameProject reports whether here lies in dir, or dir below here with no repository of
// its own, in that of here.
func sameProject(here, dir string) bool {
	repo := func(d string) bool { _, err := os.Lstat(filepath.Join(d, ".git")); return err == nil }
	if rel, err := filepath.Rel(dir, here); err == nil && filepath.IsLocal(rel) {
		return true
	}
	if rel, err := filepath.Rel(here, dir); err != nil || !filepath.IsLocal(rel) {
		return false
	}
	for d := filepath.Clean(dir); d != filepath.Clean(here); d = filepath.Dir(d) {
		if repo(d) {
			return false
		}
	}
	_, ok := rootfs.Repository(filepath.Clean(here))
	return ok
}

// lost is the status of a job whose directory is all that is left of it.
const lost = jobs.Status("lost")

// findOrFolder finds a job like find does, and also one whose directory is all
// that is left: its database was lost or replaced.
func (rt *Runtime) findOrFolder(ctx context.Context, ref string) (*jobs.Job, error) {
	j, _, err := rt.find(ctx, ref)
	if err == nil {
		return j, nil
	}
	folders, _ := os.ReadDir(rt.home) // none: the error above stands
	ref = strings.ToUpper(strings.TrimSpace(ref))
	var found []*jobs.Job
	for _, f := range folders {
		if name := f.Name(); len(ref) < 2 || !strings.HasPrefix(name, ref) && !strings.HasSuffix(name, ref) {
			continue
		}
		b, failed := os.ReadFile(filepath.Join(rt.home, f.Name(), jobdir.JobFile))
		j := &jobs.Job{}
		if failed != nil || json.Unmarshal(b, j) != nil || j.ID != f.Name() {
			continue
		}
		j.Status = lost
		j.Dir = rootfs.WorktreePath(rt.data(), j.ID, j.Dir)
		found = append(found, j)
	}
	if len(found) != 1 {
		return nil, err
	}
	rt.warn("%s is not in the database; its folder has what it changed", found[0].ID)
	return found[0], nil
}

// held reports whether a runner has a job: it runs, or is queued for a place.
func held(j *jobs.Job) bool {
	return j.Status == jobs.Running || j.Status == jobs.Queued && j.Lease.Owner != ""
}

// overlap reports whether two directories are one, or one lies in the other.
func overlap(a, b string) bool {
	a, b = filepath.Clean(a)+string(filepath.Separator), filepath.Clean(b)+string(filepath.Separator)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// jobWithSignals is a job with what it has been sent and not received.
func jobWithSignals(ctx context.Context, store jobs.Store, id string) (*jobs.Job, error) {
	list, err := store.List(ctx, jobs.Query{ID: id, Questions: true})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: %w", id, jobs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// unread returns the number of messages a job has not read.
func unread(j *jobs.Job) int {
	return len(slices.DeleteFunc(slices.Clone(j.Signals), func(s flow.Signal) bool { return s.Name != turn.MessageSignal }))
}
