// Package provider opens the models of a configuration by reference: models of Ollama,
// OpenAI, Anthropic and Gemini, of other servers with their interfaces, of command-line
// agents and of scripts. A [Source] is the adroit.ModelSource of pkg/config.
package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/calling/route"
	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/match"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/anthropic"
	"github.com/adroit-run/adroit/pkg/models/cliagent"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/models/openai"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// Providers that are built in. Script is followed by a colon and a file, CLI by
// the name of a command-line agent.
const (
	Ollama    = "ollama"
	OpenAI    = "openai"
	Anthropic = "anthropic"
	Gemini    = "gemini"
	// OpenRouter may also be the name of a configured endpoint, which then replaces it.
	OpenRouter = "openrouter"
	Script     = "script"
	CLI        = "cli"
)

// A hostedProvider needs only a key.
type hostedProvider struct {
	name    string
	keyEnv  string
	baseEnv string // of another address, "" for none
	base    string // "" is the adapter's default
	model   string
}

// hosted are in the order in which one of them is chosen if no model is named. Of a new one the
// help of adroit config login has the name, and pkg/models/openai what differs in its protocol.
var hosted = []hostedProvider{
	{OpenAI, "OPENAI_API_KEY", "OPENAI_BASE_URL", "", "gpt-5-mini"},
	{Anthropic, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "", "claude-sonnet-5-5"},
	{Gemini, "GEMINI_API_KEY", "", "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3.6-flash"},
	{OpenRouter, "OPENROUTER_API_KEY", "", "https://openrouter.ai/api/v1", "openai/gpt-5-mini"},
}

// KeyVariables name the variables that hold the keys of built-in providers.
func KeyVariables() []string {
	names := []string{"OLLAMA_API_KEY"}
	for _, h := range hosted {
		names = append(names, h.keyEnv)
	}
	return names
}

// hostedKeys are the variables of hosted, for messages.
func hostedKeys() string { return strings.Join(KeyVariables()[1:], ", ") }

// Builtin are the names that no endpoint may have.
var Builtin = []string{Ollama, OpenAI, Anthropic, Gemini, Script, CLI}

// Roles that adroit itself looks for.
const (
	Default = "default" // the model of requests that name none
	Cheap   = "cheap"   // for what tools ask
	Strong  = "strong"  // for what matters most: plans, judgements
)

// A Config is an operator's set-up of models.
type Config struct {
	Model     string // of requests that name none
	Roles     map[string]Role
	Fallbacks map[string][]string  // of models, by a pattern
	Calling   map[string]turn.Mode // by a pattern
	Windows   route.Windows
	Endpoints map[string]Endpoint
	KeepAlive time.Duration // of Ollama's models
	// CLIs lists the command-line agents that can be named, and CLI opens one.
	CLIs           []string
	ConfiguredCLIs []string
	CLI            func(name string) (*cliagent.Agent, error)
	Getenv         func(string) string
	Keys           map[string]string // by provider, where no variable has one
	KeysErr        error             // why those that are kept cannot be used
	Failed         string            // the file that keeps which ways to call tools did not work
	Refused        string            // the file that keeps the windows that refusals named; empty: none
	// Secrets are kept out of the errors of models.
	Secrets *secret.Redactor
}

// A Role is a model by what it is for.
type Role struct {
	Model     string
	Fallbacks []string
	Hedge     time.Duration
}

// An Endpoint is a server with OpenAI's interface, or Anthropic's if that is its
// Dialect. KeyEnv names the variable that holds its key.
type Endpoint struct {
	openai.Config
	KeyEnv string
}

// Open returns the model of the endpoint. It does not connect.
func (e Endpoint) Open() (llm.Model, error) {
	if e.Dialect != Anthropic {
		return openai.New(e.Config)
	}
	if e.APIVersion != "" || e.OneCall || len(e.Body) > 0 {
		return nil, fmt.Errorf("%s: the dialect %s has no api_version, one_call and body", e.Name, Anthropic)
	}
	return anthropic.New(anthropic.Config{Name: e.Name, BaseURL: e.BaseURL, Key: e.Key, Headers: e.Headers,
		HTTP: e.HTTP, IdleTimeout: e.IdleTimeout, Timeout: e.Timeout})
}

// resolve returns the model of a role; other references stay as they are.
func (c *Config) resolve(ref string) string {
	if r, ok := c.Roles[ref]; ok {
		return r.Model
	}
	return ref
}

// fallbacks lists the fallbacks of a role or model.
func (c *Config) fallbacks(ref string) []string {
	if r := c.Roles[ref]; len(r.Fallbacks) > 0 {
		return r.Fallbacks
	}
	list, _ := match.Pick(c.Fallbacks, c.resolve(ref))
	return list
}

// A Source opens models by reference: ollama/NAME, openai/NAME, anthropic/NAME,
// gemini/NAME, NAME/… of an endpoint, cli/NAME, script:FILE, or a role. Keys come from the environment and
// stay here. It is safe for concurrent use.
type Source struct {
	conf    Config
	baseURL string // replaces the provider's address
	only    string // the provider that baseURL is for; empty: all

	mu     sync.Mutex
	opened map[string]llm.Model // by reference: scripts, which count their attempts, and command-line agents
	shared *endpoints
}

// endpoints caches facts about servers, by address, for all jobs of the process. It is
// safe for concurrent use.
type endpoints struct {
	mu      sync.Mutex
	opened  map[string]llm.Model // what the server wants of a request is learned in one
	windows map[string]stated
}

var _ adroit.ModelSource = (*Source)(nil)

// New returns the source of what c sets up. It calls nobody.
func New(c Config) *Source {
	return &Source{conf: c, opened: map[string]llm.Model{}, shared: &endpoints{opened: map[string]llm.Model{}, windows: map[string]stated{}}}
}

// At implements [adroit.ModelSource].
func (m *Source) At(baseURL, model string) (adroit.ModelSource, error) {
	if err := checkBaseURL(baseURL); err != nil {
		return nil, err
	}
	of := &Source{conf: m.conf, baseURL: baseURL, opened: map[string]llm.Model{}, shared: m.shared}
	if model == "" || model == pipeline.NoModel {
		return of, nil
	}
	var err error
	of.only, _, err = of.split(model)
	return of, err
}

func checkBaseURL(baseURL string) error {
	if baseURL == "" {
		return nil
	}
	base, _ := transport.Address(baseURL)
	if bad := transport.Unusable(base); bad != "" {
		return problem.Invalidf("for example http://127.0.0.1:8000/v1", "--base-url %q is not an http address: it %s", transport.Shown(base), bad)
	}
	if u, err := url.Parse(base); err == nil && u.User != nil {
		return problem.Invalidf("keys are read from "+hostedKeys()+", or from the variable that an endpoint of the config names", "--base-url must not hold a password")
	}
	return nil
}

// split takes a reference apart. A script's file is made absolute, because
// the job may go on in another directory.
func (m *Source) split(ref string) (provider, name string, err error) {
	ref = m.conf.resolve(ref)
	if file, ok := strings.CutPrefix(ref, Script+":"); ok {
		if file == "" {
			return "", "", problem.Invalidf("for example script:turns.yaml", "model %q names no file", ref)
		}
		file, err = filepath.Abs(file)
		return Script, file, err
	}
	if ref == pipeline.NoModel {
		return "", "", m.noModel("", "start Ollama and ")
	}
	provider, name, ok := strings.Cut(ref, "/")
	if !ok || provider == "" || name == "" {
		hint := "models are named provider/model, for example ollama/qwen3:8b or openai/gpt-5-mini"
		if ok || ref == "" || strings.HasPrefix(ref, "-") {
			return "", "", problem.Invalidf(hint, "%q is not a model", ref)
		}
		if slices.Contains(m.Providers(), ref) {
			return "", "", problem.Invalidf(hint, "%q is a provider; the name of a model is missing", ref)
		}
		if n := spelling.Nearest(ref, m.Roles()); n != "" {
			return "", "", problem.Invalidf("did you mean "+n+"?\nroles are configured under models: in the config file", "there is no model and no role %q", ref)
		}
		if meant := m.meant(ref); meant != "" {
			hint = fmt.Sprintf("did you mean %s?\n%s", meant, hint)
		}
		return "", "", problem.Invalidf(hint, "model %q has no provider", ref)
	}
	if provider == CLI {
		return CLI, name, m.splitCLI(name)
	}
	known := append(m.Providers(), CLI)
	if !slices.Contains(known, provider) {
		hint := "endpoints are configured under endpoints: in the config file; providers are " + strings.Join(known, ", ")
		if n := spelling.Nearest(provider, known); n != "" {
			hint = fmt.Sprintf("did you mean %s/%s?\n%s", n, name, hint)
		}
		return "", "", problem.Invalidf(hint, "unknown model provider %q", provider)
	}
	return provider, name, nil
}

// families are words that names of models begin with, as people type them without the provider,
// and the model of the family that is named if the word is all that is typed. A longer word comes
// before a shorter one.
var families = []struct{ word, provider, model string }{
	{"gpt-oss", Ollama, ""}, {"gpt", OpenAI, "gpt-5-mini"}, {"chatgpt", OpenAI, "gpt-5-mini"}, {"o3", OpenAI, ""}, {"o4", OpenAI, ""},
	{"claude-", Anthropic, ""}, {"sonnet", Anthropic, "claude-sonnet-5-5"}, {"opus", Anthropic, "claude-opus-5-5"},
	{"haiku", Anthropic, "claude-haiku-5-5"}, {"gemini-", Gemini, ""},
}

// meant is the reference that a name without a provider was most likely to be, "" for a provider
// alone and for what no model is called.
func (m *Source) meant(name string) string {
	if before, after, ok := strings.Cut(name, ":"); ok && slices.Contains(append(m.Providers(), CLI), before) {
		return before + "/" + after // as other programs write it
	}
	if slices.Contains(m.Providers(), name) || strings.ContainsFunc(name, unicode.IsSpace) {
		return ""
	}
	if slices.Contains(m.conf.CLIs, name) {
		return CLI + "/" + name
	}
	for _, f := range families {
		if name == f.word && f.model != "" {
			return f.provider + "/" + f.model
		}
		if strings.HasPrefix(name, f.word) {
			return f.provider + "/" + name
		}
	}
	return Ollama + "/" + name
}

// Canonical implements [adroit.ModelSource].
func (m *Source) Canonical(ref string) (string, error) {
	provider, name, err := m.split(ref)
	if m.conf.resolve(ref) != ref {
		return ref, err // what a role stands for is settled when the job begins
	}
	if provider == Script {
		return Script + ":" + name, err
	}
	return ref, err
}

// Driver implements [adroit.ModelSource].
func (m *Source) Driver() host.CallModes { return m.callings() }

// Open implements [adroit.ModelSource].
func (m *Source) Open(ref string) (llm.Model, string, error) {
	provider, name, err := m.split(ref)
	if err != nil {
		return nil, "", err
	}
	model, err := m.open(provider, name)
	if err != nil {
		return nil, "", err
	}
	switch provider {
	case Script:
		name = filepath.Base(name)
	case CLI:
		_, name, _ = strings.Cut(name, ":") // none is the program's own choice
	}
	return model, name, nil
}

// open makes a model, once for all jobs where it is one of a server.
func (m *Source) open(provider, name string) (llm.Model, error) {
	lock, opened := &m.shared.mu, m.shared.opened
	if provider == Script || provider == CLI {
		lock, opened = &m.mu, m.opened
	}
	lock.Lock()
	defer lock.Unlock()
	key := m.at(provider, name)
	if model, ok := opened[key]; ok {
		return model, nil
	}
	model, err := m.make(provider, name)
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{Ollama, Script, CLI}, provider) {
		model = m.recordingWindows(provider, name, model)
	}
	if provider != CLI { // which is guarded already
		model = guarded(m.hinted(provider, model), m.conf.Secrets)
	}
	opened[key] = model
	return model, nil
}

// at is a model of a provider at the address that the command line gives it.
func (m *Source) at(provider, name string) string {
	return provider + " " + m.base(provider) + " " + name
}

// scriptHint is for all that can be wrong with a script.
const scriptHint = "script: takes the path of a YAML or JSON file with the turns of a model; docs/workflows.md has the format"

func (m *Source) make(provider, name string) (llm.Model, error) {
	switch provider {
	case Script:
		s, err := script.Load(name)
		if err != nil {
			return nil, problem.WithHint(err, scriptHint)
		}
		return s, nil
	case CLI:
		return m.cliModel(name)
	case Ollama:
		return ollama.New(m.ollama())
	}
	model, err := m.endpoint(provider).Open()
	if k := m.key(provider); err != nil && k.value != "" {
		err = problem.WithHint(err, "the key is from "+k.from)
	}
	return model, err
}

// loadTime bounds the time in which a distant Ollama loads a model and reads the prompt:
// it sends nothing meanwhile, and hanging up makes it begin again. There is no bound for
// one on this machine or in its network.
const loadTime = 10 * time.Minute

func (m *Source) ollama() ollama.Config {
	c := ollama.Config{KeepAlive: m.conf.KeepAlive, BaseURL: cmp.Or(m.base(Ollama), ollamaHost(m.conf.Getenv("OLLAMA_HOST"))), Key: m.key(Ollama).value}
	if c.BaseURL != "" && !transport.Local(c.BaseURL) {
		c.IdleTimeout = loadTime
	}
	return c
}

// base is the address that the command line gives a provider, "" if none.
func (m *Source) base(provider string) string {
	if m.only != "" && m.only != provider {
		return ""
	}
	return m.baseURL
}

func (m *Source) endpoint(provider string) Endpoint {
	for _, h := range m.hosted() {
		if h.name != provider {
			continue
		}
		e := Endpoint{Config: openai.Config{Name: h.name, Key: m.key(h.name).value}, KeyEnv: h.keyEnv}
		if h.baseEnv != "" {
			e.BaseURL = m.conf.Getenv(h.baseEnv)
		}
		if e.BaseURL = cmp.Or(m.base(provider), e.BaseURL, h.base); h.name != OpenAI {
			e.Dialect = h.name
		}
		return e
	}
	e := m.conf.Endpoints[provider]
	e.BaseURL, e.Key = cmp.Or(m.base(provider), e.BaseURL), m.key(provider).value
	return e
}

// guarded is a model whose errors do not echo keys: what a provider says of a
// request may quote its headers.
func guarded(m llm.Model, r *secret.Redactor) llm.Model {
	return llm.Func(func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		res, err := m.Generate(ctx, req, emit)
		return res, redactError(r, err)
	})
}

// redactError redacts the error of an adapter.
func redactError(r *secret.Redactor, err error) error {
	var e *llm.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	c := *e
	var message, hint, cause bool
	c.Message, message = r.String(e.Message)
	c.Hint, hint = r.String(e.Hint)
	if e.Err != nil {
		_, cause = r.String(e.Err.Error())
	}
	if !message && !hint && !cause {
		return err
	}
	if cause {
		c.Err = nil // its words are in nobody's interest
	}
	return &c
}

// splitCLI checks the name after cli/: NAME or NAME:MODEL.
func (m *Source) splitCLI(name string) error {
	base, _, _ := strings.Cut(name, ":")
	known := m.conf.CLIs
	if slices.Contains(known, base) {
		return nil
	}
	hint := "there are " + strings.Join(known, ", ") + "; others are configured under cli: in the config file, see docs/models.md"
	if n := spelling.Nearest(base, known); n != "" {
		hint = fmt.Sprintf("did you mean %s/%s?\n%s", CLI, strings.Replace(name, base, n, 1), hint)
	}
	return problem.Invalidf(hint, "there is no command-line agent %q", base)
}

// A guardedResident is guarded for a model that works on its own.
type guardedResident struct {
	llm.Model
	own  extagent.Model
	hide *secret.Redactor
}

func (g guardedResident) Open(p extagent.Session) llm.Model { return guarded(g.own.Open(p), g.hide) }

// cliModel opens cli/NAME[:MODEL] and fails if the program is not there.
func (m *Source) cliModel(name string) (llm.Model, error) {
	base, _, _ := strings.Cut(name, ":")
	agent, err := m.conf.CLI(base)
	if err != nil {
		return nil, problem.WithHint(err, "")
	}
	if _, err := agent.Find(); err != nil {
		return nil, problem.ModelError(err)
	}
	return guardedResident{guarded(agent, m.conf.Secrets), agent, m.conf.Secrets}, nil
}

// A cliState describes the installation of a command-line agent on this machine.
type cliState struct {
	Name    string
	Path    string // empty: it is not installed
	Version string
	Words   string // how it is driven, or how to get it
}

// survey looks at every command-line agent, at once: some take seconds to say
// their version.
func (m *Source) survey(ctx context.Context) []cliState {
	names := m.conf.CLIs
	out := make([]cliState, len(names))
	var wait sync.WaitGroup
	for i, name := range names {
		wait.Go(func() { out[i] = m.examineCLI(ctx, name) })
	}
	wait.Wait()
	return out
}

func (m *Source) examineCLI(ctx context.Context, name string) cliState {
	s := cliState{Name: name}
	agent, err := m.conf.CLI(name)
	if err != nil {
		s.Words = err.Error()
		return s
	}
	if s.Path, err = agent.Find(); err != nil {
		var e *llm.Error
		if s.Words = err.Error(); errors.As(err, &e) && e.Hint != "" {
			s.Words = e.Hint
		}
		return s
	}
	if s.Version, err = agent.Version(ctx); err != nil {
		s.Version = "version not known"
	}
	s.Words = agent.Driven()
	return s
}

// cliWords describe a model's program and how it is driven.
func (m *Source) cliWords(ctx context.Context, ref string) []string {
	_, name, err := m.split(ref)
	if err != nil {
		return nil
	}
	base, _, _ := strings.Cut(name, ":")
	s := m.examineCLI(ctx, base)
	return []string{s.Version + "; " + s.Words}
}
