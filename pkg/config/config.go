// Package config reads the configuration: the file, then the environment, then the flags.
// It checks all of it and knows where each value comes from. Go programs get with it what
// their users have configured for the command line:
//
//	o, err := config.Options(os.Getenv, parts.All())
//	rt, err := adroit.Open(ctx, o)
//
// A section of the file is a file of this package: its type, its checks, its settings and
// its conversion to what the rest of the program takes.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/tools/edit"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Config is the configuration. Every key of the file is optional. Settings are
// listed in the order of the fields; the tag show says how one is shown if that is not by its
// value: words, host, set, json; the tag least is the least that a number may be, if not 0.
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

	Calling map[string]turn.Mode `yaml:"calling"`

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
	Prices    llm.Prices          `yaml:"-"`
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
	Bytes int `yaml:"bytes" least:"-1"` // -1: none of it
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
	if h := getenv("HOME"); filepath.IsAbs(h) {
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
		b = rootfs.ToUTF8(b)
		if err := yaml.Unmarshal(b, &file); err != nil && (flags.DataDir == "" && bytes.Contains(b, []byte("data_dir")) || !rootfs.IsText(b)) {
			return fail(plainyaml.Explain(path, b, err), "name the directory with --data-dir DIR, or correct the file")
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

// parse reads the file strictly: an unknown key is an error with its line.
func (c *Config) parse(path string, b []byte) error {
	b = rootfs.ToUTF8(b)
	var file Config
	if len(strings.TrimSpace(string(b))) > 0 {
		if err := checkForm(path, b); err != nil {
			return err
		}
		if err := yaml.UnmarshalWithOptions(b, &file, yaml.Strict()); err != nil {
			return fail(plainyaml.Explain(path, b, err), keysHelp())
		}
	}
	file.from, file.getenv = c.from, c.getenv
	file.Prices = llm.Prices{}
	for name, r := range file.Rates {
		file.Prices[name] = llm.Price{In: r.In, Out: r.Out, Cached: r.Cached}
	}
	*c = file
	for _, s := range c.entries() {
		if s.set {
			c.from[s.key] = "file " + path
		}
	}
	at := placeIn(path, b)
	return all(c.checkEndpoints(at), c.checkRoles(path, at), c.checkServers(at), c.checkCLI(at), c.check(at))
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
func (c *Config) check(at place) error {
	return all(
		c.checkWords(at),
		c.Secrets.check(at),
		checkFormats(at, c.EditFormats),
		c.Coordinator.check(at),
		c.Log.check(at),
		c.checkResults(at),
		checkCalling(at, c.Calling),
		checkPermissions(at, c.Permissions),
		c.Sandbox.check(at),
		c.Network.check(at),
		checkPublish(at, c.Publish),
		c.GitHub.check(at),
		c.Transcription.check(at),
		c.Research.check(at),
		c.checkTest(at),
		c.checkHooks(at),
		c.checkMCP(at),
	)
}

// checkWords checks the settings that have no section with a check of its own.
func (c *Config) checkWords(at place) error {
	_, err := ParseAge(c.Retention)
	switch {
	case c.Approve != "" && !slices.Contains(agents.Approvals, c.Approve):
		return fail(fmt.Errorf("%s: approve is %q", at("approve"), c.Approve), "it is one of ask, edits, all, none")
	case c.Mode != "" && !slices.Contains(executor.Modes, c.Mode):
		return fail(fmt.Errorf("%s: mode is %q", at("mode"), c.Mode), "it is one of plan, edits, auto")
	case c.Retention != "" && err != nil:
		return fail(fmt.Errorf("%s: retention: %w", at("retention"), err), "for example 30d, 2w or 12h")
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
