package turn

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/tools"
)

// prefix begins the names of all tools of servers.
const prefix = "mcp__"

// Prefix begins the names of the tools of a server; of all of them for "".
func Prefix(server string) string {
	if server == "" {
		return prefix
	}
	return prefix + strings.ReplaceAll(server, "-", "_") + "__"
}

// OfClient is the source of servers that came with a job.
const OfClient = "client"

// ProjectFile is the file of a workspace that names MCP servers, which are used
// where the operator trusts it.
const ProjectFile = ".mcp.json"

// Servers have tools that are not part of this program, such as those of MCP
// servers. They are started when a call first needs them.
type Servers interface {
	// Tools returns the tools of servers that may be offered to a job.
	Tools(ctx context.Context, in Scope, servers []string) ([]Tool, error)
	// Call calls one. What the model should read is a result with Failed set.
	Call(ctx context.Context, in Scope, t Tool, env *tools.Env, args json.RawMessage) (tools.Result, error)
	// Resource reads a resource of a server, or lists those that it has.
	Resource(ctx context.Context, in Scope, server, uri string) (tools.Result, error)
	// Prompt fills in a prompt of a server and returns its text.
	Prompt(ctx context.Context, in Scope, server, name string, args map[string]string) (string, error)
	// For returns the servers whose tools an agent has without naming them.
	For(agent string) []string
	List(in Scope) ([]Info, error)
	// Check starts a server and reports its tools; accept also lets those be
	// offered that have changed since they were first seen, or are new.
	Check(ctx context.Context, in Scope, server string, accept bool) (*Report, error)
	Close() error
}

// A Scope is where tools are asked for.
type Scope struct {
	Dir     string // the workspace
	Origin  string // the work tree that a worktree of a job was made from; empty: Dir
	Project []byte // the content of its trusted ProjectFile; nil for none
	Client  []byte // servers that came with the job, in the same form; nil for none
	Plan    bool   // the job is in mode plan: a server that is started to be asked for its tools changes nothing
	Tool    string // the only one that is of interest, as its server names it; empty: all
}

// A Tool is a tool of a server, by value: a job pins it.
type Tool struct {
	tools.Metadata
	Input  json.RawMessage `json:"input"`
	Server string          `json:"server"`
	Tool   string          `json:"tool"`   // what the server calls it
	Digest string          `json:"digest"` // of all that the server says of it
}

// Descriptions of tool servers.
type (
	Info struct {
		Name      string    `json:"name"`
		Transport string    `json:"transport"` // stdio or http
		Target    string    `json:"target"`    // the command or the address
		Source    string    `json:"source"`    // user, client or project
		State     string    `json:"state"`     // configured, started, used or disabled
		Agents    []string  `json:"agents,omitempty"`
		Tools     int       `json:"tools"`             // that are offered
		Pending   int       `json:"pending,omitempty"` // that have changed or are new, and are not
		Resources bool      `json:"resources,omitempty"`
		Prompts   []Prompt  `json:"prompts,omitempty"`
		LoggedIn  bool      `json:"logged_in,omitempty"`
		Seen      time.Time `json:"seen,omitzero"`
		Used      time.Time `json:"used,omitzero"`
	}
	Report struct {
		Info
		Version  string `json:"version,omitempty"`  // what the server calls itself
		Protocol string `json:"protocol,omitempty"` // the revision it uses
		// Compared are the files of its command whose content is compared with what was
		// accepted before it is started, with ${workspace} for the directory of the job.
		Compared []string `json:"compared,omitempty"`
		Items    []Item   `json:"items"`
		Unusable []string `json:"unusable,omitempty"` // tools that cannot be used, and why
		Gone     []string `json:"gone,omitempty"`     // tools that it had
		More     int      `json:"more,omitempty"`     // tools beyond what is offered
	}
	Prompt struct {
		Name        string     `json:"name"`
		Description string     `json:"description,omitempty"`
		Arguments   []Argument `json:"arguments,omitempty"`
	}
	Argument struct {
		Name     string `json:"name"`
		Required bool   `json:"required,omitempty"`
	}
	Accepted struct {
		Description string          `json:"description,omitempty"`
		Input       json.RawMessage `json:"input"`
	}
	Item struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Input       json.RawMessage `json:"input,omitempty"` // the schema of its arguments, as models get it
		State       string          `json:"state"`           // offered, changed or new
		// Accepted is what was accepted before, of a tool that is another one now.
		Accepted *Accepted `json:"accepted,omitempty"`
		Effect   string    `json:"effect"`
		Asks     bool      `json:"asks,omitempty"` // a person is asked about each call
		// Unchecked has what of the schema is not understood: it is left out, and
		// arguments that break it are sent.
		Unchecked []string `json:"unchecked,omitempty"`
	}
)
