package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/hint"
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

// Servers provide tools that are not part of this program, such as those of MCP servers. They are
// started when a call first needs them.
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

// A Scope is the context of a request for tools.
type Scope struct {
	Dir     string // the workspace
	Origin  string // the work tree that a worktree of a job was made from; empty: Dir
	Project []byte // the content of its trusted ProjectFile; nil for none
	Client  []byte // servers that came with the job, in the same form; nil for none
	Plan    bool   // the job is in mode plan: a server that is started to be asked for its tools changes nothing
	Sandbox string // the level of the job, where it is not the operator's; empty: as configured
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
		Transport string    `json:"transport"` // stdio, http, or sse for HTTP+SSE of 2024-11-05
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
		// Compared are the files of its command whose content is compared with the accepted
		// content before it is started, with ${workspace} for the directory of the job.
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
		// Accepted is the earlier, accepted form of a tool that has changed.
		Accepted *Accepted `json:"accepted,omitempty"`
		Effect   string    `json:"effect"`
		Asks     bool      `json:"asks,omitempty"` // a person is asked about each call
		// Unchecked lists the parts of the schema that are not understood: they are left out, and
		// arguments that violate them are sent.
		Unchecked []string `json:"unchecked,omitempty"`
	}
)

// Bounds of the tools that are offered directly. Others are reached through describe_tool and
// call_tool.
const (
	maxDirect      = 40     // tools
	maxDirectBytes = 20_000 // of what is sent of them, some 6,000 tokens
)

// Direct reports whether tools are few and short enough for the list of tools that
// a model is sent with each request.
func Direct(list []Tool) bool {
	size := 0
	for _, t := range list {
		size += len(t.Name) + len(t.Description) + len(t.Input)
	}
	return len(list) <= maxDirect && size <= maxDirectBytes
}

// maxListing bounds the names in a listing, some 1,200 tokens.
const maxListing = 4000

// Listing lists the names of tools by server as far as there is room, which is divided among the
// servers.
func Listing(list []Tool) string {
	by := map[string][]string{}
	var servers []string
	for _, t := range list {
		if by[t.Server] == nil {
			servers = append(servers, t.Server)
		}
		by[t.Server] = append(by[t.Server], strings.TrimPrefix(t.Name, Prefix(t.Server)))
	}
	slices.Sort(servers)
	var b strings.Builder
	for i, server := range servers {
		room := (maxListing - b.Len()) / (len(servers) - i)
		names := by[server]
		slices.Sort(names)
		line, n := fmt.Sprintf("%s has %d tools:", server, len(names)), 0
		for _, name := range names {
			if len(line)+len(name)+2 > room {
				break
			}
			line += " " + name
			n++
		}
		if n == 0 && room < len(line) {
			continue
		}
		if n < len(names) {
			line += " …"
		}
		fmt.Fprintf(&b, "\n%s* = %s", Prefix(server), line)
	}
	return b.String()
}

// mostFound is the number of tools that a search shows.
const mostFound = 20

// FindServer lists the tools that words speak of, the best first, a line each; more is
// how many there are beyond those.
func FindServer(list []Tool, words string) (lines []string, more int) {
	type hit struct {
		t     Tool
		score int
	}
	var hits []hit
	terms := strings.FieldsFunc(strings.ToLower(words), func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r > 127) })
	for _, t := range list {
		name, about, score := strings.ToLower(t.Name), strings.ToLower(t.Description), 0
		for _, term := range terms {
			switch {
			case strings.Contains(name, term):
				score += 3
			case len(term) > 2 && strings.Contains(about, term):
				score++
			}
		}
		if score > 0 || len(terms) == 0 {
			hits = append(hits, hit{t, score})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.t.Name, b.t.Name))
	})
	for _, h := range hits[:min(len(hits), mostFound)] {
		about, _, _ := strings.Cut(h.t.Description, "\n")
		if about = strings.ToValidUTF8(about, ""); len(about) > 120 {
			about = strings.ToValidUTF8(about[:120], "") + "…"
		}
		lines = append(lines, h.t.Name+": "+about)
	}
	return lines, max(0, len(hits)-mostFound)
}

// Names of the tools through which a model reaches tools of servers that are not
// in its list, because there are too many of them.
const (
	DescribeTool = "describe_tool" // finds tools and shows how they are called
	CallTool     = "call_tool"     // calls one
	ReadResource = "read_resource" // reads a resource of a server
)

// ReachArtifact is the artifact of a task that has its [Reach].
const ReachArtifact = "server_tools"

// A Reach lists the tools that a task reaches through those tools. It is pinned with the task; the
// tools themselves are pinned in the directory of the job.
type Reach struct {
	Allow   []string `json:"allow,omitempty"`   // names of tools, with wildcards
	Deny    []string `json:"deny,omitempty"`    // names that are left out
	Servers []string `json:"servers,omitempty"` // whose resources may be read
}

// ReadReach reads a Reach, nil if there is none.
func ReadReach(raw json.RawMessage) *Reach {
	r := new(Reach)
	if len(raw) == 0 || json.Unmarshal(raw, r) != nil {
		return nil
	}
	return r
}

// Has reports whether a tool is within reach.
func (r *Reach) Has(name string) bool {
	return r != nil && strings.HasPrefix(name, prefix) && match(r.Allow, name) && !match(r.Deny, name)
}

func match(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

// Meant returns the call that a call of call_tool stands for; ok is false if its tool is not
// within reach.
func (r *Reach) Meant(args json.RawMessage) (name string, inner json.RawMessage, ok bool) {
	var in struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(args, &in) != nil || !r.Has(in.Name) {
		return "", nil, false
	}
	var text string // models encode arguments twice at times
	if json.Unmarshal(in.Arguments, &text) == nil && json.Valid([]byte(text)) {
		in.Arguments = json.RawMessage(text)
	}
	if len(in.Arguments) == 0 {
		in.Arguments = json.RawMessage("{}")
	}
	return in.Name, in.Arguments, true
}

// An Asking is the error of a call that has to ask the user something before it
// can go on.
type Asking struct {
	ID      string // of what is asked: the answer names it
	Call    string // the call that waits, for the process that has it
	Server  string
	Tool    string
	Message string          // what the server asks
	Schema  json.RawMessage // of the answer; nil if it is yes or no
	URL     string          // that the user is to open
	Fault   string          // what is wrong with the answer before
}

// Error implements error.
func (a *Asking) Error() string { return "the MCP server " + a.Server + " asks the user: " + a.Message }

// A Changed is the error of a call of a tool that its server describes otherwise
// than when it was accepted, or of a server that would start other files.
type Changed struct {
	Server, Tool string // no tool: the files that the server starts
	Digest       string // of what it is now
	Text         string // what it is now, or what differs, for the person who accepts it
	Reach        string // what the server has, in words
}

// Error implements error.
func (c *Changed) Error() string {
	if c.Tool == "" {
		return c.Why() + ", so that it is not started:\n" + c.Text
	}
	return "the MCP server " + c.Server + " has changed its tool " + c.Tool
}

// Hint returns advice for runs in which nobody is asked.
func (c *Changed) Hint() string {
	return hint.Name("mcp check %s --accept", c.Server) + " accepts it as it is"
}

// Why describes the question, and what the server can reach.
func (c *Changed) Why() string {
	if c.Reach != "" {
		bare := *c
		bare.Reach = ""
		return bare.Why() + "; " + c.Reach
	}
	if c.Tool == "" {
		return "the files that the MCP server " + c.Server + " starts are others than when they were accepted"
	}
	return "the MCP server " + c.Server + " describes its tool " + c.Tool + " otherwise than when it was accepted"
}

// An Answer is the user's answer to an [Asking].
type Answer struct {
	ID      string          `json:"id"`
	Call    string          `json:"call,omitempty"`
	Action  string          `json:"action"` // accept, decline or cancel
	Content json.RawMessage `json:"content,omitempty"`
}

// Said has people's earlier answers to the questions of a call.
type Said struct {
	Answers  []Answer
	Accepted string // the digest of a changed tool
	Nobody   bool   // can be asked
}

type answersKey struct{}

// WithSaid returns a context with people's answers to a call.
func WithSaid(ctx context.Context, s Said) context.Context {
	return context.WithValue(ctx, answersKey{}, s)
}

// SaidTo returns people's answers to the call of ctx.
func SaidTo(ctx context.Context) Said {
	s, _ := ctx.Value(answersKey{}).(Said)
	return s
}
