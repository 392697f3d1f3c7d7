// Package book is the memory of a runtime: the tools of a job write to it and read it, a prompt
// gets the facts that match it, and each job that ended has a summary in it. It compares the
// evidence of facts, which internal/memory only keeps.
//
//	k := &book.Keeper{Jobs: store, Data: data, Secrets: secrets, Warn: warn}
//	f, err := k.Keep(ctx, dir, memory.Addition{Fact: memory.Fact{ID: id, Text: "run the tests with make fast"}})
package book

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// maxNotes bounds the number of facts that one job may add.
const maxNotes = 50

var errSecret = errors.New("it holds what looks like a secret; say it without")

// A call is the memory as one call of a tool sees it.
type call struct {
	*Keeper
	id   string // of the fact that it would remember
	job  string
	step string
	dir  string // where the call works
	hide *secret.Redactor
}

// With gives the calls of a job its memory. dir returns the place of a sub-agent's copy.
func (k *Keeper) With(dir func(at string) (string, error), hide *secret.Redactor) func(context.Context, host.Invocation) context.Context {
	return func(ctx context.Context, p host.Invocation) context.Context {
		dir, err := dir(p.At)
		if err != nil {
			return ctx // the call has no workspace either, which its Env reports
		}
		return memory.With(ctx, &call{Keeper: k, id: memory.ID(p.Step.Key()), job: p.Step.Job, step: p.Step.Path, dir: dir, hide: hide})
	}
}

func (k *Keeper) find(ctx context.Context, dir string) []secret.Known {
	return git.FileSecrets(ctx, dir, git.SecretSearch{Names: k.Names, Data: k.Data, Warn: k.Warn})
}

// Keep keeps a fact of a person or of another program for a directory.
func (k *Keeper) Keep(ctx context.Context, dir string, n memory.Addition) (memory.Fact, error) {
	b := &call{Keeper: k, id: n.ID, dir: dir, hide: k.Secrets.With(k.find(ctx, dir)...)}
	return b.keep(ctx, n)
}

// Remember implements [memory.Book].
func (b *call) Remember(ctx context.Context, a memory.Addition) (memory.Fact, error) {
	store, err := b.Store(ctx)
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
func (b *call) keep(ctx context.Context, a memory.Addition) (memory.Fact, error) {
	project, sub, err := jobdir.Project(b.Data, b.dir)
	if err != nil {
		return a.Fact, err
	}
	f := memory.Fact{ID: b.id, Scope: cmp.Or(a.Scope, memory.Project), Project: project, Kind: a.Kind, Text: a.Text, Confidence: a.Confidence, Untrusted: a.Untrusted,
		Evidence: memory.Evidence{Job: b.job, Step: b.step}, Created: time.Now()}
	if _, hit := b.hide.String(f.Text); hit {
		return f, errSecret
	}
	if a.File != "" && f.Scope == memory.Project {
		files, err := b.evidenceIn(b.dir)
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
	store, err := b.Store(ctx)
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
func (b *call) Recall(ctx context.Context, text string, limit int) ([]memory.Fact, error) {
	project, _, err := jobdir.Project(b.Data, b.dir)
	if err != nil {
		return nil, err
	}
	return b.recall(ctx, memory.Query{Project: project, Text: text, Limit: limit})
}

// recall finds facts and compares their evidence: those that are stale come last.
func (k *Keeper) recall(ctx context.Context, q memory.Query) ([]memory.Fact, error) {
	store, err := k.Store(ctx)
	if err != nil {
		return nil, err
	}
	found, err := store.Facts(ctx, q)
	if err != nil {
		return nil, err
	}
	k.Compare(found)
	slices.SortStableFunc(found, func(a, b memory.Fact) int { return cmp.Compare(min(len(a.Stale), 1), min(len(b.Stale), 1)) })
	return found, nil
}

// Bounds of the facts in a prompt.
const (
	promptFacts = 5
	promptChars = 240
)

// ForPrompt returns the function that [agents.Resolve] calls for the facts that fit a prompt.
func (k *Keeper) ForPrompt(ctx context.Context, dir string) func(scope, text string) ([]string, tools.Taint) {
	return func(scope, text string) (lines []string, taint tools.Taint) {
		found, err := k.promptFacts(ctx, dir, memory.Scope(scope), text)
		if err != nil {
			k.Warn("nothing is recalled: %v", err) // no reason not to work
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

// standing are the kinds of facts that hold for any task of their project.
var standing = []memory.Kind{memory.Preference, memory.Convention, memory.Command}

// promptFacts returns the facts that match a text, and then the newest trusted ones that apply to
// any task: findings about another task have no place in the prompt of this one.
func (k *Keeper) promptFacts(ctx context.Context, dir string, scope memory.Scope, text string) ([]memory.Fact, error) {
	project, _, err := jobdir.Project(k.Data, dir)
	if err != nil {
		return nil, err
	}
	if err := k.summarizeEnded(ctx, project); err != nil {
		return nil, err
	}
	q := memory.Query{Project: project, Text: text, Limit: 2 * promptFacts}
	if scope == memory.User {
		q.Scope = memory.User
	}
	found, err := k.recall(ctx, q)
	if err != nil {
		return nil, err
	}
	found = found[:min(len(found), promptFacts)]
	if q.Text, q.Limit = "", 4*promptFacts; len(found) == promptFacts {
		return found, nil
	}
	newest, err := k.recall(ctx, q)
	for _, f := range newest {
		known := slices.ContainsFunc(found, func(g memory.Fact) bool { return g.ID == f.ID })
		if !known && !f.Untrusted && f.Stale == "" && slices.Contains(standing, f.Kind) && len(found) < promptFacts {
			found = append(found, f)
		}
	}
	return found, err
}

// Compare finds out which facts are stale.
func (k *Keeper) Compare(facts []memory.Fact) {
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
			files, _ = k.evidenceIn(f.Project) // nil: the project is gone
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

// evidenceIn opens a directory for reading evidence: a file that no tool may read is not evidence.
func (k *Keeper) evidenceIn(dir string) (*workspace.Files, error) {
	files, err := workspace.Open(dir, nil)
	if err != nil {
		return nil, err
	}
	if k.Names != nil {
		files = files.WithDenyList(k.Names)
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

// Import adds facts of a file, which anybody may have written, to a project: they
// become untrusted. It returns how many are new, and why others are refused.
func (k *Keeper) Import(ctx context.Context, project string, facts []memory.Fact) (added int, refused []string, err error) {
	store, err := k.Store(ctx)
	if err != nil {
		return 0, nil, err
	}
	hide := k.Secrets.With(k.find(ctx, project)...)
	known, add, now := 0, []memory.Addition(nil), time.Now()
	for i, f := range facts {
		f.Project, f.Job, f.Step, f.Untrusted = project, "", "", true
		if f.Created.After(now) || f.Created.IsZero() {
			f.Created = now
		}
		f.ID = memory.ID("import\x00" + project + "\x00" + string(f.Scope) + "\x00" + string(f.Kind) + "\x00" + f.Text)
		err := f.Clean()
		if _, hit := hide.String(f.Text); err == nil && hit {
			err = errSecret
		}
		if err != nil {
			refused = append(refused, fmt.Sprintf("fact %d: %v", i+1, err))
			continue
		}
		add = append(add, memory.Addition{Fact: f})
	}
	for _, a := range add {
		old, err := store.Facts(ctx, memory.Query{ID: a.ID})
		if err != nil {
			return 0, nil, err
		}
		known += len(old)
	}
	kept, err := store.AddFacts(ctx, add...)
	if err != nil {
		return 0, nil, err
	}
	for i, f := range kept {
		if f.ID != add[i].ID {
			known++ // another has its text
		}
	}
	return len(add) - known, refused, nil
}
