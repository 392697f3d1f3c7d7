package provider

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/models/ollama"
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
	return problem.Invalidf("start Ollama and run: ollama pull qwen3:8b\n"+
		"or give a key: "+hint.Command("login openai")+" (or "+strings.Join(hostedNames()[1:], ", ")+")\n"+
		"or name one with -m provider/model, ADROIT_MODEL, or model: in the config file\n"+
		"or see adroit at work without a model: "+hint.Command("demo"),
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
		return 0, problem.ModelError(err)
	}
	return m.fit(name, info), nil
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
