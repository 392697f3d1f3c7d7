package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// A source is a work tree that is copied.
type source struct {
	git             *git.Repo // nil: there is no repository, or nothing in it yet
	repo, sub, head string
	dir, except     string // what is copied, and what of it is not
}

// source determines the files to copy.
func (o CopyOptions) source(ctx context.Context) (*source, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	bare := &source{dir: dir}
	var s *source
	switch {
	case o.Plain:
		return bare, nil
	case o.From != nil:
		s = &source{git: o.From.Inside(), repo: o.From.Repo, sub: o.From.Sub, dir: o.From.Top}
		if s.head, err = s.git.ResolveCommit(ctx, "HEAD"); err != nil {
			s.head = o.From.Base
		}
	default:
		repo, prefix, err := git.OnHost(dir).Locate(ctx)
		if refused(err) || errors.Is(err, git.ErrNoWorkTree) || errors.Is(err, exec.ErrNotFound) {
			return bare, nil
		} else if err != nil {
			return nil, err
		}
		s = &source{git: git.OnHost(repo), repo: repo, sub: strings.TrimSuffix(prefix, "/"), dir: repo}
		if s.head, err = s.git.ResolveCommit(ctx, "HEAD"); refused(err) {
			return bare, nil
		} else if err != nil {
			return nil, err
		}
	}
	if s.sub != "" {
		names, err := s.git.ListNames(ctx, "ls-files", "-co", "--exclude-standard", "-z", "--", ":(literal)"+s.sub)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return bare, nil // the repository ignores it
		}
	}
	return s, nil
}

// A base records the files of a copy when it was made.
type base struct {
	Files []original       `json:"files"`
	Apart []rootfs.RawName `json:"apart,omitempty"` // directories of which nothing is in the copy: other repositories
	Inner []rootfs.RawName `json:"inner,omitempty"` // repositories that are directories like any other in the copy
}

// An original is a file or link, with the attributes that show whether it has been touched.
type original struct {
	Path  rootfs.RawName `json:"path"`
	State rootfs.State   `json:"state"`
	Inode uint64         `json:"inode,omitempty"`
	Ctime int64          `json:"ctime,omitempty"`
}

// A fileCopy is a copy of files under way.
type fileCopy struct {
	from, to *rootfs.Tree
	dirs     map[string]bool // whether a directory is in the copy; what is not here has not been tried
	files    []string        // to be copied
	bytes    int64           // of them
	base     base

	mu      sync.Mutex
	omitted []string
	failed  error
}

// copyFiles copies the files.
func (c *Copy) copyFiles(ctx context.Context, src *source, names *rootfs.DenyList) (*base, error) {
	from, err := rootfs.Open(src.dir)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := rootfs.Open(c.Tree.Top)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	f := &fileCopy{from: from, to: to, dirs: map[string]bool{".": true}}
	if err := f.choose(ctx, src, names); err != nil {
		return nil, err
	}
	if c.Plain && (len(f.files) > maxPlain || f.bytes > maxPlainBytes) {
		return nil, &Error{Reason: fmt.Sprintf("%s is in no git repository with a commit, and too large to be copied: %d files, %d MB", src.dir, len(f.files), f.bytes>>20),
			Remedy: fmt.Sprintf("make a repository of it with git init and a first commit, and ignore what is built; else at most %d files and %d MB are copied", maxPlain, maxPlainBytes>>20)}
	}
	if err := f.copy(ctx); err != nil {
		return nil, err
	}
	if err := f.setModes(); err != nil {
		return nil, err
	}
	if src.git != nil {
		ignored, err := src.git.ListNames(ctx, "ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z")
		if err != nil {
			return nil, err
		}
		f.omitted = append(f.omitted, ignored...)
	}
	slices.Sort(f.omitted)
	c.Files, c.Omitted = len(f.base.Files), len(f.omitted)
	c.NotCopied = f.omitted[:min(c.Omitted, mostOmitted)]
	return &f.base, nil
}

// choose lists the files to copy, and makes their directories.
func (f *fileCopy) choose(ctx context.Context, src *source, names *rootfs.DenyList) error {
	all, loose, err := src.names(ctx, f.from)
	if err != nil {
		return err
	}
	except := src.except
	if rootfs.Within(except, f.from.Dir) {
		except = "" // a worktree that lies there itself
	}
	var apart []string
	choose := func(p string, loose bool) {
		p, nested := strings.CutSuffix(p, "/")
		if except != "" && rootfs.Within(except, path.Join(f.from.Dir, p)) {
			return
		}
		if path.IsAbs(p) || !filepath.IsLocal(p) || !f.makeDir(path.Dir(p)) {
			return
		}
		info, err := f.from.Root.Lstat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted, but not yet for git
		case err != nil:
			f.omit(p)
		case nested || info.IsDir():
			if f.makeDir(p) {
				apart = append(apart, p)
			}
		case info.Size() > ledger.MaxKeep && info.Mode().IsRegular(), loose && names.Check(p, p, false) != nil:
			f.omit(p)
		default:
			f.files = append(f.files, p)
			f.bytes += info.Size()
		}
	}
	for _, p := range all {
		choose(p, loose[p])
	}
	inner, files, err := f.from.InnerRepositories(ctx, apart)
	if err != nil {
		return err
	}
	if len(files) > maxPlain {
		inner, files = nil, nil
	}
	for _, p := range files {
		choose(p, true)
	}
	for _, p := range apart {
		if slices.Contains(inner, p) {
			f.base.Inner = append(f.base.Inner, rootfs.RawName(p))
		} else {
			f.base.Apart = append(f.base.Apart, rootfs.RawName(p))
			f.omit(p + "/")
		}
	}
	return nil
}

func (f *fileCopy) omit(p string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.omitted = append(f.omitted, p)
}

// copy copies the chosen files, several at a time.
func (f *fileCopy) copy(ctx context.Context) error {
	done := make([]original, len(f.files))
	var next atomic.Int64
	var work sync.WaitGroup
	for range min(4, runtime.NumCPU()) {
		work.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(f.files); i = int(next.Add(1)) - 1 {
				if done[i] = f.one(f.files[i]); f.stopped() || ctx.Err() != nil {
					return
				}
			}
		})
	}
	work.Wait()
	f.base.Files = slices.DeleteFunc(done, func(e original) bool { return e.Path == "" })
	return errors.Join(f.failed, ctx.Err())
}

// one copies a file. What is unreadable, gone, or no file is left out.
func (f *fileCopy) one(p string) original {
	e, err := duplicate(f.from, f.to, p)
	if err == nil {
		return e
	}
	if errors.As(err, new(*rootfs.PathError)) || errors.Is(err, fs.ErrPermission) {
		f.omit(p)
		return original{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = fmt.Errorf("copying %s: %w", p, err)
	}
	return original{}
}

func (f *fileCopy) stopped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed != nil
}

// setModes gives the directories their modes, once all is in them.
func (f *fileCopy) setModes() error {
	for _, d := range slices.Sorted(maps.Keys(f.dirs)) {
		if info, err := f.from.Root.Lstat(d); err == nil && f.dirs[d] && d != "." {
			if err := f.to.Root.Chmod(d, info.Mode().Perm()|0o700); err != nil {
				return err
			}
		}
	}
	return nil
}

// names lists the paths to copy; loose are the untracked ones.
func (s *source) names(ctx context.Context, t *rootfs.Tree) (all []string, loose map[string]bool, err error) {
	loose = map[string]bool{}
	if s.git == nil {
		all, more, err := t.Walk(ctx, ".")
		if more {
			err = errors.Join(err, fmt.Errorf("%s has more than %d files", s.dir, rootfs.MaxNames))
		}
		for _, p := range all {
			loose[p] = true
		}
		return all, loose, err
	}
	tagged, err := s.git.ListNames(ctx, "ls-files", "-co", "--exclude-standard", "-t", "-z")
	for _, line := range tagged {
		tag, p, _ := strings.Cut(line, " ")
		loose[p] = tag == "?"
		all = append(all, p)
	}
	slices.Sort(all)
	return slices.Compact(all), loose, err
}

// makeDir makes the directories of a path. It reports false if one of them is a file: then the
// paths that git knows below it do not exist any more.
func (f *fileCopy) makeDir(dir string) bool {
	if ok, known := f.dirs[dir]; known {
		return ok
	}
	ok := f.makeDir(path.Dir(dir))
	if ok {
		info, err := f.from.Root.Lstat(dir)
		ok = err == nil && info.IsDir() && f.to.Root.Mkdir(dir, 0o700) == nil
	}
	f.dirs[dir] = ok
	return ok
}

// duplicate copies one file or link.
func duplicate(from, to *rootfs.Tree, p string) (original, error) {
	e := original{Path: rootfs.RawName(p)}
	info, err := from.Root.Lstat(p)
	if err != nil {
		return e, from.Explain(p, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := from.Root.Readlink(p)
		if err != nil {
			return e, from.Explain(p, err)
		}
		e.State = rootfs.State{Type: rootfs.TypeLink, Digest: rootfs.Digest([]byte(target)), Size: int64(len(target))}
		return e, to.Root.Symlink(target, p)
	}
	in, info, err := from.Open(p, p)
	if err != nil {
		return e, err
	}
	defer in.Close()
	perm := info.Mode().Perm()
	out, err := to.Root.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return e, err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(h, out), in)
	if err == nil {
		err = out.Chmod(perm)
	}
	if err == nil {
		info, err = out.Stat()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return e, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		e.Inode, e.Ctime = st.Ino, rootfs.Ctime(st)
	}
	e.State = rootfs.State{Type: rootfs.TypeFile, Mode: perm, Digest: hex.EncodeToString(h.Sum(nil)), Size: n}
	return e, nil
}
