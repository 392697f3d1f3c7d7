package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/match"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/ollama"
)

// A keyOf is the key of a provider, "" for none.
type keyOf struct {
	value    string
	variable string // that may hold it, "" for none
	from     string // where it is from
}

// key finds the key of a provider: in its variable, else what login keeps. All
// that needs a key asks here.
func (m *Source) key(provider string) keyOf {
	k := keyOf{variable: m.conf.Endpoints[provider].KeyEnv}
	if provider == Ollama {
		k.variable = "OLLAMA_API_KEY"
	}
	for _, h := range m.hosted() {
		if h.name == provider {
			k.variable = h.keyEnv
		}
	}
	if k.variable != "" {
		k.value = transport.Secret(m.conf.Getenv(k.variable))
	}
	if k.value != "" {
		k.from = k.variable
	} else if k.value = transport.Secret(m.conf.Keys[provider]); k.value != "" {
		k.from = hint.Name("config login")
	}
	return k
}

// keyWords describe where a key is from.
func (m *Source) keyWords(provider string) string {
	k := m.key(provider)
	switch {
	case k.value == "" && k.variable == "":
		return "no key"
	case k.value == "":
		return k.variable + " is not set"
	case k.from == k.variable:
		return k.variable + " is set"
	}
	return "the key of " + hint.Name("config login")
}

// hinted is a model whose errors name the settings that they are about.
func (m *Source) hinted(provider string, model llm.Model) llm.Model {
	return llm.Func(func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		res, err := model.Generate(ctx, req, emit)
		return res, m.hint(provider, err)
	})
}

// hint names the server that refused a key and where the key is from, and of a limit of time which setting it is.
func (m *Source) hint(provider string, err error) error {
	var e *llm.Error
	if _, own := m.conf.Endpoints[provider]; own && errors.As(err, &e) && e.Kind == llm.Timeout && e.Status == 0 {
		named := *e
		named.Hint = fmt.Sprintf("endpoints.%s.idle_timeout and endpoints.%[1]s.timeout in the configuration are how long it may be silent and take", provider)
		return &named
	}
	if !errors.As(err, &e) || e.Kind != llm.Auth {
		return err
	}
	denied, other := errors.AsType[transport.Denial](err)
	if other && denied != transport.Unnamed {
		return err
	}
	if provider == Script { // it plays a provider, and has no key
		return err
	}
	named := *e
	base, _ := m.server(provider)
	at := transport.Host(base)
	switch k := m.key(provider); {
	case k.value == "" && m.conf.KeysErr != nil:
		named.Hint = m.conf.KeysErr.Error()
	case other && k.value != "":
		return err
	case k.value == "":
		named.Hint = at + " asks for a key: "
		if other {
			named.Hint = at + " got no key: "
		}
		named.Hint += hint.Command("config login %s", provider)
		if k.variable != "" {
			named.Hint += ", or set " + k.variable
		}
	case strings.ContainsFunc(k.value, func(r rune) bool { return r <= ' ' || r > '~' }):
		named.Hint = k.from + " has a character that no key has"
	case k.from == k.variable:
		named.Hint = at + " refused the key: check " + k.variable + " and the account of " + provider
	default:
		named.Hint = at + " refused the key, which is that of " + hint.Name("config login %s", provider) + ": give another, or check the account"
	}
	return &named
}

// hosted are the providers that a key alone makes usable, but for the one whose
// name an endpoint of the configuration has.
func (m *Source) hosted() []hostedProvider {
	return slices.DeleteFunc(slices.Clone(hosted), func(h hostedProvider) bool {
		_, own := m.conf.Endpoints[h.name]
		return own
	})
}

func hostedNames() (names []string) {
	for _, h := range hosted {
		names = append(names, h.name)
	}
	return names
}

// Providers lists those whose models are asked over HTTP: built in, then
// configured.
func (m *Source) Providers() []string {
	names := []string{Ollama}
	for _, h := range m.hosted() {
		names = append(names, h.name)
	}
	return append(names, slices.Sorted(maps.Keys(m.conf.Endpoints))...)
}

// Origin returns where the key of a provider is from, "" if there is none, and
// the variable that goes before what login keeps.
func (m *Source) Origin(provider string) (from, variable string) {
	k := m.key(provider)
	return k.from, k.variable
}

// server is the base URL at which a provider's models are asked, and its dialect.
func (m *Source) server(provider string) (base, dialect string) {
	if provider == Ollama {
		return cmp.Or(m.ollama().BaseURL, "http://127.0.0.1:11434"), ""
	}
	e := m.endpoint(provider)
	if e.Dialect == Anthropic {
		return cmp.Or(m.base(provider), e.BaseURL, "https://api.anthropic.com"), e.Dialect
	}
	return cmp.Or(e.BaseURL, "https://api.openai.com/v1"), e.Dialect
}

// ErrKeyRefused means that a server does not take a key.
var ErrKeyRefused = errors.New("the server refuses the key")

// VerifyKey asks the server of a provider, without a request to a model, whether it
// takes a key. Neither its error nor anything else repeats the key.
func (m *Source) VerifyKey(ctx context.Context, provider, key string) error {
	key = transport.Secret(key)
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the key has a character that no key has")
	}
	base, dialect := m.server(provider)
	path := "/models"
	if provider == Ollama {
		path = "/api/tags"
	}
	if provider == OpenRouter && m.conf.Endpoints[provider].BaseURL == "" {
		path = "/key" // its list of models is for everybody
	}
	header := http.Header{"Authorization": {"Bearer " + key}}
	if dialect == Anthropic {
		path, header = "/v1/models", http.Header{"X-Api-Key": {key}, "Anthropic-Version": {"2023-06-01"}}
	}
	base, query := transport.Address(base)
	if dialect == Anthropic {
		base = strings.TrimSuffix(base, "/v1")
	}
	if query != "" {
		path += "?" + query
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+path, nil)
	if err != nil {
		return fmt.Errorf("the address of %s cannot be used", provider)
	}
	req.Header = header
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err == nil && resp.StatusCode == http.StatusNotFound && strings.HasPrefix(path, "/models") && !strings.HasSuffix(req.URL.Path, "/v1/models") {
		resp.Body.Close()
		req.URL.Path = strings.TrimSuffix(req.URL.Path, "models") + "v1/models" // as requests to a model do
		resp, err = client.Do(req)
	}
	if err != nil {
		if ctx.Err() != nil && context.Cause(ctx) != context.DeadlineExceeded {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%s at %s does not answer", provider, req.URL.Host)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // what it lists is not of interest
	switch {
	case resp.StatusCode == 401 || resp.StatusCode == 403 || provider == Gemini && resp.StatusCode == 400:
		return fmt.Errorf("%w (%s, HTTP %d)", ErrKeyRefused, req.URL.Host, resp.StatusCode)
	case resp.StatusCode/100 != 2:
		return fmt.Errorf("%s cannot tell whether it takes the key (HTTP %d)", req.URL.Host, resp.StatusCode)
	}
	return nil
}

// CheckProvider reports a name that no key can be kept for.
func (m *Source) CheckProvider(name string) error {
	known := m.Providers()
	if slices.Contains(known, name) {
		return nil
	}
	help := "providers are " + strings.Join(known, ", ") + "; others are configured under endpoints: in the config file"
	return problem.Invalidf(help, "unknown model provider %q", name)
}

// Examine implements [adroit.ModelCatalog].
func (m *Source) Examine(ctx context.Context, model string) []adroit.Finding {
	model = cmp.Or(model, m.conf.Model)
	first, up, usable := m.examineOllama(ctx)
	out := []adroit.Finding{first}
	usable = usable || model != ""
	if m.conf.KeysErr != nil {
		out = append(out, adroit.Finding{Name: "keys", Status: adroit.Lacking, What: m.conf.KeysErr.Error(), Do: hint.Command("config login") + " writes them anew once that is put right"})
	}
	for _, h := range m.hosted() {
		usable = usable || m.key(h.name).value != ""
		what := strings.TrimPrefix(m.keyWords(h.name), h.keyEnv+" is ")
		f := adroit.Finding{Name: h.keyEnv, Status: adroit.Note, What: what}
		if m.key(h.name).value != "" {
			f.Status = adroit.Fine
		}
		out = append(out, f)
	}
	for _, name := range slices.Sorted(maps.Keys(m.conf.Endpoints)) {
		out = append(out, adroit.Finding{Name: "endpoint " + name, Status: adroit.Fine, What: m.endpointWords(name)})
	}
	clis := m.examineCLIs(ctx)
	out = append(out, clis...)
	f := adroit.Finding{Name: "model", Status: adroit.Fine, What: cmp.Or(model, "chosen at each run"), Do: hint.Command("models check") + " asks it for a word"}
	if provider, _, err := m.split(model); err != nil && model != "" {
		f = adroit.Finding{Name: "model", Status: adroit.Broken, What: err.Error(), Do: cmp.Or(problem.Hint(err), "name another one: "+hint.Command("config set model provider/model"))}
	} else if provider == Ollama && !up {
		f = adroit.Finding{Name: "model", Status: adroit.Broken, What: model + ", and Ollama " + first.What, Do: "start it with: ollama serve"}
	} else if model != "" {
		f.What += m.windowWords(ctx, model)
	}
	if !usable {
		f = adroit.Finding{Name: "model", Status: adroit.Broken, What: "none can be used", Do: hint.Command("config login PROVIDER") + " (" + strings.Join(hostedNames(), ", ") + "), or start Ollama and run ollama pull qwen3:8b; " + hint.Command("demo") + " needs none"}
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
			f.Status, f.What, f.Do = adroit.Lacking, "none is chosen", "name one: -m "+named+"; "+hint.Command("config set model %s", named)+" keeps it"
		}
	}
	for i := range out { // one model is enough, and where there is none its row names what to do
		out[i].Optional = out[i].Name != "keys" && (f.Status == adroit.Fine || out[i].Status == adroit.Note)
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

func (m *Source) examineOllama(ctx context.Context) (f adroit.Finding, up, usable bool) {
	f = adroit.Finding{Name: Ollama, Status: adroit.Lacking}
	client, err := ollama.NewClient(m.ollama())
	if err != nil {
		f.What, f.Do = err.Error(), "correct OLLAMA_HOST"
		return f, false, false
	}
	if !client.Up(ctx) {
		f.What, f.Do = "does not answer", "for local models install it from ollama.com and run: ollama serve"
		return f, false, false
	}
	name, err := capable(ctx, client)
	if err != nil {
		f.What, f.Do = err.Error(), "ollama pull qwen3:8b"
		return f, true, false
	}
	f.Status, f.What = adroit.Fine, "answers; ollama/"+name+" can call tools"
	return f, true, true
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
