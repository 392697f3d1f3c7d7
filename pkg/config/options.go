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
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/triggers"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows"
	"github.com/adroit-run/adroit/pkg/workspace"
	"github.com/goccy/go-yaml"
)

// A Program is a program's contribution to a configuration.
type Program struct {
	Workflows []flow.Workflow  // beside those that ship
	Now       func() time.Time // nil: time.Now
	Version   string           // is written into the database, so that a later program can name it
	Warn      func(text string)
}

// Options returns the options of a runtime that has what the user has
// configured: models, agents, pipelines, skills, limits, permissions, sandbox,
// trust and the jobs of the command line. With an error they serve
// adroit.Diagnose only.
func (c *Config) Options(p Program) (adroit.Options, error) {
	confine, err := c.Confinement("")
	if err != nil {
		return adroit.Options{}, err
	}
	data, err := c.Data()
	if err != nil {
		return adroit.Options{Tools: c.Tools(p), Examine: adroit.ExaminationsOf(c.parts), Workspace: adroit.Workspace{Servers: c.LanguageServers(), Sandbox: confine}}, err
	}
	aside, err := sqlite.FinishExchange(data)
	if err != nil {
		return adroit.Options{Tools: c.Tools(p), Examine: adroit.ExaminationsOf(c.parts), Workspace: adroit.Workspace{Servers: c.LanguageServers(), Sandbox: confine}}, err
	}
	if aside != "" && p.Warn != nil {
		p.Warn("a restore that was cut short is finished; what was there before is in " + aside)
	}
	if file, err := filepath.Abs(Path(c.getenv)); err == nil {
		rootfs.Own(file, Dir(c.getenv))
	}
	if h := c.getenv("HOME"); h != "" {
		rootfs.Own(claudeAgents(h))
		rootfs.OwnStart(h)
	}
	hide := Redactor(c, c.getenv)
	servers, err := c.toolServers(p, data, confine, hide)
	if err != nil {
		return adroit.Options{Tools: c.Tools(p), Examine: adroit.ExaminationsOf(c.parts), Workspace: adroit.Workspace{Servers: c.LanguageServers(), Sandbox: confine}}, err
	}
	o := adroit.Options{
		Tools: c.Tools(p), ToolServers: servers, Source: c.source(data, hide), ModelWait: cmp.Or(c.Limits.Wait, defaultWait),
		Defaults: agents.Defaults{
			Substitutes: edit.Instead(c.EditFormats), Budget: agents.Budget{Windows: c.Windows, Result: c.Results.Bytes},
			Model: c.Model, Approve: c.Approve, Mode: c.Mode, Rules: c.Permissions, Prices: c.Prices,
			Limits: executor.Limits{Turns: c.Limits.Turns, Tokens: c.Limits.Tokens, CostUSD: c.Limits.CostUSD, Time: c.Limits.Time},
		},
		Definitions: adroit.Definitions{Agent: c.Agent, Workflows: slices.Concat(workflows.All(), p.Workflows)},
		Workspace: adroit.Workspace{
			Trust: data, ProjectBytes: c.Conventions.Bytes, TestCommands: c.testCommands(), ConfigFile: Path(c.getenv), OwnFiles: c.hostFiles,
			Servers: c.LanguageServers(), NoDiagnostics: c.Diagnostics == "off",
			Sandbox: confine, Network: c.Network.guard(), Names: c.Names(), Secrets: hide,
		},
		Storage:      adroit.Storage{Data: data, Store: p.store(data), CheckStore: checkStore(data, p.Version), AtOnce: c.Jobs.AtOnce, Labels: c.Temporal.Labels},
		Callbacks:    adroit.Callbacks{Hooks: c.hooksIn(c.getenv("HOME")), Warn: p.Warn},
		Coordination: c.Coordinator.options(), Examine: adroit.ExaminationsOf(c.parts),
	}
	c.layers(&o)
	return o, nil
}

// store opens the database of a data directory. Where it cannot be written, jobs
// can be read. What is to change jobs gets the error where the host has run out of
// something, which is waited for.
func (p Program) store(data string) func(context.Context) (jobs.Store, error) {
	return func(ctx context.Context) (jobs.Store, error) {
		// Opening goes on when the operator has pressed Ctrl-C already: what
		// follows may be the settling of a job.
		db, denied, err := sqlite.OpenReadable(context.WithoutCancel(ctx), filepath.Join(data, "adroit.db"), sqlite.Options{Version: p.Version})
		if err != nil {
			return nil, fail(fmt.Errorf("opening the data directory: %w", err), "run "+hint.Command("doctor")+" for details; --data-dir DIR or ADROIT_HOME keeps state elsewhere")
		}
		if exhaustion.Of(denied) != "" && exhaustion.Changes(ctx) {
			return nil, errors.Join(denied, db.Close())
		}
		if denied != nil && p.Warn != nil {
			p.Warn("jobs can be read and not changed: opening the data directory: " + denied.Error())
		}
		return db, nil
	}
}

// Data is the directory that keeps all state, absolute.
func (c *Config) Data() (string, error) {
	if c.DataDir == "" {
		return "", fail(errors.New("there is no home directory to keep jobs in"), "name one with --data-dir DIR or ADROIT_HOME")
	}
	return filepath.Abs(c.DataDir)
}

// checkStore checks the database of a data directory.
func checkStore(data, version string) func(context.Context, bool) ([]*jobs.Job, []string, error) {
	path := filepath.Join(data, "adroit.db")
	return func(ctx context.Context, all bool) ([]*jobs.Job, []string, error) {
		if !all {
			db, err := sqlite.Open(ctx, path, sqlite.Options{Version: version, Check: true})
			if err != nil {
				return nil, nil, err
			}
			return nil, nil, db.Close()
		}
		db, err := sqlite.OpenReadOnly(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		defer db.Close()
		damage, err := db.Verify(ctx)
		if err != nil {
			damage = append(damage, err.Error())
		}
		list, err := db.List(ctx, jobs.Query{})
		return list, damage, err
	}
}

// Names are the changes to the list of names of files that no tool may touch.
func (c *Config) Names() *workspace.DenyList {
	return &workspace.DenyList{Deny: c.Secrets.Deny, Allow: c.Secrets.Allow}
}

// claudeAgents returns the directory of a user's Claude Code agents, which are read too.
func claudeAgents(home string) string { return filepath.Join(home, ".claude", "agents") }

// layers are the files of agents, pipelines and skills: what is built in, then
// the user's.
func (c *Config) layers(o *adroit.Options) {
	o.Agents = []agents.Layer{{Name: "built in", FS: configs.Agents(), Dir: "configs/agents"}}
	o.Pipelines = []agents.Layer{{Name: "built in", FS: configs.Pipelines(), Dir: "configs/pipelines"}}
	user := func(dir string, claude bool) agents.Layer {
		return agents.Layer{Name: "user", FS: os.DirFS(dir), Dir: dir, Claude: claude}
	}
	if h := c.getenv("HOME"); h != "" {
		o.Agents = append(o.Agents, user(claudeAgents(h), true))
	}
	if d := Dir(c.getenv); d != "" {
		o.Agents = append(o.Agents, user(filepath.Join(d, "agents"), false))
		dir := filepath.Join(d, "pipelines")
		o.Pipelines = append(o.Pipelines, agents.Layer{Name: "user", FS: os.DirFS(dir), Dir: dir})
		o.Skills = append(o.Skills, user(filepath.Join(d, "skills"), false))
		o.Coordination.Problems = append(o.Coordination.Problems, user(filepath.Join(d, "problems"), false))
	}
}

// Tools are the tools of the parts that the configuration was read with, set up as it
// says.
func (c *Config) Tools(p Program) []tools.Tool {
	now := p.Now
	if now == nil {
		now = time.Now
	}
	h := adroit.PartHost{Getenv: c.getenv, Now: now}
	h.Data, _ = c.Data() // Options reports that there is none
	return c.partTools(h)
}

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
	Engine      string           `yaml:"engine"`    // which runs the workflows of jobs: local or temporal
	Conventions conventions      `yaml:"conventions"`
	Secrets     secrets          `yaml:"secrets"`

	Jobs        jobsSection        `yaml:"jobs"`
	Temporal    Temporal           `yaml:"temporal"`
	Coordinator coordinatorSection `yaml:"coordinator"`
	Log         logSection         `yaml:"log"`

	Calling map[string]turn.Mode `yaml:"calling"`

	Diagnostics string                    `yaml:"diagnostics"`
	Servers     map[string]languageServer `yaml:"language_servers"`

	// Triggers start jobs, and Notices are sent of jobs, while adroit serve runs.
	Triggers triggers.Triggers `yaml:"triggers"`
	Notices  triggers.Notices  `yaml:"notices"`

	Hooks   []hooks.Hook   `yaml:"hooks"`
	Sandbox sandboxSection `yaml:"sandbox"`
	Network networkSection `yaml:"network"`
	// Sections lists the sections of the program's parts, each with its own key.
	Sections sections `yaml:"-"`

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

	parts  []adroit.Part
	from   map[string]string // where a value comes from; a missing key means default
	getenv func(string) string
	keys   map[string]string // of adroit config login, by provider
	// keysErr is the error because of which the stored keys cannot be used.
	keysErr error
}

type limits struct {
	Turns   int           `yaml:"turns"`
	Tokens  int           `yaml:"tokens"`
	CostUSD float64       `yaml:"cost_usd"`
	Time    time.Duration `yaml:"time"`
	Wait    time.Duration `yaml:"wait"` // for a busy server
}

// defaultWait bounds the time for which a request waits for a busy server.
const defaultWait = 10 * time.Minute

// conventions bound what a project's AGENTS.md may take of a prompt.
type conventions struct {
	Bytes int `yaml:"bytes" least:"-1"` // -1: none of it
}

// An Env gives Load access to variables and files; the zero value reads those of the
// process.
type Env struct {
	Parts    []adroit.Part
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
	c := &Config{from: map[string]string{}, getenv: env.Getenv, parts: env.Parts, Sections: sectionsOf(env.Parts)}
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
		if err := checkForm(path, b, c.Sections); err != nil {
			return err
		}
		err := yaml.UnmarshalWithOptions(b, &file, yaml.Strict(), yaml.AllowFieldPrefixes(c.Sections.keys()...))
		if err := cmp.Or(err, c.Sections.read(b)); err != nil {
			return fail(plainyaml.Explain(path, b, err), keysHelp())
		}
	}
	file.from, file.getenv, file.parts, file.Sections = c.from, c.getenv, c.parts, c.Sections
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
		c.Sections.check(at),
		c.checkTest(at),
		c.checkHooks(at),
		c.checkTriggers(at),
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
	case c.Engine != "" && c.Engine != "local" && c.Engine != "temporal":
		return fail(fmt.Errorf("%s: engine is %q", at("engine"), c.Engine), "it is local or temporal")
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

// Options returns the options of a runtime with what the user has configured, in
// the file and in the environment that getenv reads: models, agents, pipelines,
// limits, permissions, sandbox, trust and the jobs of the command line. Parts, and
// workflows beside those that ship, are the program's. The file may have the sections of
// these parts and no others.
func Options(getenv func(string) string, parts []adroit.Part, more ...flow.Workflow) (adroit.Options, error) {
	c, err := Load(Env{Getenv: getenv, Parts: parts}, Flags{})
	if err != nil {
		return adroit.Options{}, err
	}
	return c.Options(Program{Workflows: more})
}
