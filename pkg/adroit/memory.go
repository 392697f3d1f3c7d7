package adroit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Memory gives access to the notes of jobs and people for later jobs.
type Memory interface {
	// Facts lists facts, the newest first, or searches them, the best first.
	Facts(ctx context.Context, q FactQuery) ([]Fact, error)
	// Remember keeps a fact of a person or of another program. Of the fact, Text,
	// Kind, Scope, Confidence, File, Untrusted and ID are read; the same ID gives the
	// same fact.
	Remember(ctx context.Context, n FactNote) (*Fact, error)
	// Forget removes what a query selects, and returns how many facts that were. A
	// query that selects all is refused without All.
	Forget(ctx context.Context, q FactQuery) (int, error)
	// ImportFacts adds facts of a file, which anybody may have written, to the project
	// of a directory: they become untrusted, and what they say of jobs and of time is
	// not believed. It returns how many are new, and why others are refused.
	ImportFacts(ctx context.Context, dir string, facts []Fact) (added int, refused []string, err error)
}

type (
	// A Fact is one thing to know in later jobs.
	Fact = memory.Fact
	// A FactQuery selects facts.
	FactQuery = memory.Query
	// A FactNote is a fact to keep.
	FactNote = memory.Addition
)

// factQuery converts q to the store's query.
func (rt *Runtime) factQuery(q FactQuery) (memory.Query, error) {
	out := memory.Query{ID: q.ID, Scope: q.Scope, Kind: q.Kind, Job: q.Job, Text: q.Text, Limit: q.Limit}
	switch {
	case q.Limit < 0:
		return out, problem.Invalidf("leave it out for all", "the limit is negative")
	case q.Scope != "" && out.Scope != memory.Project && out.Scope != memory.User:
		return out, problem.Invalidf(oneOf([]memory.Scope{memory.Project, memory.User}), "--scope is %q", q.Scope)
	case q.Kind != "" && out.Kind != memory.Summary && !slices.Contains(memory.Kinds, out.Kind):
		return out, problem.Invalidf(oneOf(append(slices.Clip(memory.Kinds), memory.Summary)), "--kind is %q", q.Kind)
	}
	if q.ID != "" && q.Dir == "" || q.All || out.Scope == memory.User || q.Dir == "" && q.Job != "" {
		return out, nil
	}
	var err error
	out.Project, _, err = jobdir.Project(rt.data(), cmp.Or(q.Dir, rt.o.Dir))
	return out, err
}

// Facts implements [Client].
func (rt *Runtime) Facts(ctx context.Context, q FactQuery) ([]memory.Fact, error) {
	if err := rt.mayFacts(ctx, ScopeRead, q); err != nil {
		return nil, err
	}
	store, err := rt.memory.Store(ctx)
	if err != nil {
		return nil, problem.AsError(err)
	}
	sel, err := rt.factQuery(q)
	if err != nil {
		return nil, problem.AsError(err)
	}
	found, err := store.Facts(ctx, sel)
	if err != nil {
		return nil, problem.AsError(err)
	}
	if q.ID != "" && len(found) == 0 {
		return nil, noFact(q.ID)
	}
	if q.Verify {
		rt.memory.Compare(found)
	}
	return append([]memory.Fact{}, found...), nil
}

func noFact(id string) error {
	return &problem.Error{Kind: problem.NotFound, Message: fmt.Sprintf("there is no fact %q", id), Hint: hint.Command("agents memory list --all") + " lists the facts", Err: errors.Join(memory.ErrNotExist, jobs.ErrNotExist)}
}

// Remember implements [Client].
func (rt *Runtime) Remember(ctx context.Context, n FactNote) (*memory.Fact, error) {
	if err := rt.mayIn(ctx, ScopeRun, n.Dir); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(cmp.Or(n.Dir, rt.o.Dir))
	if err != nil {
		return nil, problem.AsError(err)
	}
	if n.ID == "" {
		n.ID = memory.ID(jobs.New(time.Now()))
	}
	f, err := rt.memory.Keep(ctx, dir, n)
	if err != nil {
		return nil, asError(problem.Refuse(err, ""))
	}
	return &f, nil
}

// Forget implements [Client].
func (rt *Runtime) Forget(ctx context.Context, q FactQuery) (int, error) {
	if err := rt.mayFacts(ctx, ScopeAdmin, q); err != nil {
		return 0, err
	}
	if q.Limit != 0 || q.Verify {
		return 0, problem.Invalidf("leave them out", "a limit and a comparison select nothing to forget")
	}
	if !q.All && q.ID == "" && q.Scope == "" && q.Kind == "" && q.Job == "" && q.Text == "" {
		return 0, problem.Invalidf("name facts, or say --all", "nothing is named that is to be forgotten")
	}
	store, err := rt.memory.Store(ctx)
	if err != nil {
		return 0, problem.AsError(err)
	}
	sel, err := rt.factQuery(q)
	if err != nil {
		return 0, problem.AsError(err)
	}
	n, err := store.RemoveFacts(ctx, sel)
	if err != nil {
		return 0, problem.AsError(err)
	}
	if q.ID != "" && n == 0 {
		return 0, noFact(q.ID)
	}
	return n, nil
}

// importBatch bounds the facts of one transaction, and of one import.
const importBatch = 1000

// ImportFacts implements [Client].
func (rt *Runtime) ImportFacts(ctx context.Context, dir string, facts []Fact) (added int, refused []string, err error) {
	if err := rt.mayIn(ctx, ScopeAdmin, dir); err != nil {
		return 0, nil, err
	}
	if len(facts) > importBatch {
		return 0, nil, problem.Invalidf("import them in parts", "%d facts are more than the %d of one import", len(facts), importBatch)
	}
	project, _, err := jobdir.Project(rt.data(), cmp.Or(dir, rt.o.Dir))
	if err == nil {
		added, refused, err = rt.memory.Import(ctx, project, facts)
	}
	return added, refused, asError(err)
}
