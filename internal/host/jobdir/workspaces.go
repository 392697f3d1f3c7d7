package jobdir

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/netguard"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Options apply to all workspaces of a job.
type Options struct {
	Job  string
	Dir  string // the job's workspace
	Data string // keeps jobs; what belongs to this one is in it by its id
	// Worktree is the job's worktree, or nil.
	Worktree *worktree.Worktree
	// Sandbox configures how commands run, in each directory separately. Its Private is not read,
	// and the paths that a worktree needs of its repository are added.
	Sandbox  process.SandboxOptions
	Secrets  *secret.Redactor
	DenyList *workspace.DenyList
	Network  netguard.Guard
	Servers  []lsp.Server
}

// Workspaces are the directories in which the steps of one job work: a [Workspace] in its own
// directory, and one in each worktree of a sub-agent, opened when needed, by a later process too.
// They share the job's rules; each has its own files, processes, language servers and ledger. It
// is safe for concurrent use.
type Workspaces struct {
	o    Options
	own  *Workspace
	join sync.Mutex // one at a time: each changes the tree that the next one compares with

	mu   sync.Mutex
	subs map[string]*Workspace
	shut bool
}

var _ host.Worktrees = (*Workspaces)(nil)

// OpenWorkspaces opens the workspace of a job.
func OpenWorkspaces(o Options) (*Workspaces, error) {
	bs := &Workspaces{o: o, subs: map[string]*Workspace{}}
	home := filepath.Join(o.Data, "jobs", o.Job)
	var shows string
	var writes []string
	var err error
	if w := o.Worktree; w != nil { // its commits are made in the repository that it belongs to
		if err := w.Check(); err != nil {
			return nil, err
		}
		if writes, err = w.Writes(); err != nil {
			return nil, err
		}
		shows = w.Common
	}
	if bs.own, err = bs.open(o.Dir, home, shows, writes); err != nil {
		if ledger.IsHostError(err) {
			err = &flow.InfrastructureError{Err: err} // the job is not at fault
		}
		return nil, err
	}
	return bs, nil
}

func (bs *Workspaces) open(dir, home, shows string, writes []string) (*Workspace, error) {
	c := bs.o.Sandbox
	c.Private = filepath.Join(home, "sandbox")
	c.Write = slices.Concat(c.Write, writes)
	if shows != "" {
		c.Show = append(slices.Clip(c.Show), shows)
	}
	b, err := OpenWorkspace(dir, home, process.WithSandbox(c))
	if err != nil {
		return nil, err
	}
	if err := b.ledger.Share(ContentDir(bs.o.Data)); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.SetSecrets(bs.o.Secrets)
	b.SetNetwork(bs.o.Network)
	b.SetDenyList(bs.o.DenyList)
	if err := b.exec.LookBack(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.StartServers(bs.o.Servers)
	return b, nil
}

// at returns the workspace in a worktree, or the job's own.
func (bs *Workspaces) at(name string) (*Workspace, error) {
	if name == "" {
		return bs.own, nil
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if b, ok := bs.subs[name]; ok {
		return b, nil
	}
	if bs.shut {
		return nil, errors.New("the job is ending")
	}
	home := treeHome(bs.o.Data, bs.o.Job, name)
	c, err := openTree(bs.o.Data, bs.o.Job, name)
	if err != nil {
		return nil, err
	}
	if c.Made.IsZero() || c.Removed {
		return nil, &flow.Failure{Code: turn.Gone, Message: fmt.Sprintf("the worktree %s is not there any more", name)}
	}
	if err := c.Check(); err != nil {
		return nil, &flow.Failure{Code: turn.Gone, Message: err.Error()}
	}
	writes, err := c.Writes()
	if err != nil {
		return nil, err
	}
	b, err := bs.open(c.Dir(), home, c.Shows(), writes)
	if err != nil {
		err = fmt.Errorf("the worktree %s: %w", name, err)
		if errors.As(err, new(*ledger.StorageError)) || ledger.IsHostError(err) {
			err = &flow.InfrastructureError{Err: err}
		}
		return nil, err
	}
	bs.subs[name] = b
	return b, nil
}

// Dir returns the directory in which steps work at a worktree.
func (bs *Workspaces) Dir(name string) (string, error) {
	b, err := bs.at(name)
	if err != nil {
		return "", err
	}
	return b.files.Dir(), nil
}

// Env returns the whole environment of tools there.
func (bs *Workspaces) Env(ctx context.Context, job, at string) (*tools.Env, error) {
	b, err := bs.at(at)
	if err != nil {
		return nil, err
	}
	return b.Env(ctx, job, at)
}

// Bind makes the changes there so far the artifact "diff".
func (bs *Workspaces) Bind(ctx context.Context, job, at string, t tools.Tool, res *tools.Result) error {
	b, err := bs.at(at)
	if err != nil {
		return err
	}
	return b.Bind(ctx, job, at, t, res)
}

// Fault returns the storage failure that calls there have met, nil for none.
func (bs *Workspaces) Fault(job, at string) error {
	if at == "" {
		return bs.own.Fault(job, at)
	}
	bs.mu.Lock()
	b := bs.subs[at]
	bs.mu.Unlock()
	if b == nil {
		return nil
	}
	return b.Fault(job, at)
}

// Revert reverts the changes of an interrupted step to files there.
func (bs *Workspaces) Revert(job, at, path string) (bool, error) {
	b, err := bs.at(at)
	if err != nil {
		return false, err
	}
	return b.Revert(job, at, path)
}

// Ledger returns the ledger of steps' changes there, and its directory.
func (bs *Workspaces) Ledger(at string) (*ledger.Ledger, string, error) {
	b, err := bs.at(at)
	if err != nil {
		return nil, "", err
	}
	return b.ledger, b.files.Dir(), nil
}

// Close kills running commands and releases the files.
func (bs *Workspaces) Close() error {
	bs.mu.Lock()
	bs.shut = true
	subs := bs.subs
	bs.subs = nil
	bs.mu.Unlock()
	errs := []error{bs.own.Close()}
	for _, name := range slices.Sorted(maps.Keys(subs)) {
		errs = append(errs, subs[name].Close())
	}
	return errors.Join(errs...)
}

// NoteGone notes in the job's record of changes why an earlier one is gone.
func (bs *Workspaces) NoteGone(why string) error { return bs.own.ledger.NotePartial(why) }

// closeAt closes the workspace in a worktree, with all that runs there.
func (bs *Workspaces) closeAt(name string) error {
	bs.mu.Lock()
	b, ok := bs.subs[name]
	delete(bs.subs, name)
	bs.mu.Unlock()
	if !ok {
		return nil
	}
	return b.Close()
}

// Add makes a copy of the work tree as it is now, on a branch of its own if
// there is a repository. It implements [host.Worktrees].
func (bs *Workspaces) Add(ctx context.Context, job, name, of string) (turn.Tree, error) {
	if !treeName.MatchString(name) {
		return turn.Tree{}, fmt.Errorf("%q is no name for a worktree", name)
	}
	o := worktree.CopyOptions{Dir: bs.o.Dir, Names: bs.o.DenyList, Home: treeHome(bs.o.Data, job, name), Except: bs.o.Data}
	o.Top, o.Branch = newTree(bs.o.Data, job+"-"+name)
	o.From = bs.o.Worktree
	if of != "" {
		c, err := openTree(bs.o.Data, job, of)
		if err != nil {
			return turn.Tree{}, err
		}
		o.Dir, o.From, o.Plain = c.Dir(), &c.Tree, c.Plain
	}
	c, err := worktree.AddCopy(ctx, o)
	if err != nil {
		return turn.Tree{}, err
	}
	return turn.Tree{Name: name, Of: of, Dir: c.Dir(), Files: c.Files, Left: c.NotCopied, Omitted: c.Omitted}, nil
}

// Join brings back the changes in a copy, as the step at path. Commands that still run there are
// killed first. It implements [host.Worktrees].
func (bs *Workspaces) Join(ctx context.Context, job, path, name, of string) (executor.Joined, error) {
	out := executor.Joined{Name: name}
	bs.join.Lock()
	defer bs.join.Unlock()
	to, err := bs.at(of)
	if err != nil {
		return out, err
	}
	if err := bs.closeAt(name); err != nil {
		return out, fmt.Errorf("ending what runs in the worktree: %w", err)
	}
	home := treeHome(bs.o.Data, job, name)
	c, err := openTree(bs.o.Data, job, name)
	if err != nil {
		return out, err
	}
	led, err := ledger.Open(filepath.Join(home, "ledger"), overlay.Recover)
	if err != nil {
		return out, err
	}
	defer led.Close()
	if err := led.Recover(ctx); err != nil { // what a killed command changed may not be in the copy yet
		return out, err
	}
	got, err := c.Merge(ctx, to.files.At(path), led)
	if err != nil {
		return out, err
	}
	out.Paths, out.Kept, out.Branch = got.Paths, got.Kept, got.Branch
	for _, s := range got.Conflicts {
		out.Conflicts, out.Why = append(out.Conflicts, s.Path), append(out.Why, s.Reason)
	}
	if len(out.Paths) > 0 {
		out.Diff, out.DiffOmitted, _, err = to.diff(ctx)
	}
	return out, err
}

// Drop removes a copy with all that is in it. What still runs there is killed first. It
// implements [host.Worktrees].
func (bs *Workspaces) Drop(ctx context.Context, job, name string) error {
	bs.join.Lock()
	defer bs.join.Unlock()
	if err := bs.closeAt(name); err != nil {
		return fmt.Errorf("ending what runs in the worktree: %w", err)
	}
	c, err := FindTree(bs.o.Data, job, name)
	if err != nil || c == nil || c.Removed {
		return err
	}
	return c.Remove(ctx)
}

// ContentDir returns the directory in which all jobs of a data directory keep the earlier contents
// of files.
func ContentDir(data string) string { return filepath.Join(data, "content") }

var treeName = lazyregexp.New(`^[A-Za-z0-9_-]{1,100}$`)

func openTree(data, job, name string) (*worktree.Copy, error) {
	c, err := readTree(data, job, name)
	if err == nil && c == nil {
		err = fmt.Errorf("the job has no worktree %s", name)
	}
	return c, err
}

func readTree(data, job, name string) (*worktree.Copy, error) {
	c, err := worktree.OpenCopy(treeHome(data, job, name))
	if c != nil {
		placed(data, job, &c.Tree)
		c.From = rootfs.WorktreePath(data, job, c.From)
	}
	return c, err
}

// FindTree finds the worktree of one of a job's sub-agents, or returns nil if there is none. data
// is the directory that keeps jobs.
func FindTree(data, job, name string) (*worktree.Copy, error) {
	if !treeName.MatchString(name) {
		return nil, nil
	}
	return readTree(data, job, name)
}

// A SubAgentTree is the worktree of one of a job's sub-agents.
type SubAgentTree struct {
	Name string
	*worktree.Copy
}

// Trees lists the worktrees of a job's sub-agents that have not been removed: those in use, those
// with conflicts, and those of sub-agents that were not done. data is the directory that keeps
// jobs.
func Trees(data, job string) ([]SubAgentTree, error) {
	homes, err := os.ReadDir(filepath.Dir(treeHome(data, job, "x")))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var list []SubAgentTree
	for _, e := range homes {
		c, openErr := readTree(data, job, e.Name())
		if err = errors.Join(err, openErr); c != nil && !c.Removed {
			list = append(list, SubAgentTree{e.Name(), c})
		}
	}
	return list, err
}

// RemoveTrees removes the worktrees of a job's sub-agents, with their branches and all their
// content, also those whose record cannot be read. Nobody may work there any more.
func RemoveTrees(ctx context.Context, data, job string) error {
	list, err := Trees(data, job)
	if err != nil {
		var left []string
		left, err = filepath.Glob(WorktreeDir(data, job+"-*")) // their repository forgets them by itself
		left = slices.DeleteFunc(left, func(dir string) bool {
			return slices.ContainsFunc(list, func(t SubAgentTree) bool { return t.Tree.Top == dir })
		})
		for _, dir := range left {
			err = errors.Join(err, rootfs.RemoveAll(dir))
		}
	}
	errs := []error{err}
	for _, t := range list {
		if err := t.Remove(ctx); err != nil {
			errs = append(errs, fmt.Errorf("removing the worktree %s: %w", t.Tree.Top, err))
		}
	}
	return errors.Join(errs...)
}

// RemoveAllTrees removes the worktrees of the sub-agents of all jobs.
func RemoveAllTrees(data string) error {
	all, err := os.ReadDir(filepath.Join(data, "jobs"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range all {
		errs = append(errs, RemoveTrees(context.Background(), data, e.Name()))
	}
	return errors.Join(errs...)
}

// StartServers gives the job language servers, for its tools and for Diagnose. It is
// called once, before the first step; Close ends them.
func (b *Workspace) StartServers(servers []lsp.Server) {
	b.code = lsp.New(b.exec, b.files, lsp.Options{Servers: servers})
}

// imageDir returns the directory of a job with the images of its messages, each under its digest.
func imageDir(data, id string) string { return filepath.Join(data, "jobs", id, "images") }

// KeepImage keeps an image of a job's messages, durably.
func KeepImage(data, id string, i *llm.Image) error {
	file := filepath.Join(imageDir(data, id), i.Digest)
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	return rootfs.WriteFile(file, i.Data)
}

// ReadImage reads an image that was kept.
func ReadImage(data, id, digest string) ([]byte, error) {
	if b, err := hex.DecodeString(digest); err != nil || len(b) != 32 {
		return nil, fs.ErrNotExist
	}
	return os.ReadFile(filepath.Join(imageDir(data, id), digest))
}

// CopyImages gives a job the images of another.
func CopyImages(data, from, to string) error {
	list, err := os.ReadDir(imageDir(data, from))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, f := range list {
		i := llm.Image{Digest: f.Name()}
		if i.Data, err = ReadImage(data, from, i.Digest); errors.Is(err, fs.ErrNotExist) {
			continue // what a killed process left behind
		} else if err != nil {
			return err
		}
		if err := KeepImage(data, to, &i); err != nil {
			return err
		}
	}
	return nil
}

// KeepImages keeps the images of a message in the directory of its job, and takes
// their bytes out of the message.
func KeepImages(data, id string, list []executor.Attachment) error {
	for k := range list {
		at := &list[k]
		if at.Image == nil {
			continue
		}
		if err := KeepImage(data, id, at.Image); err != nil {
			return fmt.Errorf("keeping the image %s: %w", at.Image.Name, err)
		}
		at.Data = nil
	}
	return nil
}
