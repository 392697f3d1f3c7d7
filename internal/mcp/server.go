// Package mcp gives agents the tools of other people's MCP servers: it starts the servers in the
// command sandbox or reaches them through the network guard, remembers the accepted descriptions
// of their tools, and calls them within bounds.
//
//	p := mcp.New(mcp.Options{Servers: servers, Dir: filepath.Join(data, "mcp"), Network: guard})
//	rt, err := adroit.Open(ctx, adroit.Options{ToolServers: p, …})
//
// It is not an MCP server, and it does not decide about permission: it states the needs of a tool,
// and the executor asks.
package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

// A Server is an entry of the configuration: a program that serves MCP on its
// standard input and output, or the address of a server.
type Server struct {
	// Command is the program and its first arguments, Args are more of them.
	Command commandLine `json:"command,omitempty" yaml:"command"`
	Args    []string    `json:"args,omitempty" yaml:"args"`
	// Env is added to the environment, which is scrubbed. ${NAME} stands for a
	// variable, ${file:PATH} for the content of a file, ${workspace} for the
	// directory of the job, in Args, Env, URL and Headers.
	Env    map[string]string `json:"env,omitempty" yaml:"env"`
	Grants `yaml:",inline"`

	URL     string            `json:"url,omitempty" yaml:"url"`
	Headers map[string]string `json:"headers,omitempty" yaml:"headers"`

	// Tools are the names of those that may be offered, with wildcards; empty: all.
	Tools []string `json:"tools,omitempty" yaml:"tools"`
	// Agents have the tools without naming the server, with wildcards.
	Agents  []string      `json:"agents,omitempty" yaml:"agents"`
	Timeout time.Duration `json:"timeout_ns,omitempty" yaml:"timeout"` // of a call
	// StartTimeout bounds the time that it may take to start.
	StartTimeout time.Duration `json:"start_timeout_ns,omitempty" yaml:"start_timeout"`
	Disabled     bool          `json:"disabled,omitempty" yaml:"disabled"` // it is there, and not used

	source    source
	level     string   // of the sandbox, as configured or as the job has it
	variables []string // that a project's entry may use
	listing   bool     // it is only started for its list of tools, and may not write the workspace
	wanted    bool     // it came with the job, and the operator has it, too
}

// A source is an entry's owner.
type source string

const (
	sourceUser    source = "" // the operator
	sourceProject source = "project"
	sourceClient  source = turn.OfClient
)

// project reports whether s is of a project's file: it may reach no address that is
// not public and read no file of the user.
func (s Server) project() bool { return s.source == sourceProject }

// Grants list what a program may do in the sandbox.
type Grants struct {
	Net       bool     `json:"net,omitempty" yaml:"net"`             // reach the network
	Read      []string `json:"read,omitempty" yaml:"read"`           // paths
	Write     []string `json:"write,omitempty" yaml:"write"`         // paths
	Workspace string   `json:"workspace,omitempty" yaml:"workspace"` // read or write that of the job
	Sandbox   string   `json:"sandbox,omitempty" yaml:"sandbox"`     // "off" runs it without one
}

// A ProjectGrant is the operator's grant to a server of a project's own file; the file itself
// grants nothing.
type ProjectGrant struct {
	Variables []string `yaml:"variables"` // that ${NAME} may stand for
	Net       bool     `yaml:"net"`
	Workspace string   `yaml:"workspace"` // read or write
}

// Check reports errors in a grant.
func (g ProjectGrant) Check() error {
	if g.Workspace != "" && g.Workspace != "read" && g.Workspace != "write" {
		return fmt.Errorf("workspace is %q: it is read or write, or left out", g.Workspace)
	}
	return nil
}

// commandLine is a list, or a program alone as other clients write it.
type commandLine []string

// UnmarshalJSON reads a list or a text.
func (c *commandLine) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*c = nil
		if one != "" {
			*c = commandLine{one}
		}
		return nil
	}
	err := json.Unmarshal(b, (*[]string)(c))
	if typ := new(json.UnmarshalTypeError); errors.As(err, &typ) {
		typ.Type = reflect.TypeFor[[]string]() // and not of the entry
	}
	return err
}

// UnmarshalYAML reads a list or a text.
func (c *commandLine) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if unmarshal(&one) == nil {
		*c = commandLine{one}
		return nil
	}
	return unmarshal((*[]string)(c))
}

var nameRule = lazyregexp.New(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// maxName bounds the name of a server, so that names of tools keep room.
const maxName = 32

// CheckName reports errors in the name of a server.
func CheckName(name string) error {
	if len(name) > maxName || !nameRule.MatchString(name) {
		return fmt.Errorf("%q is no name for a server: use small letters and digits, parts joined by one hyphen, at most %d of them", name, maxName)
	}
	return nil
}

// Name makes a server's name from the name that another program uses.
func Name(other string) string {
	parts := strings.FieldsFunc(strings.ToLower(other), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	name := strings.TrimLeft(strings.Join(parts, "-"), "0123456789-")
	return strings.TrimRight(name[:min(len(name), maxName)], "-")
}

// Check reports errors in an entry.
func (s Server) Check() error {
	switch {
	case len(s.Command) == 0 && s.URL == "":
		return errors.New("it has neither a command nor a url")
	case len(s.Command) > 0 && s.URL != "":
		return errors.New("it has a command and a url: it is one or the other")
	case s.Timeout < 0 || s.Timeout > 24*time.Hour:
		return errors.New("its timeout is not between nothing and a day")
	case s.StartTimeout < 0 || s.StartTimeout > time.Hour:
		return errors.New("its start_timeout is not between nothing and an hour")
	case s.Workspace != "" && s.Workspace != "read" && s.Workspace != "write":
		return fmt.Errorf("its workspace is %q: it is read or write, or left out", s.Workspace)
	case s.Sandbox != "" && s.Sandbox != "off":
		return fmt.Errorf("its sandbox is %q: it is off, or left out", s.Sandbox)
	}
	for _, p := range slices.Concat(s.Tools, s.Agents) {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("the pattern %q is malformed; wildcards are *, ? and [a-z]", p)
		}
	}
	if s.URL != "" {
		return s.checkURL()
	}
	for _, p := range slices.Concat(s.Read, s.Write) {
		if !filepath.IsAbs(p) && !strings.HasPrefix(p, "~/") {
			return fmt.Errorf("%q is not an absolute path: begin it with / or ~/", p)
		}
	}
	if len(s.Headers) > 0 {
		return errors.New("it has headers and no url")
	}
	return nil
}

func (s Server) checkURL() error {
	if s.Net || s.Workspace != "" || s.Sandbox != "" || len(s.Read)+len(s.Write)+len(s.Args)+len(s.Env) > 0 {
		return errors.New("args, env, net, read, write, workspace and sandbox are for a command")
	}
	if bad := transport.Unusable(s.URL); bad != "" {
		return fmt.Errorf("%q is no http or https address: it %s", s.URL, bad)
	}
	u, err := url.Parse(s.URL)
	switch {
	case err != nil:
		return err // it was read a moment ago
	case u.User != nil:
		return errors.New("the url has a user name or password in it: use a header")
	case u.Scheme == "http" && len(s.Headers) > 0 && !local(u.Hostname()):
		return errors.New("the headers would be sent in the clear: use https")
	}
	return nil
}

// local reports whether a host is this machine.
func local(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// transport names how a server is reached.
func (s Server) transport() string {
	if s.URL != "" {
		return "http"
	}
	return "stdio"
}

// Target describes the command or address of a server for people, without secrets: those that
// belong into headers and variables, and what looks like one elsewhere.
func (s Server) Target() string {
	text, _ := shapes().String(s.target())
	return text
}

var shapes = sync.OnceValue(func() *secret.Redactor { return secret.NewRedactor(secret.Options{}) })

func (s Server) target() string {
	if s.URL != "" {
		u, err := url.Parse(s.URL)
		if err != nil {
			return "?"
		}
		u.RawQuery, u.Fragment = "", ""
		return u.String()
	}
	return strings.Join(slices.Concat(s.Command, s.Args), " ")
}

// Asks describes, one thing a line, what an entry would have a machine do, for the person who
// decides about the file that has it. It grants nothing.
func (s Server) Asks() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if s.URL != "" {
		add("reaches %s", s.URL)
	} else {
		add("starts %s", s.Target())
	}
	var variables, files []string
	texts := slices.Concat(s.Command, s.Args, slices.Collect(maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers)), []string{s.URL})
	for _, text := range texts {
		for _, part := range strings.Split(text, "${")[1:] {
			name, _, _ := strings.Cut(part, "}")
			name = strings.TrimPrefix(name, "env:")
			if file, ok := strings.CutPrefix(name, "file:"); ok {
				files = append(files, file)
			} else if name, _, _ = strings.Cut(name, ":-"); !isWorkspace(name) {
				variables = append(variables, name)
			}
		}
	}
	each := func(what string, list []string) {
		if list = slices.Compact(slices.Sorted(slices.Values(list))); len(list) > 0 {
			add("%s %s", what, strings.Join(list, ", "))
		}
	}
	each("wants the values of your variables", variables)
	each("wants the content of the files", files)
	each("sets for its program the variables", slices.Collect(maps.Keys(s.Env)))
	each("sends the headers", slices.Collect(maps.Keys(s.Headers)))
	if s.Net {
		add("wants the network")
	}
	if s.Workspace != "" {
		add("wants the workspace, to %s", s.Workspace)
	}
	each("wants to read", s.Read)
	each("wants to write", s.Write)
	if s.Sandbox == "off" {
		add("wants to run without a sandbox")
	}
	return out
}

// digest identifies an entry by its content.
func (s Server) digest() string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // it has nothing that cannot be encoded
	}
	return digest(b)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// expand replaces references in an entry.
func (s Server) expand(dir string, getenv func(string) string, readFile func(string) ([]byte, error)) (Server, error) {
	if s.source == sourceClient {
		return s, nil // a client writes what it means
	}
	var errs []error
	one := func(text string) string {
		out, err := s.reference(text, dir, getenv, readFile)
		if err != nil {
			errs = append(errs, err)
		}
		return out
	}
	each := func(m map[string]string) map[string]string {
		out := map[string]string{}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			out[k] = one(m[k])
		}
		return out
	}
	s.Command, s.Args = slices.Clone(s.Command), slices.Clone(s.Args)
	for i := range s.Command {
		s.Command[i] = one(s.Command[i])
	}
	for i := range s.Args {
		s.Args[i] = one(s.Args[i])
	}
	s.Env, s.Headers, s.URL = each(s.Env), each(s.Headers), one(s.URL)
	return s, errors.Join(errs...)
}

// isWorkspace reports whether a reference is the directory of the job, which others name
// workspaceFolder.
func isWorkspace(name string) bool { return name == "workspace" || name == "workspaceFolder" }

// maxReference bounds the file of a reference.
const maxReference = 64 << 10

// reference replaces ${workspace}, ${file:PATH}, ${NAME} and ${NAME:-default}.
func (s Server) reference(text, dir string, getenv func(string) string, readFile func(string) ([]byte, error)) (string, error) {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "${")
		out.WriteString(before)
		if !ok {
			return out.String(), nil
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return "", fmt.Errorf("a reference does not end: ${%s", rest)
		}
		text = after
		name = strings.TrimPrefix(name, "env:")
		file, isFile := strings.CutPrefix(name, "file:")
		name, otherwise, hasDefault := strings.Cut(name, ":-")
		if name == "userHome" {
			name = "HOME"
		}
		switch {
		case strings.HasPrefix(name, "input:"):
			return "", fmt.Errorf("${%s} is a value that another program asks for: write ${NAME} for a variable that has it", name)
		case isFile && s.project():
			return "", errors.New("a project's server may not read ${file:…}")
		case isFile:
			b, err := readFile(file)
			if err != nil || len(b) > maxReference {
				return "", fmt.Errorf("${file:%s} cannot be read, or is longer than %d bytes", file, maxReference)
			}
			out.WriteString(strings.TrimSpace(string(b)))
		case isWorkspace(name):
			out.WriteString(dir)
		case s.project() && !slices.Contains(s.variables, name):
			if !hasDefault {
				return "", fmt.Errorf("a project's server gets the variables that you name for it: variables: [%s] under mcp_projects in the configuration", name)
			}
			out.WriteString(otherwise)
		case getenv(name) != "":
			out.WriteString(getenv(name))
		case hasDefault:
			out.WriteString(otherwise)
		default:
			return "", fmt.Errorf("the variable %s is not set", name)
		}
	}
}
