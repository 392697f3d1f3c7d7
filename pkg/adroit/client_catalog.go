package adroit

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/pipeline"
	"github.com/adroit-run/adroit/pkg/trust"
)

// listed turns what a catalog holds into a listing.
func listed[F, T any](found []F, problems agents.Problems, info func(F) T) *Listing[T] {
	l := &Listing[T]{Items: []T{}}
	for _, f := range found {
		l.Items = append(l.Items, info(f))
	}
	for _, p := range problems {
		l.Problems = append(l.Problems, p.String())
	}
	return l
}

// decide is trusts for a scope.
func (rt *Runtime) decide(in Scope) (trustDecision, error) {
	if in.Dir == "" {
		return trustDecision{}, nil
	}
	dir, err := filepath.Abs(in.Dir)
	if err != nil {
		return trustDecision{}, err
	}
	return rt.trusts(dir, in.Trust)
}

// Agents implements [Catalog].
func (rt *Runtime) Agents(_ context.Context, in Scope) (*Listing[AgentInfo], error) {
	d, err := rt.decide(in)
	if err != nil {
		return nil, AsError(err)
	}
	cat, problems := rt.agentCatalog(d)
	return listed(cat.List(), problems, func(a *agents.DynamicAgent) AgentInfo {
		return AgentInfo{a.Name, a.Description, a.Tools, a.Source.Layer, a.Source.File}
	}), nil
}

// Pipelines implements [Catalog].
func (rt *Runtime) Pipelines(_ context.Context, in Scope) (*Listing[PipelineInfo], error) {
	d, err := rt.decide(in)
	if err != nil {
		return nil, AsError(err)
	}
	cat, problems := rt.pipelineCatalog(d)
	return listed(cat.List(), problems, func(p *pipeline.Pipeline) PipelineInfo {
		return PipelineInfo{p.Name, p.Description, len(p.Steps), p.Source.Layer, p.Source.File}
	}), nil
}

// Skills implements [Catalog].
func (rt *Runtime) Skills(_ context.Context, in Scope) (*Listing[SkillInfo], error) {
	d, err := rt.decide(in)
	if err != nil {
		return nil, AsError(err)
	}
	found, problems := agents.LoadSkills(rt.o.Skills...)
	if d.dir != "" {
		if found, problems, err = rt.skills(d.dir, d); err != nil {
			return nil, AsError(err)
		}
	}
	return listed(found, problems, func(s agents.Skill) SkillInfo {
		files := slices.AppendSeq([]string{}, maps.Keys(s.Files))
		slices.Sort(files)
		return SkillInfo{s.Name, s.Description, files, s.Source.Layer, s.Source.File}
	}), nil
}

// Tools implements [Catalog].
func (rt *Runtime) Tools(context.Context) (*Listing[ToolInfo], error) {
	set, err := rt.tools()
	if err != nil {
		return nil, AsError(err)
	}
	l := &Listing[ToolInfo]{Items: []ToolInfo{}}
	for t := range set.All() {
		input, err := json.Marshal(t.Input)
		if err != nil {
			return nil, AsError(err)
		}
		l.Items = append(l.Items, ToolInfo{t.Name, t.Description, t.Needs.String(), input})
	}
	return l, nil
}

// trustStore is the store of the options, or why there is none.
func (rt *Runtime) trustStore() (*trust.Store, error) {
	if rt.o.Trust == nil {
		return nil, Invalidf("set Options.Trust", "this runtime keeps no decisions about trust")
	}
	return rt.o.Trust, nil
}

// Trust implements [Machine].
func (rt *Runtime) Trust(_ context.Context, dir string) (*trust.Status, error) {
	s, err := rt.trustStore()
	if err != nil {
		return nil, err
	}
	st, err := s.Check(dir)
	return &st, asError(err)
}

// SetTrust implements [Machine].
func (rt *Runtime) SetTrust(ctx context.Context, c TrustChange) (*trust.Status, error) {
	s, err := rt.trustStore()
	if err != nil {
		return nil, err
	}
	if c.Revoke {
		_, err = s.Revoke(c.Dir)
	} else {
		var st trust.Status
		if st, err = s.Check(c.Dir); err == nil {
			open := slices.DeleteFunc(slices.Clone(st.Files), func(f trust.File) bool { return f.State == trust.Trusted || f.State == trust.Never })
			err = s.Record(st, open, c.Trust)
		}
	}
	if err != nil {
		return nil, AsError(err)
	}
	return rt.Trust(ctx, c.Dir)
}
