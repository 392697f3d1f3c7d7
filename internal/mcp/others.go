package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
)

// Sources are the programs whose servers can be taken over.
var Sources = []string{"claude", "codex"}

// Others reads the servers that another program has for a directory, by names that
// they can have here. Nothing is found where the program is not used.
func Others(source, dir string, getenv func(string) string) (map[string]Server, error) {
	home := getenv("HOME")
	var found map[string]Server
	var path string
	var err error
	switch source {
	case "claude":
		path = filepath.Join(home, ".claude.json")
		found, err = claudeServers(path, dir)
	case "codex":
		path = filepath.Join(cmp.Or(getenv("CODEX_HOME"), filepath.Join(home, ".codex")), "config.toml")
		found, err = codexServers(path)
	default:
		return nil, problem.Invalidf("it is one of "+strings.Join(Sources, ", "), "servers cannot be taken over from %q", source)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, problem.WithHint(fmt.Errorf("%s: %w", path, err), "add the servers one by one: "+hint.Command("mcp add NAME -- COMMAND"))
	}
	out := map[string]Server{}
	for other, s := range found {
		if name := Name(other); CheckName(name) == nil && s.Check() == nil {
			out[name] = s
		}
	}
	return out, nil
}

// claudeServers reads the servers of all projects and of one.
func claudeServers(path, dir string) (map[string]Server, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Servers  map[string]Server `json:"mcpServers"`
		Projects map[string]struct {
			Servers  map[string]Server `json:"mcpServers"`
			Disabled []string          `json:"disabledMcpServers"`
		} `json:"projects"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, err
	}
	out := map[string]Server{}
	maps.Copy(out, file.Servers)
	maps.Copy(out, file.Projects[dir].Servers)
	for _, name := range file.Projects[dir].Disabled {
		if s, ok := out[name]; ok {
			s.Disabled = true
			out[name] = s
		}
	}
	return out, nil
}

func codexServers(path string) (map[string]Server, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Servers map[string]struct {
			Command string            `toml:"command"`
			Args    []string          `toml:"args"`
			Env     map[string]string `toml:"env"`
			URL     string            `toml:"url"`
			Bearer  string            `toml:"bearer_token_env_var"`
			Headers map[string]string `toml:"http_headers"`
			Enabled *bool             `toml:"enabled"`
			Start   float64           `toml:"startup_timeout_sec"`
		} `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal(b, &file); err != nil {
		return nil, err
	}
	out := map[string]Server{}
	for name, s := range file.Servers {
		e := Server{Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers, Disabled: s.Enabled != nil && !*s.Enabled}
		if s.Start > 0 && s.Start <= time.Hour.Seconds() {
			e.StartTimeout = time.Duration(s.Start * float64(time.Second))
		}
		if s.Command != "" {
			e.Command = []string{s.Command}
		}
		if s.Bearer != "" {
			e.Headers = map[string]string{"Authorization": "Bearer ${" + s.Bearer + "}"}
			maps.Copy(e.Headers, s.Headers)
		}
		out[name] = e
	}
	return out, nil
}
