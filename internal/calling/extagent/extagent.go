// Package extagent describes an external agent to the loop: a model that works with tools of its
// own.
package extagent

import (
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
)

// A Model is an external agent, such as a command-line agent: before it
// answers it reads and changes files and runs commands in a directory with
// tools of its own. It gets no tools from a [llm.Request]; its work arrives as
// [llm.Activity] while it runs and as [llm.Work] with its answer.
//
// Open returns the same model with access to a directory. Without a session an
// Model may touch nothing: it only answers.
//
// The work of an external agent is not safe to repeat. [llm.Error.Acted] is set
// if it had begun.
type Model interface {
	llm.Model
	Open(Session) llm.Model
}

// Kinds of errors of external agents, in addition to those of every model.
const (
	NoResult  llm.ErrorKind = "no_result"  // the agent ended without a result
	NoProgram llm.ErrorKind = "no_program" // its program is not installed or does not start
)

// StopLimit is the [llm.Work.Stopped] of an agent that reached one of its limits.
const StopLimit llm.Stop = "bound"

// agentPrefix is the provider in the names of external agents.
const agentPrefix = "cli/"

// IsAgent reports whether a provider/model name names a [Model]. It reads only the name, so that
// workflows may call it.
func IsAgent(ref string) bool { return strings.HasPrefix(ref, agentPrefix) }

// A Session is the place of a [Model]'s work, and its limits.
type Session struct {
	Dir    string // absolute
	Access Access
	Limits Limits
	// Approve decides about a permission that the agent requests. Nil refuses.
	// It may be called from several goroutines and returns soon after its
	// context ends.
	Approve ApproveFunc
}

// Access lists what a [Model] may do besides reading. Each agent enforces it as far as it can, and
// its documentation states how far.
type Access struct {
	Write         bool `json:"write,omitempty"` // change files in the directory
	Run           bool `json:"run,omitempty"`   // run commands there
	SandboxedOnly bool `json:"held,omitempty"`  // run commands only in the agent's own sandbox
	Net           bool `json:"net,omitempty"`   // reach the network with its tools
}

// List names the permissions in r, for people.
func (r Access) List() string {
	names := []string{"read"}
	for _, w := range []struct {
		may  bool
		name string
	}{{r.Write, "write"}, {r.Run, "run commands"}, {r.Net, "reach the network"}} {
		if w.may {
			names = append(names, w.name)
		}
	}
	return strings.Join(names, ", ")
}

// Limits end the work of an [Model] from outside, because none of
// them detects all of its own loops. A zero field means the agent's default,
// -1 no limit.
type Limits struct {
	Turns     int           `json:"turns,omitempty"`    // requests to the model behind it, where its stream reports them
	Tokens    int           `json:"tokens,omitempty"`   // in and out together
	CostUSD   float64       `json:"cost_usd,omitempty"` // as it reports it
	Wall      time.Duration `json:"wall_ns,omitempty"`
	Idle      time.Duration `json:"idle_ns,omitempty"` // without output, while none of its tools runs
	SameCalls int           `json:"same,omitempty"`    // identical tool calls in a row
}

// An ApproveFunc decides about a permission. It returns the reason for a
// refusal, in words for the agent, or "" to approve.
type ApproveFunc func(p PermissionRequest) (refusal string)

// A PermissionRequest is an action that an [Model] wants approved.
type PermissionRequest struct {
	Kind    string   `json:"kind"`              // read, edit, delete, move, execute, fetch, …
	Title   string   `json:"title"`             // in the agent's words
	Command string   `json:"command,omitempty"` // the command, if the agent reports it
	Paths   []string `json:"paths,omitempty"`   // the files concerned
}

// Kinds of an [llm.Activity]. They are added, never renamed.
const (
	SessionOpened   = "session"       // ID resumes it, Text is the program's version and model
	ToolStarted     = "tool.started"  // Name and Text: the tool and its arguments
	ToolFinished    = "tool.finished" // with Status, and Code for a command
	FileChanged     = "file.changed"  // Text is the path, Name add, update or delete
	Warned          = "warning"
	Retried         = "retry" // it repeats a request to its own model
	UsageReported   = "usage" // so far
	PermissionAsked = "permission"
)

// How a tool of an [Model] ended: the Status of an [llm.Activity].
const (
	StatusOK      = "ok"
	StatusError   = "error"
	StatusDenied  = "denied"
	StatusUnknown = "unknown" // its stream does not report it
)

// Text returns a as one line for people.
func Text(a llm.Activity) string {
	var b strings.Builder
	put := func(parts ...string) {
		for _, w := range parts {
			if w != "" {
				if b.Len() > 0 {
					b.WriteByte(' ')
				}
				b.WriteString(w)
			}
		}
	}
	switch a.Kind {
	case SessionOpened:
		put("session", a.ID)
		if a.Text != "" {
			put("(" + a.Text + ")")
		}
	case FileChanged:
		put(a.Name, a.Text)
	case UsageReported:
		if a.Usage != nil {
			put(fmt.Sprintf("%d tokens in, %d out", a.Usage.In, a.Usage.Out))
		}
	case Warned, Retried:
		put(a.Kind+":", a.Text)
	case PermissionAsked:
		put("asked to", a.Name+":", a.Text+":")
		if a.Status == StatusDenied {
			put("no,", a.Output)
		} else {
			put("yes")
		}
	default:
		put(a.Name, a.Text)
		switch {
		case a.Code != nil && *a.Code != 0:
			put(fmt.Sprintf("(exit code %d)", *a.Code))
		case a.Status == StatusError || a.Status == StatusDenied:
			put("(" + a.Status + ")")
		}
	}
	return b.String()
}
