package adroit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A TokenScope is a part of what can be done through a [Client].
type TokenScope string

// Scopes. Each includes ScopeRead, and ScopeAdmin all.
const (
	ScopeRead   TokenScope = "read"   // look at jobs, their changes, agents, models and settings
	ScopeRun    TokenScope = "run"    // begin, steer and stop jobs, undo and merge what they did
	ScopeAnswer TokenScope = "answer" // answer what jobs ask, or approve it beforehand
	ScopeAdmin  TokenScope = "admin"  // all else: trust, tools without a job, removals, confinement
)

// TokenScopes lists them.
var TokenScopes = []TokenScope{ScopeRead, ScopeRun, ScopeAnswer, ScopeAdmin}

// Known reports whether this program knows the scope.
func (s TokenScope) Known() bool { return slices.Contains(TokenScopes, s) }

// An Authority is somebody's permissions in a [Runtime]: their scopes, with jobs and directories under
// their roots. Others do not exist for them. A context carries it: see [WithAuthority].
type Authority struct {
	Name   string       `json:"name"`
	Scopes []TokenScope `json:"scopes"`
	Roots  []string     `json:"roots,omitempty"` // real paths; none: everywhere
	From   string       `json:"from,omitempty"`  // where their requests come from, as 127.0.0.1:4711
}

type authorityKey struct{}

// WithAuthority returns a context whose calls of a [Runtime] may do what a may. Without an
// authority they may do all: they are of the user whose process it is.
func WithAuthority(ctx context.Context, a *Authority) context.Context {
	return context.WithValue(ctx, authorityKey{}, a)
}

// AuthorityOf returns the authority that ctx carries, nil without one.
func AuthorityOf(ctx context.Context) *Authority {
	a, _ := ctx.Value(authorityKey{}).(*Authority)
	return a
}

// Has reports whether a has a scope. A nil Authority has all; any scope that is known reads, and one
// that is not, as of a newer adroit, gives nothing.
func (a *Authority) Has(need TokenScope) bool {
	return a == nil || slices.Contains(a.Scopes, ScopeAdmin) || slices.Contains(a.Scopes, need) || need == ScopeRead && slices.ContainsFunc(a.Scopes, TokenScope.Known)
}

// Need returns the error about a missing scope.
func (a *Authority) Need(need TokenScope) error {
	if a.Has(need) {
		return nil
	}
	return &problem.Error{Kind: problem.Forbidden, Message: fmt.Sprintf("the token %s does not have the scope %s", a.Name, need),
		Hint: hint.Command("serve token add NAME --scope %s", string(need)) + " makes one that has it"}
}

// everywhere reports that a is not kept to directories.
func (a *Authority) everywhere() bool { return a == nil || len(a.Roots) == 0 }

// Covers reports whether a directory lies under the roots of a, links followed.
func (a *Authority) Covers(dir string) bool {
	if a.everywhere() {
		return true
	}
	resolved, err := rootfs.Real(dir)
	return dir != "" && err == nil && slices.ContainsFunc(a.Roots, func(root string) bool {
		rel, err := filepath.Rel(root, resolved)
		return err == nil && filepath.IsLocal(rel)
	})
}

// may fails unless the runtime is open and the caller has a scope and, where directories are
// given, covers them.
func (rt *Runtime) may(ctx context.Context, need TokenScope, dirs ...string) error {
	if err := rt.usable(); err != nil {
		return err
	}
	a := AuthorityOf(ctx)
	if err := a.Need(need); err != nil {
		return err
	}
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		if !a.Covers(dir) {
			return outside(dir)
		}
		if _, err := rootfs.Real(dir); err != nil {
			return noDirectory(dir)
		}
	}
	return nil
}

// mayIn is may for what concerns all directories where none is given.
func (rt *Runtime) mayIn(ctx context.Context, need TokenScope, dir string) error {
	err := rt.may(ctx, need, dir)
	if err == nil && dir == "" && !AuthorityOf(ctx).everywhere() {
		return problem.Invalidf("name one under the roots of the token", "a directory is needed")
	}
	return err
}

// mayLook is may for what looks into a directory: it has to be there.
func (rt *Runtime) mayLook(ctx context.Context, need TokenScope, dir string) error {
	if err := rt.may(ctx, need, dir); err != nil || dir == "" {
		return err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return noDirectory(dir)
	}
	return nil
}

func noDirectory(dir string) error {
	return &problem.Error{Kind: problem.NotFound, Message: "there is no directory " + dir}
}

func outside(dir string) error {
	return problem.WithHint(noDirectory(dir), hint.Command("serve token")+" lists the roots of tokens")
}

// mayRequest is may for a request for a job.
func (rt *Runtime) mayRequest(ctx context.Context, need TokenScope, r Request) error {
	if err := rt.mayIn(ctx, need, r.Dir); err != nil {
		return err
	}
	if err := mayHave(ctx, r.Input, r.JobConfig); err != nil {
		return err
	}
	return rt.mayModel(ctx, r.Model)
}

// mayHave fails unless the caller may give a job its input and configuration: what approves calls is
// an answer given beforehand, and what changes confinement, or comes from another job, is an operator's.
func mayHave(ctx context.Context, in agents.Input, c JobConfig) error {
	a := AuthorityOf(ctx)
	approves := in.Spec != nil && slices.ContainsFunc(in.Spec.Permissions, func(r permit.Rule) bool { return !r.Narrows() })
	if in.Approve == executor.ApproveAll || approves {
		if err := a.Need(ScopeAnswer); err != nil {
			return err
		}
	}
	if c.Trust || c.Sandbox != "" || c.Servers != nil || c.BaseURL != "" || c.Record != "" || in.Parent != nil {
		return a.Need(ScopeAdmin)
	}
	return nil
}

// mayTake is mayHave for the request of a job that somebody else may have begun, with what counts of
// its configuration: what they could not begin they can neither repeat nor steer.
func mayTake(ctx context.Context, j *jobs.Job, c JobConfig) error {
	if AuthorityOf(ctx).Has(ScopeAdmin) {
		return nil
	}
	var in agents.Input
	if err := json.Unmarshal(j.Input, &in); err != nil {
		return fmt.Errorf("%s: reading its request: %w", j.ID, err)
	}
	return mayHave(ctx, in, c)
}

// mayModel keeps scripts to the roots: they are files.
func (rt *Runtime) mayModel(ctx context.Context, model string) error {
	if path, ok := strings.CutPrefix(model, "script:"); ok && !AuthorityOf(ctx).Covers(filepath.Dir(path)) {
		return outside(filepath.Dir(path))
	}
	return nil
}

// sees reports whether a job exists for the caller.
func (rt *Runtime) sees(ctx context.Context, j *jobs.Job) bool {
	a := AuthorityOf(ctx)
	if a.everywhere() || a.Covers(j.Dir) {
		return true
	}
	if !overlap(j.Dir, rt.data()) {
		return false
	}
	w := rt.worktree(j)
	return w != nil && a.Covers(filepath.Join(w.Repo, filepath.FromSlash(w.Sub)))
}

// mayFacts is mayIn for a query of what is remembered.
func (rt *Runtime) mayFacts(ctx context.Context, need TokenScope, q FactQuery) error {
	if q.All && !AuthorityOf(ctx).everywhere() {
		return problem.Invalidf("ask for one project", "the token does not reach all projects")
	}
	return rt.mayIn(ctx, need, q.Dir)
}
