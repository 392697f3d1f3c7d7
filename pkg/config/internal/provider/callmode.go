package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/text/match"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

// dialect is the protocol dialect of an endpoint's server; configured is false
// if it was guessed.
func (m *Source) dialect(provider string) (d openai.Dialect, configured bool) {
	if e := m.conf.Endpoints[provider]; e.Dialect != "" {
		if d, ok := openai.Known(e.Dialect); ok {
			return d, true
		}
	}
	return openai.Guess(m.endpoint(provider).BaseURL), false
}

// A callings decides how models call tools: by the configuration, the abilities of their
// servers, and modes that failed before, which it keeps in the data directory. It is safe
// for concurrent use, also by processes.
type callings struct {
	models *Source
	path   string
	now    func() time.Time

	mu  sync.Mutex
	can map[string][]turn.Mode // by reference, as its server reports
}

// A memory is a way that did not work with a model.
type memory struct {
	turn.ModeFailure
	At time.Time `json:"at"`
}

func (m *Source) callings() *callings {
	return &callings{models: m, path: m.conf.Failed, now: time.Now, can: map[string][]turn.Mode{}}
}

// Modes implements [host.CallModes].
func (c *callings) Modes(ctx context.Context, ref string) ([]turn.Mode, string) {
	if way, ok := match.Pick(c.models.conf.Calling, ref); ok && way != turn.Auto {
		return []turn.Mode{way}, "configured under calling"
	}
	list, why := c.able(ctx, ref)
	all := c.remembered()
	for _, b := range append(all[c.key(ref)], all[ref]...) { // by reference in files of earlier versions
		left := slices.DeleteFunc(slices.Clone(list), func(w turn.Mode) bool { return w == b.Mode })
		if len(left) > 0 && len(left) < len(list) {
			list, why = left, fmt.Sprintf("%s did not work on %s: %s", b.Mode, b.At.Format(time.DateOnly), b.Why)
		}
	}
	return list, why
}

// first is the way that a model's next job begins with.
func (c *callings) first(ctx context.Context, ref string) string {
	list, _ := c.Modes(ctx, ref)
	return string(list[0])
}

// able lists the ways that a model's server offers.
func (c *callings) able(ctx context.Context, ref string) ([]turn.Mode, string) {
	all := []turn.Mode{turn.Native, turn.Constrained, turn.Text}
	provider, name, err := c.models.split(ref)
	switch {
	case err != nil:
		return all, ""
	case provider == Script:
		return all[:1], ""
	case c.models.endpoint(provider).Dialect == Anthropic:
		return all, ""
	case provider != Ollama:
		if d, _ := c.models.dialect(provider); !d.Holds() {
			return []turn.Mode{turn.Native, turn.Text}, ""
		}
		return all, ""
	}
	c.mu.Lock()
	list, ok := c.can[ref]
	c.mu.Unlock()
	if !ok {
		client, err := ollama.NewClient(c.models.ollama())
		if err != nil {
			return all, ""
		}
		info, err := client.Show(ctx, name)
		if err != nil {
			return all, "" // the request for an answer will tell why
		}
		if list = all; !info.Can("tools") {
			list = all[1:]
		}
		c.mu.Lock()
		c.can[ref] = list
		c.mu.Unlock()
	}
	if len(list) < len(all) {
		return list, "the model's template has no tools"
	}
	return list, ""
}

// key returns the key of a model's failures: its server and name, since another server
// may have another model of that name.
func (c *callings) key(ref string) string {
	provider, name, err := c.models.split(ref)
	if err != nil || provider == Script || provider == CLI {
		return ref
	}
	return c.models.address(provider, name)
}

// Learn implements [host.CallModes].
func (c *callings) Learn(ref string, s turn.ModeFailure) {
	key := c.key(ref)
	// A failure that cannot be kept is found again.
	_ = c.change(func(all map[string][]memory) bool {
		if slices.ContainsFunc(all[key], func(m memory) bool { return m.Mode == s.Mode }) {
			return false
		}
		all[key] = append(all[key], memory{s, c.now().UTC().Truncate(time.Second)})
		return true
	})
}

// remembered returns the failures of call modes, by server and model.
func (c *callings) remembered() map[string][]memory { return readKept[[]memory](c.path) }

// forget drops what is remembered of a model, of all with "", and says how
// much that was.
func (c *callings) forget(ref string) (n int, err error) {
	key := c.key(ref)
	err = c.change(func(all map[string][]memory) bool {
		for model, list := range all {
			if ref == "" || model == key || model == ref {
				n += len(list)
				delete(all, model)
			}
		}
		return n > 0
	})
	return n, err
}

func (c *callings) change(do func(map[string][]memory) bool) error { return changeKept(c.path, do) }

// words tell how a model calls tools and why not in the first way.
func (c *callings) words(ctx context.Context, ref string) []string {
	list, why := c.Modes(ctx, ref)
	text := "calls tools: " + string(list[0])
	if len(list) > 1 {
		var rest []string
		for _, w := range list[1:] {
			rest = append(rest, string(w))
		}
		text += ", then " + strings.Join(rest, ", then ")
	}
	if why != "" {
		text += " (" + why + ")"
	}
	out := []string{text}
	provider, _, err := c.models.split(ref)
	if err == nil && c.models.endpoint(provider).Dialect == Anthropic {
		return append(out, "dialect anthropic: the Messages API, with prompt caching")
	}
	if err == nil && provider != Ollama && provider != Script {
		d, configured := c.models.dialect(provider)
		how := "guessed from the address"
		if configured {
			how = "as configured"
		}
		out = append(out, fmt.Sprintf("dialect %s, %s: %s", d.Name, how, d.About))
	}
	return out
}
