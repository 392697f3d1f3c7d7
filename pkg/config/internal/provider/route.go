package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/models/script"
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
		return nil, problem.Refuse(err, scriptHint)
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

// textOnly are the models of hosted providers, by the beginning of their names
// without the provider, that take no images. As of 2026-11.
var textOnly = []string{"gpt-3.5", "gpt-4-0", "gpt-4-1106", "gpt-oss", "o1-mini", "o1-preview", "o3-mini", "claude-2", "claude-instant",
	"deepseek-", "codestral", "devstral", "qwen3-coder", "qwen-2.5-coder", "kimi-k2-0", "glm-4.5-air", "glm-4.6", "text-embedding"}

// NoImages implements [adroit.ModelCatalog].
func (m *Source) NoImages(ctx context.Context, ref string) string {
	provider, name, err := m.split(ref)
	switch {
	case err != nil || provider == Script:
		return ""
	case provider == CLI:
		return "a command-line agent is given words; it may read the file itself if the message names it without @"
	case provider == Ollama:
		client, err := ollama.NewClient(m.ollama())
		if err != nil {
			return ""
		}
		info, err := client.Show(ctx, name)
		if err == nil && len(info.Capabilities) > 0 && !info.Can("vision") {
			return "Ollama lists no vision among what it can do"
		}
		return ""
	}
	base := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	for _, prefix := range textOnly {
		if strings.HasPrefix(base, prefix) || base == "gpt-4" {
			return "it reads text only"
		}
	}
	return ""
}
