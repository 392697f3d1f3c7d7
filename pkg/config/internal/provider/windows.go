package provider

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

// A stated is a server's statement about a model's window, with its time.
type stated struct {
	openai.Window
	at time.Time
}

// statedTTL is the time for which a statement is valid: a server may be restarted with
// another window.
const statedTTL = time.Minute

// A refusedWindow is the context window that a refusal named.
type refusedWindow struct {
	Tokens int       `json:"tokens"`
	Stated int       `json:"stated,omitempty"` // what the server stated then: once it states another, it was started anew
	At     time.Time `json:"at"`
}

// leastRefused is less than any window: a refusal that names it is about something else.
const leastRefused = 1024

// Stated implements [adroit.ModelSource].
func (m *Source) Stated(ctx context.Context, ref string) (tokens, most int) {
	provider, name, err := m.split(ref)
	if err != nil || slices.Contains([]string{Ollama, Script, CLI}, provider) {
		return 0, 0
	}
	s := m.ask(ctx, provider, name)
	if r := m.refused(provider, name, s.Tokens); r != nil {
		return r.Tokens, s.Most
	}
	return s.Tokens, s.Most
}

// ask asks a server for a model's window, at most once in a while.
func (m *Source) ask(ctx context.Context, provider, name string) openai.Window {
	e := m.endpoint(provider)
	if e.Dialect == Anthropic || provider == Anthropic {
		return openai.Window{}
	}
	key := m.at(provider, name)
	m.shared.mu.Lock()
	s, ok := m.shared.windows[key]
	m.shared.mu.Unlock()
	if !ok || time.Since(s.at) > statedTTL {
		if s.Window = openai.AskWindow(ctx, e.Config, name); ctx.Err() != nil {
			return openai.Window{}
		}
		s.at = time.Now()
		m.shared.mu.Lock()
		m.shared.windows[key] = s
		m.shared.mu.Unlock()
	}
	return s.Window
}

// refused is the window that a refusal of the model's server named, nil if none did, or
// the server states less, or something else than it did then.
func (m *Source) refused(provider, name string, states int) *refusedWindow {
	r, ok := readKept[refusedWindow](m.conf.Refused)[m.address(provider, name)]
	if !ok || states > 0 && (states != r.Stated || states <= r.Tokens) {
		return nil
	}
	return &r
}

// address names a model at its server, as what is learned of it is kept by.
func (m *Source) address(provider, name string) string {
	base := m.endpoint(provider).BaseURL
	if provider == Ollama {
		base = m.ollama().BaseURL
	}
	base, _ = transport.Address(base)
	base = strings.TrimSuffix(base, "/v1")
	if u, err := url.Parse(base); err == nil && u.User != nil {
		u.User = nil // a password is nobody's to keep
		base = u.String()
	}
	if base == "" {
		base = provider // at its own address
	}
	return base + " " + name
}

// recordingWindows wraps a model so that the windows that its refusals name are kept.
func (m *Source) recordingWindows(provider, name string, model llm.Model) llm.Model {
	return llm.Func(func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		res, err := model.Generate(ctx, req, emit)
		if e, ok := errors.AsType[*llm.Error](err); ok && e.Kind == llm.TooLong && !errors.Is(err, transport.LimitOfRate{}) && e.Window >= leastRefused && near(e.Window, req) {
			r := refusedWindow{Tokens: e.Window, Stated: m.ask(ctx, provider, name).Tokens, At: time.Now().UTC().Truncate(time.Second)}
			key := m.address(provider, name)
			// A window that cannot be kept is found again.
			_ = changeKept(m.conf.Refused, func(all map[string]refusedWindow) bool {
				if was, ok := all[key]; ok && was.Tokens == r.Tokens && was.Stated == r.Stated {
					return false
				}
				all[key] = r
				return true
			})
		}
		return res, err
	})
}

// near reports whether a request may have had more tokens than a window has, as well as its
// bytes show it: a refusal may name other numbers.
func near(window int, req *llm.Request) bool {
	text := *req
	text.Messages = slices.Clone(req.Messages)
	for i := range text.Messages {
		text.Messages[i].Images = nil
	}
	b, err := json.Marshal(text)
	tokens := len(b) / 4
	return err == nil && window <= 4*tokens && tokens <= 8*window
}

// readKept reads a file of the data directory; one that is damaged has nothing in it.
func readKept[T any](path string) map[string]T {
	all := map[string]T{}
	b, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(b, &all) != nil || all == nil {
		return map[string]T{}
	}
	return all
}

// changeKept changes a file of the data directory, also for other processes. Do reports
// whether there is something to write.
func changeKept[T any](path string, do func(map[string]T) bool) error {
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	unlock, err := lock.Open(path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all := readKept[T](path)
	if !do(all) {
		return nil
	}
	b, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	return rootfs.WriteFile(path, append(b, '\n'))
}

// forgetWindows drops the windows that refusals of a model's server named, of all with "",
// and returns how many.
func (m *Source) forgetWindows(ref string) (n int, err error) {
	key := ""
	if ref != "" {
		provider, name, err := m.split(ref)
		if err != nil || slices.Contains([]string{Ollama, Script, CLI}, provider) {
			return 0, err
		}
		key = m.address(provider, name)
	}
	err = changeKept(m.conf.Refused, func(all map[string]refusedWindow) bool {
		for k := range all {
			if key == "" || k == key {
				delete(all, k)
				n++
			}
		}
		return n > 0
	})
	return n, err
}

// Choose implements [adroit.ModelSource]: the configured model, else the first of
// Ollama's that can call tools, else the model of a provider whose key is set.
func (m *Source) Choose(ctx context.Context) (string, error) {
	if m.conf.Model != "" {
		return m.Canonical(m.conf.Model)
	}
	var tried string
	start := "start Ollama and "
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
		tried, start = err.Error(), ""
	}
	for _, h := range m.hosted() {
		if m.key(h.name).value != "" {
			return h.name + "/" + h.model, nil
		}
	}
	return "", m.noModel(", "+tried, start)
}

// noModel is the error for a request that no model can answer; start is the step before a pull.
func (m *Source) noModel(tried, start string) error {
	return problem.Coded(problem.NoModel, start+"run: ollama pull qwen3:8b\n"+
		"or give a key: "+hint.Command("config login openai")+" (or "+strings.Join(hostedNames()[1:], ", ")+")\n"+
		"or name one with -m provider/model, which "+hint.Command("config set model provider/model")+" keeps\n"+
		"or see adroit at work without a model: "+hint.Command("demo"),
		"no model: none is configured%s, and there is no key of a provider", tried)
}

func capable(ctx context.Context, c *ollama.Client) (string, error) {
	list, err := c.List(ctx)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", errors.New("there are no models in Ollama")
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
