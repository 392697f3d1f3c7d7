package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/internal/mcp"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/triggers"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/config/internal/provider"
	"github.com/adroit-run/adroit/pkg/guard/netguard"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/goccy/go-yaml"
)

const callingHint = "it is one of auto, native, constrained, text"

// checkCalling checks calling: how models call tools, by a pattern of
// provider/model.
func checkCalling(at place, by map[string]turn.Mode) error {
	for _, p := range slices.Sorted(maps.Keys(by)) {
		if !slices.Contains(turn.Modes, by[p]) {
			return fail(fmt.Errorf("%s: calling: %s is %q", at("calling", p), p, by[p]), callingHint)
		}
	}
	return nil
}

// coordinatorSection configures the memory of coordinators and their comparison of
// strategies.
type coordinatorSection struct {
	Memory  string              `yaml:"memory"`
	Compare map[string][]string `yaml:"compare"`
}

func (s coordinatorSection) check(at place) error {
	check := func(s coordinatorSection) error { return s.options().Check() }
	if err := check(s); err != nil {
		return fail(fmt.Errorf("%s: coordinator.%w", faultPlace(at, s, check, "coordinator"), err), "docs/fix.md has the values")
	}
	return nil
}

func (s coordinatorSection) options() adroit.Coordination {
	return adroit.Coordination{Memory: s.Memory, Compare: s.Compare}
}

// checkFormats checks edit_formats: in which form models write edits, by a
// pattern of provider/model.
func checkFormats(at place, f map[string]edit.Format) error {
	for _, p := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(edit.Formats, f[p]) {
			return fail(fmt.Errorf("%s: edit_formats: %s is %q", at("edit_formats", p), p, f[p]), "it is one of edit, blocks, patch, whole")
		}
	}
	return nil
}

// jobsSection bounds what runs.
type jobsSection struct {
	AtOnce int `yaml:"at_once"`
}

// Temporal is the cluster of the engine temporal. For what it leaves out [Config.Cluster] uses
// the variables that programs of Temporal have in common.
type Temporal struct {
	Address    string      `yaml:"address"` // host:port of the frontend
	Namespace  string      `yaml:"namespace"`
	TLS        TemporalTLS `yaml:"tls"`
	APIKeyFile string      `yaml:"api_key_file"`
	APIKey     string      `yaml:"-"`        // the key itself, which only the environment has
	KeyFile    string      `yaml:"key_file"` // encrypts what is sent; empty: nothing is encrypted
	Store      string      `yaml:"store"`    // the directory of large payloads; empty: there is none
	Labels     []string    `yaml:"labels"`   // of this machine as a host
}

// TemporalTLS protects the connection to Temporal. One that sets anything uses TLS.
type TemporalTLS struct {
	Enabled    bool   `yaml:"enabled"`
	CA         string `yaml:"ca"`   // file; empty: the authorities of the system
	Cert       string `yaml:"cert"` // file, of the client
	Key        string `yaml:"key"`  // file, of the client
	ServerName string `yaml:"server_name"`
}

// Cluster returns where Temporal is, completed from the environment and by defaults.
func (c *Config) Cluster() Temporal {
	t := c.Temporal
	t.Address = cmp.Or(t.Address, c.getenv("TEMPORAL_ADDRESS"), "127.0.0.1:7233")
	t.Namespace = cmp.Or(t.Namespace, c.getenv("TEMPORAL_NAMESPACE"), "default")
	t.TLS.CA = cmp.Or(t.TLS.CA, c.getenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH"))
	t.TLS.Cert = cmp.Or(t.TLS.Cert, c.getenv("TEMPORAL_TLS_CLIENT_CERT_PATH"))
	t.TLS.Key = cmp.Or(t.TLS.Key, c.getenv("TEMPORAL_TLS_CLIENT_KEY_PATH"))
	t.TLS.ServerName = cmp.Or(t.TLS.ServerName, c.getenv("TEMPORAL_TLS_SERVER_NAME"))
	word := c.getenv("TEMPORAL_TLS")
	on, err := strconv.ParseBool(cmp.Or(word, "false"))
	t.TLS.Enabled = on || err != nil || t.TLS != TemporalTLS{} // what is no such word must not end the encryption
	if t.APIKeyFile == "" {
		t.APIKey = c.getenv("TEMPORAL_API_KEY")
	}
	for _, file := range []*string{&t.TLS.CA, &t.TLS.Cert, &t.TLS.Key, &t.APIKeyFile, &t.KeyFile, &t.Store} {
		*file = c.expand(*file)
	}
	return t
}

// A networkSection limits which addresses tools reach. See netguard.Guard.
type networkSection struct {
	Allow     []string      `yaml:"allow"`
	Timeout   time.Duration `yaml:"timeout"`
	MaxBody   int           `yaml:"max_body"` // MB
	Redirects int           `yaml:"redirects" least:"-1"`
}

// guard is the network guard of tools.
func (n networkSection) guard() netguard.Guard {
	return netguard.Guard{Allow: n.Allow, Timeout: n.Timeout, MaxBody: int64(n.MaxBody) << 20, Redirects: n.Redirects}
}

func (n networkSection) check(at place) error {
	for i, entry := range n.Allow {
		if err := (netguard.Guard{Allow: []string{entry}}).Check(); err != nil {
			return fail(fmt.Errorf("%s: network.allow: %w", at("network", "allow", strconv.Itoa(i)), err), "an entry without a port stands for every port")
		}
	}
	switch {
	case n.MaxBody > 1<<10:
		return fail(fmt.Errorf("%s: network.max_body is %d", at("network", "max_body"), n.MaxBody), "it is a number of MB, 1024 at most")
	case n.Redirects > 20:
		return fail(fmt.Errorf("%s: network.redirects is %d", at("network", "redirects"), n.Redirects), "it is -1 for none, or 20 at most")
	}
	return nil
}

// An ollamaSection configures requests to Ollama.
type ollamaSection struct {
	// KeepAlive is the time for which a model stays loaded after an answer. Negative
	// means for ever; zero leaves it to the server.
	KeepAlive time.Duration `yaml:"keep_alive" least:"-"`
}

// checkPermissions checks the permission rules, before anything runs under them.
func checkPermissions(at place, rules []permit.Rule) error {
	var faults []error
	for i, r := range rules {
		if err := r.Check(); err != nil {
			faults = append(faults, fail(fmt.Errorf("%s: permissions, rule %d: %w", faultPlace(at, r, permit.Rule.Check, "permissions", strconv.Itoa(i)), i+1, err), "for example - {tool: shell, command: \"go test *\", do: allow}"))
		}
	}
	return all(faults...)
}

// secrets configure what no tool may see.
type secrets struct {
	Deny  []string `yaml:"deny"`  // more names of files that no tool may touch
	Allow []string `yaml:"allow"` // names of the built-in list that may be used after all
	Known []string `yaml:"known"` // fingerprints of findings that are no secrets
}

// check checks the names and fingerprints.
func (s secrets) check(at place) error {
	check := func(key string, names []string, check func(string) error) error {
		for i, name := range names {
			if err := check(name); err != nil {
				return fail(fmt.Errorf("%s: secrets.%s: %w", at("secrets", key, strconv.Itoa(i)), key, err), "a name may hold * and ?; it is matched with the end of a path: *.tfvars, config/prod.yaml")
			}
		}
		return nil
	}
	if err := all(check("deny", s.Deny, rootfs.CheckPattern), check("allow", s.Allow, rootfs.CheckAllowed)); err != nil {
		return err
	}
	for i, f := range s.Known {
		if !fingerprint.MatchString(f) {
			return fail(fmt.Errorf("%s: secrets.known has %q, which is no fingerprint", at("secrets", "known", strconv.Itoa(i)), f), "git_commit prints one beside each finding: sixteen letters and digits")
		}
	}
	return nil
}

var fingerprint = lazyregexp.New(`^[0-9a-f]{16}$`)

// Redactor knows every key of a configuration and of the environment, and
// those given. A configuration that could not be read is nil: it works as well
// as it can without.
func Redactor(c *Config, getenv func(string) string, more ...secret.Known) *secret.Redactor {
	var known []secret.Known
	add := func(name, value string) {
		known = append(known, secret.Known{Name: name, Value: value})
	}
	o := secret.Options{}
	if c != nil {
		o.Allow = c.Secrets.Known
		for _, name := range slices.Sorted(maps.Keys(c.keys)) {
			add("key of "+name, c.keys[name])
			for _, token := range mcp.Tokens(name, c.keys[name]) {
				add("login at "+name, token)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(c.Endpoints)) {
			e := c.Endpoints[name]
			if e.KeyEnv != "" {
				add(e.KeyEnv, getenv(e.KeyEnv))
			}
			for _, h := range slices.Sorted(maps.Keys(e.Headers)) {
				value := e.Headers[h]
				// Of "Bearer KEY" it is the key alone that others echo.
				if _, key, ok := strings.Cut(value, " "); ok && len(key) >= secret.MinKnown {
					add("header "+h, key)
				}
				add("header "+h, value)
			}
		}
		for _, name := range triggers.Secrets(c.Triggers, c.Notices) {
			add(name, getenv(name))
		}
		for _, s := range c.Sections {
			for _, name := range s.Secrets() {
				add(name, getenv(name))
			}
		}
	}
	for _, name := range provider.KeyVariables() {
		add(name, getenv(name))
	}
	var environ []string
	for _, kv := range os.Environ() {
		key, _, _ := strings.Cut(kv, "=")
		environ = append(environ, key+"="+getenv(key))
	}
	o.Known = slices.Concat(known, secret.Environ(environ), more)
	return secret.NewRedactor(o)
}

// A languageServer is added by the operator, or replaces one that is built in.
type languageServer struct {
	Command []string `yaml:"command" show:"words"`
	Files   []string `yaml:"files" show:"words"`
}

// LanguageServers are the language servers of jobs, the operator's first.
func (c *Config) LanguageServers() []lsp.Server {
	var own []lsp.Server
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		s := c.Servers[name]
		own = append(own, lsp.Server{Name: name, Command: s.Command, Files: s.Files})
	}
	return lsp.Merge(own)
}

func (c *Config) checkServers(at place) error {
	if c.Diagnostics != "" && c.Diagnostics != "on" && c.Diagnostics != "off" {
		return fail(fmt.Errorf("%s: diagnostics is %q", at("diagnostics"), c.Diagnostics), "it is on or off")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		s := c.Servers[name]
		if len(s.Command) == 0 || len(s.Files) == 0 {
			return fail(fmt.Errorf("%s: language_servers.%s needs command and files", at("language_servers", name), name), `for example {command: [rust-analyzer], files: ["*.rs"]}`)
		}
		for i, p := range s.Files {
			if _, err := path.Match(p, ""); err != nil || strings.Contains(p, "/") {
				return fail(fmt.Errorf("%s: language_servers.%s.files: %q is not a pattern of file names", at("language_servers", name, "files", strconv.Itoa(i)), name, p), `a pattern is for example "*.rs"`)
			}
		}
	}
	return nil
}

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
			faults = append(faults, fail(fmt.Errorf("%s: hooks.%s: %w", faultPlace(at, h, hooks.Hook.Check, "hooks", n), n, err), "docs/config.md has an example"))
		}
	}
	return all(faults...)
}

// checkTriggers checks what starts jobs and who is notified of them.
func (c *Config) checkTriggers(at place) error {
	var faults []error
	in := func(section string) triggers.Fault {
		return func(err error, hint string, keys ...string) {
			faults = append(faults, fail(fmt.Errorf("%s: %w", at(append([]string{section}, keys...)...), err), hint))
		}
	}
	triggers.Check(c.Triggers, in("triggers"))
	triggers.CheckNotices(c.Notices, in("notices"))
	return all(faults...)
}

// hostFiles lists the files of programs that run outside of the sandbox by the current
// configuration: of hooks, and of MCP servers without a sandbox. A faulty configuration
// starts none.
func (c *Config) hostFiles() (files []string) {
	now, err := Load(Env{Getenv: c.getenv, Parts: c.parts}, Flags{})
	if err != nil {
		return nil
	}
	for _, h := range now.hooksIn(c.getenv("HOME")) {
		files = append(files, hostexec.Files(h.Command)...)
	}
	for _, n := range now.Notices {
		if len(n.Command) > 0 {
			files = append(files, hostexec.Files(append([]string{now.expand(n.Command[0])}, n.Command[1:]...))...)
		}
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

// sections lists the sections of a program's parts.
type sections []adroit.Section

// sectionsOf makes the sections of parts, in which nothing is set.
func sectionsOf(parts []adroit.Part) (out sections) {
	for _, p := range parts {
		if p.Section != nil {
			out = append(out, p.Section())
		}
	}
	return out
}

func (l sections) keys() (out []string) {
	for _, s := range l {
		out = append(out, s.Key())
	}
	return out
}

// of is the section with a key, nil if there is none.
func (l sections) of(key string) adroit.Section {
	for _, s := range l {
		if s.Key() == key {
			return s
		}
	}
	return nil
}

// read puts what a file says into the sections. That it has no other keys has been checked.
func (l sections) read(b []byte) error {
	var fields []reflect.StructField
	for i, s := range l {
		fields = append(fields, reflect.StructField{Name: "P" + strconv.Itoa(i), Type: reflect.TypeOf(s), Tag: reflect.StructTag("yaml:" + strconv.Quote(s.Key()))})
	}
	file := reflect.New(reflect.StructOf(fields))
	if err := yaml.Unmarshal(b, file.Interface()); err != nil {
		return err
	}
	for i, s := range l {
		if read := file.Elem().Field(i); !read.IsNil() {
			reflect.ValueOf(s).Elem().Set(read.Elem())
		}
	}
	return nil
}

// check checks the sections by their own rules.
func (l sections) check(at place) error {
	var faults []error
	for _, s := range l {
		s.Check(func(err error, hint string, keys ...string) {
			faults = append(faults, fail(fmt.Errorf("%s: %w", at(append([]string{s.Key()}, keys...)...), err), hint))
		})
	}
	return all(faults...)
}

// partTools returns the parts' tools as the file sets them up, in the order of the parts.
func (c *Config) partTools(h adroit.PartHost) (list []tools.Tool) {
	for _, p := range c.parts {
		list = append(list, p.Tools...)
		if p.Section != nil {
			list = append(list, c.Sections.of(p.Section().Key()).Tools(h)...)
		}
	}
	return list
}
