package adroit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/internal/executor/handler"
	"github.com/adroit-run/adroit/internal/jobdir"
	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/secret"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// maxNotes bounds what one job may remember.
const maxNotes = 50

var errSecret = errors.New("it holds what looks like a secret; say it without")

// A book is the memory as one call of a tool sees it.
type book struct {
	rt   *Runtime
	id   string // of the fact that it would remember
	job  string
	step string
	dir  string // where the call works
	hide *secret.Redactor
}

// books gives the calls of a job its memory.
func (rt *Runtime) books(b *jobdir.Workspaces, hide *secret.Redactor) func(context.Context, handler.Invocation) context.Context {
	return func(ctx context.Context, p handler.Invocation) context.Context {
		dir, err := b.Dir(p.At)
		if err != nil {
			return ctx // the call has no workspace either, which its Env reports
		}
		return memory.With(ctx, &book{rt: rt, id: memory.ID(p.Step.Key()), job: p.Step.Job, step: p.Step.Path, dir: dir, hide: hide})
	}
}

// Remember implements [memory.Book].
func (b *book) Remember(ctx context.Context, a memory.Addition) (memory.Fact, error) {
	store, err := b.rt.memory(ctx)
	if err != nil {
		return a.Fact, tools.Fatal(err)
	}
	before, err := store.Facts(ctx, memory.Query{Job: b.job, Limit: maxNotes})
	if err != nil {
		return a.Fact, tools.Fatal(err)
	}
	if len(before) == maxNotes && !slices.ContainsFunc(before, func(f memory.Fact) bool { return f.ID == b.id }) {
		return a.Fact, fmt.Errorf("this job has noted %d facts, which is all it may", maxNotes)
	}
	return b.keep(ctx, a)
}

// keep adds where a fact comes from, and keeps it.
func (b *book) keep(ctx context.Context, a memory.Addition) (memory.Fact, error) {
	project, sub, err := b.rt.projectAt(b.dir)
	if err != nil {
		return a.Fact, err
	}
	f := memory.Fact{ID: b.id, Scope: cmp.Or(a.Scope, memory.Project), Project: project, Kind: a.Kind, Text: a.Text, Confidence: a.Confidence, Untrusted: a.Untrusted,
		Evidence: memory.Evidence{Job: b.job, Step: b.step}, Created: time.Now()}
	if _, hit := b.hide.String(f.Text); hit {
		return f, errSecret
	}
	if a.File != "" && f.Scope == memory.Project {
		files, err := b.rt.evidenceIn(b.dir)
		if err != nil {
			return f, err
		}
		defer files.Close()
		name := filepath.ToSlash(a.File)
		if in, ok := files.Tree.Inside(name); ok {
			name = in
		}
		if f.Digest, err = digest(files, name); err != nil {
			return f, err
		}
		f.File = path.Join(filepath.ToSlash(sub), path.Clean(name))
	}
	if f.Kind == memory.Summary {
		return f, fmt.Errorf("kind is %q; it is one of %s", f.Kind, memory.Join(memory.Kinds))
	}
	if err := f.Clean(); err != nil {
		return f, err
	}
	store, err := b.rt.memory(ctx)
	if err != nil {
		return f, tools.Fatal(err)
	}
	kept, err := store.AddFacts(ctx, memory.Addition{Fact: f, Replaces: a.Replaces})
	if err != nil {
		return f, err
	}
	return kept[0], nil
}

// Recall implements [memory.Book].
func (b *book) Recall(ctx context.Context, text string, limit int) ([]memory.Fact, error) {
	project, _, err := b.rt.projectAt(b.dir)
	if err != nil {
		return nil, err
	}
	return b.rt.recall(ctx, memory.Query{Project: project, Text: text, Limit: limit})
}

// recall finds facts and compares their evidence: those that are stale come last.
func (rt *Runtime) recall(ctx context.Context, q memory.Query) ([]memory.Fact, error) {
	store, err := rt.memory(ctx)
	if err != nil {
		return nil, err
	}
	found, err := store.Facts(ctx, q)
	if err != nil {
		return nil, err
	}
	rt.compare(found)
	slices.SortStableFunc(found, func(a, b memory.Fact) int { return cmp.Compare(min(len(a.Stale), 1), min(len(b.Stale), 1)) })
	return found, nil
}

// Bounds of the facts in a prompt.
const (
	promptFacts = 5
	promptChars = 240
)

// recaller returns what agents.Resolve asks for what fits a prompt.
func (rt *Runtime) recaller(ctx context.Context, dir string) func(scope, text string) ([]string, tools.Taint) {
	return func(scope, text string) (lines []string, taint tools.Taint) {
		found, err := rt.promptFacts(ctx, dir, memory.Scope(scope), text)
		if err != nil {
			rt.warn("nothing is recalled: %v", err) // no reason not to work
		}
		now := time.Now()
		for _, f := range found {
			lines = append(lines, f.Line(now, promptChars))
			if f.Untrusted {
				taint |= tools.Untrusted
			}
		}
		return lines, taint
	}
}

// promptFacts are those that fit a text, and then the newest that can be trusted.
func (rt *Runtime) promptFacts(ctx context.Context, dir string, scope memory.Scope, text string) ([]memory.Fact, error) {
	project, _, err := rt.projectAt(dir)
	if err != nil {
		return nil, err
	}
	if err := rt.summarizeEnded(ctx, dir, project); err != nil {
		return nil, err
	}
	q := memory.Query{Project: project, Text: text, Limit: 2 * promptFacts}
	if scope == memory.User {
		q.Scope = memory.User
	}
	found, err := rt.recall(ctx, q)
	if err != nil {
		return nil, err
	}
	found = found[:min(len(found), promptFacts)]
	if q.Text, q.Limit = "", 4*promptFacts; len(found) == promptFacts {
		return found, nil
	}
	newest, err := rt.recall(ctx, q)
	for _, f := range newest {
		known := slices.ContainsFunc(found, func(g memory.Fact) bool { return g.ID == f.ID })
		if !known && !f.Untrusted && f.Stale == "" && f.Kind != memory.Summary && len(found) < promptFacts {
			found = append(found, f)
		}
	}
	return found, err
}

// compare finds out which facts are stale.
func (rt *Runtime) compare(facts []memory.Fact) {
	open := map[string]*workspace.Files{}
	defer func() {
		for _, files := range open {
			if files != nil {
				files.Close()
			}
		}
	}()
	for i := range facts {
		f := &facts[i]
		if f.File == "" || f.Digest == "" {
			continue
		}
		files, ok := open[f.Project]
		if !ok {
			files, _ = rt.evidenceIn(f.Project) // nil: the project is gone
			open[f.Project] = files
		}
		if files == nil {
			f.Stale = "its project is gone"
			continue
		}
		switch now, err := digest(files, f.File); {
		case errors.Is(err, fs.ErrNotExist):
			f.Stale = f.File + " is gone"
		case err != nil:
			f.Stale = f.File + " cannot be read"
		case now != f.Digest:
			f.Stale = f.File + " has changed since"
		}
	}
}

// evidenceIn opens a directory for reading evidence: what no tool may read is none.
func (rt *Runtime) evidenceIn(dir string) (*workspace.Files, error) {
	files, err := workspace.Open(dir, nil)
	if err != nil {
		return nil, err
	}
	if rt.o.Names != nil {
		files = files.WithDenyList(rt.o.Names)
	}
	return files, nil
}

func digest(files *workspace.Files, name string) (string, error) {
	b, err := files.ReadFile(name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// projectAt is the project that dir is in, and where in it: the top of its work
// tree, or for a worktree that of the repository it was made from.
func (rt *Runtime) projectAt(dir string) (project, sub string, err error) {
	if dir, err = real(dir); err != nil {
		return "", "", err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", "", apierr.Invalidf("", "there is no directory %s", dir)
	}
	top := dir
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			top = at
			break
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	if sub, err = filepath.Rel(top, dir); err != nil {
		return "", "", err
	}
	if from, err := rt.origin(dir); err == nil && from != "" {
		if from, err = real(from); err == nil {
			return from, sub, nil
		}
	}
	return mainTree(top), sub, nil
}

// mainTree is the work tree that a linked one of git belongs to, or top itself.
func mainTree(top string) string {
	b, err := os.ReadFile(filepath.Join(top, ".git"))
	if err != nil {
		return top // a directory: it is the main one
	}
	git, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	if !ok {
		return top
	}
	if !filepath.IsAbs(git) {
		git = filepath.Join(top, git)
	}
	if repo, _, ok := strings.Cut(filepath.ToSlash(git), "/.git/worktrees/"); ok {
		if repo, err := real(filepath.FromSlash(repo)); err == nil {
			return repo
		}
	}
	return top
}
