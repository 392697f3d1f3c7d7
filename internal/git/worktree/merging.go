package worktree

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/process"
)

// A merging is the record of a merge that changes the branch that is checked out.
type merging struct {
	From   string `json:"from"`   // the commit that the branch was at
	To     string `json:"to"`     // and will be at
	Common string `json:"common"` // of the worktree: whoever merges has its lock
}

func (m merging) write(record string) error {
	if record == "" {
		return nil
	}
	if err := rootfs.WriteJSON(record, m); err != nil {
		return fmt.Errorf("recording the merge: %w", err)
	}
	return nil
}

// readMerging returns the record of a merge; it is zero if no merge was begun, or if the record
// cannot be read: then files that the merge changed look like changes of the person.
func readMerging(record string) (m merging) {
	if record == "" || rootfs.ReadJSON(record, &m) != nil {
		return merging{}
	}
	return m
}

func forgetMerging(record string) error {
	if record == "" {
		return nil
	}
	if err := os.Remove(record); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// CutShort reports whether the merge that is recorded in a file was killed: it has begun,
// and nobody is at it any more.
func CutShort(record string) bool {
	if _, err := os.Lstat(record); err != nil {
		return false
	}
	dir, err := os.Open(readMerging(record).Common)
	if err != nil {
		return true
	}
	defer dir.Close()
	return !lock.Held(dir)
}

// A changedPath is a path that differs between two commits. IDs are blob IDs, zeros if there is
// none.
type changedPath struct {
	path, mode, from, to string // mode is that in the second
}

// modeGitlink is the mode of a submodule in a tree.
const modeGitlink = "160000"

func (c *changedPath) isNew() bool  { return strings.Trim(c.from, "0") == "" }
func (c *changedPath) isGone() bool { return strings.Trim(c.to, "0") == "" }

func paths(all []changedPath) (names []string) {
	for _, c := range all {
		names = append(names, c.path)
	}
	return names
}

// hidden lists merged files that are not on disk: a sparse checkout does not have them.
func (w *Worktree) hidden(all []changedPath) (names []string) {
	for _, c := range all {
		if !c.isGone() && c.mode != modeGitlink && !rootfs.Exists(filepath.Join(w.Repo, filepath.FromSlash(c.path))) {
			names = append(names, c.path)
		}
	}
	return names
}

// checkOverwritten refuses to write paths where the work tree has files that are in no commit, in
// whichever way git ignores them: a file over a file or over a directory that is not empty, or
// below a file.
func (w *Worktree) checkOverwritten(all []changedPath) error {
	root, err := os.OpenRoot(w.Repo)
	if err != nil {
		return err
	}
	defer root.Close()
	goes, folded := map[string]bool{}, map[string]bool{}
	for _, c := range all {
		if c.isGone() {
			goes[c.path], folded[strings.ToLower(c.path)] = true, true
		}
	}
	var way []string
	for _, c := range all {
		if !c.isNew() {
			continue // git compares what it changes with its index
		}
		if above := fileAbove(root, c.path); above != "" {
			if !goes[above] {
				way = append(way, above)
			}
			continue
		}
		info, err := root.Lstat(c.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !info.IsDir():
			if !folded[strings.ToLower(c.path)] { // where the disk takes both for one, it is renamed
				way = append(way, c.path)
			}
		case c.mode != modeGitlink:
			others, err := filesBelow(root, c.path, goes)
			if err != nil {
				return err
			}
			way = append(way, others...)
		}
	}
	if len(way) == 0 {
		return nil
	}
	slices.Sort(way)
	way = slices.Compact(way)
	return &Error{Reason: "files that are in no commit are in the way", Paths: way,
		Remedy: fmt.Sprintf("move them out of %s, or remove those you do not need; then merge again", w.Repo)}
}

// fileAbove returns the nearest parent of a path that exists and is not a directory (a symbolic
// link is not one), or "".
func fileAbove(root *os.Root, name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
			return dir
		}
	}
	return ""
}

// filesBelow lists the first unknown files in a directory, at any depth.
func filesBelow(root *os.Root, dir string, known map[string]bool) (files []string, err error) {
	err = rootfs.WalkDir(root, dir, func(p string, d *rootfs.Entry, err error) error {
		if err != nil || d.IsDir() || known[p] {
			return err
		}
		if files = append(files, p); len(files) == 10 {
			return fs.SkipAll
		}
		return nil
	})
	return files, err
}

// checkNames refuses paths that no tool of a job may write, however they came to be on
// the branch: the files may never have been in its work tree. A secret may go.
func (w *Worktree) checkNames(all []changedPath) error {
	var names []string
	for _, c := range all {
		if rootfs.CheckName(c.path, c.path, true) != nil && !(c.isGone() && rootfs.CheckName(c.path, c.path, false) != nil) {
			names = append(names, c.path)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &Error{Reason: "the branch changes what no job may: secrets, or what configures agents, editors or shells", Paths: names,
		Remedy: fmt.Sprintf("look at them: git -C %[1]s diff HEAD...%[2]s; git -C %[1]s merge %[2]s brings them in all the same", w.Repo, w.Branch)}
}

// checkGitDirs refuses to bring paths into the work tree that make, or change, a directory
// that git takes for a repository of its own there: no tool of a job may write one either.
func (w *Worktree) checkGitDirs(ctx context.Context, g *git.Repo, commit string, paths []string) error {
	names, err := g.ListNames(ctx, "ls-tree", "-r", "-t", "-z", "--name-only", "--full-tree", commit)
	if err != nil {
		return err
	}
	comes := make(map[string]bool, len(names))
	for _, n := range names {
		comes[n] = true
	}
	t, err := rootfs.Open(w.Repo)
	if err != nil {
		return err
	}
	defer t.Close()
	var in []string
	for _, p := range paths {
		dir := rootfs.GitDirAround(p, func(name string) (there, dir bool) {
			info, err := t.Root.Lstat(name)
			return comes[name] || err == nil, !comes[name] && err == nil && info.IsDir()
		})
		if comes[p] && dir != "" && !slices.Contains(in, dir) {
			in = append(in, dir)
		}
	}
	if len(in) > 0 {
		return &Error{Reason: "git would take " + in[0] + " for a repository of its own, whose settings and hooks it obeys", Paths: in,
			Remedy: fmt.Sprintf("look at them; git -C %s merge %s brings them in all the same", w.Repo, w.Branch)}
	}
	return nil
}

// changed lists the paths that differ between two commits.
func changed(ctx context.Context, g *git.Repo, from, to string) ([]changedPath, error) {
	out, err := g.Run(ctx, process.Cmd{Args: []string{"diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv", from, to}})
	if err != nil {
		return nil, err
	}
	var all []changedPath
	fields := git.SplitNul(out) // :mode mode id id status, path
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.Fields(fields[i])
		if len(f) != 5 {
			return nil, fmt.Errorf("git diff-tree printed what is not understood: %q", fields[i])
		}
		all = append(all, changedPath{path: fields[i+1], mode: f[1], from: f[2], to: f[3]})
	}
	return all, nil
}

// takeBack restores the files that a killed merge has changed, in the index, too, so that it can
// be done again. If a file is neither of the two versions nor the beginning of the second,
// somebody has changed it since, and nothing is restored.
func (m merging) takeBack(ctx context.Context, g *git.Repo, top, branch string) error {
	if err := locksLeft(ctx, g, branch); err != nil {
		return err
	}
	s, err := g.Status(ctx)
	if err != nil || s.Commit != m.From { // git was killed when it was done
		return err
	}
	all, err := changed(ctx, g, m.From, m.To)
	if err != nil {
		return err
	}
	left := map[string]bool{}
	for _, e := range s.Entries {
		left[e.Path], left[e.From] = true, true
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	known := make(map[string]bool, len(all))
	for _, c := range all {
		known[c.path] = true
	}
	var foreign, old, added []string
	for _, c := range all {
		if _, err := root.Lstat(c.path); !left[c.path] && !(c.isNew() && err == nil) { // status does not show what is ignored
			continue
		}
		others, err := c.obstacles(ctx, g, root, known)
		switch {
		case err != nil:
			return err
		case len(others) > 0:
			foreign = append(foreign, others...)
		case c.isNew():
			added = append(added, c.path)
		default:
			old = append(old, c.path)
		}
	}
	if len(foreign) > 0 {
		slices.Sort(foreign)
		foreign = slices.Compact(foreign)
		return &Error{Reason: "an earlier merge was killed in the middle, and files that it was changing have been changed since", Paths: foreign,
			Remedy: fmt.Sprintf("git -C %s stash --include-untracked -- PATH puts one aside; then merge again", top)}
	}
	git := func(names []string, args ...string) error {
		if len(names) == 0 {
			return nil
		}
		_, err := g.Run(ctx, process.Cmd{Args: args, Stdin: []byte(strings.Join(names, "\x00"))})
		return brief(err)
	}
	// Not git rm, for which the name of a directory that is now a file stands for all in it.
	if err := git(added, "update-index", "--force-remove", "-z", "--stdin"); err != nil {
		return err
	}
	for _, name := range added {
		for name != "." { // directories go if they are empty, as git has them
			if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				break
			}
			name = path.Dir(name)
		}
	}
	return git(old, "--literal-pathspecs", "restore", "--quiet", "--source="+m.From, "--staged", "--worktree", "--pathspec-from-file=-", "--pathspec-file-nul")
}

// locksLeft returns an error if a killed git has left locks in the work tree of g: nobody can know
// that no other git is at work.
func locksLeft(ctx context.Context, g *git.Repo, branch string) error {
	left, err := g.LocksLeft(ctx, branch)
	if err != nil {
		return err
	}
	if len(left) == 0 {
		return nil
	}
	return &Error{Reason: "a git is at work, or was killed and has left its locks", Paths: left,
		Remedy: "if none is at work: rm " + strings.Join(left, " ") + "; then merge again"}
}

// obstacles returns the paths that somebody else has put in the way of a change: the path itself,
// or files in a directory at its place. A merge turns a file into a directory, and back, so known
// paths may be below the path or above it; each is judged separately.
func (c *changedPath) obstacles(ctx context.Context, g *git.Repo, root *os.Root, known map[string]bool) ([]string, error) {
	if above := fileAbove(root, c.path); known[above] {
		return nil, nil
	} else if above != "" {
		return []string{above}, nil
	}
	if info, err := root.Lstat(c.path); err == nil && info.IsDir() && c.mode != modeGitlink {
		return filesBelow(root, c.path, known)
	}
	if ours, err := c.unchanged(ctx, g, root); err != nil || ours {
		return nil, err
	}
	return []string{c.path}, nil
}

// unchanged reports whether only a merge has changed a path: it is gone, equals one of the
// commits, or is the beginning of the second version.
func (c *changedPath) unchanged(ctx context.Context, g *git.Repo, root *os.Root) (bool, error) {
	info, err := root.Lstat(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	var content []byte
	switch {
	case err != nil:
		return false, err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(c.path)
		if err != nil {
			return false, err
		}
		content = []byte(target)
	case info.Mode().IsRegular():
		f, err := root.Open(c.path)
		if err != nil {
			return false, err
		}
		content, err = io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return false, err
		}
		if id := blobID(content, len(c.to)); id == c.to || id == c.from {
			return true, nil
		}
		out, err := g.Run(ctx, process.Cmd{Args: []string{"hash-object", "--stdin", "--path=" + c.path}, Stdin: content}) // with the line ends of this place
		if id := strings.TrimSpace(string(out)); err != nil || id == c.to || id == c.from {
			return err == nil, err
		}
	default: // a directory, a submodule
		return info.IsDir() && c.mode == modeGitlink, nil
	}
	for _, id := range []string{c.from, c.to} {
		if strings.Trim(id, "0") == "" {
			continue
		}
		blob, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"cat-file", "blob", id}})
		if err != nil {
			return false, err
		}
		if bytes.Equal(blob, content) || id == c.to && bytes.HasPrefix(blob, content) {
			return true, nil
		}
	}
	return false, nil
}

// blobID returns git's ID of content, with so many digits.
func blobID(content []byte, digits int) string {
	blob := append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...)
	if digits == 2*sha256.Size {
		return fmt.Sprintf("%x", sha256.Sum256(blob))
	}
	return fmt.Sprintf("%x", sha1.Sum(blob))
}

// stopped returns an error if git has stopped in an operation in the repository.
func (w *Worktree) stopped(ctx context.Context, g *git.Repo) error {
	m, err := g.Unmerged(ctx)
	if err != nil {
		return nil
	}
	return &Error{Reason: w.Repo + " is in the middle of a " + cmp.Or(m.Operation, "merge"), Paths: m.Files, Remedy: "finish it or give it up first"}
}

// refusal returns why git would not merge. Files that the index marks may differ though git status is empty.
func (w *Worktree) refusal(ctx context.Context, g *git.Repo, all []changedPath, cause error) error {
	if err := w.stopped(ctx, g); err != nil {
		return err
	}
	refused := &Error{Reason: "git would not merge", Remedy: "commit or stash what is in the way in " + w.Repo, Err: cause}
	marked, _ := hiddenFiles(ctx, g)
	if slices.ContainsFunc(paths(all), func(p string) bool { return marked[p] && rootfs.Exists(filepath.Join(w.Repo, p)) }) {
		refused.Remedy = showHidden(w.Repo)
	}
	return refused
}

// showHidden is the remedy where the index of a work tree hides changes.
func showHidden(top string) string {
	return fmt.Sprintf("git -C %[1]s update-index --no-assume-unchanged -- PATH, and the same with --no-skip-worktree, show them; then again", top)
}

// clear refuses to merge over uncommitted changes.
func clear(s *git.Status, all []changedPath) error {
	var way []string
	for _, e := range s.Entries {
		for _, p := range []string{strings.TrimSuffix(e.Path, "/"), e.From} { // a repository of its own ends in a slash
			blocks := func(c changedPath) bool {
				if c.path == p && c.mode == modeGitlink && c.isNew() && strings.HasSuffix(e.Path, "/") {
					return false // the clone of the submodule that comes
				}
				return p == c.path || strings.HasPrefix(c.path, p+"/") || strings.HasPrefix(p, c.path+"/")
			}
			if p != "" && slices.ContainsFunc(all, blocks) {
				way = append(way, p)
			}
		}
	}
	if len(way) > 0 {
		return &Error{Reason: "uncommitted changes are in the way", Paths: slices.Compact(slices.Sorted(slices.Values(way))), Remedy: "commit or stash them first"}
	}
	return nil
}
