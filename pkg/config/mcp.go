package config

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/mcp"
	"github.com/adroit-run/adroit/internal/secret"
	"github.com/adroit-run/adroit/internal/workspace/process"
	"github.com/adroit-run/adroit/pkg/adroit"
)

// mcpSection has servers by name.
type mcpSection map[string]mcp.Server

// mcpServers are the servers of the configuration file and those that were added; an
// entry of the configuration file is the one that counts.
func (c *Config) mcpServers() (map[string]mcp.Server, error) {
	out, err := mcp.Added(mcp.File(Dir(c.getenv)))
	if err != nil {
		return nil, fail(err, "correct it, or remove the server with adroit mcp remove NAME")
	}
	maps.Copy(out, c.MCP)
	return out, nil
}

// checkMCP checks the entries of the configuration file.
func (c *Config) checkMCP(where string) error {
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		if err := errors.Join(mcp.CheckName(name), c.MCP[name].Check()); err != nil {
			return fail(fmt.Errorf("%s: mcp_servers.%s: %w", where, name, err), "docs/config.md has an example")
		}
	}
	return nil
}

// mcpEntries are the servers as a setting. What is in variables and headers may be
// secret: it is not shown.
func (c *Config) mcpEntries() []entry {
	if len(c.MCP) == 0 {
		return []entry{{"mcp_servers", "none", false}}
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		words = append(words, name+": "+c.MCP[name].Target())
	}
	return []entry{{"mcp_servers", strings.Join(words, "; "), true}}
}

// toolServers are the MCP servers of a runtime.
func (c *Config) toolServers(p Program, data string, confine process.SandboxOptions, hide *secret.Redactor) (adroit.ToolServers, error) {
	servers, err := c.mcpServers()
	if err != nil {
		return nil, err
	}
	return mcp.New(mcp.Options{Servers: servers, Dir: filepath.Join(data, "mcp"), Sandbox: confine, Network: c.Network.guard(), Names: c.Names(), Secrets: hide,
		Getenv: c.getenv, Version: p.Version, Warn: p.Warn}), nil
}
