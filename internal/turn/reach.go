package turn

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Names of the tools through which a model reaches tools of servers that are not
// in its list, because there are too many of them.
const (
	DescribeTool = "describe_tool" // finds tools and shows how they are called
	CallTool     = "call_tool"     // calls one
	ReadResource = "read_resource" // reads a resource of a server
)

// ReachArtifact is the artifact of a task that has its [Reach].
const ReachArtifact = "server_tools"

// A Reach is what a task reaches through those tools. It is pinned with the task;
// the tools themselves are pinned in the directory of the job.
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

// Meant is the call that a call of call_tool stands for; ok is false if that is
// not within reach.
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

// Hint is what helps where nobody is asked.
func (c *Changed) Hint() string {
	return "adroit mcp check " + c.Server + " --accept accepts it as it is"
}

// Why states what is asked about, and what the server has.
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

// An Answer is what the user said to an [Asking].
type Answer struct {
	ID      string          `json:"id"`
	Call    string          `json:"call,omitempty"`
	Action  string          `json:"action"` // accept, decline or cancel
	Content json.RawMessage `json:"content,omitempty"`
}

// Said is what people have said to what a call asked when it was made before.
type Said struct {
	Answers  []Answer
	Accepted string // the digest of a changed tool
	Nobody   bool   // can be asked
}

type saidKey struct{}

// WithSaid gives a call what people have said.
func WithSaid(ctx context.Context, s Said) context.Context {
	return context.WithValue(ctx, saidKey{}, s)
}

// SaidTo returns what people have said.
func SaidTo(ctx context.Context) Said {
	s, _ := ctx.Value(saidKey{}).(Said)
	return s
}
