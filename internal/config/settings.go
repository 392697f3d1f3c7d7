package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
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

func (c *Config) entries() []entry {
	d := executor.DefaultLimits
	pick := func(key, value, otherwise string) entry {
		if value == "" {
			return entry{key, otherwise, false}
		}
		return entry{key, value, true}
	}
	num := func(f float64) string {
		if f == 0 {
			return ""
		}
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	span := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}
	out := []entry{
		pick("agent", c.Agent, ""),
		pick("model", c.Model, ""),
		pick("mode", string(c.Mode), string(executor.ModeEdits)),
		pick("approve", string(c.Approve), string(executor.ApproveEdits)),
		pick("limits.turns", num(float64(c.Limits.Turns)), strconv.Itoa(d.Turns)),
		pick("limits.tokens", num(float64(c.Limits.Tokens)), strconv.Itoa(d.Tokens)),
		pick("limits.cost_usd", num(c.Limits.CostUSD), "none"),
		pick("limits.time", span(c.Limits.Time), d.Time.String()),
		pick("limits.wait", span(c.Limits.Wait), defaultWait.String()),
		pick("data_dir", c.DataDir, ""),
		pick("retention", c.Retention, "none"),
		pick("conventions.bytes", num(float64(c.Conventions.Bytes)), strconv.Itoa(agents.DefaultProjectBytes)),
	}
	for _, l := range []struct {
		key  string
		list []string
	}{{"secrets.deny", c.Secrets.Deny}, {"secrets.allow", c.Secrets.Allow}, {"secrets.known", c.Secrets.Known}} {
		if len(l.list) > 0 {
			out = append(out, entry{l.key, strings.Join(l.list, ", "), true})
		}
	}
	out = append(out, slices.Concat(c.Jobs.entries(), c.Coordinator.entries(), c.Log.entries())...)
	out = append(out, callingEntries(c.Calling)...)
	out = append(out, c.serverEntries()...)
	out = append(out, c.hookEntries()...)
	out = append(out, c.Sandbox.entries()...)
	out = append(out, c.Network.entries()...)
	out = append(out, c.Research.entries()...)
	out = append(out, publishEntries(c.Publish)...)
	out = append(out, c.GitHub.entries()...)
	out = append(out, c.Transcription.entries()...)
	out = append(out, permissionEntry(c.Permissions))
	out = append(out, c.testEntries()...)
	out = append(out, formatEntries(c.EditFormats)...)
	out = append(out, c.resultEntries()...)
	for _, name := range slices.Sorted(maps.Keys(c.Endpoints)) {
		e := c.Endpoints[name]
		out = append(out, entry{"endpoints." + name + ".base_url", e.BaseURL, true})
		if e.KeyEnv != "" {
			out = append(out, entry{"endpoints." + name + ".key_env", e.KeyEnv, true})
		}
		for _, h := range slices.Sorted(maps.Keys(e.Headers)) {
			// A header may carry a key: its value is not shown.
			out = append(out, entry{"endpoints." + name + ".headers." + h, "(set)", true})
		}
		out = append(out, e.dialectEntries(name)...)
	}
	out = append(out, c.Ollama.entries()...)
	out = append(out, c.cliEntries()...)
	out = append(out, c.mcpEntries()...)
	out = append(out, c.roleEntries()...)
	return append(out, c.priceEntries()...)
}

// origin is where a setting comes from.
func (c *Config) origin(key string) string {
	if f, ok := c.from[key]; ok {
		return f
	}
	return "default"
}
