package triggers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/adroit"
)

const (
	maxFiles = 20_000 // that are looked at below one directory
	maxNamed = 200    // of the payload
)

// A stamp shows whether a file was changed.
type stamp struct {
	size int64
	time time.Time
}

// A watcher compares the files of a trigger with how they were.
type watcher struct {
	dir   string
	globs []string
	quiet time.Duration

	base, last map[string]stamp // as they were when it last fired, and a moment ago
	changed    time.Time        // when something last changed
	depth      int              // of the jobs that ran while something changed
	fault      string           // that was reported
}

// files are the files that match, by their names below the directory. It follows no links.
func (w *watcher) files() (map[string]stamp, error) {
	out, seen := map[string]stamp{}, 0
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == w.dir {
				return err
			}
			return nil // it went away meanwhile, or is not ours to read
		}
		name, _ := filepath.Rel(w.dir, path)
		switch {
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if seen++; seen > maxFiles {
			return fmt.Errorf("%s has more than %d files; name a directory with fewer", w.dir, maxFiles)
		}
		if !slices.ContainsFunc(w.globs, func(g string) bool { return doublestar.MatchUnvalidated(g, filepath.ToSlash(name)) }) {
			return nil
		}
		if info, err := d.Info(); err == nil {
			out[name] = stamp{info.Size(), info.ModTime()}
		}
		return nil
	})
	return out, err
}

// differing are the names of files that are not as they were.
func differing(was, now map[string]stamp) (names []string) {
	for name, s := range now {
		if old, there := was[name]; !there || old.size != s.size || !old.time.Equal(s.time) {
			names = append(names, name)
		}
	}
	for name := range was {
		if _, there := now[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// watch fires triggers whose files have changed, until ctx ends.
func (e *Engine) watch(ctx context.Context) {
	for name, t := range e.o.Triggers {
		if len(t.Files) > 0 {
			w := &watcher{dir: expandHome(e.o.Home, t.Dir), globs: t.Files, quiet: t.Quiet}
			if w.quiet == 0 {
				w.quiet = defaultQuiet
			}
			e.mu.Lock()
			e.watchers[name] = w
			e.mu.Unlock()
		}
	}
	if len(e.watchers) == 0 {
		return
	}
	for sleep(ctx, tick) {
		for _, name := range slices.Sorted(maps.Keys(e.watchers)) {
			e.compare(name, e.watchers[name])
		}
	}
}

// compare fires a trigger if its files have changed and no longer do. While jobs of triggers run
// there, it waits for their end: what they write themselves starts nothing.
func (e *Engine) compare(name string, w *watcher) {
	now, err := w.files()
	e.mu.Lock()
	if err != nil {
		fresh := w.fault != err.Error()
		w.fault = err.Error()
		e.mu.Unlock()
		if fresh {
			e.note(name, err)
			e.o.Log("trigger %s: %v", name, err)
		}
		return
	}
	w.fault = ""
	if w.base == nil {
		w.base, w.last = now, now
	}
	if len(differing(w.last, now)) > 0 {
		w.changed = e.o.Now()
	}
	w.last = now
	names := differing(w.base, now)
	running, depth := e.runningIn()
	if running && len(names) > 0 {
		w.depth = max(w.depth, depth+1)
	}
	if running || len(names) == 0 || e.o.Now().Sub(w.changed) < w.quiet {
		e.mu.Unlock()
		return
	}
	depth, w.base, w.depth = w.depth, now, 0
	e.mu.Unlock()
	if depth > defaultDepth {
		e.o.Log("trigger %s: its own jobs have changed files %d times one after the other; it does not fire again for these", name, depth)
		return
	}
	payload := map[string]any{"trigger": name, "dir": w.dir, "files": anys(names[:min(len(names), maxNamed)]), "more": max(0, len(names)-maxNamed)}
	err = e.fire(name, strconv.FormatInt(e.o.Now().UnixNano(), 36), payload, depth)
	if err != nil && !errors.Is(err, errFiltered) {
		e.o.Log("trigger %s: %v", name, err)
	}
}

func anys(names []string) (out []any) {
	for _, n := range names {
		out = append(out, n)
	}
	return out
}

// runningIn reports whether jobs of triggers run or are about to, and how deep they are. The caller
// has the lock.
func (e *Engine) runningIn() (running bool, depth int) {
	for _, r := range e.s.Triggers {
		for _, a := range r.Active {
			running, depth = true, max(depth, a.Depth)
		}
	}
	return running || len(e.s.Pending) > 0, depth
}

// rebase takes what a job has changed for known. The caller has the lock.
func (e *Engine) rebase(ctx context.Context, id string) {
	if len(e.watchers) == 0 {
		return
	}
	d, err := e.o.Client.Job(ctx, id)
	if err != nil || d.Worktree != nil {
		return
	}
	top, err := rootfs.Real(d.Job.Dir)
	if err != nil {
		return
	}
	steps, err := e.o.Client.Steps(ctx, id)
	if err != nil {
		steps = &adroit.StepList{}
	}
	for _, s := range steps.Steps {
		for _, c := range s.Changes {
			for _, path := range []string{c.Path, c.From} {
				if path != "" {
					e.known(filepath.Join(top, path))
				}
			}
		}
	}
}

// known takes a file for known to all watchers. The caller has the lock.
func (e *Engine) known(path string) {
	for _, w := range e.watchers {
		dir, err := rootfs.Real(w.dir)
		if err != nil || w.base == nil {
			continue
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == ".." || strings.HasPrefix(name, "../") {
			continue
		}
		now, err := w.files()
		if err != nil {
			continue
		}
		if s, there := now[name]; there {
			w.base[name] = s
		} else {
			delete(w.base, name)
		}
	}
}
