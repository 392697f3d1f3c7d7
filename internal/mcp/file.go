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
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/jsontext"
)

// File returns the file in which adroit mcp add keeps servers: in the directory of the
// configuration file, in the format of other clients. It is "" without a directory.
func File(dir string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "mcp.json")
}

// Added reads the servers of a file; there may be none.
func Added(path string) (map[string]Server, error) {
	b, err := os.ReadFile(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return map[string]Server{}, nil
	}
	var problems []error
	var found map[string]Server
	if err == nil {
		found, problems, err = ParseFile(b)
	}
	for name := range found {
		err = errors.Join(err, CheckName(name))
	}
	if err := errors.Join(err, errors.Join(problems...)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return found, nil
}

// Add writes an entry into a file of servers; replace takes the place of one.
func Add(path, name string, s Server, replace bool) error {
	if err := CheckName(name); err != nil {
		return problem.Invalidf("for example: "+hint.Command("mcp add %s …", cmp.Or(Name(name), "files")), "%v", err)
	}
	if err := s.Check(); err != nil {
		return problem.Invalidf(hint.Command("mcp add --help")+" has examples", "%s: %v", name, err)
	}
	return changeServers(path, func(all map[string]json.RawMessage) error {
		if _, ok := all[name]; ok && !replace {
			return problem.Invalidf("--replace takes its place", "there is a server %s already", name)
		}
		b, err := json.Marshal(s)
		all[name] = b
		return err
	})
}

// Remove removes an entry from a file of servers, and the record of it.
func Remove(path, records string, getenv func(string) string, name string) error {
	err := changeServers(path, func(all map[string]json.RawMessage) error {
		if _, ok := all[name]; !ok {
			return problem.Invalidf(hint.Command("mcp list")+" lists them", "there is no server %q", name)
		}
		delete(all, name)
		return nil
	})
	return errors.Join(err, forget(records, caches(getenv), name))
}

// changeServers rewrites a file of servers while no other process does. What it does not
// know in the file stays.
func changeServers(path string, change func(map[string]json.RawMessage) error) error {
	if path == "" {
		return problem.Invalidf("set HOME or XDG_CONFIG_HOME", "there is no home directory to keep servers in")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	unlock, err := lock.Open(path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	file := map[string]json.RawMessage{}
	b, err := os.ReadFile(path)
	if err == nil {
		b = rootfs.ToUTF8(b)
		if err = json.Unmarshal(b, &file); err != nil {
			err = jsontext.Fault(b, err)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return problem.WithHint(fmt.Errorf("%s: %w", path, err), "correct it first")
	}
	all := map[string]json.RawMessage{}
	if raw := file["mcpServers"]; raw != nil {
		if err := json.Unmarshal(raw, &all); err != nil {
			return problem.WithHint(fmt.Errorf("%s: %w", path, jsontext.Fault(b, err, "mcpServers")), "correct it first")
		}
	}
	if err := change(all); err != nil {
		return err
	}
	if file["mcpServers"], err = json.Marshal(all); err != nil {
		return err
	}
	if b, err = json.MarshalIndent(file, "", "  "); err != nil {
		return err
	}
	return rootfs.WriteFile(path, append(b, '\n'))
}

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
