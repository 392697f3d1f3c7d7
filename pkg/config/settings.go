package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/netguard"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// A Setting is one value and where it comes from.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// Settings lists every value with its origin, in the order of the file's
// documentation.
func (c *Config) Settings() []Setting {
	var out []Setting
	for _, s := range c.entries() {
		out = append(out, Setting{s.key, s.value, c.origin(s.key)})
	}
	return append(out, c.keySettings()...)
}

// keySettings are the providers that have a key, and where it is from; the key is
// not shown.
func (c *Config) keySettings() (out []Setting) {
	list, _ := c.Logins() // doctor reports a file of keys that cannot be read
	for _, l := range list {
		from := l.From
		if from == l.Variable {
			from = "env " + from
		}
		if l.From != "" {
			out = append(out, Setting{"keys." + l.Provider, "(set)", from})
		}
	}
	return out
}

// An entry is one value, and whether the file has it.
type entry struct {
	key, value string
	set        bool
}

// defaults are the settings that are shown though nothing sets them.
func defaults() map[string]string {
	d, net := executor.DefaultLimits, netguard.Guard{}.Limits()
	return map[string]string{
		"agent": "", "model": "", "data_dir": "", "mode": string(executor.ModeEdits), "approve": string(executor.ApproveEdits), "retention": "none", "engine": "local", "temporal.address": "127.0.0.1:7233", "temporal.namespace": "default",
		"limits.turns": strconv.Itoa(d.Turns), "limits.tokens": strconv.Itoa(d.Tokens), "limits.cost_usd": "none", "limits.time": d.Time.String(),
		"limits.wait": defaultWait.String(), "conventions.bytes": strconv.Itoa(agents.DefaultProjectBytes), "jobs.at_once": "no bound",
		"coordinator.memory": coordinator.OfProject, "log.level": "off", "log.format": "text", "log.file": "stderr", "diagnostics": "on",
		"sandbox.level": "auto", "sandbox.net": "private", "sandbox.show": "none", "sandbox.write": "none",
		"sandbox.limits.memory_mb": "three quarters of the memory", "sandbox.limits.file_mb": "8192", "sandbox.limits.processes": "4096",
		"sandbox.limits.cpu_seconds": "7200", "sandbox.limits.free_mb": "512, or a sixteenth of the disk",
		"network.allow": "none", "network.timeout": net.Timeout.String(), "network.max_body": strconv.FormatInt(net.MaxBody>>20, 10),
		"network.redirects": strconv.Itoa(net.Redirects),
		"results.bytes":     strconv.Itoa(turn.DefaultResult), "hooks": "none", "permissions": "none", "mcp_servers": "none", "mcp_projects": "none",
	}
}

// entries are the settings in force.
func (c *Config) entries() []entry {
	l := listing{defaults: defaults()}
	for _, s := range c.Sections {
		for _, one := range s.Settings() {
			if one.Default != "" {
				l.defaults[s.Key()+"."+one.Key] = one.Default
			}
		}
	}
	l.add("", reflect.ValueOf(*c), "")
	return append(l.entries, c.priceEntries()...)
}

// A listing collects settings.
type listing struct {
	defaults map[string]string
	entries  []entry
}

// add adds what v has below key, shown as a tag says.
func (l *listing) add(key string, v reflect.Value, show string) {
	_, words := v.Interface().(fmt.Stringer)
	switch {
	case v.Kind() == reflect.Struct:
		for f, kid := range v.Fields() {
			if f.Type == reflect.TypeFor[sections]() {
				for _, s := range kid.Interface().(sections) {
					l.add(s.Key(), reflect.ValueOf(s).Elem(), "")
				}
			}
			if name := f.Tag.Get("yaml"); name != "" && name != "-" && f.Tag.Get("show") != "-" {
				l.add(strings.TrimPrefix(key+"."+name, "."), kid, f.Tag.Get("show"))
			}
		}
	case v.Kind() == reflect.Map && !words:
		for _, name := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) }) {
			l.add(key+"."+name.String(), v.MapIndex(name), show)
		}
	default:
		value := shown(v, show)
		if otherwise, listed := l.defaults[key]; value != "" || listed {
			l.entries = append(l.entries, entry{key, cmp.Or(value, otherwise), value != ""})
		}
	}
}

// shown is a value as text, "" for one that is not set.
func shown(v reflect.Value, show string) string {
	switch show {
	case "set":
		return "(set)"
	case "json":
		b, err := json.Marshal(v.Interface())
		if err != nil {
			return "(cannot be sent)"
		}
		return string(b)
	}
	switch x := v.Interface().(type) {
	case []string:
		if show == "words" {
			return strings.Join(x, " ")
		}
		return strings.Join(x, ", ")
	case []hooks.Hook:
		return joined(x)
	case []permit.Rule:
		return joined(x)
	case float64:
		if x != 0 {
			return strconv.FormatFloat(x, 'f', -1, 64)
		}
	case time.Duration:
		if x < 0 {
			return "for ever"
		}
	}
	switch {
	case v.IsZero():
		return ""
	case show == "host":
		return hostOf(v.String())
	}
	return fmt.Sprint(v.Interface())
}

func hostOf(s string) string {
	if u, err := url.Parse(s); err == nil {
		return u.Scheme + "://" + u.Host + "/…"
	}
	return "(set)"
}

func joined[T fmt.Stringer](list []T) string {
	var words []string
	for _, s := range list {
		words = append(words, s.String())
	}
	return strings.Join(words, "; ")
}

// origin names the source of a setting's value: a file or variable, or default.
func (c *Config) origin(key string) string {
	if f, ok := c.from[key]; ok {
		return f
	}
	return "default"
}

// builtInPrices are the prices of common models, in USD per million tokens, as published
// by their providers on the date of each. If a price depends on the length of the prompt,
// it is the price of a short one. The configuration overrides them.
var builtInPrices = llm.Prices{
	"anthropic/claude-opus-5-5*":   {In: 4, Out: 20, Cached: 0.2, Date: "2026-10-16"},
	"anthropic/claude-sonnet-5-5*": {In: 2, Out: 10, Cached: 0.1, Date: "2026-10-16"},
	"anthropic/claude-haiku-5-5*":  {In: 0.1, Out: 0.5, Cached: 0.01, Date: "2026-10-16"},
	"anthropic/claude-fable-5-1*":  {In: 10, Out: 50, Cached: 0.25, Date: "2026-10-16"},
	"anthropic/claude-opus-5":      {In: 5, Out: 25, Cached: 0.5, Date: "2026-10-16"},
	"anthropic/claude-sonnet-5":    {In: 2, Out: 10, Cached: 0.2, Date: "2026-10-16"},
	"openai/gpt-6.1-sol*":          {In: 2, Out: 10, Cached: 0.1, Date: "2026-10-16"},
	"openai/gpt-6-sol*":            {In: 2, Out: 10, Cached: 0.2, Date: "2026-10-16"},
	"openai/gpt-6-luna*":           {In: 0.1, Out: 0.5, Cached: 0.01, Date: "2026-10-16"},
	"openai/gpt-5":                 {In: 1.25, Out: 10, Cached: 0.125, Date: "2025-08-07"},
	"openai/gpt-5-mini*":           {In: 0.25, Out: 2, Cached: 0.025, Date: "2025-08-07"},
	"ollama/*":                     {Date: "2026-10-16"},
}

// priced completes the prices of the configuration: a model that it says anything
// of, by any pattern, keeps that.
func priced(own llm.Prices) llm.Prices {
	all := maps.Clone(own)
	if all == nil {
		all = llm.Prices{}
	}
	for model, p := range builtInPrices {
		if _, ok := own.Of(model); !ok {
			all[model] = p
		}
	}
	return all
}

// priceEntries are the prices that are in force.
func (c *Config) priceEntries() (out []entry) {
	for _, name := range slices.Sorted(maps.Keys(c.Prices)) {
		p := c.Prices[name]
		_, own := c.Rates[name]
		if !own && p.Date == "" {
			continue // of an account, not of tokens
		}
		if !own {
			c.from["prices."+name] = "built in, " + p.Date
		}
		out = append(out, entry{"prices." + name, fmt.Sprintf("in %g, out %g, cached %g USD per million", p.In, p.Out, p.Cached), own})
	}
	return out
}
