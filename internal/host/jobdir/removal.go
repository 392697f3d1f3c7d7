package jobdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A Removal is the recorded intent to remove a job with all its data. The record is made before
// anything is removed and deleted when nothing is left, so that the next opener of the data
// directory finishes a killed removal, and a half removed job is never taken for a job's work. The
// owner of a Removal has its lock.
type Removal struct {
	Job      *jobs.Job          `json:"job"`                // what names it: no input, no output
	Worktree *worktree.Worktree `json:"worktree,omitempty"` // nil if it has none
	Branch   bool               `json:"branch,omitempty"`   // of the worktree goes too

	// Waiting lists the changes that go with the job and are in no tree; without force there are
	// none.
	Waiting []ledger.Waiting `json:"-"`

	data string
	lock *os.File
}

// ErrMerging is the error of CheckRemoval if a merge of the job has to be done again first.
var ErrMerging = errors.New("the merge of its worktree was killed in the middle")

func removalsDir(data string) string { return filepath.Join(data, "removing") }

func (r *Removal) path() string { return filepath.Join(removalsDir(r.data), r.Job.ID+".json") }

// CheckRemoval returns what has to be removed with a job, and changes nothing. Without force, a
// worktree with work that exists nowhere else is a *worktree.Error, and changes of a killed
// command that are in no tree are a *WaitingError. data is the directory that keeps jobs.
func CheckRemoval(ctx context.Context, data string, j *jobs.Job, force bool) (*Removal, error) {
	r := &Removal{data: data, Branch: force,
		Job: &jobs.Job{ID: j.ID, Workflow: j.Workflow, Agent: j.Agent, Title: j.Title, Dir: j.Dir, Created: j.Created, Updated: j.Updated}}
	w, err := Worktree(data, j)
	if err != nil && force { // the worktree is where all are
		w, err = worktree.Find(newTree(data, j.ID))
	}
	if err != nil {
		return nil, err
	}
	if !force && worktree.CutShort(MergeRecord(data, j.ID)) {
		return nil, ErrMerging
	}
	if r.Waiting, err = Waiting(data, j.ID); !force {
		if err != nil {
			return nil, err
		}
		if len(r.Waiting) > 0 {
			return nil, &WaitingError{r.Waiting}
		}
	}
	if r.Worktree = w; w != nil && !force {
		written, err := Written(ctx, data, j.ID)
		if err != nil {
			return nil, err
		}
		if r.Branch, err = w.Removable(ctx, written); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Begin records the removal.
func (r *Removal) Begin() error {
	err := rootfs.WriteJSON(r.path(), r)
	if errors.Is(err, fs.ErrNotExist) { // somebody has just removed the empty directory
		err = rootfs.WriteJSON(r.path(), r)
	}
	if err != nil {
		return fmt.Errorf("recording that %s is to be removed: %w", r.Job.ID, err)
	}
	// Another process that found the record first may have finished it: then nothing is left to
	// do.
	if r.lock, err = os.Open(r.path()); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return lock.Lock(r.lock)
}

// Cancel deletes the record of a removal that removed nothing.
func (r *Removal) Cancel() error {
	err := os.Remove(r.path())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	_ = os.Remove(removalsDir(r.data)) // if it was the last
	return errors.Join(err, r.Release())
}

// Release leaves the removal to the next opener of the data directory.
func (r *Removal) Release() error {
	if r.lock == nil {
		return nil
	}
	defer func() { r.lock = nil }()
	return lock.Close(r.lock)
}

// Finish removes the worktrees, their branches and the files of a job that is no longer in the
// store, then the record. Parts that are already gone are not an error. After an error, the
// removal can be finished later.
func (r *Removal) Finish(ctx context.Context) error {
	if err := removeFiles(ctx, r.data, r.Job.ID, r.Worktree, r.Branch); err != nil {
		return errors.Join(err, r.Release())
	}
	return r.Cancel()
}

// removeFiles removes the data of a job outside of the store.
func removeFiles(ctx context.Context, data, id string, w *worktree.Worktree, branch bool) error {
	if w != nil {
		if err := w.Discard(ctx, branch); err != nil {
			return fmt.Errorf("removing the worktree %s: %w", w.Top, err)
		}
	}
	if err := RemoveTrees(ctx, data, id); err != nil {
		return err
	}
	if err := os.Remove(MergeRecord(data, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return rootfs.RemoveAll(filepath.Join(data, "jobs", id))
}

// Forget removes the data of a job that was not added to the store after all.
func Forget(ctx context.Context, data, id string) error {
	w, err := OpenWorktree(data, id)
	if err != nil {
		return err
	}
	return removeFiles(ctx, data, id, w, true)
}

// Unfinished lists the IDs of the jobs whose removal was begun but not completed.
func Unfinished(data string) ([]string, error) { return recorded(removalsDir(data)) }

// Removing reports whether the removal of a job is recorded: nobody may go on with it.
func Removing(data, id string) bool {
	_, err := os.Lstat((&Removal{data: data, Job: &jobs.Job{ID: id}}).path())
	return !errors.Is(err, fs.ErrNotExist)
}

// recorded lists the IDs of the jobs that have a record in a directory.
func recorded(dir string) ([]string, error) {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, e := range names {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// MergesCutShort lists the IDs of the jobs whose merge was killed.
func MergesCutShort(data string) ([]string, error) {
	ids, err := recorded(filepath.Join(data, "merging"))
	return slices.DeleteFunc(ids, func(id string) bool { return !worktree.CutShort(MergeRecord(data, id)) }), err
}

// NeverAdded lists the IDs of jobs that have files and cannot have run, a day after these were
// made: a caller without a row for one removes it with [Forget]. A folder with the file of a job that
// ran is kept: its database may have been lost.
func NeverAdded(data string) ([]string, error) {
	folders, err := os.ReadDir(filepath.Join(data, "jobs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, f := range folders {
		if _, err := os.Lstat(filepath.Join(data, "jobs", f.Name(), JobFile)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if info, err := f.Info(); err == nil && info.IsDir() && time.Since(info.ModTime()) > 24*time.Hour {
			ids = append(ids, f.Name())
		}
	}
	return ids, err
}

// Removals lists the removals that were begun and that nobody works on.
func Removals(data string) ([]*Removal, error) {
	ids, err := Unfinished(data)
	if len(ids) == 0 {
		_ = os.Remove(removalsDir(data)) // a kill behind the last record may have left it
	}
	var all []*Removal
	errs := []error{err}
	for _, id := range ids {
		r, err := openRemoval(data, id)
		if errs = append(errs, err); r != nil {
			all = append(all, r)
		}
	}
	return all, errors.Join(errs...)
}

// openRemoval takes over a removal; it is nil if somebody else has it.
func openRemoval(data, id string) (*Removal, error) {
	r := &Removal{data: data, Job: &jobs.Job{ID: id}}
	f, err := os.Open(r.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := lock.Try(f); err != nil {
		_ = f.Close()
		if errors.Is(err, lock.ErrHeld) {
			return nil, nil
		}
		return nil, err
	}
	r.lock = f
	if err := rootfs.ReadJSON(r.path(), r); errors.Is(err, fs.ErrNotExist) {
		return nil, r.Release() // it is finished
	} else if err != nil || r.Job == nil || r.Job.ID != id {
		// The name is enough: the branch stays, for nothing shows that it may go.
		w, err := worktree.Find(newTree(data, id))
		if err != nil {
			return nil, errors.Join(err, r.Release())
		}
		r.Job, r.Worktree, r.Branch = &jobs.Job{ID: id}, w, false
	}
	placed(data, id, r.Worktree)
	return r, nil
}

// A WaitingError reports that a job must not be merged or removed yet: changes of one of its
// commands are in no tree.
type WaitingError struct{ Waiting []ledger.Waiting }

// mostWaiting bounds the paths that are named.
const mostWaiting = 10

func (e *WaitingError) Error() string {
	return "a command was cut short, and what it changed is in no tree yet: " + Describe(e.Waiting)
}

// Describe lists the waiting changes, and where they are.
func Describe(all []ledger.Waiting) string {
	var paths, dirs []string
	for _, w := range all {
		paths, dirs = append(paths, w.Paths...), append(dirs, w.Dir)
	}
	return fmt.Sprintf("%s in %s (%s)", spelling.Plural(len(paths), "file"), strings.Join(dirs, ", "), spelling.List(spelling.PathLines(paths), mostWaiting))
}

// Waiting lists the changes of commands of a job, and of its sub-agents in their copies, that are
// neither joined nor discarded. The job must not be running.
func Waiting(data, id string) ([]ledger.Waiting, error) {
	homes := []string{filepath.Join(data, "jobs", id)}
	names, err := os.ReadDir(filepath.Dir(treeHome(data, id, "x")))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, e := range names {
		homes = append(homes, treeHome(data, id, e.Name()))
	}
	var all []ledger.Waiting
	for _, home := range homes {
		w, err := ledger.FindWaiting(filepath.Join(home, "ledger"))
		if err != nil {
			return nil, err
		}
		all = append(all, w...)
	}
	return all, nil
}
