package provider

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/llm/ollama"
)

// Examine implements [adroit.ModelCatalog].
func (m *Source) Examine(ctx context.Context) []adroit.Finding {
	first, usable := m.examineOllama(ctx)
	out := []adroit.Finding{first}
	key := func(variable string) string {
		if m.conf.Getenv(variable) != "" {
			return "set"
		}
		return "not set"
	}
	usable = usable || m.conf.Model != ""
	for _, h := range hosted {
		usable = usable || key(h.keyEnv) == "set"
		out = append(out, adroit.Finding{Name: h.keyEnv, Status: adroit.Note, What: key(h.keyEnv)})
	}
	for _, name := range slices.Sorted(maps.Keys(m.conf.Endpoints)) {
		e := m.conf.Endpoints[name]
		f := adroit.Finding{Name: "endpoint " + name, Status: adroit.Note, What: e.BaseURL}
		if e.KeyEnv != "" {
			f.What += ", " + e.KeyEnv + " is " + key(e.KeyEnv)
		}
		out = append(out, f)
	}
	clis := m.examineCLIs(ctx)
	out = append(out, clis...)
	f := adroit.Finding{Name: "model", Status: adroit.Fine, What: cmp.Or(m.conf.Model, "chosen at each run"), Do: "adroit models check asks it for a word"}
	if !usable {
		f = adroit.Finding{Name: "model", Status: adroit.Lacking, What: "none can be used", Do: "see adroit demo for a run without one; for real ones run ollama pull qwen3:8b or set one of " + hostedKeys()}
		for _, c := range clis {
			if c.Status == adroit.Fine {
				f.Do += "; or name a command-line agent that is logged in: -m " + c.Name
				break
			}
		}
	}
	return append(out, f)
}

func (m *Source) examineOllama(ctx context.Context) (f adroit.Finding, usable bool) {
	f = adroit.Finding{Name: Ollama, Status: adroit.Lacking}
	client, err := ollama.NewClient(m.ollama())
	if err != nil {
		f.What, f.Do = err.Error(), "correct OLLAMA_HOST"
		return f, false
	}
	if !client.Up(ctx) {
		f.What, f.Do = "does not answer", "for local models install it from ollama.com and run: ollama serve"
		return f, false
	}
	name, err := capable(ctx, client)
	if err != nil {
		f.What, f.Do = err.Error(), "ollama pull qwen3:8b"
		return f, false
	}
	f.Status, f.What = adroit.Fine, "answers; ollama/"+name+" can call tools"
	return f, true
}

func (m *Source) examineCLIs(ctx context.Context) []adroit.Finding {
	var out []adroit.Finding
	for _, s := range m.survey(ctx) {
		f := adroit.Finding{Name: CLI + "/" + s.Name, Status: adroit.Fine, What: s.Version + "; " + s.Words}
		if s.Path == "" {
			f.Status, f.What, f.Do = adroit.Note, "not installed", s.Words
			if slices.Contains(m.conf.ConfiguredCLIs, s.Name) {
				f.Status, f.What = adroit.Lacking, "is configured and not installed"
			}
		}
		out = append(out, f)
	}
	return out
}
