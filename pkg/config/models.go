package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/config/internal/provider"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/cliagent"
	"github.com/goccy/go-yaml"
)

// A role is a model by what it is for: default, cheap, strong or any other
// word. Its name may stand wherever provider/model does.
type role struct {
	Model     string        `yaml:"model"`
	Fallbacks []string      `yaml:"fallbacks"`
	Hedge     time.Duration `yaml:"hedge"`
}

// UnmarshalYAML reads a model, or a mapping.
func (r *role) UnmarshalYAML(b []byte) error {
	var model string
	if yaml.Unmarshal(b, &model) == nil {
		r.Model = model
		return nil
	}
	type plain role
	return yaml.UnmarshalWithOptions(b, (*plain)(r), yaml.Strict())
}

var roleName = lazyregexp.New(`^[a-z][a-z0-9_-]{0,31}$`)

// checkRoles checks models and fallbacks, and makes models.default the default
// for model.
func (c *Config) checkRoles(path string, at place) error {
	bad := func(name, hint, format string, args ...any) error {
		return fail(fmt.Errorf("%s: %s", at("models", name), fmt.Sprintf(format, args...)), hint)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		r := c.Models[name]
		switch {
		case !roleName.MatchString(name):
			return bad(name, "a role is a word such as cheap or strong", "models.%s is no name for a role", name)
		case r.Model == "":
			return bad(name, "for example "+name+": ollama/qwen3:8b", "models.%s names no model", name)
		case c.Models[r.Model].Model != "":
			return bad(name, "name it as provider/model", "models.%s stands for another role, %s", name, r.Model)
		}
	}
	if _, ok := c.Models[provider.Default]; !ok {
		return nil
	}
	if c.Model != "" {
		return bad(provider.Default, "keep one of them", "model and models.default say the same")
	}
	c.Model, c.from["model"] = provider.Default, "file "+path
	return nil
}

// source is the source of the models that are configured.
func (c *Config) source(data string, hide *secret.Redactor) *provider.Source {
	p := provider.Config{
		Model: c.Model, Roles: map[string]provider.Role{}, Fallbacks: c.Fallbacks, Calling: c.Calling, Windows: c.Windows,
		Endpoints: map[string]provider.Endpoint{}, KeepAlive: c.Ollama.KeepAlive, CLIs: c.cliAgents(), ConfiguredCLIs: slices.Collect(maps.Keys(c.CLI)), CLI: c.cliAgent,
		Getenv: c.getenv, Keys: c.keys, KeysErr: c.keysErr, Failed: filepath.Join(data, "calling.json"), Refused: filepath.Join(data, "windows.json"), Secrets: hide,
	}
	for name, r := range c.Models {
		p.Roles[name] = provider.Role(r)
	}
	for name, e := range c.Endpoints {
		p.Endpoints[name] = provider.Endpoint{Config: e.openAI(name), KeyEnv: e.KeyEnv}
	}
	return provider.New(p)
}

// keysOf returns the directory of the providers' keys: it is beside the configuration,
// not the state, which backups and --data-dir move.
func keysOf(getenv func(string) string) rootfs.File { return rootfs.In(Dir(getenv)) }

// A Login is a provider and where its key is from.
type Login struct {
	Provider string `json:"provider"`
	From     string `json:"from,omitempty"` // a variable or adroit config login, "" for no key
	// Variable goes before what is kept. "" if the provider has none.
	Variable string `json:"variable,omitempty"`
	Kept     bool   `json:"kept"` // whether adroit config login keeps a key
}

// Logins lists the providers whose servers take keys.
func (c *Config) Logins() ([]Login, error) {
	source := c.source("", nil)
	var out []Login
	for _, name := range source.Providers() {
		from, variable := source.Origin(name)
		_, kept := c.keys[name]
		out = append(out, Login{Provider: name, From: from, Variable: variable, Kept: kept})
	}
	return out, c.keysErr
}

// CheckLogin reports a provider that no key can be kept for.
func (c *Config) CheckLogin(name string) error { return c.source("", nil).CheckProvider(name) }

// VerifyLogin asks the server of a provider whether it takes a key. It asks for
// no answer of a model.
func (c *Config) VerifyLogin(ctx context.Context, name, key string) error {
	err := c.source("", nil).VerifyKey(ctx, name, key)
	switch {
	case err == nil, ctx.Err() != nil:
		return err
	case errors.Is(err, provider.ErrKeyRefused):
		return fail(err, "nothing was kept; check that all of the key was given and that it is one of "+name)
	}
	return fail(err, "nothing was kept; --no-verify keeps it all the same")
}

// KeepLogin keeps the key of a provider, and returns the file.
func (c *Config) KeepLogin(name, key string) (path string, err error) {
	f := keysOf(c.getenv)
	err = f.Set(name, key)
	switch {
	case err == nil:
		return f.Path(), nil
	case errors.Is(err, rootfs.ErrInRepository), errors.Is(err, rootfs.ErrNoDirectory):
		return "", fail(err, "set XDG_CONFIG_HOME to another directory, or give the key in a variable")
	}
	return "", fail(err, "correct that, or give the key in a variable")
}

// ForgetLogin forgets the key of a provider, and reports whether there was one.
func (c *Config) ForgetLogin(name string) (bool, error) {
	was, err := keysOf(c.getenv).Remove(name)
	if err != nil {
		err = fail(err, "")
	}
	return was, err
}

// A cliAgent configures a command-line agent: where a known one is, or how
// another is driven.
type cliAgent struct {
	Command []string          `yaml:"command" show:"words"`
	Format  string            `yaml:"format"`
	Env     []string          `yaml:"env"`
	Args    cliArgs           `yaml:"args"`
	Fields  map[string]string `yaml:"fields"`
	Types   map[string]string `yaml:"types"`
	Idle    time.Duration     `yaml:"idle"`
	Same    int               `yaml:"same"`
}

// cliArgs are the arguments of a program of format jsonl.
type cliArgs struct {
	Read    []string `yaml:"read" show:"words"`
	Write   []string `yaml:"write" show:"words"`
	Run     []string `yaml:"run" show:"words"`
	Model   []string `yaml:"model" show:"words"`
	Session []string `yaml:"session" show:"words"`
	System  []string `yaml:"system" show:"words"`
	Prompt  []string `yaml:"prompt" show:"words"`
}

// none reports whether no argument is configured.
func (a cliArgs) none() bool {
	return !slices.ContainsFunc([][]string{a.Read, a.Write, a.Run, a.Model, a.Session, a.System, a.Prompt}, func(l []string) bool { return l != nil })
}

// cliAgent is the program by its name, whether or not it is configured.
func (c *Config) cliAgent(name string) (*cliagent.Agent, error) {
	return c.newCLIAgent(name, c.CLI[name])
}

func (c *Config) newCLIAgent(name string, e cliAgent) (*cliagent.Agent, error) {
	command := slices.Clone(e.Command)
	if len(command) > 0 {
		command[0] = c.expand(command[0])
	}
	return cliagent.New(cliagent.Config{Name: name, Command: command, Format: e.Format, Env: e.Env, Args: cliagent.Args(e.Args), Fields: e.Fields, Types: e.Types,
		Limits: extagent.Limits{Idle: e.Idle, SameCalls: e.Same}, Getenv: c.getenv})
}

// cliAgents lists the command-line agents that can be named: the known and the
// configured ones, sorted.
func (c *Config) cliAgents() []string {
	names := slices.Concat(cliagent.Known(), slices.Collect(maps.Keys(c.CLI)))
	slices.Sort(names)
	return slices.Compact(names)
}

// accounts sets a price of zero for the programs that report their own cost and
// have no configured price: a cost limit then holds by what they report.
func (c *Config) accounts() {
	for _, name := range c.cliAgents() {
		ref := "cli/" + name
		a, err := c.cliAgent(name) // checkCLI reports the error
		if _, priced := c.Prices.Of(ref); priced || err != nil || !a.Costs() {
			continue
		}
		if c.Prices == nil {
			c.Prices = llm.Prices{}
		}
		c.Prices[ref], c.Prices[ref+":*"] = llm.Price{}, llm.Price{}
	}
}

func (c *Config) checkCLI(at place) error {
	for _, name := range slices.Sorted(maps.Keys(c.CLI)) {
		e := c.CLI[name]
		where := fmt.Sprintf("%s: cli.%s", at("cli", name), name)
		check := func(e cliAgent) error {
			_, err := c.newCLIAgent(name, e)
			return err
		}
		switch {
		case strings.ContainsAny(name, "/: \t") || name == "":
			return fail(fmt.Errorf("%s: %q is no name", where, name), "a name has neither a slash nor a colon, which begin what follows it")
		case e.Format != "jsonl" && (e.Fields != nil || e.Types != nil || !e.Args.none()):
			return fail(fmt.Errorf("%s: cli.%s: args, fields and types are for format: jsonl", at("cli", name, "format"), name), "leave them out, or say format: jsonl")
		}
		if slices.ContainsFunc(e.Env, func(v string) bool { return v == "" || strings.Contains(v, "=") }) {
			return fail(fmt.Errorf("%s: cli.%s.env holds names of variables, not values", at("cli", name, "env"), name), "for example env: [LAB_KEY]; the key itself is never in this file")
		}
		if err := check(e); err != nil {
			return fail(fmt.Errorf("%s: %w", faultPlace(at, e, check, "cli", name), err), "see docs/models.md")
		}
	}
	return nil
}
