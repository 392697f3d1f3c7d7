package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/executor/handler"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/ollama"
	"github.com/adroit-run/adroit/pkg/llm/openai"
	"github.com/adroit-run/adroit/pkg/llm/script"
	"github.com/adroit-run/adroit/pkg/pipeline"
	"github.com/adroit-run/adroit/pkg/secret"
)

// Providers that are built in. script: is followed by a file.
const (
	ollamaProvider = "ollama"
	openaiProvider = "openai"
	scriptProvider = "script"
)

// models opens models by reference: ollama/NAME, openai/NAME, NAME/… of a
// configured endpoint, script:FILE. BaseURL, if set, replaces the provider's
// address. Keys come from the environment and stay here.
type models struct {
	conf    *config.Config
	getenv  func(string) string
	path    string // keeps which ways to call tools did not work
	baseURL string
	only    string // the provider that baseURL is for; empty: all
	hide    *secret.Redactor

	mu     sync.Mutex
	opened map[string]llm.Model // by reference: a scripted model counts its attempts
}

func (a *app) models(baseURL string) (*models, error) {
	conf, err := a.config()
	if err != nil {
		return nil, err
	}
	if err := checkBaseURL(baseURL); err != nil {
		return nil, err
	}
	dir, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	return &models{conf: conf, getenv: a.Getenv, path: filepath.Join(dir, "calling.json"), baseURL: baseURL, hide: a.redactor(), opened: map[string]llm.Model{}}, nil
}

func checkBaseURL(baseURL string) error {
	if baseURL == "" {
		return nil
	}
	u, err := url.Parse(baseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return adroit.Invalidf("for example http://127.0.0.1:8000/v1", "--base-url %q is not an http address", baseURL)
	}
	if u.User != nil {
		return adroit.Invalidf("keys are read from OPENAI_API_KEY, or from the variable that an endpoint of the config names", "--base-url must not hold a password")
	}
	return nil
}

// split takes a reference apart. A script's file is made absolute, because
// the job may go on in another directory.
func (m *models) split(ref string) (provider, name string, err error) {
	ref = m.conf.ModelOf(ref)
	if file, ok := strings.CutPrefix(ref, scriptProvider+":"); ok {
		if file == "" {
			return "", "", adroit.Invalidf("for example script:turns.yaml", "model %q names no file", ref)
		}
		file, err = filepath.Abs(file)
		return scriptProvider, file, err
	}
	provider, name, ok := strings.Cut(ref, "/")
	if !ok || provider == "" || name == "" {
		hint := "models are named provider/model, for example ollama/qwen3:8b or openai/gpt-5-mini"
		if ok || ref == "" || strings.HasPrefix(ref, "-") {
			return "", "", adroit.Invalidf(hint, "%q is not a model", ref)
		}
		if n := nearest(ref, m.Roles()); n != "" {
			return "", "", adroit.Invalidf("did you mean "+n+"?\nroles are configured under models: in the config file", "there is no model and no role %q", ref)
		}
		return "", "", adroit.Invalidf(fmt.Sprintf("did you mean ollama/%s?\n%s", ref, hint), "model %q has no provider", ref)
	}
	if provider == cliProvider {
		return cliProvider, name, m.splitCLI(name)
	}
	known := append([]string{ollamaProvider, openaiProvider, cliProvider}, slices.Sorted(maps.Keys(m.conf.Endpoints))...)
	if !slices.Contains(known, provider) {
		hint := "endpoints are configured under endpoints: in the config file; providers are " + strings.Join(known, ", ")
		if n := nearest(provider, known); n != "" {
			hint = fmt.Sprintf("did you mean %s/%s?\n%s", n, name, hint)
		}
		return "", "", adroit.Invalidf(hint, "unknown model provider %q", provider)
	}
	return provider, name, nil
}

// Canonical implements [adroit.ModelSource].
func (m *models) Canonical(ref string) (string, error) {
	provider, name, err := m.split(ref)
	if m.conf.ModelOf(ref) != ref {
		return ref, err // what a role stands for is settled when the job begins
	}
	if provider == scriptProvider {
		return scriptProvider + ":" + name, err
	}
	return ref, err
}

var _ adroit.ModelSource = (*models)(nil)

// At implements [adroit.ModelSource].
func (m *models) At(baseURL, model string) (adroit.ModelSource, error) {
	if err := checkBaseURL(baseURL); err != nil {
		return nil, err
	}
	of := &models{conf: m.conf, getenv: m.getenv, path: m.path, baseURL: baseURL, hide: m.hide, opened: map[string]llm.Model{}}
	if model == "" || model == pipeline.NoModel {
		return of, nil
	}
	var err error
	of.only, _, err = of.split(model)
	return of, err
}

// Driver implements [adroit.ModelSource].
func (m *models) Driver() handler.CallModes { return m.callings() }

// Open implements [adroit.ModelSource].
func (m *models) Open(ref string) (llm.Model, string, error) {
	provider, name, err := m.split(ref)
	if err != nil {
		return nil, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ref = provider + ":" + name
	model, ok := m.opened[ref]
	if !ok {
		if model, err = m.make(provider, name); err != nil {
			return nil, "", err
		}
		if provider != cliProvider { // which is guarded already
			model = guarded(model, m.hide)
		}
		m.opened[ref] = model
	}
	switch provider {
	case scriptProvider:
		name = filepath.Base(name)
	case cliProvider:
		_, name, _ = strings.Cut(name, ":") // none is the program's own choice
	}
	return model, name, nil
}

func (m *models) make(provider, name string) (llm.Model, error) {
	switch provider {
	case scriptProvider:
		s, err := script.Load(name)
		if err != nil {
			return nil, adroit.WithHint(err, "")
		}
		return s, nil
	case cliProvider:
		return m.cliModel(name)
	case ollamaProvider:
		return ollama.New(m.ollama())
	}
	return openai.New(m.endpoint(provider))
}

func (m *models) ollama() ollama.Config {
	return ollama.Config{KeepAlive: m.conf.Ollama.KeepAlive, BaseURL: cmp.Or(m.base(ollamaProvider), ollamaHost(m.getenv("OLLAMA_HOST"))), Key: m.getenv("OLLAMA_API_KEY")}
}

// base is the address that the command line gives a provider, "" if none.
func (m *models) base(provider string) string {
	if m.only != "" && m.only != provider {
		return ""
	}
	return m.baseURL
}

// ollamaHost reads the variable as Ollama's own client does: a scheme and a
// port may be missing, and an address to listen on means this machine.
func ollamaHost(v string) string {
	v = strings.TrimSpace(v)
	if v == "" {
		return ""
	}
	if !strings.Contains(v, "://") {
		v = "http://" + v
	}
	u, err := url.Parse(v)
	if err != nil || u.Host == "" {
		return v
	}
	host, port := u.Hostname(), u.Port()
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "127.0.0.1"
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == "" {
		port = map[string]string{"http": "11434", "https": "443"}[u.Scheme]
	}
	u.Host = host + ":" + port
	return u.String()
}

func (m *models) endpoint(provider string) openai.Config {
	if provider == openaiProvider {
		return openai.Config{Name: provider, BaseURL: cmp.Or(m.base(provider), m.getenv("OPENAI_BASE_URL")), Key: m.getenv("OPENAI_API_KEY")}
	}
	e := m.conf.Endpoints[provider]
	c := e.OpenAI(provider)
	c.BaseURL = cmp.Or(m.base(provider), c.BaseURL)
	if e.KeyEnv != "" {
		c.Key = m.getenv(e.KeyEnv)
	}
	return c
}

// openaiDefault is used when nothing names a model but a key is there.
const openaiDefault = "openai/gpt-5-mini"

// Choose implements [adroit.ModelSource]: the configured one,
// else the first of Ollama's that can call tools, else OpenAI's.
func (m *models) Choose(ctx context.Context) (string, error) {
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
			return ollamaProvider + "/" + name, nil
		}
		tried = err.Error()
	}
	if m.getenv("OPENAI_API_KEY") != "" {
		return openaiDefault, nil
	}
	return "", adroit.Invalidf("start Ollama and run: ollama pull qwen3:8b\n"+
		"or name one with -m provider/model, ADROIT_MODEL, or model: in the config file\n"+
		"or see adroit at work without a model: adroit demo",
		"no model: none is configured, %s, and OPENAI_API_KEY is not set", tried)
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
func (m *models) Window(ctx context.Context, ref string) (int, error) {
	provider, name, err := m.split(ref)
	if provider == scriptProvider && err == nil {
		r, err := m.Recording(ref)
		if r == nil {
			return 0, err
		}
		return r.Window, err
	}
	if err != nil || provider != ollamaProvider {
		return 0, err
	}
	client, err := ollama.NewClient(m.ollama())
	if err != nil {
		return 0, err
	}
	info, err := client.Show(ctx, name)
	if err != nil {
		return 0, modelFault(err)
	}
	return m.fit(info), nil
}

// verify loads the model with the window and returns the one it really got, 0
// if that is unknown.
func (m *models) verify(ctx context.Context, ref string, window int) int {
	provider, name, err := m.split(ref)
	if err != nil || provider != ollamaProvider {
		return 0
	}
	client, err := ollama.NewClient(m.ollama())
	if err != nil {
		return 0
	}
	given, _ := client.Verify(ctx, name, window) // the error says no more than given does
	return given
}

// modelFault adds a provider's hint.
func modelFault(err error) error {
	var e *llm.Error
	if errors.As(err, &e) {
		return adroit.WithHint(err, cmp.Or(e.Hint, "adroit models list says which models there are"))
	}
	return err
}

// Check implements [adroit.ModelSource].
func (m *models) Check(ref string) error {
	if m.Unset(ref) {
		return nil
	}
	var err error
	if strings.HasPrefix(m.conf.ModelOf(ref), scriptProvider+":") {
		_, _, err = m.Open(ref)
	} else {
		_, _, err = m.split(ref)
	}
	return err
}

// Unset implements [adroit.ModelSource].
func (m *models) Unset(ref string) bool {
	_, there := m.conf.Models[ref]
	return !there && slices.Contains([]string{config.RoleDefault, config.RoleCheap, roleStrong}, ref)
}

// roleStrong is for what matters most: plans, judgements.
const roleStrong = "strong"
