package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	MaxName  = 4096 // bytes of a name, as Linux bounds them
	maxLinks = 40   // symbolic links followed in one name
)

// A PathError refuses a name. Reason is a sentence fit to show a model; Err, if set, is the error
// of the operating system, so errors.Is with fs.ErrNotExist and its like works.
type PathError struct {
	Name   string
	Reason string
	Advice string // for agents
	Err    error
}

func (e *PathError) Error() string {
	name := e.Name
	if len(name) > 200 {
		name = name[:200] + "…"
	}
	if e.Advice != "" {
		return fmt.Sprintf("%q: %s; %s", name, e.Reason, e.Advice)
	}
	return fmt.Sprintf("%q: %s", name, e.Reason)
}

func (e *PathError) Unwrap() error { return e.Err }

// A StaleError reports that a file has changed since the job last read or wrote it.
type StaleError struct {
	Name   string
	Reason string
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("%q: %s; read it again, then repeat the change", e.Name, e.Reason)
}

// A TooLargeError reports that a file exceeds the size that may be read whole.
type TooLargeError struct {
	Name        string
	Size, Limit int64 // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%q: %d bytes is more than the %d that can be taken whole; read it in pages or work on a part of it",
		e.Name, e.Size, e.Limit)
}

// escapes is in the error of an os.Root about a link that leads out; it has no type.
const escapes = "escapes from parent"

func outside(name string) error {
	return &PathError{Name: name, Reason: "leads outside the workspace", Advice: "use paths of files inside it"}
}

// Clean turns a caller's name into a name relative to the root. It judges the spelling only;
// resolve judges the files on disk.
func (t *Tree) Clean(name string) (string, error) {
	refuse := func(reason, advice string) (string, error) {
		return "", &PathError{Name: name, Reason: reason, Advice: advice}
	}
	switch {
	case name == "":
		return refuse("the path is empty", "name a file inside the workspace")
	case len(name) > MaxName:
		return refuse(fmt.Sprintf("the path has %d bytes; %d is the most there can be", len(name), MaxName), "")
	case strings.ContainsRune(name, 0):
		return refuse("the path contains a NUL byte", "leave it out")
	}
	rel := filepath.ToSlash(name)
	if path.IsAbs(rel) {
		in, ok := t.Inside(rel)
		if !ok {
			return refuse("is outside the workspace", "paths are relative to its top: "+path.Base(rel))
		}
		rel = in
	}
	for part := range strings.SplitSeq(rel, "/") {
		if part == ".." {
			return refuse(`the path contains ".."`, `write it from the top of the workspace, without ".."`)
		}
	}
	return path.Clean(rel), nil
}

// Inside makes an absolute name relative if it lies in the root. The root is
// known by two spellings: as it was given and with its links followed.
func (t *Tree) Inside(abs string) (string, bool) {
	for _, dir := range []string{t.Dir, t.given} {
		if abs == dir {
			return ".", true
		}
		if in, ok := strings.CutPrefix(abs, strings.TrimSuffix(dir, "/")+"/"); ok {
			return in, true
		}
	}
	return "", false
}

// CleanFile is like Clean for the name of a file: a trailing slash is refused, since it would make
// the last component's link be followed.
func (t *Tree) CleanFile(name string) (string, error) {
	p, err := t.Clean(name)
	switch {
	case err != nil:
		return "", err
	case strings.HasSuffix(name, "/"):
		return "", &PathError{Name: name, Reason: "ends in a slash, which names a directory", Advice: "name a file"}
	case p == ".":
		return "", &PathError{Name: name, Reason: "is the workspace itself", Advice: "name a file inside it"}
	}
	return p, nil
}

// Resolve follows the symbolic links of a cleaned name, the last component's
// only if last is set, and returns a name without links. What does not exist
// is taken as it is written. os.Root stays the guard: resolve is there so that
// decisions are made on the name a file really has.
func (t *Tree) Resolve(name, p string, last bool) (string, error) {
	rest := strings.Split(p, "/")
	var done []string
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", outside(name)
			}
			done = done[:len(done)-1]
			continue
		}
		done = append(done, part)
		here := strings.Join(done, "/")
		info, err := t.Root.Lstat(here)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", t.Explain(name, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 || !last && len(rest) == 0 {
			continue
		}
		if links++; links > maxLinks {
			return "", &PathError{Name: name, Reason: "goes round a loop of symbolic links"}
		}
		target, err := t.Root.Readlink(here)
		if err != nil {
			return "", t.Explain(name, err)
		}
		done = done[:len(done)-1]
		if path.IsAbs(target) {
			in, ok := t.Inside(path.Clean(target))
			if !ok {
				return "", outside(name)
			}
			target, done = in, nil
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return strings.Join(done, "/"), nil
}

// Explain turns the system's error about a name into a PathError.
func (t *Tree) Explain(name string, err error) error {
	var known *PathError
	if errors.As(err, &known) {
		return err
	}
	reason := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		reason = "does not exist; list the directory to see what does"
	case errors.Is(err, fs.ErrPermission):
		reason = "permission denied by the operating system"
	case errors.Is(err, fs.ErrExist):
		reason = "exists already"
	case errors.Is(err, syscall.ENOTDIR):
		reason = "a part of the path is a file, not a directory"
	case errors.Is(err, syscall.ENAMETOOLONG):
		reason = "the name is too long for the file system"
	case errors.Is(err, syscall.ELOOP):
		reason = "goes round a loop of symbolic links"
	case errors.Is(err, syscall.ENOSPC):
		reason = "no space is left on the disk; nothing was changed"
	case strings.Contains(err.Error(), escapes):
		return outside(name)
	default:
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			reason = pe.Err.Error()
		} else {
			reason = err.Error()
		}
	}
	return &PathError{Name: name, Reason: reason, Err: err}
}

// ExplainAs is like explain, for an error that may already be explained.
func (t *Tree) ExplainAs(name string, err error) error {
	var (
		stale *StaleError
		large *TooLargeError
		known *PathError
	)
	if errors.As(err, &stale) || errors.As(err, &large) || errors.As(err, &known) {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, fs.ErrPermission) {
		return t.Explain(name, err)
	}
	return err
}

// Within reports whether path is dir or lies below it.
func Within(dir, path string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// CheckNoLinks refuses a name with a link among its directories.
func (t *Tree) CheckNoLinks(p string) error {
	parts := strings.Split(p, "/")
	for i := 1; i < len(parts); i++ {
		dir := strings.Join(parts[:i], "/")
		info, err := t.Root.Lstat(dir)
		if err != nil {
			return nil // nothing there, so nothing to follow
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return &PathError{Name: p, Reason: dir + " has become a symbolic link"}
		}
	}
	return nil
}

// IsPlainDir reports whether a path and all its parents are directories, not links.
func (t *Tree) IsPlainDir(dir string, seen map[string]bool) bool {
	if ok, known := seen[dir]; known {
		return ok
	}
	ok := t.IsPlainDir(path.Dir(dir), seen)
	if ok {
		info, err := t.Root.Lstat(dir)
		ok = err == nil && info.IsDir()
	}
	seen[dir] = ok
	return ok
}

// DirFS is os.DirFS for a directory whose files others have written: it refuses a link that leads
// out of it, and special files such as a pipe, on which a reader would wait. The directory is
// opened in each call.
func DirFS(dir string) fs.FS { return dirFS(dir) }

type dirFS string

func (d dirFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := OpenIn(root, name)
	if err != nil {
		return nil, err // and no nil *os.File
	}
	return f, nil
}

// OpenIn opens a file or a directory below root to read, and nothing else: no link that
// leads out, no pipe and no device.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil && strings.Contains(err.Error(), escapes) {
		return nil, outside(name)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &PathError{Name: name, Reason: "it is not a file", Err: fs.ErrInvalid}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Real returns the absolute path of a directory with links resolved, as far as it exists.
func Real(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for rest := ""; ; {
		if p, err := filepath.EvalSymlinks(abs); err == nil {
			return filepath.Join(p, rest), nil
		} else if up := filepath.Dir(abs); up == abs || !errors.Is(err, fs.ErrNotExist) {
			return "", err
		} else {
			abs, rest = up, filepath.Join(filepath.Base(abs), rest)
		}
	}
}

// Umask is the mode bits the process takes from new files. Linux reports it; on
// other systems it can only be read by setting it, which is done once.
var Umask = sync.OnceValue(func() fs.FileMode {
	status, _ := os.ReadFile("/proc/self/status")
	if _, rest, ok := strings.Cut(string(status), "\nUmask:"); ok {
		line, _, _ := strings.Cut(rest, "\n")
		if m, err := strconv.ParseUint(strings.TrimSpace(line), 8, 32); err == nil {
			return fs.FileMode(m).Perm()
		}
	}
	m := unix.Umask(0o022)
	unix.Umask(m)
	return fs.FileMode(m).Perm()
})

// Closest returns the entry of dirs that is dir or its nearest parent, or "" if there is none.
// Links are followed; names that are not absolute are ignored.
func Closest(dirs []string, dir string) (key string) {
	if r, err := Real(dir); err == nil {
		dir = r
	}
	longest := -1
	for _, k := range slices.Sorted(slices.Values(dirs)) {
		at := filepath.Clean(k)
		if r, err := Real(at); err == nil {
			at = r
		}
		rel, err := filepath.Rel(at, dir)
		if err != nil || rel != "." && !filepath.IsLocal(rel) || len(at) <= longest {
			continue
		}
		key, longest = k, len(at)
	}
	return key
}
