package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/mcp"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

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
