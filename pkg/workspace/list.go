package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// maxNames bounds the names that are looked at for a list.
const maxNames = 1_000_000

// ListOptions says what to list. The zero value lists every file that is
// neither ignored nor hidden.
type ListOptions struct {
	Glob   string // doublestar pattern; one without a slash is matched with the base name
	Dir    string // only below this directory
	Depth  int    // directories deeper than this are listed as such; zero goes all the way
	Max    int    // entries at most; 10,000 if zero
	Hidden bool   // also names that begin with a dot
}

// An Entry is a listed name.
type Entry struct {
	Name string // relative to the root
	Size int64
	Mode fs.FileMode
	Time time.Time // last modification
}

// List returns entries sorted by name, without what git ignores and without
// the names no tool may read, and says whether there were more than Max.
// Outside a repository it skips the usual directories of dependencies.
func (f *Files) List(ctx context.Context, o ListOptions) (entries []Entry, truncated bool, err error) {
	if o.Dir == "" {
		o.Dir = "."
	}
	dir, err := f.tree.clean(o.Dir)
	if err == nil {
		dir, err = f.tree.resolve(o.Dir, dir, true)
	}
	if err == nil {
		err = f.judge(o.Dir, dir, false)
	}
	if err != nil {
		return nil, false, err
	}
	if info, err := f.tree.root.Lstat(dir); err != nil {
		return nil, false, f.tree.explain(o.Dir, err)
	} else if !info.IsDir() {
		return nil, false, &PathError{Name: o.Dir, Reason: "is a file; list a directory"}
	}
	if o.Glob != "" && !doublestar.ValidatePattern(o.Glob) {
		return nil, false, fmt.Errorf("the pattern %q is not valid; write for example **/*.go", o.Glob)
	}
	names, more, err := f.tree.names(ctx, dir)
	if err != nil {
		return nil, false, err
	}
	names = o.choose(dir, names, f.judge)
	limit := o.Max
	if limit <= 0 {
		limit = 10_000
	}
	in := lastDir{root: f.tree.root}
	defer in.close()
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		info, err := in.lstat(name)
		if err != nil {
			continue // git knows it, but it is deleted
		}
		if len(entries) == limit {
			return entries, true, nil
		}
		entries = append(entries, Entry{Name: name, Size: info.Size(), Mode: info.Mode(), Time: info.ModTime()})
	}
	return entries, more, nil
}

// lastDir looks up names in order. It keeps the directory of the last one open:
// a lookup from the root opens every directory on the way.
type lastDir struct {
	root *os.Root
	dir  string
	open *os.Root // nil if dir is the root
}

func (l *lastDir) lstat(name string) (fs.FileInfo, error) {
	dir, base := path.Split(name)
	if dir == "" {
		return l.root.Lstat(base)
	}
	if l.open == nil || dir != l.dir {
		l.close()
		open, err := l.root.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		l.dir, l.open = dir, open
	}
	return l.open.Lstat(base)
}

func (l *lastDir) close() {
	if l.open != nil {
		_ = l.open.Close() // it was only read
		l.open = nil
	}
}

// choose applies the options to names and sorts what is left.
func (o ListOptions) choose(dir string, names []string, judge func(name, p string, write bool) error) []string {
	var out []string
	for _, name := range names {
		below := name
		if dir != "." {
			var ok bool
			if below, ok = strings.CutPrefix(name, dir+"/"); !ok {
				continue
			}
		}
		parts := strings.Split(below, "/")
		if !o.Hidden && slices.ContainsFunc(parts, func(s string) bool { return strings.HasPrefix(s, ".") }) {
			continue
		}
		if o.Depth > 0 && len(parts) > o.Depth {
			name = path.Join(dir, path.Join(parts[:o.Depth]...))
		}
		if judge(name, name, false) != nil {
			continue
		}
		if o.Glob != "" {
			subject := name
			if !strings.Contains(o.Glob, "/") {
				subject = path.Base(name)
			}
			if ok, _ := doublestar.Match(o.Glob, subject); !ok {
				continue
			}
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// names lists the files below dir that are not ignored, as git has it if the
// tree is in a repository.
func (t *tree) names(ctx context.Context, dir string) (names []string, more bool, err error) {
	if out, err := t.gitNames(ctx, dir); err == nil && len(out) > 0 {
		for name := range bytes.SplitSeq(out, []byte{0}) {
			if len(name) == 0 {
				continue
			}
			if len(names) == maxNames {
				return names, true, nil
			}
			names = append(names, strings.TrimSuffix(string(name), "/"))
		}
		return names, false, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	return t.walk(ctx, dir)
}

// gitNames asks git. It runs no code of the repository: ls-files knows no
// filters, and the file system monitor is switched off.
func (t *tree) gitNames(ctx context.Context, dir string) ([]byte, error) {
	if !t.inRepository() {
		return nil, errors.New("not in a repository")
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	args := append(append([]string{}, gitFlags...), "ls-files", "-co", "--exclude-standard", "--deduplicate", "-z", "--", ":(literal)"+dir)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = t.dir, Environ(os.Environ(), gitEnv(nil)), time.Second
	cmd.SysProcAttr = session()
	// The child dies with its thread; this goroutine keeps that one until it is done.
	return onThread(func() ([]byte, error) {
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		b, err := io.ReadAll(io.LimitReader(out, 256<<20))
		_, _ = io.Copy(io.Discard, out)
		return b, errors.Join(err, cmd.Wait())
	})
}

// inRepository looks for .git from the root upwards, so that git need not be
// started, nor installed, where there is no repository.
func (t *tree) inRepository() bool {
	for d := t.dir; ; d = path.Dir(d) {
		if _, err := os.Lstat(path.Join(d, ".git")); err == nil {
			return true
		}
		if d == path.Dir(d) {
			return false
		}
	}
}

// skipped are directories that hold no work of the user's.
var skipped = []string{".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".cache", "target", ".gradle"}

// walk lists the files below dir without asking git.
func (t *tree) walk(ctx context.Context, dir string) (names []string, more bool, err error) {
	err = fs.WalkDir(t.root.FS(), dir, func(p string, d fs.DirEntry, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case err != nil && p == dir:
			return t.explain(dir, err)
		case err != nil:
			return nil // unreadable, or gone since
		case d.IsDir() && p != dir && slices.Contains(skipped, d.Name()):
			return fs.SkipDir
		case d.IsDir():
			return nil
		case len(names) == maxNames:
			more = true
			return fs.SkipAll
		}
		names = append(names, p)
		return nil
	})
	return names, more, err
}
