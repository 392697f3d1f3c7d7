package provider

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/internal/llm/ollama"
	"github.com/adroit-run/adroit/internal/llm/openai"
)

// Choose implements [adroit.ModelSource]: the configured one,
// else the first of Ollama's that can call tools, else that of a provider whose
// key is set.
func (m *Source) Choose(ctx context.Context) (string, error) {
	if m.conf.Model != "" {
		return m.Canonical(m.conf.Model)
	}
	var tried string
	client, err := ollama.NewClient(m.ollama())
	switch {
	case err != nil:
		tried = err.Error()
	case !client.Up(ctx):
		tried = "Ollama does not answer"
	default:
		name, err := capable(ctx, client)
		if err == nil {
			return Ollama + "/" + name, nil
		}
		tried = err.Error()
	}
	for _, h := range m.hosted() {
		if m.key(h.name).value != "" {
			return h.name + "/" + h.model, nil
		}
	}
	return "", m.noModel(", " + tried)
}

// noModel is the error for a request that no model can answer.
func (m *Source) noModel(tried string) error {
	return apierr.Invalidf("start Ollama and run: ollama pull qwen3:8b\n"+
		"or give a key: adroit login openai (or "+strings.Join(hostedNames()[1:], ", ")+")\n"+
		"or name one with -m provider/model, ADROIT_MODEL, or model: in the config file\n"+
		"or see adroit at work without a model: adroit demo",
		"no model: none is configured%s, and there is no key of a provider", tried)
}

func capable(ctx context.Context, c *ollama.Client) (string, error) {
	list, err := c.List(ctx)
	if err != nil {
		return "", err
	}
	for _, l := range list {
		if info, err := c.Show(ctx, l.Name); err == nil && info.Can("tools") {
			return l.Name, nil
		}
	}
	return "", errors.New("no model of Ollama can call tools")
}

// Window implements [adroit.ModelSource].
func (m *Source) Window(ctx context.Context, ref string) (int, error) {
	provider, name, err := m.split(ref)
	if provider == Script && err == nil {
		r, err := m.Recording(ref)
		if r == nil {
			return 0, err
		}
		return r.Window, err
	}
	if err != nil || provider != Ollama {
		return 0, err
	}
	client, err := ollama.NewClient(m.ollama())
	if err != nil {
		return 0, err
	}
	info, err := client.Show(ctx, name)
	if err != nil {
		return 0, apierr.ModelError(err)
	}
	return m.fit(name, info), nil
}

// A stated is what a server said of a model's window, and when.
type stated struct {
	openai.Window
	at time.Time
}

// statedFor is how long it is taken for true: a server may be started anew with another one.
const statedFor = time.Minute

// Stated implements [adroit.ModelSource].
func (m *Source) Stated(ctx context.Context, ref string) (tokens, most int) {
	provider, name, err := m.split(ref)
	if err != nil || slices.Contains([]string{Ollama, Script, CLI}, provider) {
		return 0, 0
	}
	e := m.endpoint(provider)
	if e.Dialect == Anthropic || provider == Anthropic {
		return 0, 0
	}
	m.mu.Lock()
	s, ok := m.windows[provider+"/"+name]
	m.mu.Unlock()
	if !ok || time.Since(s.at) > statedFor {
		if s.Window = openai.AskWindow(ctx, e.Config, name); ctx.Err() != nil {
			return 0, 0
		}
		s.at = time.Now()
		m.mu.Lock()
		m.windows[provider+"/"+name] = s
		m.mu.Unlock()
	}
	return s.Tokens, s.Most
}

// Check implements [adroit.ModelSource].
func (m *Source) Check(ref string) error {
	if m.Unset(ref) {
		return nil
	}
	var err error
	if strings.HasPrefix(m.conf.resolve(ref), Script+":") {
		_, _, err = m.Open(ref)
	} else {
		_, _, err = m.split(ref)
	}
	return err
}

// Unset implements [adroit.ModelSource].
func (m *Source) Unset(ref string) bool {
	_, there := m.conf.Roles[ref]
	return !there && slices.Contains([]string{Default, Cheap, Strong}, ref)
}
