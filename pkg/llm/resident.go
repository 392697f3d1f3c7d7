package llm

import (
	"fmt"
	"strings"
	"time"
)

// A Resident is a model that works on its own: it has tools of its own, reads
// and changes files and runs commands in a directory before it answers. A
// command-line agent is one. It gets no tools from a [Request]; what it did
// comes as [Activity] while it works and as [Work] with its answer.
//
// In gives the same model at work in a place. Asked without a place, a Resident
// may touch nothing: it only answers.
//
// What a Resident does is not safe to repeat. An [Error] of one that had begun
// to work says so in Acted.
type Resident interface {
	Model
	In(Place) Model
}

// residents is the provider under which they go by.
const residents = "cli/"

// Resides reports whether a provider/model name is that of a [Resident]: such
// names begin with cli/. It asks nobody, so that workflows may.
func Resides(ref string) bool { return strings.HasPrefix(ref, residents) }

// A Place is where a [Resident] works and how far it may go.
type Place struct {
	Dir    string // absolute
	May    Rights
	Bounds Bounds
	// Permit decides about something that the resident asks before it does it,
	// for those that ask. Nil refuses. It may be called from several goroutines
	// and returns soon after its context ends.
	Permit Permit
}

// Rights are what a [Resident] may do besides reading. How far they are
// enforced is the resident's own affair, and its documentation says so.
type Rights struct {
	Write bool `json:"write,omitempty"` // change files in the place
	Run   bool `json:"run,omitempty"`   // run commands there
	Held  bool `json:"held,omitempty"`  // but only if the resident itself confines them
	Net   bool `json:"net,omitempty"`   // reach the network with its tools
}

// Words lists what r allows, for people.
func (r Rights) Words() string {
	words := []string{"read"}
	for _, w := range []struct {
		may  bool
		word string
	}{{r.Write, "write"}, {r.Run, "run commands"}, {r.Net, "reach the network"}} {
		if w.may {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, ", ")
}

// Bounds end the work of a [Resident] from outside, because none ends all of its
// own circles. A zero field means the resident's default, -1 no bound.
type Bounds struct {
	Turns   int           `json:"turns,omitempty"`    // requests to the model behind it, as far as its stream tells them
	Tokens  int           `json:"tokens,omitempty"`   // in and out together
	CostUSD float64       `json:"cost_usd,omitempty"` // as it reports it
	Wall    time.Duration `json:"wall_ns,omitempty"`
	Idle    time.Duration `json:"idle_ns,omitempty"` // without a sign of life, while none of its tools runs
	Same    int           `json:"same,omitempty"`    // identical calls of a tool in a row
}

// A Permit decides about a request for permission. It returns no if the thing
// may not happen, in words for the resident.
type Permit func(p Permission) (no string)

// A Permission is what a [Resident] asks before it does it.
type Permission struct {
	Kind    string   `json:"kind"`              // read, edit, delete, move, execute, fetch, …
	Title   string   `json:"title"`             // in the resident's words
	Command string   `json:"command,omitempty"` // that would run, as far as it tells
	Paths   []string `json:"paths,omitempty"`   // that it is about
}

// An ActivityKind says what a [Resident] did. Kinds are added to, never renamed.
type ActivityKind string

const (
	SessionOpened ActivityKind = "session"       // ID is what resumes it, Text the program's version and model
	ToolStarted   ActivityKind = "tool.started"  // Name and Text: the tool and what it was called with
	ToolFinished  ActivityKind = "tool.finished" // with Status, and Code if it was a command
	FileChanged   ActivityKind = "file.changed"  // Text is the path, Name add, update or delete
	Warned        ActivityKind = "warning"
	Retried       ActivityKind = "retry" // it asks its own model again
	Spent         ActivityKind = "usage" // so far
	Asked         ActivityKind = "permission"
)

// A Status says how a tool of a [Resident] ended.
type Status string

const (
	OK      Status = "ok"
	Wrong   Status = "error"
	Denied  Status = "denied"
	Unknown Status = "unknown" // its stream does not tell
)

// An Activity is something that a [Resident] did on its own. It is a report of
// the resident's: nothing vouches for it.
type Activity struct {
	Kind   ActivityKind `json:"activity"`
	ID     string       `json:"id,omitempty"`   // of the call or the session
	Name   string       `json:"name,omitempty"` // of the tool
	Text   string       `json:"text,omitempty"`
	Said   string       `json:"said,omitempty"` // first line of what a tool returned
	Code   *int         `json:"code,omitempty"` // exit code of a command
	Status Status       `json:"status,omitempty"`
	Usage  *Usage       `json:"usage,omitempty"`
}

// Work is what a [Resident] did for one answer, by its own account.
type Work struct {
	Session string  `json:"session,omitempty"` // what resumes it
	Program string  `json:"program,omitempty"` // and its version, as far as it tells
	Turns   int     `json:"turns,omitempty"`   // requests to the model behind it
	Calls   int     `json:"calls,omitempty"`   // of its tools
	Denied  int     `json:"denied,omitempty"`  // of them
	CostUSD float64 `json:"cost_usd,omitempty"`
	Changed int     `json:"changed,omitempty"` // files, by its own account
	// Refused says what it asked and was not allowed, and why: it is told no more
	// than that it may not.
	Refused []string `json:"refused,omitempty"`
	// Stopped names the bound that ended it before it was done: turns, tokens,
	// cost, time or same. The answer is then what it had said so far.
	Stopped string `json:"stopped,omitempty"`
}

// String is a in a line for people.
func (a Activity) String() string {
	var b strings.Builder
	put := func(words ...string) {
		for _, w := range words {
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
	case Spent:
		if a.Usage != nil {
			put(fmt.Sprintf("%d tokens in, %d out", a.Usage.In, a.Usage.Out))
		}
	case Warned, Retried:
		put(string(a.Kind)+":", a.Text)
	case Asked:
		put("asked to", a.Name+":", a.Text+":")
		if a.Status == Denied {
			put("no,", a.Said)
		} else {
			put("yes")
		}
	default:
		put(a.Name, a.Text)
		switch {
		case a.Code != nil && *a.Code != 0:
			put(fmt.Sprintf("(exit code %d)", *a.Code))
		case a.Status == Wrong || a.Status == Denied:
			put("(" + string(a.Status) + ")")
		}
	}
	return b.String()
}
