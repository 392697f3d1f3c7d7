package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/process"
)

// A Worktree is a second work tree of a repository, on a branch of its own, so that a job neither
// sees nor disturbs work in the first. It is data: keep it beside the job. Its methods run git as
// [Repo] does, without the repository's hooks, filters and the like, and trust the recorded paths
// rather than files that the job may have written into the work tree.
//
// Use it from one goroutine. A git that has begun is not stopped when this process is killed: it
// completes its command.
type Worktree struct {
	Repo   string `json:"repo"`          // top directory of the work tree it was made from
	Common string `json:"common"`        // the repository proper
	Admin  string `json:"admin"`         // what the repository keeps about this work tree
	Top    string `json:"top"`           // top directory of this one
	Sub    string `json:"sub,omitempty"` // where in it the job works; slashes
	Branch string `json:"branch"`
	Base   string `json:"base"` // the commit it began at
	// Left counts the paths of the first work tree that differed from Base when this one was made,
	// and so are missing here.
	Left int `json:"left,omitempty"`
	// Detached reports that the first work tree had no branch checked out then: a merge needs one.
	Detached bool `json:"detached,omitempty"`

	held *os.File // by its gits, see [git.Repo.Holding]; may be nil
}

// Dir returns the directory in which the job works.
func (w *Worktree) Dir() string { return filepath.Join(w.Top, filepath.FromSlash(w.Sub)) }

// An Error reports that a repository, or its state, does not permit the operation. Nothing was
// changed.
type Error struct {
	Reason, Remedy string
	Paths          []string // in conflict, or in the way
	Other          string   // the work tree that the repository has in place of a copy
	Err            error
}

func (e *Error) Error() string {
	s := e.Reason
	if len(e.Paths) > 0 {
		s += ": " + spelling.List(spelling.PathLines(e.Paths), 20)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Hint returns the remedy.
func (e *Error) Hint() string  { return e.Remedy }
func (e *Error) Unwrap() error { return e.Err }

// Add makes a work tree at top, which must not exist, of the HEAD of the repository around dir, on
// a new branch. Nothing else in the repository changes. Submodules are filled from the clones that
// are checked out there; if that is impossible, it is an error.
//
// note, if it is not nil, keeps the record of the work tree: it is called before anything is made,
// so that the remains of a killed Add can be discarded, and again when all is known.
func Add(ctx context.Context, dir, top, branch string, note func(*Worktree) error) (*Worktree, error) {
	return AddAt(ctx, dir, top, branch, "", note)
}

// AddAt is Add of the commit base, which is fetched from the remotes if the repository lacks it.
func AddAt(ctx context.Context, dir, top, branch, base string, note func(*Worktree) error) (*Worktree, error) {
	if err := git.CheckRef("branch", branch); err != nil {
		return nil, err
	}
	top, err := filepath.Abs(top)
	if err != nil {
		return nil, err
	}
	repo, prefix, err := git.OnHost(dir).Locate(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		return nil, &Error{Reason: "git is not installed, which makes worktrees", Remedy: "install git; or run without a worktree"}
	}
	if _, _, there := (&rootfs.Tree{Dir: dir}).Repository(); err != nil && there && !errors.Is(err, git.ErrNoWorkTree) {
		return nil, &Error{Reason: "git refuses the repository of " + dir, Remedy: "git status there says what to do; or run without a worktree", Err: brief(err)}
	} else if err != nil {
		return nil, &Error{Reason: dir + " is in no git repository that has a work tree", Remedy: cmp.Or(process.UnusedRepository(dir), "git init and a first commit make one, git worktree add one of a bare repository; or run without a worktree"), Err: brief(err)}
	}
	w := &Worktree{Repo: repo, Top: top, Branch: branch, Sub: strings.TrimSuffix(prefix, "/")}
	g := git.OnHost(repo).Operation()
	s, err := g.Status(ctx)
	if err != nil {
		return nil, err
	}
	if w.Base = s.Commit; w.Base == "" {
		return nil, &Error{Reason: repo + " has no commit yet", Remedy: "make a first commit; a worktree begins at one"}
	}
	w.Left, w.Detached = len(s.Entries), s.Branch == ""
	if base != "" {
		if w.Base, err = g.FetchCommit(ctx, repo, base); err != nil {
			return nil, &Error{Reason: repo + " lacks the commit " + base + ", and so do its remotes", Remedy: "push it from where it is, or fetch it here", Err: err}
		}
	}
	if err := os.MkdirAll(filepath.Dir(top), 0o700); err != nil {
		return nil, err
	}
	if note == nil {
		note = func(*Worktree) error { return nil }
	}
	if err := note(w); err != nil {
		return nil, err
	}
	if err := w.add(ctx, g); err != nil {
		return nil, err
	}
	err = w.locate()
	if err == nil {
		err = note(w)
	}
	if err == nil {
		err = w.fill(ctx, w.Repo, w.Top, w.Base)
	}
	if err != nil {
		return nil, errors.Join(err, w.Remove(ctx, true))
	}
	if info, err := os.Stat(w.Dir()); err != nil || !info.IsDir() {
		gone := &Error{Reason: fmt.Sprintf("%s is not a directory of the last commit", w.Sub), Remedy: "commit something in it first, or run from another directory"}
		return nil, errors.Join(gone, w.Remove(ctx, true))
	}
	if err := w.sync(w.Top); err != nil {
		return nil, errors.Join(err, w.Remove(ctx, true))
	}
	return w, nil
}

// sync makes git's writes in a work tree and in the repository durable: git syncs neither files
// nor most objects, so after a power cut a branch could name a commit that is empty.
func (w *Worktree) sync(top string) error {
	return errors.Join(rootfs.SyncFS(w.Common), rootfs.SyncFS(top))
}

// add has the repository of g make the work tree and its branch.
func (w *Worktree) add(ctx context.Context, g *git.Repo, options ...string) error {
	common, g, unlock, err := lockRepo(ctx, g.Holding(w.held))
	if err != nil {
		return err
	}
	defer unlock()
	w.Common = common
	if _, err := w.refDirs(); err != nil {
		return err
	}
	if _, err = g.Run(ctx, process.Cmd{Args: git.Args("worktree", "add", "--quiet", "--no-track", options, "-b", w.Branch, "--", w.Top, w.Base)}); err != nil {
		return fmt.Errorf("making the worktree: %w", brief(g.Explain(ctx, err)))
	}
	return nil
}

// locate records the repository's data about the new work tree, before anybody else can change it.
func (w *Worktree) locate() error {
	b, err := os.ReadFile(filepath.Join(w.Top, ".git"))
	if err != nil {
		return err
	}
	admin, ok := strings.CutPrefix(strings.TrimSuffix(string(b), "\n"), "gitdir: ")
	if !ok {
		return fmt.Errorf("git did not note where the repository is")
	}
	if !filepath.IsAbs(admin) {
		admin = filepath.Join(w.Top, admin)
	}
	w.Admin, err = filepath.EvalSymlinks(admin)
	return err
}

// Check returns an error if the work tree, its branch or its repository is not where it was. A
// work tree that has been moved is connected with its repository.
func (w *Worktree) Check() error {
	if err := w.CheckConnected(); err != nil {
		return err
	}
	return w.checkBranch()
}

// CheckConnected is Check but for the branch, and runs no git unless something is wrong.
func (w *Worktree) CheckConnected() error {
	if _, err := os.Stat(w.Dir()); err != nil {
		gone := &Error{Reason: fmt.Sprintf("the job's worktree %s is gone; run its task again", w.Dir())}
		if tip, err := git.OnHost(w.Repo).ResolveCommit(context.Background(), "refs/heads/"+w.Branch); err == nil && tip != w.Base {
			gone.Remedy = "its commits are on branch " + w.Branch + " of " + w.Repo
		}
		return gone
	}
	if err := w.Connect(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(w.Admin, "HEAD")); err != nil {
		if _, err := os.Stat(filepath.Join(w.Common, "HEAD")); err == nil {
			return w.forgotten()
		}
		return &Error{Reason: fmt.Sprintf("the repository of the job's worktree is not at %s any more; move it back there", w.Repo),
			Remedy: "what the job wrote is in " + w.Dir()}
	}
	return nil
}

// forgotten is an error for a work tree that git worktree prune removed from its repository: it was run
// while the data directory was elsewhere. A work tree of the same name makes the repository's record anew,
// and is exchanged for the job's.
func (w *Worktree) forgotten() error {
	e := &Error{Reason: fmt.Sprintf("the repository %s has forgotten the job's worktree", w.Repo), Remedy: "what the job wrote is in " + w.Dir()}
	tip := w.Branch
	if _, err := git.OnHost(w.Repo).ResolveCommit(context.Background(), "refs/heads/"+w.Branch); err != nil {
		tip = fmt.Sprintf("-b %s %.10s", w.Branch, w.Base) // it was deleted, too
	}
	repo, top, again := hint.Quote(w.Repo), hint.Quote(w.Top), w.Top+".again"
	e.Remedy += fmt.Sprintf("; git -C %s worktree add --no-checkout %s %s && rm -r %s && git -C %s worktree repair %s && git -C %s reset -q connects it again",
		repo, hint.Quote(filepath.Join(again, filepath.Base(w.Admin))), tip, hint.Quote(again), repo, top, top)
	return e
}

// checkBranch returns an error if somebody has deleted the branch that the work tree has checked
// out: to git it has no commit then, and all its files are new.
func (w *Worktree) checkBranch() error {
	on, err := os.ReadFile(filepath.Join(w.Admin, "HEAD"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // which is Check's
	}
	if err != nil || string(on) != "ref: refs/heads/"+w.Branch+"\n" {
		return err
	}
	there, err := git.OnHost(w.Repo).RunPlumbing(context.Background(), nil, process.Cmd{Args: []string{"for-each-ref", "refs/heads/" + w.Branch}})
	if err != nil || len(there) > 0 {
		return err
	}
	return &Error{Reason: fmt.Sprintf("branch %s of %s was deleted", w.Branch, w.Repo),
		Remedy: fmt.Sprintf("git -C %s branch %s %.10s brings it back; what the job wrote is in %s", w.Repo, w.Branch, w.lastCommit(), w.Dir())}
}

// lastCommit returns the last commit of the work tree that git has logged and still has, or else
// the one it began with.
func (w *Worktree) lastCommit() string {
	log, _ := os.ReadFile(filepath.Join(w.Admin, "logs", "HEAD")) // a repository may keep none
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	if f := strings.Fields(lines[len(lines)-1]); len(f) > 1 {
		if tip, err := git.OnHost(w.Repo).ResolveCommit(context.Background(), f[1]); err == nil {
			return tip
		}
	}
	return w.Base
}

// env names the repository to git, without relying on files in the work tree.
func (w *Worktree) env() []string {
	return []string{"GIT_DIR=" + w.Admin, "GIT_COMMON_DIR=" + w.Common, "GIT_WORK_TREE=" + w.Top}
}

// Inside returns git in the work tree, whatever its .git file now contains.
func (w *Worktree) Inside() *git.Repo {
	return git.OnHost(w.Top, w.env()...).Holding(w.held)
}

// A Merged is the result of Merge.
type Merged struct {
	Into   string   `json:"into"`             // the branch
	Commit string   `json:"commit,omitempty"` // what it is at now; empty if there was nothing to merge
	Paths  []string `json:"paths,omitempty"`  // that changed
	// Left are paths in the work tree that no merge brings: those in submodules, and ignored files
	// that the job wrote.
	Left []string `json:"left,omitempty"`
	// Hidden are paths in the commit that a sparse checkout does not have on disk.
	Hidden []string `json:"hidden,omitempty"`
}

// Commit commits the uncommitted changes in the work tree on its branch, and reports whether there
// were any. Names on the list of secrets are an error, and so are missing files for which deleted,
// if it is not nil, returns false: their paths are below Dir, with slashes. Nobody wants a
// half-removed tree committed.
func (w *Worktree) Commit(ctx context.Context, message string, deleted func(path string) bool) (bool, error) {
	if err := w.Check(); err != nil {
		return false, err
	}
	g := w.Inside().Operation()
	if err := w.distrustIndex(ctx); err != nil {
		return false, err
	}
	s, err := g.Status(ctx)
	if err != nil {
		return false, err
	}
	if s.Branch != w.Branch {
		return false, &Error{Reason: fmt.Sprintf("the worktree is not on its branch %s", w.Branch),
			Remedy: fmt.Sprintf("git -C %s branch NAME %.10s keeps its commit; then, in %s, git switch %s", w.Repo, s.Commit, w.Top, w.Branch)}
	}
	if err := w.checkHidden(ctx); err != nil {
		return false, err
	}
	if len(s.Entries) == 0 {
		return false, nil
	}
	for _, e := range s.Entries {
		if e.Conflict {
			return false, &Error{Reason: "the worktree has conflicts", Paths: []string{e.Path}, Remedy: "resolve them in " + w.Top}
		}
	}
	if err := w.checkDeleted(s, deleted); err != nil {
		return false, err
	}
	_, err = g.Commit(ctx, message, []string{"."})
	if errors.Is(err, git.ErrNothing) {
		return false, nil // what was staged is gone from the files again
	}
	if left, ok := errors.AsType[*git.NotStagedError](err); ok {
		return false, &Error{Reason: "git does not take all files of the worktree into a commit", Paths: left.Paths,
			Remedy: fmt.Sprintf("git -C %s add --sparse -- PATH, for each, reports why; then again", w.Top)}
	}
	return err == nil, err
}

// distrustIndex makes git read the files rather than rely on the times and sizes in the index: the
// job can write the index. Files with a mark keep it: see checkHidden.
func (w *Worktree) distrustIndex(ctx context.Context) error {
	marked, err := hiddenFiles(ctx, w.Inside())
	if err != nil {
		return err
	}
	all, err := w.Inside().ListNames(ctx, "ls-files", "-s", "-z") // mode, object, stage, a tab and the name
	if err != nil {
		return err
	}
	var in strings.Builder
	for _, line := range all {
		if _, name, _ := strings.Cut(line, "\t"); !marked[name] {
			in.WriteString(line + "\x00")
		}
	}
	if in.Len() == 0 {
		return nil
	}
	_, err = w.Inside().Operation().Run(ctx, process.Cmd{Args: []string{"update-index", "-z", "--index-info"}, Stdin: []byte(in.String())})
	return err
}

// hiddenFiles returns the files that bits of the index hide from git status.
func hiddenFiles(ctx context.Context, g *git.Repo) (map[string]bool, error) {
	all, err := g.ListNames(ctx, "ls-files", "-v", "-z") // a letter, a space and the name
	if err != nil {
		return nil, err
	}
	marked := map[string]bool{}
	for _, line := range all {
		if tag, name, _ := strings.Cut(line, " "); tag == "S" || tag != strings.ToUpper(tag) {
			marked[name] = true
		}
	}
	return marked, nil
}

// checkHidden refuses changes that bits of the index hide from git status: the job has the
// index. Of these an index that is made anew has none.
func (w *Worktree) checkHidden(ctx context.Context) error {
	marked, err := hiddenFiles(ctx, w.Inside())
	if err != nil || len(marked) == 0 {
		return err
	}
	dir, err := os.MkdirTemp("", "adroit-index-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	g := git.OnHost(w.Top, append(w.env(), "GIT_INDEX_FILE="+filepath.Join(dir, "index"))...).Holding(w.held)
	if _, err := g.Run(ctx, process.Cmd{Args: []string{"read-tree", "HEAD"}}); err != nil {
		return err
	}
	fresh, err := g.Status(ctx)
	if err != nil {
		return err
	}
	var paths []string
	for _, e := range fresh.Entries {
		if marked[e.Path] && e.Work != "D" { // as sparse work trees have it
			paths = append(paths, e.Path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return &Error{Reason: "the worktree's index hides changes from git", Paths: paths, Remedy: showHidden(w.Top)}
}

// checkDeleted refuses deletions that nobody has on record and that nobody has staged.
func (w *Worktree) checkDeleted(s *git.Status, deleted func(path string) bool) error {
	if deleted == nil {
		return nil
	}
	var paths []string
	for _, e := range s.Entries {
		if e.Work != "D" {
			continue
		}
		below, err := filepath.Rel(filepath.FromSlash(w.Sub), filepath.FromSlash(e.Path))
		if err != nil || !filepath.IsLocal(below) || !deleted(filepath.ToSlash(below)) {
			paths = append(paths, e.Path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	reason := "1 file is gone from the worktree that the job has not deleted"
	if len(paths) > 1 {
		reason = fmt.Sprintf("%d files are gone from the worktree that the job has not deleted", len(paths))
	}
	return &Error{Reason: reason, Paths: paths,
		Remedy: fmt.Sprintf("git -C %[1]s restore -- PATH brings one back, and nothing else; git -C %[1]s rm --cached -- PATH means that it is to go", w.Top)}
}

// Merge commits what is not committed, then brings the branch into the branch that the
// repository's first work tree has checked out. A conflict, or a changed file in the way, is an
// *Error with the paths, and leaves that work tree, its index and its branch as they were. deleted
// is as in Commit. If record is not empty, it names a file that records the planned changes first:
// the next merge takes back what a killed one has changed, and starts over. See [CutShort].
// written are the paths below Dir that the job wrote.
func (w *Worktree) Merge(ctx context.Context, message, record string, written []string, deleted func(path string) bool) (*Merged, error) {
	if err := w.Check(); err != nil {
		return nil, err
	}
	left, err := w.unmergedPaths(ctx, written)
	if err != nil {
		return nil, err
	}
	m, err := w.merge(ctx, message, record, deleted)
	if m != nil {
		m.Left = left
	}
	return m, err
}

func (w *Worktree) merge(ctx context.Context, message, record string, deleted func(path string) bool) (*Merged, error) {
	lock, unlock, err := lockDir(ctx, w.Common)
	if err != nil {
		return nil, err
	}
	defer unlock()
	locked := *w
	locked.held = lock
	if err := locksLeft(ctx, locked.Inside(), w.Branch); err != nil {
		return nil, err
	}
	if _, err := locked.Commit(ctx, message, deleted); err != nil {
		return nil, w.withoutCommit(ctx, err)
	}
	g := git.OnHost(w.Repo).Holding(lock).Operation()
	s, err := g.Status(ctx)
	if err != nil {
		return nil, err
	}
	m := &Merged{Into: s.Branch}
	if s.Branch == "" || slices.ContainsFunc(s.Entries, func(e git.StatusEntry) bool { return e.Conflict }) {
		if err := w.stopped(ctx, g); err != nil { // a rebase has no branch checked out
			return nil, err
		}
	}
	if s.Branch == "" || s.Branch == w.Branch {
		return nil, &Error{Reason: w.Repo + " has no branch checked out to merge into", Remedy: "check one out there: git switch NAME"}
	}
	tip, err := g.ResolveCommit(ctx, "refs/heads/"+w.Branch)
	if err != nil {
		return nil, err
	}
	begun := readMerging(record)
	if done, err := g.IsAncestor(ctx, s.Commit, tip); err != nil || done {
		if err == nil && begun.To == s.Commit { // only its report is missing
			if err := locksLeft(ctx, g, s.Branch); err != nil { // git was killed as it took its own away
				return nil, err
			}
			var all []changedPath
			all, err = changed(ctx, g, begun.From, begun.To)
			m.Commit, m.Paths, m.Hidden = begun.To, paths(all), w.hidden(all)
			err = errors.Join(err, w.sync(w.Repo))
			if err != nil {
				return nil, err
			}
		}
		return m, errors.Join(err, forgetMerging(record))
	}
	if err := locksLeft(ctx, g, s.Branch); err != nil {
		return nil, err
	}
	if begun.From == s.Commit { // it was killed, or the power was cut
		if err := begun.takeBack(ctx, g, w.Repo, s.Branch); err != nil {
			return nil, err
		}
		if s, err = g.Status(ctx); err != nil {
			return nil, err
		}
	}
	target := tip
	if ahead, err := g.IsAncestor(ctx, tip, s.Commit); err != nil {
		return nil, err
	} else if !ahead {
		if target, err = mergeCommits(ctx, g, s.Commit, tip, message); err != nil {
			return nil, err
		}
	}
	if err := w.fastForward(ctx, g, s, target, record, m); err != nil {
		return nil, err
	}
	return m, nil
}

// fastForward advances the branch of a status to target and fills m with the result.
func (w *Worktree) fastForward(ctx context.Context, g *git.Repo, s *git.Status, target, record string, m *Merged) error {
	m.Commit = target
	all, err := changed(ctx, g, s.Commit, target)
	if err != nil {
		return err
	}
	m.Paths = paths(all)
	if err := clear(s, all); err != nil {
		return errors.Join(err, forgetMerging(record)) // nothing of it is left
	}
	if err := w.checkOverwritten(all); err != nil {
		return errors.Join(err, forgetMerging(record))
	}
	if err := w.checkGitDirs(ctx, g, target, m.Paths); err != nil {
		return err
	}
	if err := w.checkNames(all); err != nil {
		return err
	}
	if err := w.checkGitlinks(ctx, all); err != nil {
		return err
	}
	if err := w.sync(w.Top); err != nil { // the record names commits
		return err
	}
	begun := merging{s.Commit, target, w.Common}
	if err := begun.write(record); err != nil {
		return err
	}
	// From here a fast-forward is all that is left to do.
	_, err = g.Run(ctx, process.Cmd{Args: []string{"merge", "--quiet", "--ff-only", "--no-verify", "--no-autostash", "--no-stat", "--no-verify-signatures", "--no-overwrite-ignore", target}})
	if err != nil {
		err = w.refusal(ctx, g, all, brief(err))
		if left := begun.takeBack(context.WithoutCancel(ctx), g, w.Repo, s.Branch); left != nil {
			return errors.Join(left, err) // the next merge finds the record
		}
		return errors.Join(err, forgetMerging(record))
	}
	m.Hidden = w.hidden(all)
	if err := w.sync(w.Repo); err != nil { // the next merge finds the record
		return err
	}
	return forgetMerging(record)
}

// refused reports that git ran and refused, as opposed to a git that could not be run.
func refused(err error) bool {
	var e *git.ExitError
	return errors.As(err, &e)
}

func brief(err error) error {
	if e, ok := errors.AsType[*git.StateError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*git.ExitError](err); ok && strings.TrimSpace(e.Stderr) != "" { // one that was killed has printed nothing
		lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(e.Stderr), "\n\t", " "), "\n") // with the names that it is about
		return errors.New(lines[max(0, slices.IndexFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "warning: ") }))])
	}
	return err
}
