package adroit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A Memory is what jobs and people noted for later jobs.
type Memory interface {
	// Facts lists facts, the newest first, or searches them, the best first.
	Facts(ctx context.Context, q FactQuery) ([]memory.Fact, error)
	// Remember keeps a fact of a person or of another program. The same ID gives
	// the same fact.
	Remember(ctx context.Context, n FactNote) (*memory.Fact, error)
	// Forget removes what a query selects, and returns how many facts that were. A
	// query that selects all is refused without All.
	Forget(ctx context.Context, q FactQuery) (int, error)
	// ImportFacts adds facts of a file, which anybody may have written.
	ImportFacts(ctx context.Context, in FactImport) (*FactImportReport, error)
}

type (
	// A Fact is one thing to know in later jobs.
	Fact = memory.Fact
	// A FactAddition is a fact to keep in a store.
	FactAddition = memory.Addition
	// A FactSelection is which facts of a store are meant.
	FactSelection = memory.Query
)

// A FactQuery selects facts.
type FactQuery struct {
	ID string `json:"id,omitempty"`
	// Dir selects the facts of the project that it is in, and those of the user.
	Dir   string `json:"dir,omitempty"`
	Scope string `json:"scope,omitempty"` // project or user
	Kind  string `json:"kind,omitempty"`
	Job   string `json:"job,omitempty"`
	Text  string `json:"text,omitempty"` // facts with any of its words
	Limit int    `json:"limit,omitempty"`
	// Verify compares the evidence with the files as they are now.
	Verify bool `json:"verify,omitempty"`
	All    bool `json:"all,omitempty"` // of every project
}

// A FactNote is a fact to keep. Of the fact, Text, Kind, Scope, Confidence, File,
// which is relative to Dir, Untrusted and ID are read.
type FactNote struct {
	memory.Addition
	Dir string `json:"dir"`
}

// A FactImport is facts to add to the project that Dir is in. They become
// untrusted, and what they say of jobs and of time is not believed.
type FactImport struct {
	Dir   string        `json:"dir"`
	Facts []memory.Fact `json:"facts"`
}

// A FactImportReport is what an import did.
type FactImportReport struct {
	Added   int      `json:"added"`
	Known   int      `json:"known"` // that were there
	Refused []string `json:"refused,omitempty"`
}

// memory is where facts are kept: in the store of the jobs if it can, else in this
// process.
func (rt *Runtime) memory(ctx context.Context) (memory.Store, error) {
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, err
	}
	if s, ok := m.Store.(memory.Store); ok {
		return s, nil
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.facts == nil {
		rt.facts = memory.New()
	}
	return rt.facts, nil
}

// query is that of the store.
func (rt *Runtime) factQuery(q FactQuery) (memory.Query, error) {
	out := memory.Query{ID: q.ID, Scope: memory.Scope(q.Scope), Kind: memory.Kind(q.Kind), Job: q.Job, Text: q.Text, Limit: q.Limit}
	switch {
	case q.Limit < 0:
		return out, Invalidf("leave it out for all", "the limit is negative")
	case q.Scope != "" && out.Scope != memory.Project && out.Scope != memory.User:
		return out, Invalidf(oneOf([]memory.Scope{memory.Project, memory.User}), "--scope is %q", q.Scope)
	case q.Kind != "" && out.Kind != memory.Summary && !slices.Contains(memory.Kinds, out.Kind):
		return out, Invalidf(oneOf(append(slices.Clip(memory.Kinds), memory.Summary)), "--kind is %q", q.Kind)
	}
	if q.ID != "" || q.All || out.Scope == memory.User || q.Dir == "" && q.Job != "" {
		return out, nil
	}
	var err error
	out.Project, _, err = rt.projectAt(cmp.Or(q.Dir, rt.o.Dir))
	return out, err
}

// Facts implements [Memory].
func (rt *Runtime) Facts(ctx context.Context, q FactQuery) ([]memory.Fact, error) {
	store, err := rt.memory(ctx)
	if err != nil {
		return nil, AsError(err)
	}
	sel, err := rt.factQuery(q)
	if err != nil {
		return nil, AsError(err)
	}
	found, err := store.Facts(ctx, sel)
	if err != nil {
		return nil, AsError(err)
	}
	if q.ID != "" && len(found) == 0 {
		return nil, noFact(q.ID)
	}
	if q.Verify {
		rt.compare(found)
	}
	return append([]memory.Fact{}, found...), nil
}

func noFact(id string) error {
	return &Error{Kind: NotFound, Message: fmt.Sprintf("there is no fact %q", id), Hint: "adroit memory list --all lists the facts", err: errors.Join(memory.ErrNotExist, jobs.ErrNotExist)}
}

// Remember implements [Memory].
func (rt *Runtime) Remember(ctx context.Context, n FactNote) (*memory.Fact, error) {
	dir, err := filepath.Abs(cmp.Or(n.Dir, rt.o.Dir))
	if err != nil {
		return nil, AsError(err)
	}
	if n.ID == "" {
		n.ID = memory.ID(jobs.NewID(time.Now()))
	}
	b := &book{rt: rt, id: n.ID, dir: dir, hide: rt.o.Secrets.With(git.EnvSecrets(ctx, dir)...)}
	f, err := b.keep(ctx, n.Addition)
	if err != nil {
		return nil, asError(Refuse(err, ""))
	}
	return &f, nil
}

// Forget implements [Memory].
func (rt *Runtime) Forget(ctx context.Context, q FactQuery) (int, error) {
	if q.Limit != 0 || q.Verify {
		return 0, Invalidf("leave them out", "a limit and a comparison select nothing to forget")
	}
	if !q.All && q.ID == "" && q.Scope == "" && q.Kind == "" && q.Job == "" && q.Text == "" {
		return 0, Invalidf("name facts, or say --all", "nothing is named that is to be forgotten")
	}
	store, err := rt.memory(ctx)
	if err != nil {
		return 0, AsError(err)
	}
	sel, err := rt.factQuery(q)
	if err != nil {
		return 0, AsError(err)
	}
	n, err := store.RemoveFacts(ctx, sel)
	if err != nil {
		return 0, AsError(err)
	}
	if q.ID != "" && n == 0 {
		return 0, noFact(q.ID)
	}
	return n, nil
}

// importBatch bounds the facts of one transaction, and of one import.
const importBatch = 1000

// ImportFacts implements [Memory].
func (rt *Runtime) ImportFacts(ctx context.Context, in FactImport) (*FactImportReport, error) {
	if len(in.Facts) > importBatch {
		return nil, Invalidf("import them in parts", "%d facts are more than the %d of one import", len(in.Facts), importBatch)
	}
	store, err := rt.memory(ctx)
	if err != nil {
		return nil, AsError(err)
	}
	project, _, err := rt.projectAt(cmp.Or(in.Dir, rt.o.Dir))
	if err != nil {
		return nil, AsError(err)
	}
	hide := rt.o.Secrets.With(git.EnvSecrets(ctx, project)...)
	report, add, now := &FactImportReport{}, []memory.Addition(nil), time.Now()
	for i, f := range in.Facts {
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
			report.Refused = append(report.Refused, fmt.Sprintf("fact %d: %v", i+1, err))
			continue
		}
		add = append(add, memory.Addition{Fact: f})
	}
	for _, a := range add {
		old, err := store.Facts(ctx, memory.Query{ID: a.ID})
		if err != nil {
			return nil, AsError(err)
		}
		report.Known += len(old)
	}
	kept, err := store.AddFacts(ctx, add...)
	if err != nil {
		return nil, AsError(err)
	}
	for i, f := range kept {
		if f.ID != add[i].ID {
			report.Known++ // another has its text
		}
	}
	report.Added = len(add) - report.Known
	return report, nil
}
