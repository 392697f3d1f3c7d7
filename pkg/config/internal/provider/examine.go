package provider

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/match"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/models/ollama"
)

// Examine implements [adroit.ModelCatalog].
func (m *Source) Examine(ctx context.Context, model string) []adroit.Finding {
	model = cmp.Or(model, m.conf.Model)
	first, usable := m.examineOllama(ctx)
	out := []adroit.Finding{first}
	usable = usable || model != ""
	if m.conf.KeysErr != nil {
		out = append(out, adroit.Finding{Name: "keys", Status: adroit.Lacking, What: m.conf.KeysErr.Error(), Do: hint.Command("login") + " writes them anew once that is put right"})
	}
	for _, h := range m.hosted() {
		usable = usable || m.key(h.name).value != ""
		what := strings.TrimPrefix(m.keyWords(h.name), h.keyEnv+" is ")
		out = append(out, adroit.Finding{Name: h.keyEnv, Status: adroit.Note, What: what})
	}
	for _, name := range slices.Sorted(maps.Keys(m.conf.Endpoints)) {
		out = append(out, adroit.Finding{Name: "endpoint " + name, Status: adroit.Note, What: m.endpointWords(name)})
	}
	clis := m.examineCLIs(ctx)
	out = append(out, clis...)
	f := adroit.Finding{Name: "model", Status: adroit.Fine, What: cmp.Or(model, "chosen at each run"), Do: hint.Command("models check") + " asks it for a word"}
	if _, _, err := m.split(model); err != nil && model != "" {
		f = adroit.Finding{Name: "model", Status: adroit.Broken, What: err.Error(), Do: cmp.Or(problem.Hint(err), "name another one: model: in the config file, or ADROIT_MODEL")}
	} else if model != "" {
		f.What += m.windowWords(ctx, model)
	}
	if !usable {
		f = adroit.Finding{Name: "model", Status: adroit.Broken, What: "none can be used", Do: hint.Command("login PROVIDER") + " (" + strings.Join(hostedNames(), ", ") + "), or start Ollama and run ollama pull qwen3:8b; " + hint.Command("demo") + " needs none"}
		named := "" // that can be asked if a run names it
		for _, c := range clis {
			if c.Status == adroit.Fine {
				named = c.Name
			}
		}
		for _, name := range slices.Sorted(maps.Keys(m.conf.Endpoints)) {
			named = name + "/NAME"
		}
		if named != "" {
			f.Status, f.What, f.Do = adroit.Lacking, "none is chosen", "name one: -m "+named+", ADROIT_MODEL, or model: in the config file"
		}
	}
	return append(out, f)
}

// windowWords describe the context window of a model, "" if its provider sets it, or has none.
func (m *Source) windowWords(ctx context.Context, ref string) string {
	provider, name, err := m.split(ref)
	if err != nil || slices.Contains([]string{Ollama, Script, CLI}, provider) {
		return ""
	}
	ref = provider + "/" + name
	n, guess := m.conf.Windows.Of(ref, func(string) (int, int) { return m.Stated(ctx, ref) })
	switch _, configured := match.Pick(m.conf.Windows, ref); {
	case guess:
		return fmt.Sprintf("; window %d, a guess: windows: in the config file says what it is", n)
	case configured:
		return fmt.Sprintf("; window %d, as configured", n)
	}
	if r := m.refused(provider, name, m.ask(ctx, provider, name).Tokens); r != nil {
		return fmt.Sprintf("; window %d, which a refusal named on %s: windows: in the config file replaces it, %s has it found out again", n, r.At.Format(time.DateOnly), hint.Command("models forget %s", ref))
	}
	return fmt.Sprintf("; window %d, as its server states", n)
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
