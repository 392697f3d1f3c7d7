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
	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/workspace/ledger"
)

// A source is a work tree that is copied.
type source struct {
	git             *git.Repo // nil: there is no repository, or nothing in it yet
	repo, sub, head string
	dir, except     string // what is copied, and what of it is not
}

// source finds out what there is to copy.
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

// A base is what a copy had when it was made.
type base struct {
	Files []original       `json:"files"`
	Apart []rootfs.RawName `json:"apart,omitempty"` // directories of which nothing is in the copy: other repositories
}

// An original is a file or link, and by what to know that it has not been touched.
type original struct {
	Path  rootfs.RawName `json:"path"`
	State rootfs.State   `json:"state"`
	Inode uint64         `json:"inode,omitempty"`
	Ctime int64          `json:"ctime,omitempty"`
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
	all, loose, err := src.names(ctx, from)
	if err != nil {
		return nil, err
	}
	except := src.except
	if rootfs.Within(except, from.Dir) {
		except = "" // a worktree that lies there itself
	}
	var mu sync.Mutex
	b := &base{}
	omit := func(p string) {
		mu.Lock()
		defer mu.Unlock()
		c.NotCopied = append(c.NotCopied, p)
	}
	dirs := map[string]bool{".": true}
	room := int64(maxPlainBytes)
	var files []string
	for _, p := range all {
		p, nested := strings.CutSuffix(p, "/")
		if except != "" && rootfs.Within(except, path.Join(from.Dir, p)) {
			continue
		}
		if !path.IsAbs(p) && filepath.IsLocal(p) && !crosses(from, to, path.Dir(p), dirs) {
			info, err := from.Root.Lstat(p)
			switch {
			case errors.Is(err, fs.ErrNotExist): // deleted, but not yet for git
			case err != nil:
				omit(p)
			case nested || info.IsDir():
				if !crosses(from, to, p, dirs) {
					b.Apart = append(b.Apart, rootfs.RawName(p))
					omit(p + "/")
				}
			case info.Size() > ledger.MaxKeep && info.Mode().IsRegular(), loose[p] && names.Check(p, p, false) != nil:
				omit(p)
			default:
				files = append(files, p)
				room -= info.Size()
			}
		}
	}
	if c.Plain && (len(files) > maxPlain || room < 0) {
		return nil, &Error{Reason: fmt.Sprintf("%s is in no git repository with a commit, and too large to be copied: %d files, %d MB", src.dir, len(files), (maxPlainBytes-room)>>20),
			Remedy: fmt.Sprintf("make a repository of it with git init and a first commit, and ignore what is built; else at most %d files and %d MB are copied", maxPlain, maxPlainBytes>>20)}
	}
	b.Files = make([]original, len(files))
	var next atomic.Int64
	var failed error
	var work sync.WaitGroup
	for range min(4, runtime.NumCPU()) {
		work.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				e, err := duplicate(from, to, files[i])
				mu.Lock()
				if err == nil {
					b.Files[i] = e
				} else if errors.As(err, new(*rootfs.PathError)) || errors.Is(err, fs.ErrPermission) {
					c.NotCopied = append(c.NotCopied, files[i]) // unreadable, gone, or no file
				} else if failed == nil {
					failed = fmt.Errorf("copying %s: %w", files[i], err)
				}
				stop := failed != nil || ctx.Err() != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	work.Wait()
	if err := errors.Join(failed, ctx.Err()); err != nil {
		return nil, err
	}
	for _, d := range slices.Sorted(maps.Keys(dirs)) {
		if info, err := from.Root.Lstat(d); err == nil && dirs[d] && d != "." {
			if err := to.Root.Chmod(d, info.Mode().Perm()|0o700); err != nil {
				return nil, err
			}
		}
	}
	b.Files = slices.DeleteFunc(b.Files, func(e original) bool { return e.Path == "" })
	c.Files = len(b.Files)
	if src.git != nil {
		ignored, err := src.git.ListNames(ctx, "ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z")
		if err != nil {
			return nil, err
		}
		c.NotCopied = append(c.NotCopied, ignored...)
	}
	slices.Sort(c.NotCopied)
	c.Omitted = len(c.NotCopied)
	c.NotCopied = c.NotCopied[:min(c.Omitted, mostOmitted)]
	return b, nil
}

// names lists what is to be copied; loose are those that git does not track.
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
	if all, err = s.git.ListNames(ctx, "ls-files", "-c", "--deduplicate", "-z"); err != nil {
		return nil, nil, err
	}
	others, err := s.git.ListNames(ctx, "ls-files", "-o", "--exclude-standard", "-z")
	for _, p := range others {
		loose[p] = true
	}
	all = append(all, others...)
	slices.Sort(all)
	return slices.Compact(all), loose, err
}

// crosses makes the directories of a path, and reports whether that cannot be,
// because one is none: then what git knows below it is not there any more.
func crosses(from, to *rootfs.Tree, dir string, made map[string]bool) bool {
	if ok, known := made[dir]; known {
		return !ok
	}
	ok := !crosses(from, to, path.Dir(dir), made)
	if ok {
		info, err := from.Root.Lstat(dir)
		ok = err == nil && info.IsDir() && to.Root.Mkdir(dir, 0o700) == nil
	}
	made[dir] = ok
	return !ok
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
