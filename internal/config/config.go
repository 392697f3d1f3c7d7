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
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/adroit-run/adroit/internal/executor/toolcall"
	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/provider"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/internal/tools/edit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm/price"
	"github.com/adroit-run/adroit/pkg/permit"
)

// A Config is the configuration. Every key of the file is optional.
type Config struct {
	Agent     string              `yaml:"agent"`
	Model     string              `yaml:"model"`
	Mode      executor.Mode       `yaml:"mode"`
	Approve   executor.Approve    `yaml:"approve"`
	Limits    limits              `yaml:"limits"`
	Endpoints map[string]endpoint `yaml:"endpoints"`
	Models    map[string]role     `yaml:"models"`
	Fallbacks map[string][]string `yaml:"fallbacks"`
	Prices    price.Table         `yaml:"-"`
	Rates     map[string]rate     `yaml:"prices"`
	DataDir   string              `yaml:"data_dir"`
	Retention string              `yaml:"retention"` // as parseAge reads it
	Jobs      jobsSection         `yaml:"jobs"`
	Log       logSection          `yaml:"log"`

	Coordinator coordinatorSection `yaml:"coordinator"`

	Diagnostics string                    `yaml:"diagnostics"`
	Servers     map[string]languageServer `yaml:"language_servers"`
	Secrets     secrets                   `yaml:"secrets"`

	Conventions conventions  `yaml:"conventions"`
	Hooks       []hooks.Hook `yaml:"hooks"`

	Sandbox sandboxSection `yaml:"sandbox"`

	Network  networkSection  `yaml:"network"`
	Research researchSection `yaml:"research"`
	Publish  publishSection  `yaml:"publish"`
	GitHub   githubSection   `yaml:"github"`

	Transcription transcriptionSection `yaml:"transcription"`

	EditFormats map[string]edit.Format `yaml:"edit_formats"`

	Windows map[string]int `yaml:"windows"`
	Results results        `yaml:"results"`

	Calling map[string]toolcall.Mode `yaml:"calling"`

	Ollama ollamaSection `yaml:"ollama"`

	CLI map[string]cliAgent `yaml:"cli"`

	Permissions []permit.Rule `yaml:"permissions"`

	Test map[string]string `yaml:"test"` // the command that runs the tests of a project, by its directory

	MCP mcpSection `yaml:"mcp_servers"`

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
func Dir(getenv func(string) string) string {
	if d := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "adroit")
	}
	if h := getenv("HOME"); h != "" {
		return filepath.Join(h, ".config", "adroit")
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
	c := &Config{from: map[string]string{}, getenv: env.Getenv}
	path, named := Path(env.Getenv), env.Getenv("ADROIT_CONFIG") != ""
	if path != "" {
		b, err := env.ReadFile(path)
		switch {
		case !named && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)):
		case err != nil:
			return nil, fail(fmt.Errorf("reading the configuration: %w", err), "unset ADROIT_CONFIG or name a file that can be read")
		default:
			if err := c.parse(path, b); err != nil {
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
		c.DataDir = defaultData(env.Getenv)
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
	hint := "ADROIT_CONFIG=/dev/null adroit config lists the keys there are"
	var file Config
	if len(strings.TrimSpace(string(b))) > 0 {
		if err := yaml.UnmarshalWithOptions(b, &file, yaml.Strict()); err != nil {
			if n := meant(err); n != "" {
				hint = fmt.Sprintf("did you mean %s? %s", n, hint)
			}
			return fail(fmt.Errorf("%s: %s", path, strings.TrimSpace(yaml.FormatError(err, false, true))), hint)
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
	for _, name := range slices.Sorted(maps.Keys(c.Endpoints)) {
		switch {
		case slices.Contains(provider.Builtin, name):
			return fail(fmt.Errorf("%s: endpoints.%s: the name is taken by a provider that is built in", path, name), "choose another name")
		case c.Endpoints[name].BaseURL == "":
			return fail(fmt.Errorf("%s: endpoints.%s has no base_url", path, name), "for example base_url: http://127.0.0.1:8000/v1")
		}
		if _, err := (provider.Endpoint{Config: c.Endpoints[name].openAI(name)}).Open(); err != nil {
			return fail(fmt.Errorf("%s: endpoints.%w", path, err), "adroit models check NAME/MODEL shows the dialect of an endpoint")
		}
	}
	if err := c.checkRoles(path); err != nil {
		return err
	}
	if err := c.checkServers(path); err != nil {
		return err
	}
	if err := c.checkCLI(path); err != nil {
		return err
	}
	return c.check(path)
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
	return c.check("the environment")
}

func (c *Config) check(where string) error {
	if c.Approve != "" && !slices.Contains(executor.Approves, c.Approve) {
		return fail(fmt.Errorf("%s: approve is %q", where, c.Approve), "it is one of ask, edits, all, none")
	}
	if err := c.Secrets.check(where); err != nil {
		return err
	}
	if err := checkFormats(where, c.EditFormats); err != nil {
		return err
	}
	if _, err := ParseAge(c.Retention); c.Retention != "" && err != nil {
		return fail(fmt.Errorf("%s: retention: %w", where, err), "for example 30d, 2w or 12h")
	}
	if err := c.Coordinator.check(where); err != nil {
		return err
	}
	if err := c.Jobs.check(where); err != nil {
		return err
	}
	if err := c.Log.check(where); err != nil {
		return err
	}
	if err := c.checkResults(where); err != nil {
		return err
	}
	if err := checkCalling(where, c.Calling); err != nil {
		return err
	}
	if err := checkMode(where, c.Mode); err != nil {
		return err
	}
	if err := checkPermissions(where, c.Permissions); err != nil {
		return err
	}
	if err := c.Sandbox.check(where); err != nil {
		return err
	}
	if err := c.Network.check(where); err != nil {
		return err
	}
	if err := checkPublish(where, c.Publish); err != nil {
		return err
	}
	if err := c.GitHub.check(where); err != nil {
		return err
	}
	if err := c.Transcription.check(where); err != nil {
		return err
	}
	if err := c.Research.check(where); err != nil {
		return err
	}
	if c.Limits.Turns < 0 || c.Limits.Tokens < 0 || c.Limits.CostUSD < 0 || c.Limits.Time < 0 || c.Limits.Wait < 0 {
		return fail(fmt.Errorf("%s: a limit is negative", where), "leave a limit out to get its default")
	}
	if err := c.checkTest(where); err != nil {
		return err
	}
	if c.Conventions.Bytes < -1 {
		return fail(fmt.Errorf("%s: conventions.bytes is negative", where), "-1 reads no AGENTS.md, 0 or leaving it out means the default")
	}
	if err := c.checkHooks(where); err != nil {
		return err
	}
	return c.checkMCP(where)
}

// defaultData is where state is kept unless configured, "" without a home.
func defaultData(getenv func(string) string) string {
	if d := getenv("XDG_DATA_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "adroit")
	}
	if h := getenv("HOME"); h != "" {
		return filepath.Join(h, ".local", "share", "adroit")
	}
	return ""
}

// expandHome expands a leading ~/ as a shell would.
func expandHome(home, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

func (c *Config) expand(path string) string { return expandHome(c.getenv("HOME"), path) }
