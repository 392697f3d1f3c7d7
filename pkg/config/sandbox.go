package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// A sandboxSection is how commands are confined. No repository, model or tool
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

// Confinement is how commands run at a level, the configured one if it is empty.
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
