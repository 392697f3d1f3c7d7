package adroit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// finishRemoval does what was recorded; a Ctrl-C does not stop it in the middle.
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
// a removal was killed could go on with the job otherwise.
func (rt *Runtime) lock(j *jobs.Job) (release func(), clean bool, err error) {
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
