package cli

import (
	"context"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/ollama"
)

const effortHint = "it is one of low, medium, high"

// effort describes an effort, and why the model's request leaves it out as far
// as that is known beforehand.
func (a *app) effort(ctx context.Context, baseURL, ref string, e llm.Effort) string {
	m, err := a.models(baseURL)
	if err != nil {
		return string(e)
	}
	if why := m.unmoved(ctx, ref); why != "" {
		return string(e) + " (left out: " + why + ")"
	}
	return string(e)
}

// unmoved returns why a model has no setting for how much it thinks, "" if it
// has or if that is unknown.
func (m *models) unmoved(ctx context.Context, ref string) string {
	provider, name, err := m.split(ref)
	switch {
	case err != nil:
		return ""
	case provider == scriptProvider:
		return "a script does not think"
	case provider == cliProvider:
		return "" // how far it goes is the program's affair
	case provider != ollamaProvider:
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
