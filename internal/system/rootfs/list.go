package rootfs

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/system/hostexec"
)

// MaxNames bounds the names that are looked at for a list.
const MaxNames = 1_000_000

// maxNested bounds how many repositories git is asked about one in the other. What is
// deeper is listed without it.
const maxNested = 20

// ListOnce makes ListFiles return its first result for the whole tree again, for callers who need
// it several times at one moment. It is not for concurrent use.
func (t *Tree) ListOnce() {
	var names []string
	var more, done bool
	t.names = func(ctx context.Context) (_ []string, _ bool, err error) {
		if !done {
			names, more, err = t.listFiles(ctx, ".", 0, nil)
			done = err == nil
		}
		return names, more, err
	}
}

// ListFiles lists the files below dir that are not ignored, as git has it if the
// tree is in a repository.
func (t *Tree) ListFiles(ctx context.Context, dir string) (names []string, more bool, err error) {
	if t.names != nil && dir == "." {
		return t.names(ctx)
	}
	return t.listFiles(ctx, dir, 0, nil)
}

// NotIgnored returns those of the names, of files that are there, that git does not ignore, all
// of them where there is no git.
func (t *Tree) NotIgnored(ctx context.Context, names []string) ([]string, error) {
	if _, _, ok := t.WorkTree(); !ok || len(names) == 0 {
		return names, nil
	}
	args := []string{"ls-files", "-co", "--exclude-standard", "--deduplicate", "-z", "--"}
	for _, name := range names {
		args = append(args, ":(literal)"+name)
	}
	out, err := t.GitList(ctx, math.MaxInt, args...)
	if err != nil {
		return names, ctx.Err()
	}
	listed := strings.Split(string(out), "\x00")
	slices.Sort(listed)
	return slices.DeleteFunc(names, func(name string) bool { _, ok := slices.BinarySearch(listed, name); return !ok }), nil
}

// InnerRepositories returns the directories below the tree that git skips since each is a
// repository of its own, submodule or not, and the files in them that are not ignored there. at
// are more directories that may be one.
func (t *Tree) InnerRepositories(ctx context.Context, at []string) (dirs, names []string, err error) {
	names, _, err = t.listInside(ctx, ".", nil, slices.Clone(at), 0, func(dir string) { dirs = append(dirs, dir) })
	slices.Sort(dirs)
	return dirs, names, err
}

func (t *Tree) listFiles(ctx context.Context, dir string, depth int, found func(dir string)) (names []string, more bool, err error) {
	if out, err := t.gitNames(ctx, dir); err == nil && len(out) > 0 {
		var inside []string // repositories that git does not look into
		for name := range bytes.SplitSeq(out, []byte{0}) {
			if len(name) == 0 {
				continue
			}
			if len(names) == MaxNames {
				return names, true, nil
			}
			if at, inner := strings.CutSuffix(string(name), "/"); inner {
				inside = append(inside, at)
			} else {
				names = append(names, at)
			}
		}
		return t.listInside(ctx, dir, names, inside, depth, found)
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	return t.Walk(ctx, dir)
}

// listInside adds the files of submodules and other repositories inside of one, which git skips.
// It calls found for each.
func (t *Tree) listInside(ctx context.Context, dir string, names, inside []string, depth int, found func(dir string)) ([]string, bool, error) {
	if top, sub, ok := t.WorkTree(); ok && Exists(path.Join(top, ".gitmodules")) {
		var out bytes.Buffer
		err := RunGit(ctx, top, nil, nil, &out, "config", "--file", ".gitmodules", "-z", "--get-regexp", `^submodule\..*\.path$`)
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		for entry := range strings.SplitSeq(out.String(), "\x00") { // key LF value
			_, at, _ := strings.Cut(entry, "\n")
			rel, ok := at, sub == "."
			if !ok {
				rel, ok = strings.CutPrefix(at, sub+"/")
			}
			if err == nil && ok && filepath.IsLocal(rel) {
				inside = append(inside, rel)
			}
		}
	}
	for i, at := range inside {
		inside[i] = path.Clean(at)
	}
	slices.Sort(inside)
	listed := map[string]bool{}
	for _, at := range slices.Compact(inside) {
		// The tree is not inside itself, even if .gitmodules lists it; a repository below a listed
		// one is left to that one.
		if at == "." || inOneOf(listed, at) || dir != "." && !Within(dir, at) || t.CheckNoLinks(path.Join(at, ".git")) != nil || !Exists(path.Join(t.Dir, at, ".git")) {
			continue
		}
		listed[at] = true
		names = slices.DeleteFunc(names, func(n string) bool { return n == at })
		below, err := Open(path.Join(t.Dir, at))
		if err != nil {
			continue // gone since
		}
		if found != nil {
			found(at)
		}
		var list []string
		if depth < maxNested {
			list, _, err = below.listFiles(ctx, ".", depth+1, func(dir string) {
				if found != nil {
					found(path.Join(at, dir))
				}
			})
		} else {
			list, _, err = below.Walk(ctx, ".")
		}
		below.Close()
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		for _, n := range list {
			if err == nil && len(names) < MaxNames {
				names = append(names, path.Join(at, n))
			}
		}
	}
	return names, len(names) >= MaxNames, nil
}

// inOneOf reports whether name is a directory in a set, or below one.
func inOneOf(dirs map[string]bool, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if dirs[name] {
			return true
		}
	}
	return false
}

// gitNames asks git. It runs no code of the repository: ls-files knows no
// filters, and the file system monitor is switched off.
func (t *Tree) gitNames(ctx context.Context, dir string) ([]byte, error) {
	if _, _, ok := t.WorkTree(); !ok {
		return nil, errors.New("not in a repository")
	}
	return t.GitList(ctx, 256*MaxNames, "ls-files", "-co", "--exclude-standard", "--deduplicate", "-z", "--", ":(literal)"+dir)
}

// Bounds of the time that git may take to list files: listLeast, plus for each file of its index
// the time of a slow disk, up to listLimit. A few stars in a stranger's .gitignore can keep git
// busy for hours; without git all files are listed, which is correct, if longer.
var listLeast, listLimit = 4 * time.Second, 30 * time.Second

// listTime bounds the time that git may take here.
func (t *Tree) listTime() time.Duration {
	top, _, _ := t.Repository()
	dir := filepath.Join(top, ".git")
	if text, err := os.ReadFile(dir); err == nil { // of a linked work tree
		_, dir, _ = strings.Cut(strings.TrimSpace(string(text)), "gitdir: ")
	}
	info, err := os.Stat(filepath.Join(dir, "index"))
	if err != nil {
		return listLeast // nothing is tracked
	}
	return min(listLimit, listLeast+time.Duration(info.Size()/100)*200*time.Microsecond)
}

// tooSlow has the directories in which git did not keep to listLimit. It is not asked
// there again: a job asks for each of its commands.
var tooSlow sync.Map

var errSlow = errors.New("git takes too long to list the files here; a pattern in a .gitignore may be the reason")

// GitList runs a git ls-files, within bounds of time. It keeps the first max bytes.
func (t *Tree) GitList(ctx context.Context, max int, args ...string) ([]byte, error) {
	if _, slow := tooSlow.Load(t.Dir); slow {
		return nil, errSlow
	}
	within, cancel := context.WithTimeout(ctx, t.listTime())
	defer cancel()
	if top, _, _ := t.Repository(); !Exists(filepath.Join(top, ".GIT")) { // case differs here, whatever a repository from elsewhere is set to
		args = append([]string{"-c", "core.ignoreCase=false"}, args...)
	}
	out := LimitedBuffer{Max: max}
	err := RunGit(within, t.Dir, nil, nil, &out, args...)
	if within.Err() != nil && ctx.Err() == nil {
		tooSlow.Store(t.Dir, true)
		return nil, errSlow
	}
	return out.Buffer.Bytes(), err
}

// DependencyDirs are names of directories that lists of files leave out. That a tool made
// one is not known by its name, see ledger.Dependencies.
var DependencyDirs = []string{".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".cache", "target", ".gradle"}

// Walk lists the files below dir without asking git.
func (t *Tree) Walk(ctx context.Context, dir string) (names []string, more bool, err error) {
	err = WalkDir(t.Root, dir, func(p string, e *Entry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case e == nil:
			return t.Explain(dir, err)
		case err != nil || p == dir: // unreadable, or gone since
		case e.IsDir() && slices.Contains(DependencyDirs, e.Name()):
			return fs.SkipDir
		case e.IsDir():
		case len(names) == MaxNames:
			more = true
			return fs.SkipAll
		default:
			names = append(names, p)
		}
		return nil
	})
	return names, more, err
}

// Repository finds the repository that the tree is in: its top, and where in it
// the tree is.
func (t *Tree) Repository() (top, sub string, ok bool) {
	if top, ok = Repository(t.Dir); !ok {
		return "", "", false
	}
	rel, err := filepath.Rel(top, t.Dir)
	return top, filepath.ToSlash(rel), err == nil
}

// WorkTree is Repository, unless that ignores the tree: a repository of a home directory ignores
// the projects in it, and one of a project what is built or tried below it. What lies there is work
// all the same, to be listed and recorded as where there is no repository.
func (t *Tree) WorkTree() (top, sub string, ok bool) {
	if top, sub, ok = t.Repository(); !ok || sub == "." {
		return top, sub, ok
	}
	ignored, known := ignoredTrees.Load(t.Dir)
	if !known {
		ctx, cancel := context.WithTimeout(context.Background(), listLeast)
		defer cancel()
		err := RunGit(ctx, top, nil, []byte(sub), new(LimitedBuffer), "check-ignore", "--no-index", "--stdin", "-z")
		ignored = err == nil
		if no := new(exec.ExitError); err == nil || errors.As(err, &no) && no.ExitCode() == 1 { // else git has not answered
			ignoredTrees.Store(t.Dir, ignored)
		}
	}
	if ignored == true {
		return "", "", false
	}
	return top, sub, true
}

// ignoredTrees caches whether the repositories of trees ignore these, so that a job has one answer.
var ignoredTrees sync.Map

// Repository is [hostexec.Repository].
func Repository(dir string) (top string, ok bool) { return hostexec.Repository(dir) }
