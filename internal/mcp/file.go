package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// Others reads the servers that another program has for a directory, or a file of it, by names that
// they can have here. Nothing is found where the program is not used. With some servers, an error
// names the others.
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
		if path = source; strings.ContainsAny(source, `./\`) {
			found, err = fileServers(path)
			break
		}
		return nil, problem.Invalidf("it is a file, or one of "+strings.Join(Sources, ", "), "servers cannot be taken over from %q", source)
	}
	if errors.Is(err, fs.ErrNotExist) && slices.Contains(Sources, source) {
		return nil, nil
	}
	if err != nil {
		err = problem.WithHint(fmt.Errorf("%s: %w", path, err), "add the servers one by one: "+hint.Command("mcp add NAME -- COMMAND"))
	}
	out := map[string]Server{}
	for other, s := range found {
		if name := Name(other); CheckName(name) == nil && s.Check() == nil {
			s.Sandbox = "" // no file of others takes it away
			out[name] = s
		}
	}
	return out, err
}

// fileServers reads the servers of a file that another program has.
func fileServers(path string) (map[string]Server, error) {
	if strings.HasSuffix(path, ".toml") {
		return codexServers(path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	found, problems, err := ParseFile(b)
	return found, errors.Join(err, errors.Join(problems...))
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
			FromEnv map[string]string `toml:"env_http_headers"` // to names of variables
			Vars    []string          `toml:"env_vars"`
			Call    float64           `toml:"tool_timeout_sec"`
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
		if s.Call > 0 && s.Call <= 24*time.Hour.Seconds() {
			e.Timeout = time.Duration(s.Call * float64(time.Second))
		}
		e.Env, e.Headers = withVariables(s.Env, s.Vars), maps.Clone(s.Headers)
		for header, variable := range s.FromEnv {
			if e.Headers == nil {
				e.Headers = map[string]string{}
			}
			e.Headers[header] = "${" + variable + "}"
		}
		if s.Command != "" {
			e.Command = []string{s.Command}
		}
		if s.Bearer != "" {
			bearer := map[string]string{"Authorization": "Bearer ${" + s.Bearer + "}"}
			maps.Copy(bearer, e.Headers)
			e.Headers = bearer
		}
		out[name] = e
	}
	return out, nil
}

// withVariables adds variables that go on as they are.
func withVariables(env map[string]string, names []string) map[string]string {
	out := maps.Clone(env)
	for _, name := range names {
		if out == nil {
			out = map[string]string{}
		}
		if _, set := out[name]; !set {
			out[name] = "${" + name + "}"
		}
	}
	return out
}

// maxFile bounds a file of servers.
const maxFile = 1 << 20

// roots are the keys below which programs have servers, the one that counts first: Claude Code,
// Cursor, Windsurf, Cline and Gemini; VS Code; Zed; codex; opencode, and the settings of VS Code.
var roots = []string{"mcpServers", "servers", "context_servers", "mcp_servers", "mcp"}

// ParseFile reads {"mcpServers": {…}} and the forms that other clients have, also with comments,
// with servers by the names that they have there. Entries that cannot be used are in problems.
func ParseFile(b []byte) (servers map[string]Server, problems []error, err error) {
	if len(b) > maxFile {
		return nil, nil, fmt.Errorf("the file is longer than %d bytes", maxFile)
	}
	text, err := rootfs.Plain(b)
	if err != nil {
		return nil, nil, err
	}
	b = withoutComments([]byte(text))
	var file map[string]json.RawMessage
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, nil, jsontext.Fault(b, err)
	}
	entries, keys, err := entriesOf(b, file)
	if err != nil {
		return nil, nil, err
	}
	servers = map[string]Server{}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		var s struct {
			Server
			Enabled *bool  `json:"enabled"` // as some write it
			EnvFile string `json:"envFile"`
		}
		if err := json.Unmarshal(plainEntry(entries[name]), &s); err != nil {
			problems = append(problems, jsontext.Fault(b, err, append(keys, name)...))
			continue
		}
		s.Disabled = s.Disabled || s.Enabled != nil && !*s.Enabled
		err := s.Check()
		if s.EnvFile != "" {
			err = fmt.Errorf("its envFile %s is not read: write its variables into env, as ${NAME}", s.EnvFile)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
			continue
		}
		servers[name] = s.Server
	}
	return servers, problems, nil
}

// entriesOf returns the entries of a file, and the keys that lead to them.
func entriesOf(b []byte, file map[string]json.RawMessage) (entries map[string]json.RawMessage, keys []string, err error) {
	for _, root := range roots {
		if file[root] == nil {
			continue
		}
		if err := json.Unmarshal(file[root], &entries); err != nil {
			return nil, nil, jsontext.Fault(b, err, root)
		}
		if below, ok := entries["servers"]; root == "mcp" && ok {
			entries, keys = nil, []string{"mcp", "servers"}
			err := json.Unmarshal(below, &entries)
			return entries, keys, err
		}
		return entries, []string{root}, nil
	}
	return nil, nil, nil
}

// withoutComments blanks the comments and the commas before an end that some programs allow in
// JSON. What is elsewhere stays at its place.
func withoutComments(b []byte) []byte {
	out := slices.Clone(b)
	blank := func(from, to int) {
		for i := from; i < to && i < len(out); i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	comma := -1 // behind which nothing has come
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
			comma = -1
		case bytes.HasPrefix(out[i:], []byte("//")):
			n := bytes.IndexByte(out[i:], '\n')
			if n < 0 {
				n = len(out) - i
			}
			blank(i, i+n)
		case bytes.HasPrefix(out[i:], []byte("/*")):
			n := bytes.Index(out[i+2:], []byte("*/"))
			if n < 0 {
				return out // it is no JSON, and each further one would be sought to the end
			}
			blank(i, i+n+4)
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return out
}

// plainEntry returns an entry as other programs write it in our form: other names of keys, a
// command with its arguments in one text or object, numbers for texts, and the shell of Windows.
func plainEntry(raw json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return raw
	}
	if kind := jsontext.Text(m["type"]); kind == "local" || kind == "remote" { // of opencode
		for _, of := range []string{"{env:", "{file:"} {
			raw = bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte("$"+of), []byte(of)), []byte(of), []byte("$"+of))
		}
		if json.Unmarshal(raw, &m) != nil {
			return raw
		}
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(m["command"], &object) == nil && object != nil { // of Zed
		delete(m, "command")
		maps.Copy(m, object)
	}
	for _, to := range [][]string{{"url", "httpUrl", "serverUrl"}, {"env", "environment"}, {"headers", "http_headers"}, {"command", "path"}} {
		for _, from := range to[1:] {
			if v, ok := m[from]; ok && (m[to[0]] == nil || from == "httpUrl") {
				m[to[0]] = v
			}
		}
	}
	for _, key := range []string{"env", "headers"} {
		var values map[string]json.RawMessage
		if json.Unmarshal(m[key], &values) == nil && values != nil {
			for _, name := range slices.Collect(maps.Keys(values)) {
				values[name] = asText(values[name])
			}
			m[key] = encoded(values)
		}
	}
	var args []json.RawMessage
	if json.Unmarshal(m["args"], &args) == nil && args != nil {
		for i := range args {
			args[i] = asText(args[i])
		}
		m["args"] = encoded(args)
	}
	var line commandLine
	if json.Unmarshal(m["command"], &line) == nil && len(line) > 0 {
		if words := strings.Fields(line[0]); len(line) == 1 && len(args) == 0 && len(words) > 1 && !strings.ContainsAny(line[0], `/\"'`) {
			line = words
		}
		var texts []string
		if m["args"] == nil || json.Unmarshal(m["args"], &texts) == nil {
			whole := append(slices.Clone(line), texts...)
			if first := strings.ToLower(whole[0]); (first == "cmd" || first == "cmd.exe") && len(whole) > 2 && strings.EqualFold(whole[1], "/c") {
				line = whole[2:]
				delete(m, "args")
			}
		}
		m["command"] = encoded([]string(line))
	}
	return encoded(m)
}

// asText returns the text of a number or of true and false.
func asText(raw json.RawMessage) json.RawMessage {
	if s := string(raw); s == "true" || s == "false" || s != "" && strings.ContainsAny(s[:1], "-0123456789") {
		return encoded(s)
	}
	return raw
}
