package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm/ollama"
	"github.com/adroit-run/adroit/pkg/llm/script"
)

// Route implements [adroit.ModelSource]. A fallback whose window cannot be found
// out now may be there when it is needed: its provider then decides.
func (m *Source) Route(ctx context.Context, ref string) (executor.Route, error) {
	r := executor.Route{Hedge: m.conf.Roles[ref].Hedge}
	var err error
	if r.Model, err = m.Canonical(m.conf.resolve(ref)); err != nil {
		return r, err
	}
	for _, name := range m.conf.fallbacks(ref) {
		next, err := m.Canonical(m.conf.resolve(name))
		if err != nil {
			return r, fmt.Errorf("a fallback of %s: %w", ref, err)
		}
		if slices.Contains(r.Refs(), next) {
			continue
		}
		f := executor.Fallback{Model: next}
		if w, err := m.Window(ctx, next); err == nil {
			f.Window = w
		}
		r.Fallbacks = append(r.Fallbacks, f)
	}
	return r, nil
}

// Think implements [adroit.ModelSource].
func (m *Source) Think() string {
	if _, ok := m.conf.Roles[Cheap]; ok {
		return Cheap
	}
	return ""
}

// Roles implements [adroit.ModelSource].
func (m *Source) Roles() []string { return slices.Sorted(maps.Keys(m.conf.Roles)) }

// Recording implements [adroit.ModelSource].
func (m *Source) Recording(ref string) (*script.Recording, error) {
	provider, name, err := m.split(ref)
	if err != nil || provider != Script {
		return nil, nil // what is wrong with the name is reported where it is used
	}
	s, err := script.Load(name)
	if err != nil {
		return nil, adroit.Refuse(err, "")
	}
	return s.Recording(), nil
}

// NoEffort implements [adroit.ModelCatalog].
func (m *Source) NoEffort(ctx context.Context, ref string) string {
	provider, name, err := m.split(ref)
	switch {
	case err != nil:
		return ""
	case provider == Script:
		return "a script does not think"
	case provider == CLI:
		return "" // how far it goes is the program's affair
	case m.endpoint(provider).Dialect == Anthropic:
		return "" // a model that takes none says so, and is asked again without
	case provider != Ollama:
		d, _ := m.dialect(provider)
		return d.Effort(name)
	}
	client, err := ollama.NewClient(m.ollama())
	if err != nil {
		return ""
	}
	if info, err := client.Show(ctx, name); err == nil && !info.Can("thinking") {
		return "the model does not think"
	}
	return ""
}
