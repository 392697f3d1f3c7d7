package cliagent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Programs are the models of the provider cli for a Go program: a request names
// one of them, and after a colon the model that it shall use.
//
//	programs, err := cliagent.Open()
//	rt, err := adroit.Open(adroit.Options{Models: map[string]llm.Model{"cli": programs}})
type Programs map[string]*Agent

var _ extagent.Model = Programs(nil)

// Open gives the known programs, and those of the configurations, which replace
// a known one of the same name. It does not look whether they are there.
func Open(more ...Config) (Programs, error) {
	ps := Programs{}
	for _, name := range Known() {
		more = append([]Config{{Name: name}}, more...)
	}
	for _, c := range more {
		a, err := New(c)
		if err != nil {
			return nil, err
		}
		ps[c.Name] = a
	}
	return ps, nil
}

// Open implements [extagent.Model].
func (ps Programs) Open(p extagent.Session) llm.Model {
	return llm.Func(func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		a, own, err := ps.pick(req)
		if err != nil {
			return nil, err
		}
		return a.Open(p).Generate(ctx, own, emit)
	})
}

// Generate implements [llm.Model].
func (ps Programs) Generate(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	a, own, err := ps.pick(req)
	if err != nil {
		return nil, err
	}
	return a.Generate(ctx, own, emit)
}

func (ps Programs) pick(req *llm.Request) (*Agent, *llm.Request, error) {
	name, model, _ := strings.Cut(req.Model, ":")
	a := ps[name]
	if a == nil {
		return nil, nil, &llm.Error{Kind: llm.NoModel, Provider: "cli", Message: fmt.Sprintf("there is no command-line agent %q", name),
			Hint: "there are " + strings.Join(slices.Sorted(maps.Keys(ps)), ", ")}
	}
	own := *req
	own.Model = model
	return a, &own, nil
}
