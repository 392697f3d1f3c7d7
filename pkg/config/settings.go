package config

import (
	"bytes"
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

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/config/internal/provider"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/netguard"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
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
	case v.Kind() == reflect.String && (show == "address" || strings.Contains(v.String(), "://")):
		return transport.Shown(v.String())
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

// Set returns the text of a configuration file in which a key, as Settings lists it,
// has a value, which is YAML or words. Comments and everything else stay as they are.
// The result is a valid configuration of a program with these parts.
func Set(path string, text []byte, key, value string, parts ...adroit.Part) ([]byte, error) {
	keys, err := keysOfSetting(reflect.TypeFor[Config](), key, sectionsOf(parts))
	if err != nil {
		return nil, err
	}
	file, reason := rootfs.Decode(text) // its line ends, encoding and mark stay
	if reason != "" {
		return nil, fail(fmt.Errorf("%s %s", path, reason), "save it as UTF-8")
	}
	text = []byte(file.Content)
	var before map[string]any
	if err := yaml.Unmarshal(text, &before); err != nil {
		return nil, fail(plainyaml.Explain(path, text, err), "correct the file first")
	}
	var fault error
	for _, v := range spellings(value) {
		out, err := withValue(text, keys, v)
		if err != nil {
			return nil, fail(err, "set it in "+path)
		}
		c := &Config{from: map[string]string{}, getenv: func(string) string { return "" }, parts: parts, Sections: sectionsOf(parts)}
		if err := c.parse(path, out); err != nil {
			fault = cmp.Or(fault, err)
			continue
		}
		if key == "model" && value != "" && !strings.Contains(value, "/") && !strings.HasPrefix(value, provider.Script+":") { // a provider may be configured later, a name without one is none
			if _, err := c.source("", nil).Canonical(value); err != nil {
				return nil, fail(err, problem.Hint(err))
			}
		}
		if !changesOnly(before, out, keys) {
			return nil, fail(fmt.Errorf("%s cannot be set without a change of what stands beside it", key), "set it in "+path)
		}
		file.Content = string(out)
		return file.Bytes()
	}
	return nil, fault
}

// spellings lists the ways to write a value: unchanged if that is valid YAML for it, and
// in quotes.
func spellings(value string) []string {
	quoted := strconv.Quote(value)
	var v any
	err := yaml.Unmarshal([]byte(value), &v)
	words, isText := v.(string)
	if err != nil || v == nil || isText && words != value && !strings.HasPrefix(value, `"`) || strings.ContainsAny(value, "\n\r") {
		return []string{quoted}
	}
	return []string{value, quoted}
}

// keysOfSetting are the keys of the file, from the outside in, that a setting has.
func keysOfSetting(t reflect.Type, key string, parts sections) (keys []string, err error) {
	for rest := key; rest != ""; {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Struct:
			fields := map[string]reflect.Type{}
			for i := range t.NumField() {
				if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != "" && name != "-" {
					fields[name] = t.Field(i).Type
				}
			}
			if t == reflect.TypeFor[Config]() {
				for _, s := range parts {
					fields[s.Key()] = reflect.TypeOf(s)
				}
			}
			name, after, _ := strings.Cut(rest, ".")
			kind, ok := fields[name]
			if !ok {
				help := hint.Command("config show") + " lists the keys"
				if (strings.HasSuffix(name, "key") || strings.HasSuffix(name, "token")) && len(keys) == 0 {
					help = hint.Command("config login PROVIDER") + " keeps the key of a provider; it is no setting"
				} else if n := spelling.Nearest(name, slices.Sorted(maps.Keys(fields))); n != "" {
					help = fmt.Sprintf("did you mean %q?", strings.Join(append(keys, n), "."))
				}
				return nil, fail(fmt.Errorf("there is no setting %q", key), help)
			}
			keys, t, rest = append(keys, name), kind, after
		case reflect.Map:
			// A name may have dots, as that of a model does.
			name, after := rest, ""
			if e := t.Elem(); e.Kind() == reflect.Struct || e.Kind() == reflect.Pointer {
				name, after, _ = strings.Cut(rest, ".")
			}
			keys, t, rest = append(keys, name), t.Elem(), after
		default:
			return nil, fail(fmt.Errorf("there is no setting %q: %s has nothing below it", key, strings.Join(keys, ".")), hint.Command("config show")+" lists the keys")
		}
	}
	if t.Kind() == reflect.Struct || t.Kind() == reflect.Map {
		return nil, fail(fmt.Errorf("%s has keys of its own", key), hint.Command("config show")+" lists them, as "+key+".NAME")
	}
	return keys, nil
}

// withValue puts a value into the text, which was read before.
func withValue(text []byte, keys []string, value string) ([]byte, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(text), "\n")
	var at ast.Node
	for _, d := range file.Docs {
		if d.Body != nil {
			at = d.Body
			break
		}
	}
	indent, after := "", -1 // where what is new goes: behind this line, or to the end
	for i, key := range keys {
		entry := entryOf(at, key)
		if entry == nil {
			if after >= 0 {
				if m, ok := at.(*ast.MappingNode); ok && m.IsFlowStyle {
					return nil, fmt.Errorf("%s is written in one line", strings.Join(keys[:i], "."))
				}
				if at.Type() != ast.NullType && at.Type() != ast.MappingType && at.Type() != ast.MappingValueType {
					return nil, fmt.Errorf("%s has a value already", strings.Join(keys[:i], "."))
				}
			}
			var added []string
			for j, k := range keys[i:] {
				line := indent + strings.Repeat("  ", j) + keyText(k) + ":"
				if i+j == len(keys)-1 {
					line += " " + value
				}
				added = append(added, line)
			}
			if after < 0 {
				head := strings.TrimRight(string(text), "\n")
				if head != "" {
					head += "\n"
				}
				return []byte(head + strings.Join(added, "\n") + "\n"), nil
			}
			return []byte(strings.Join(slices.Insert(lines, after+1, added...), "\n")), nil
		}
		at = entry.Value
		after = entry.Key.GetToken().Position.Line - 1
		indent = strings.Repeat(" ", entry.Key.GetToken().Position.Column-1+2)
		if kids := entriesOf(at); len(kids) > 0 {
			indent = strings.Repeat(" ", kids[0].Key.GetToken().Position.Column-1)
		}
	}
	old, line := strings.TrimSpace(at.GetToken().Origin), at.GetToken().Position.Line-1
	if at.Type() == ast.NullType && (old == "" || !strings.Contains(lines[after], old)) {
		lines[after] = strings.Replace(lines[after], ":", ": "+value, 1)
		return []byte(strings.Join(lines, "\n")), nil
	}
	if _, scalar := at.(ast.ScalarNode); !scalar || at.Type() == ast.LiteralType || line != after || strings.Contains(old, "\n") {
		return nil, fmt.Errorf("%s has a value of several lines", strings.Join(keys, "."))
	}
	colon := strings.Index(lines[line], ":")
	if q := lines[line][:max(colon, 0)]; strings.ContainsAny(q, `"'`) {
		colon = strings.LastIndex(lines[line], old) - 1
	}
	if i := strings.Index(lines[line][max(colon, 0):], old); i >= 0 {
		i += max(colon, 0)
		lines[line] = lines[line][:i] + value + lines[line][i+len(old):]
	}
	return []byte(strings.Join(lines, "\n")), nil
}

// keyText is a key as it is written: one with a colon is quoted.
func keyText(key string) string {
	if strings.ContainsAny(key, ": #'\"{}[],&*!|>%@`") {
		return strconv.Quote(key)
	}
	return key
}

func entriesOf(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

func entryOf(n ast.Node, key string) *ast.MappingValueNode {
	for _, e := range entriesOf(n) {
		if e.Key.GetToken().Value == key {
			return e
		}
	}
	return nil
}

// changesOnly reports whether a text has what there was before, but for one value.
func changesOnly(before map[string]any, text []byte, keys []string) bool {
	var after map[string]any
	if yaml.Unmarshal(bytes.Clone(text), &after) != nil {
		return false
	}
	return reflect.DeepEqual(without(before, keys), without(after, keys))
}

// without is m but for the value at keys, and for mappings that have nothing else.
func without(m map[string]any, keys []string) map[string]any {
	out := maps.Clone(m)
	kid, _ := out[keys[0]].(map[string]any)
	delete(out, keys[0])
	if len(keys) > 1 && len(kid) > 0 {
		if kid = without(kid, keys[1:]); len(kid) > 0 {
			out[keys[0]] = kid
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
