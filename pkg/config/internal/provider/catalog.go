package provider

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/calling/textcall"
	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/match"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

var _ adroit.ModelCatalog = (*Source)(nil)

// List implements [adroit.ModelCatalog].
func (m *Source) List(ctx context.Context) ([]adroit.ModelInfo, error) {
	list, err := m.listOllama(ctx)
	if err != nil {
		return nil, err
	}
	listed := m.listServers(ctx)
	for _, h := range m.hosted() {
		lacks := adroit.LacksName
		if m.key(h.name).value == "" {
			lacks = adroit.LacksKey
		}
		list = append(list, adroit.ModelInfo{Model: h.name + "/NAME", Note: m.keyWords(h.name), Lacks: lacks})
		list = append(list, listed[h.name]...)
	}
	for _, name := range slices.Sorted(maps.Keys(m.conf.Endpoints)) {
		list = append(list, adroit.ModelInfo{Model: name + "/NAME", Note: m.endpointWords(name), Lacks: adroit.LacksName})
		list = append(list, listed[name]...)
	}
	for _, s := range m.survey(ctx) {
		note, lacks := s.Version+", "+s.Words, ""
		if s.Path == "" {
			note, lacks = "not installed; "+s.Words, adroit.LacksProgram
		}
		list = append(list, adroit.ModelInfo{Model: CLI + "/" + s.Name, Note: note, Lacks: lacks})
	}
	return append(list, adroit.ModelInfo{Model: "script:FILE", Note: "plays turns from a file", Lacks: adroit.LacksName}), nil
}

// maxListed bounds the models that are listed of a server.
const maxListed = 500

// listServers lists the models of the servers that speak OpenAI's protocol and that a key, or the
// configuration, gives access to. All are asked at once.
func (m *Source) listServers(ctx context.Context) map[string][]adroit.ModelInfo {
	var mu sync.Mutex
	var wait sync.WaitGroup
	listed := map[string][]adroit.ModelInfo{}
	ask := func(name string) {
		e := m.endpoint(name)
		if e.Dialect == Anthropic || name == Anthropic {
			return
		}
		wait.Go(func() {
			names := openai.Names(ctx, e.Config)
			mu.Lock()
			defer mu.Unlock()
			for _, n := range names[:min(len(names), maxListed)] {
				listed[name] = append(listed[name], adroit.ModelInfo{Model: name + "/" + n})
			}
		})
	}
	for _, h := range m.hosted() {
		if m.key(h.name).value != "" {
			ask(h.name)
		}
	}
	for name := range m.conf.Endpoints {
		ask(name)
	}
	wait.Wait()
	return listed
}

// endpointWords describe a configured endpoint: its address, and the key if it
// has or wants one.
func (m *Source) endpointWords(name string) string {
	words, _ := transport.Address(m.conf.Endpoints[name].BaseURL) // as it is asked
	words = transport.Shown(words)
	if k := m.key(name); k.value != "" || k.variable != "" {
		words += ", " + m.keyWords(name)
	}
	return words
}

func (m *Source) listOllama(ctx context.Context) ([]adroit.ModelInfo, error) {
	client, err := ollama.NewClient(m.ollama())
	if err != nil || !client.Up(ctx) {
		return []adroit.ModelInfo{{Model: "ollama/NAME", Note: "Ollama does not answer; start it with: ollama serve", Lacks: adroit.LacksServer}}, nil
	}
	found, err := client.List(ctx)
	if err != nil {
		return nil, problem.ModelError(err)
	}
	if len(found) == 0 {
		return []adroit.ModelInfo{{Model: "ollama/NAME", Note: "Ollama has no models; get one with: " + hint.Command("models pull qwen3:8b"), Lacks: adroit.LacksModel}}, nil
	}
	var list []adroit.ModelInfo
	ways := m.callings()
	for _, l := range found {
		e := adroit.ModelInfo{Model: Ollama + "/" + l.Name, Size: l.Size}
		if info, err := client.Show(ctx, l.Name); err != nil {
			e.Note = err.Error()
		} else {
			e.ModelCapabilities = m.capabilities(l.Name, info)
			e.Tools = ways.first(ctx, e.Model)
		}
		list = append(list, e)
	}
	return list, nil
}

func (m *Source) capabilities(name string, info ollama.Info) adroit.ModelCapabilities {
	return adroit.ModelCapabilities{
		Can:          info.Capabilities,
		Context:      info.Context,
		Window:       m.fit(name, info),
		Family:       string(textcall.Detect(info.Template, name, info.Family)),
		Parameters:   info.Parameters,
		Quantisation: info.Quantisation,
	}
}

// Describe implements [adroit.ModelCatalog].
func (m *Source) Describe(ctx context.Context, ref string) (*adroit.ModelCapabilities, []string, error) {
	if extagent.IsAgent(ref) {
		return nil, m.cliWords(ctx, ref), nil
	}
	ways := m.callings()
	provider, name, err := m.split(ref)
	if err != nil || provider != Ollama {
		return nil, ways.words(ctx, ref), err
	}
	client, err := ollama.NewClient(m.ollama())
	if err != nil {
		return nil, nil, err
	}
	info, err := client.Show(ctx, name)
	if err != nil {
		return nil, nil, problem.ModelError(err)
	}
	c := m.capabilities(name, info)
	c.Tools = ways.first(ctx, ref)
	return &c, ways.words(ctx, ref), nil
}

// Load implements [adroit.ModelCatalog].
func (m *Source) Load(ctx context.Context, ref string, window int) int {
	provider, name, err := m.split(ref)
	if err != nil || provider != Ollama {
		return 0
	}
	client, err := ollama.NewClient(m.ollama())
	if err != nil {
		return 0
	}
	given, _ := client.Verify(ctx, name, window) // the error says no more than given does
	return given
}

// Pull implements [adroit.ModelCatalog].
func (m *Source) Pull(ctx context.Context, p adroit.ModelPull) iter.Seq2[adroit.PullProgress, error] {
	return func(yield func(adroit.PullProgress, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		name := strings.TrimPrefix(p.Model, Ollama+"/")
		if name == "" {
			yield(adroit.PullProgress{}, problem.Invalidf("for example: "+hint.Command("models pull qwen3:8b"), "no model is named"))
			return
		}
		client, err := ollama.NewClient(m.ollama())
		left := false
		if err == nil {
			err = client.Pull(ctx, name, p.Insecure, func(p ollama.Progress) {
				if !left && !yield(adroit.PullProgress(p), nil) {
					left = true
					stop()
				}
			})
		}
		if err != nil && !left {
			yield(adroit.PullProgress{}, problem.ModelError(err))
		}
	}
}

// Forget implements [adroit.ModelCatalog].
func (m *Source) Forget(ref string) (int, error) {
	n, err := m.callings().forget(ref)
	windows, bad := m.forgetWindows(ref)
	n, err = n+windows, errors.Join(err, bad)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, problem.WithHint(fmt.Errorf("forgetting: %w", err), "check the data directory with "+hint.Command("doctor"))
	}
	return n, nil
}

// fit is the context window to ask for: the one that is configured; else the usual,
// within this machine's memory. What the model was made for bounds both.
func (m *Source) fit(name string, info ollama.Info) int {
	if n, ok := match.Pick(m.conf.Windows, Ollama+"/"+name); ok {
		return info.Window(ollama.Limits{Want: n})
	}
	return info.Window(ollama.Limits{Memory: windowMemory(m.ollama().BaseURL)})
}

// windowMemory returns the memory that a window may take on the server's machine, in
// bytes: half of the free memory if the server is on this machine, else 0 for unknown.
func windowMemory(base string) int64 {
	if base != "" {
		u, err := url.Parse(base)
		if err != nil {
			return 0
		}
		if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
			return 0
		}
	}
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), "MemAvailable:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0
	}
	kb, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0
	}
	return kb * 1024 / 2
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
