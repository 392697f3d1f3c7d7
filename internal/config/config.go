// Package config reads the configuration: the file, then the environment, then
// the flags. It checks all of it and knows where each value comes from.
//
//	c, err := config.Load(config.Env{}, config.Flags{})
//	o, err := c.Options(config.Program{Tools: std.All()})
//	rt, err := adroit.Open(ctx, o)
//
// A section of the file is a file of this package: its type, its checks, its
// settings and its conversion to what the rest of the program takes.
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/adroit-run/adroit/internal/agentfile"
	"github.com/adroit-run/adroit/internal/executor/toolcall"
	"github.com/adroit-run/adroit/internal/hint"
	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/provider"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/internal/tools/edit"
	"github.com/adroit-run/adroit/internal/workspace/textfile"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm/price"
	"github.com/adroit-run/adroit/pkg/permit"
)

// A Config is the configuration. Every key of the file is optional. Settings are
// listed in the order of the fields; a tag says how one is shown if that is not by its
// value: words, host, set, json.
type Config struct {
	Agent       string           `yaml:"agent"`
	Model       string           `yaml:"model"`
	Mode        executor.Mode    `yaml:"mode"`
	Approve     executor.Approve `yaml:"approve"`
	Limits      limits           `yaml:"limits"`
	DataDir     string           `yaml:"data_dir"`
	Retention   string           `yaml:"retention"` // as parseAge reads it
	Conventions conventions      `yaml:"conventions"`
	Secrets     secrets          `yaml:"secrets"`

	Jobs        jobsSection        `yaml:"jobs"`
	Coordinator coordinatorSection `yaml:"coordinator"`
	Log         logSection         `yaml:"log"`

	Calling map[string]toolcall.Mode `yaml:"calling"`

	Diagnostics string                    `yaml:"diagnostics"`
	Servers     map[string]languageServer `yaml:"language_servers"`

	Hooks    []hooks.Hook    `yaml:"hooks"`
	Sandbox  sandboxSection  `yaml:"sandbox"`
	Network  networkSection  `yaml:"network"`
	Research researchSection `yaml:"research"`
	Publish  publishSection  `yaml:"publish"`
	GitHub   githubSection   `yaml:"github"`

	Transcription transcriptionSection `yaml:"transcription"`

	Permissions []permit.Rule     `yaml:"permissions"`
	Test        map[string]string `yaml:"test"` // the command that runs the tests of a project, by its directory

	EditFormats map[string]edit.Format `yaml:"edit_formats"`

	Results results        `yaml:"results"`
	Windows map[string]int `yaml:"windows"`

	Endpoints map[string]endpoint `yaml:"endpoints"`
	Ollama    ollamaSection       `yaml:"ollama"`
	CLI       map[string]cliAgent `yaml:"cli"`
	MCP       mcpSection          `yaml:"mcp_servers"`
	Projects  mcpProjects         `yaml:"mcp_projects"`
	Models    map[string]role     `yaml:"models"`
	Fallbacks map[string][]string `yaml:"fallbacks"`
	Prices    price.Table         `yaml:"-"`
	Rates     map[string]rate     `yaml:"prices" show:"-"` // Prices are shown

	from   map[string]string // where a value comes from; a missing key means default
	getenv func(string) string
	keys   map[string]string // of adroit login, by provider
	// keysErr is why those that are kept cannot be used.
	keysErr error
}

type limits struct {
	Turns   int           `yaml:"turns"`
	Tokens  int           `yaml:"tokens"`
	CostUSD float64       `yaml:"cost_usd"`
	Time    time.Duration `yaml:"time"`
	Wait    time.Duration `yaml:"wait"` // for a busy server
}

// defaultWait is how long a request waits for a server that is busy.
const defaultWait = 10 * time.Minute

// conventions bound what a project's AGENTS.md may take of a prompt.
type conventions struct {
	Bytes int `yaml:"bytes"` // -1: none of it
}

// An Env is how Load reads variables and files; the zero value reads those of
// the process.
type Env struct {
	Getenv   func(string) string
	ReadFile func(string) ([]byte, error)
}

// Flags are the flags that override settings; zero values are not given.
type Flags struct{ DataDir string }

// Path is the configuration file, "" if there is no home directory.
func Path(getenv func(string) string) string {
	if p := getenv("ADROIT_CONFIG"); p != "" {
		return p
	}
	if d := Dir(getenv); d != "" {
		return filepath.Join(d, "config.yaml")
	}
	return ""
}

// Dir holds the configuration file and the user's agents, "" if there is
// no home directory.
func Dir(getenv func(string) string) string { return xdg(getenv, "XDG_CONFIG_HOME", ".config") }

// xdg is the program's directory below the one that a variable names, else below that
// of the home directory, "" without either.
func xdg(getenv func(string) string, variable, below string) string {
	if d := getenv(variable); filepath.IsAbs(d) {
		return filepath.Join(d, "adroit")
	}
	if h := getenv("HOME"); h != "" {
		return filepath.Join(h, below, "adroit")
	}
	return ""
}

// Load reads the file, then the environment, then the flags: each
// overrides the one before.
func Load(env Env, flags Flags) (*Config, error) {
	if env.Getenv == nil {
		env.Getenv = os.Getenv
	}
	if env.ReadFile == nil {
		env.ReadFile = os.ReadFile
	}
	return readWith(env, flags, func(c *Config, path string, b []byte) error { return c.parse(path, b) })
}

// LoadPlace is Load for what only looks at jobs: of a file with faults it takes nothing but
// data_dir. It fails where that cannot be known.
func LoadPlace(env Env, flags Flags) (*Config, error) {
	return readWith(env, flags, func(c *Config, path string, b []byte) error {
		var file struct {
			DataDir string `yaml:"data_dir"`
		}
		b = textfile.ToUTF8(b)
		if err := yaml.Unmarshal(b, &file); err != nil && (flags.DataDir == "" && bytes.Contains(b, []byte("data_dir")) || !textfile.IsText(b)) {
			return fail(explain(path, b, err), "name the directory with --data-dir DIR, or correct the file")
		}
		c.DataDir = file.DataDir
		return nil
	})
}

func readWith(env Env, flags Flags, parse func(c *Config, path string, b []byte) error) (*Config, error) {
	c := &Config{from: map[string]string{}, getenv: env.Getenv}
	path, named := Path(env.Getenv), env.Getenv("ADROIT_CONFIG") != ""
	if path != "" {
		b, err := env.ReadFile(path)
		switch {
		case !named && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)):
		case err != nil:
			return nil, fail(fmt.Errorf("reading the configuration: %w", err), "unset ADROIT_CONFIG or name a file that can be read")
		default:
			if err := parse(c, path, b); err != nil {
				return nil, err
			}
		}
	}
	if err := c.environ(env.Getenv); err != nil {
		return nil, err
	}
	if flags.DataDir != "" {
		c.DataDir, c.from["data_dir"] = flags.DataDir, "flag --data-dir"
	}
	if c.DataDir == "" {
		c.DataDir = xdg(env.Getenv, "XDG_DATA_HOME", ".local/share")
	}
	c.DataDir, c.Prices = c.expand(c.DataDir), priced(c.Prices)
	c.accounts()
	c.keys, c.keysErr = keysOf(env.Getenv).Keys()
	return c, nil
}

// meant is the key at the top of the file that an unknown one is near to, "" if it
// is near to none.
func meant(err error) string {
	var unknown *yaml.UnknownFieldError
	if !errors.As(err, &unknown) || unknown.GetToken().Position.Column > 1 {
		return ""
	}
	var keys []string
	for t, i := reflect.TypeFor[Config](), 0; i < t.NumField(); i++ {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != "" && name != "-" {
			keys = append(keys, name)
		}
	}
	return spelling.Nearest(unknown.GetToken().Value, keys)
}

// parse reads the file strictly: an unknown key is an error with its line.
func (c *Config) parse(path string, b []byte) error {
	b = textfile.ToUTF8(b)
	help := "ADROIT_CONFIG=/dev/null " + hint.Command("config") + " lists the keys there are"
	var file Config
	if len(strings.TrimSpace(string(b))) > 0 {
		if err := yaml.UnmarshalWithOptions(b, &file, yaml.Strict()); err != nil {
			if n := meant(err); n != "" {
				help = fmt.Sprintf("did you mean %s? %s", n, help)
			}
			return fail(explain(path, b, err), help)
		}
	}
	file.from, file.getenv = c.from, c.getenv
	file.Prices = price.Table{}
	for name, r := range file.Rates {
		file.Prices[name] = price.Price{In: r.In, Out: r.Out, Cached: r.Cached}
	}
	*c = file
	for _, s := range c.entries() {
		if s.set {
			c.from[s.key] = "file " + path
		}
	}
	at := placeIn(path, b)
	for _, name := range slices.Sorted(maps.Keys(c.Endpoints)) {
		switch {
		case slices.Contains(provider.Builtin, name):
			return fail(fmt.Errorf("%s: endpoints.%s: the name is taken by a provider that is built in", at("endpoints", name), name), "choose another name")
		case c.Endpoints[name].BaseURL == "":
			return fail(fmt.Errorf("%s: endpoints.%s has no base_url", at("endpoints", name), name), "for example base_url: http://127.0.0.1:8000/v1")
		}
		if _, err := (provider.Endpoint{Config: c.Endpoints[name].openAI(name)}).Open(); err != nil {
			return fail(fmt.Errorf("%s: endpoints.%w", at("endpoints", name), err), hint.Command("models check NAME/MODEL")+" shows the dialect of an endpoint")
		}
	}
	return cmp.Or(c.checkRoles(path, at), c.checkServers(at), c.checkCLI(at("cli")), c.check(at))
}

// environ applies the environment variables that override settings.
func (c *Config) environ(getenv func(string) string) error {
	for _, v := range []struct {
		key, name string
		to        *string
	}{
		{"agent", "ADROIT_AGENT", &c.Agent},
		{"model", "ADROIT_MODEL", &c.Model},
		{"mode", "ADROIT_MODE", (*string)(&c.Mode)},
		{"approve", "ADROIT_APPROVE", (*string)(&c.Approve)},
		{"sandbox.level", "ADROIT_SANDBOX", &c.Sandbox.Level},
		{"data_dir", "ADROIT_HOME", &c.DataDir},
		{"log.level", "ADROIT_LOG", &c.Log.Level},
	} {
		if s := getenv(v.name); s != "" {
			*v.to, c.from[v.key] = s, "env "+v.name
		}
	}
	return c.check(func(...string) string { return "the environment" })
}

// check checks what both the file and the environment may say.
func (c *Config) check(at func(keys ...string) string) error {
	return cmp.Or(
		c.checkWords(at),
		c.Secrets.check(at("secrets")),
		checkFormats(at("edit_formats"), c.EditFormats),
		c.Coordinator.check(at("coordinator")),
		c.Jobs.check(at("jobs")),
		c.Log.check(at("log")),
		c.checkResults(at),
		checkCalling(at("calling"), c.Calling),
		checkPermissions(at("permissions"), c.Permissions),
		c.Sandbox.check(at("sandbox")),
		c.Network.check(at("network")),
		checkPublish(at("publish"), c.Publish),
		c.GitHub.check(at("github")),
		c.Transcription.check(at("transcription")),
		c.Research.check(at("research")),
		c.checkTest(at("test")),
		c.checkHooks(at("hooks")),
		c.checkMCP(at),
	)
}

// checkWords checks the settings that have no section with a check of its own.
func (c *Config) checkWords(at func(keys ...string) string) error {
	_, err := ParseAge(c.Retention)
	l := c.Limits
	for _, n := range []struct {
		key      string
		negative bool
	}{{"turns", l.Turns < 0}, {"tokens", l.Tokens < 0}, {"cost_usd", !(l.CostUSD >= 0 && l.CostUSD <= math.MaxFloat64)}, {"time", l.Time < 0}, {"wait", l.Wait < 0}} {
		if n.negative {
			return fail(fmt.Errorf("%s: limits.%s is negative or no number", at("limits", n.key), n.key), "leave a limit out to get its default")
		}
	}
	switch {
	case c.Approve != "" && !slices.Contains(agentfile.Approvals, c.Approve):
		return fail(fmt.Errorf("%s: approve is %q", at("approve"), c.Approve), "it is one of ask, edits, all, none")
	case c.Mode != "" && !slices.Contains(executor.Modes, c.Mode):
		return fail(fmt.Errorf("%s: mode is %q", at("mode"), c.Mode), "it is one of plan, edits, auto")
	case c.Retention != "" && err != nil:
		return fail(fmt.Errorf("%s: retention: %w", at("retention"), err), "for example 30d, 2w or 12h")
	case c.Conventions.Bytes < -1:
		return fail(fmt.Errorf("%s: conventions.bytes is negative", at("conventions", "bytes")), "-1 reads no AGENTS.md, 0 or leaving it out means the default")
	}
	return nil
}

// expandHome expands a leading ~/ as a shell would.
func expandHome(home, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

func (c *Config) expand(path string) string { return expandHome(c.getenv("HOME"), path) }
