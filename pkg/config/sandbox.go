package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/mcp"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/config/internal/provider"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

// A sandboxSection configures the confinement of commands. No repository, model or tool
// can change it.
type sandboxSection struct {
	Level  string        `yaml:"level"`
	Net    string        `yaml:"net"`
	Show   []string      `yaml:"show"`
	Write  []string      `yaml:"write"`
	Limits commandLimits `yaml:"limits"`
}

// commandLimits bound one command; 0 means the default, -1 none.
type commandLimits struct {
	MemoryMB  int `yaml:"memory_mb" least:"-1"`
	FileMB    int `yaml:"file_mb" least:"-1"`
	Processes int `yaml:"processes" least:"-1"`
	CPUSecs   int `yaml:"cpu_seconds" least:"-1"`
	FreeMB    int `yaml:"free_mb" least:"-1"`
}

// Confinement returns the sandbox options of a level; "" means the configured one.
func (c *Config) Confinement(level string) (process.SandboxOptions, error) {
	l, err := sandbox.Parse(cmp.Or(level, c.Sandbox.Level))
	if err != nil {
		return process.SandboxOptions{}, problem.Invalidf("", "--sandbox: %v", err)
	}
	conf := process.SandboxOptions{
		Level: l, NetOpen: c.Sandbox.Net == "open", Limits: sandbox.Limits(c.Sandbox.Limits),
		Cache: filepath.Join(c.DataDir, "cache"),
	}
	for _, p := range c.Sandbox.Show {
		conf.Show = append(conf.Show, c.expand(p))
	}
	for _, p := range c.Sandbox.Write {
		conf.Write = append(conf.Write, c.expand(p))
	}
	for _, d := range []string{c.DataDir, Dir(c.getenv)} {
		if d != "" {
			conf.Hide = append(conf.Hide, d)
		}
	}
	return conf, nil
}

func (s sandboxSection) check(at place) error {
	if _, err := sandbox.Parse(s.Level); err != nil {
		return fail(fmt.Errorf("%s: sandbox.level: %w", at("sandbox", "level"), err), "auto takes the best that this machine can do")
	}
	if s.Net != "" && s.Net != "private" && s.Net != "open" {
		return fail(fmt.Errorf("%s: sandbox.net is %q", at("sandbox", "net"), s.Net), "it is private (a loopback of the command's own) or open (the network of this machine)")
	}
	paths := func(key string, list []string) error {
		for i, p := range list {
			if !filepath.IsAbs(p) && !strings.HasPrefix(p, "~/") {
				return fail(fmt.Errorf("%s: sandbox.%s: %q is not an absolute path", at("sandbox", key, strconv.Itoa(i)), key, p), "begin it with / or ~/")
			}
		}
		return nil
	}
	return all(paths("show", s.Show), paths("write", s.Write))
}

// An endpoint is an OpenAI-compatible server. KeyEnv names the variable that
// holds the key: the file never does.
type endpoint struct {
	BaseURL string            `yaml:"base_url" show:"address"`
	KeyEnv  string            `yaml:"key_env"`
	Headers map[string]string `yaml:"headers" show:"set"` // one may carry a key

	Dialect    string         `yaml:"dialect"`
	APIVersion string         `yaml:"api_version"`
	OneCall    bool           `yaml:"one_call"`
	Body       map[string]any `yaml:"body" show:"json"`

	IdleTimeout time.Duration `yaml:"idle_timeout"`
	Timeout     time.Duration `yaml:"timeout"`
}

// A rate is a price in USD per million tokens.
type rate struct {
	In     float64 `yaml:"in"`
	Out    float64 `yaml:"out"`
	Cached float64 `yaml:"cached"`
}

// checkEndpoints checks the endpoints: what their adapter would refuse, it does not take.
func (c *Config) checkEndpoints(at place) error {
	for _, name := range slices.Sorted(maps.Keys(c.Endpoints)) {
		e := c.Endpoints[name]
		open := func(e endpoint) error {
			_, err := (provider.Endpoint{Config: e.openAI(name)}).Open()
			return err
		}
		switch {
		case slices.Contains(provider.Builtin, name):
			return fail(fmt.Errorf("%s: endpoints.%s: the name is taken by a provider that is built in", at("endpoints", name), name), "choose another name")
		case e.BaseURL == "":
			return fail(fmt.Errorf("%s: endpoints.%s has no base_url", at("endpoints", name, "base_url"), name), "for example base_url: http://127.0.0.1:8000/v1")
		}
		if err := open(e); err != nil {
			return fail(fmt.Errorf("%s: endpoints.%w", faultPlace(at, e, open, "endpoints", name), err), "correct it there")
		}
	}
	return nil
}

// openAI is the endpoint's configuration for its adapter, without the key.
func (e endpoint) openAI(name string) openai.Config {
	return openai.Config{Name: name, BaseURL: e.BaseURL, Headers: e.Headers,
		Dialect: e.Dialect, APIVersion: e.APIVersion, OneCall: e.OneCall, Body: e.Body, IdleTimeout: e.IdleTimeout, Timeout: e.Timeout}
}

// logSection is the log for operators.
type logSection struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format"`
	File   string `yaml:"file"` // a leading ~/ is the home directory
}

func (l logSection) check(at place) error {
	if l.Level != "" && !slices.Contains(jobs.Levels, l.Level) {
		return fail(fmt.Errorf("%s: log.level is %q", at("log", "level"), l.Level), "it is one of "+strings.Join(jobs.Levels, ", "))
	}
	if l.Format != "" && !slices.Contains(jobs.Formats, l.Format) {
		return fail(fmt.Errorf("%s: log.format is %q", at("log", "format"), l.Format), "it is one of "+strings.Join(jobs.Formats, ", "))
	}
	return nil
}

// OpenLog opens the log for operators: nil without one. end closes it.
func (c *Config) OpenLog(stderr io.Writer) (l *slog.Logger, end func() error, err error) {
	l, end, err = jobs.Open(jobs.Options{Level: c.Log.Level, Format: c.Log.Format, File: c.expand(c.Log.File)}, stderr)
	if err != nil {
		return nil, nil, fail(err, "name another file in log.file")
	}
	return l, end, nil
}

// results bound how much of a tool result a model is shown at once.
type results struct {
	Bytes int `yaml:"bytes" least:"-1"` // -1: no bound
}

const leastWindow, leastResult = 1024, 600

func (c *Config) checkResults(at place) error {
	for _, p := range slices.Sorted(maps.Keys(c.Windows)) {
		if c.Windows[p] < leastWindow {
			return fail(fmt.Errorf("%s: windows: %s has %d tokens", at("windows", p), p, c.Windows[p]), fmt.Sprintf("a window has at least %d tokens", leastWindow))
		}
	}
	if n := c.Results.Bytes; n > 0 && n < leastResult {
		return fail(fmt.Errorf("%s: results.bytes is %d", at("results", "bytes"), n), fmt.Sprintf("at least %d; -1 shows all, 0 or leaving it out means the default", leastResult))
	}
	return nil
}

// ParseAge parses a duration, which may be in days or weeks: 30d, 2w, 12h.
func ParseAge(s string) (time.Duration, error) {
	day := 24 * time.Hour
	for unit, d := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if n, ok := strings.CutSuffix(s, unit); ok {
			if k, err := strconv.Atoi(n); err == nil && k >= 0 && k < 100_000 {
				return time.Duration(k) * d, nil
			}
		}
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = errors.New("an age is not below zero")
	}
	if err != nil {
		return 0, fmt.Errorf("%q is no age", s)
	}
	return d, nil
}

func (c *Config) checkTest(at place) error {
	for _, dir := range slices.Sorted(maps.Keys(c.Test)) {
		switch {
		case dir != configs.Any && !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "~/"):
			return fail(fmt.Errorf("%s: test: %q is no directory", at("test", dir), dir), "for example test: {~/shop: make check}, or \"*\" for all projects")
		case strings.TrimSpace(c.Test[dir]) == "":
			return fail(fmt.Errorf("%s: test: %q has no command", at("test", dir), dir), "for example test: {~/shop: make check}")
		}
	}
	return nil
}

// testCommands are the configured commands that run tests, by directory.
func (c *Config) testCommands() map[string]string {
	out := map[string]string{}
	for dir, command := range c.Test {
		out[c.expand(dir)] = command
	}
	return out
}

// mcpSection has servers by name.
type mcpSection map[string]mcp.Server

// String lists the servers. What is in variables and headers may be secret: it is not
// shown.
func (m mcpSection) String() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		words = append(words, name+": "+m[name].Target())
	}
	return strings.Join(words, "; ")
}

// mcpProjects has the grants for MCP servers of projects, by directory and name.
type mcpProjects map[string]map[string]mcp.ProjectGrant

// String lists the servers by directory.
func (m mcpProjects) String() string {
	var words []string
	for _, dir := range slices.Sorted(maps.Keys(m)) {
		words = append(words, dir+": "+strings.Join(slices.Sorted(maps.Keys(m[dir])), ", "))
	}
	return strings.Join(words, "; ")
}

// mcpServers are the servers of the configuration file and those that were added; an
// entry of the configuration file is the one that counts.
func (c *Config) mcpServers() (map[string]mcp.Server, error) {
	out, err := mcp.Added(mcp.File(Dir(c.getenv)))
	if err != nil {
		return nil, fail(err, "correct it, or move the file away")
	}
	maps.Copy(out, c.MCP)
	return out, nil
}

// checkMCP checks the entries of the configuration file.
func (c *Config) checkMCP(at place) error {
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		if err := errors.Join(mcp.CheckName(name), c.MCP[name].Check()); err != nil {
			return fail(fmt.Errorf("%s: mcp_servers.%s: %w", faultPlace(at, c.MCP[name], mcp.Server.Check, "mcp_servers", name), name, err), "docs/config.md has an example")
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(c.Projects)) {
		if !filepath.IsAbs(c.expand(dir)) {
			return fail(fmt.Errorf("%s: mcp_projects: %q is no directory", at("mcp_projects", dir), dir), "begin it with / or ~/")
		}
		for _, name := range slices.Sorted(maps.Keys(c.Projects[dir])) {
			g := c.Projects[dir][name]
			if err := errors.Join(mcp.CheckName(name), g.Check()); err != nil {
				return fail(fmt.Errorf("%s: mcp_projects.%s.%s: %w", faultPlace(at, g, mcp.ProjectGrant.Check, "mcp_projects", dir, name), dir, name, err), "docs/config.md has an example")
			}
		}
	}
	return nil
}

// toolServers are the MCP servers of a runtime.
func (c *Config) toolServers(p Program, data string, confine process.SandboxOptions, hide *secret.Redactor) (*mcp.Pool, error) {
	servers, err := c.mcpServers()
	if err != nil {
		return nil, err
	}
	projects := map[string]map[string]mcp.ProjectGrant{}
	for dir, grants := range c.Projects {
		projects[c.expand(dir)] = grants
	}
	return mcp.New(mcp.Options{Servers: servers, Projects: projects, Dir: filepath.Join(data, "mcp"), Sandbox: confine, Network: c.Network.guard(), Names: c.Names(), Secrets: hide,
		Keys: keysOf(c.getenv), Getenv: c.getenv, Version: p.Version, Warn: p.Warn}), nil
}

// A ServerLogin is a login at an MCP server.
type ServerLogin struct {
	Server string
	// ClientID and Secret are of a client that the server knows; empty: adroit
	// registers itself.
	ClientID, Secret string
	Port             int                        // of the redirect; 0 for any
	Open             func(address string) error // shows the page to log in at
}

// LoginServer has the user log in at an MCP server, and returns how many tools it
// has.
func (c *Config) LoginServer(ctx context.Context, p Program, in ServerLogin) (int, error) {
	data, err := c.Data()
	if err != nil {
		return 0, err
	}
	pool, err := c.toolServers(p, data, process.SandboxOptions{}, nil)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	r, err := pool.Login(ctx, turn.Scope{}, in.Server, mcp.LoginForm{ClientID: in.ClientID, ClientSecret: in.Secret, Port: in.Port, Open: in.Open})
	if err != nil {
		return 0, err
	}
	return len(r.Items), nil
}

// LogoutServer forgets a login at an MCP server, and has the server revoke it.
func (c *Config) LogoutServer(ctx context.Context, p Program, name string) (mcp.Logout, error) {
	data, err := c.Data()
	if err != nil {
		return mcp.Logout{}, err
	}
	pool, err := c.toolServers(p, data, process.SandboxOptions{}, nil)
	if err != nil {
		return mcp.Logout{}, err
	}
	return pool.Logout(ctx, name)
}
