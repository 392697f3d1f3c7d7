package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/system/hostexec"
)

// hooksIn are the configured hooks with ~/ expanded to a home directory.
func (c *Config) hooksIn(home string) []hooks.Hook {
	list := slices.Clone(c.Hooks)
	for i, h := range list {
		if len(h.Command) > 0 {
			list[i].Command = append([]string{expandHome(home, h.Command[0])}, h.Command[1:]...)
		}
	}
	return list
}

// checkHooks checks the hooks.
func (c *Config) checkHooks(at place) error {
	// Which home it is does not matter for whether a path is absolute.
	var faults []error
	for i, h := range c.hooksIn("/") {
		if err := h.Check(); err != nil {
			n := strconv.Itoa(i)
			faults = append(faults, fail(fmt.Errorf("%s: hooks.%s: %w", culprit(at, h, hooks.Hook.Check, "hooks", n), n, err), "docs/config.md has an example"))
		}
	}
	return all(faults...)
}

// hostFiles are the files of programs that run outside of the sandbox by the configuration
// as it is now: those of hooks, and of MCP servers without a sandbox. A file with faults
// starts none.
func (c *Config) hostFiles() (files []string) {
	now, err := Load(Env{Getenv: c.getenv}, Flags{})
	if err != nil {
		return nil
	}
	for _, h := range now.hooksIn(c.getenv("HOME")) {
		files = append(files, hostexec.Files(h.Command)...)
	}
	servers, err := now.mcpServers()
	if err != nil {
		return files
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if s := servers[name]; s.Sandbox == "off" {
			files = append(files, hostexec.Files(slices.Concat(s.Command, s.Args))...)
		}
	}
	return files
}
