package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Host performs the steps of one job. It has the keys, files and processes that steps only name.
type Host struct {
	// Models finds the model of a provider/model name and the name to send.
	Models func(ctx context.Context, name string) (llm.Model, string, error)
	// Tools has the bodies of the tools that tasks may name.
	Tools *tools.Set
	// ServerTool returns the tools of tool servers, and the tools that reach them; it takes
	// precedence over Tools. May be nil.
	ServerTool func(name string) (tools.Tool, bool)
	// Env returns the environment of tools, in the job's directory or, if at is set, in the
	// worktree of a sub-agent; each call gets the part that it needs.
	Env func(ctx context.Context, job, at string) (*tools.Env, error)
	// Middleware wraps every tool call: each may inspect a call, change it, answer
	// it itself or work on its result. The first is outermost.
	Middleware []func(next ToolHandler) ToolHandler
	// Policy judges a call after the rules, and before a person is asked; see
	// adroit.Callbacks. May be nil.
	Policy func(context.Context, Invocation) permit.Verdict
	// Context adds values for a tool to the context of its call. May be nil.
	Context func(context.Context, Invocation) context.Context
	// Secrets keeps calls from overwriting secrets with the replacements that the model was shown.
	// May be nil.
	Secrets *secret.Redactor
	// Bind adds the artifacts that the host rather than the tool produces, such as the diff of the
	// job's changes. May be nil.
	Bind func(ctx context.Context, job, at string, t tools.Tool, res *tools.Result) error
	// Fault returns the storage failure that calls there have met, or nil. It ends the run,
	// whatever the tool made of it, or makes the step wait if the host is exhausted: that failure
	// is returned once. May be nil.
	Fault func(job, at string) error
	// Revert reverts the changes of the step at path to files there, so that it can be performed
	// again; it reports false if that is impossible. May be nil.
	Revert func(job, at, path string) (bool, error)
	// New notes that a step at path begins there. It is an error if that has begun before. It is
	// called before a step that the journal has never seen. May be nil.
	New func(ctx context.Context, job, at, path string) error
	// Worktrees makes copies of the work tree for sub-agents. May be nil.
	Worktrees Worktrees
	// Confinement returns the sandbox around commands here, for decisions about calls
	// that run one; approval prompts show it. It may be called from several goroutines.
	// Nil: there is none.
	Confinement func() Confinement
	// Trusted reports whether no file of the project that would instruct agents lacks a person's
	// trust: then its own builds and tests are not asked about. Nil: it is not trusted.
	Trusted func() bool
	// CallModes knows how models call tools. May be nil: then all modes are tried.
	CallModes CallModes
	// Record stores models' responses with their requests; either is nil if it was too long to
	// store. Its error fails the step. It may be called from several goroutines. May be nil.
	Record func(*llm.Request, *llm.Response) error
	// Blobs has the transcripts.
	Blobs flow.Blobs
	// Images reads an image of the job's messages by its digest. May be nil.
	Images func(digest string) ([]byte, error)
	// KeepImage keeps an image that a tool has returned, durably. Nil: models learn of
	// such images by their text only.
	KeepImage func(i *llm.Image) error
	// NoImages returns why a model is sure to take no images, "" if it takes them or
	// nobody knows. May be nil.
	NoImages func(ctx context.Context, model string) string
	// Person asks the person present, if any, whether a model may do something that it is about to
	// do on its own; no is the reason if not. Nil: nobody is there.
	Person func(ctx context.Context, q executor.Question) (no string, err error)
	// Results stores the results that models see in part. May be nil.
	Results *ResultStore
	// ModelTimeout bounds one attempt of a model call; zero means ten
	// minutes. Attempts bounds the tries of a failing model call; zero means
	// five.
	ModelTimeout time.Duration
	Attempts     int
	// Patience bounds the wait for a model whose server is busy, because it loads the model or
	// limits the rate. Zero: as long as Attempts take.
	Patience time.Duration
	// Rate returns the cost of a model's usage in USD, for events. May be nil.
	Rate func(model string, u llm.Usage) float64
}

func (h Host) context(ctx context.Context, p Invocation) context.Context {
	if h.Context == nil {
		return ctx
	}
	return h.Context(ctx, p)
}

// lookup finds a tool with its body.
func (h Host) lookup(name string) (tools.Tool, bool) {
	if h.ServerTool != nil {
		if t, ok := h.ServerTool(name); ok {
			return t, true
		}
	}
	return h.Tools.Lookup(name)
}

// fault returns the storage failure that calls at a worktree have met, in a form that ends the
// run.
func (h Host) fault(job, at string) error {
	if h.Fault == nil {
		return nil
	}
	switch err := h.Fault(job, at); {
	case err == nil:
		return nil
	case exhaustion.Of(err) != "":
		return err // the engine waits
	default:
		return &flow.InfrastructureError{Err: err}
	}
}

// exhausted marks err as one from before anything was done if it comes from an exhausted host, no
// command was begun, and the call cannot have sent data or changed a file: then the engine may
// make the call again. Changes of files alone are reverted by [Host.revertInterrupted].
func exhausted(err error, t tools.Tool, begun bool) error {
	harmless := tools.Read | tools.Exec | tools.Shell | tools.Think
	if t.Needs&(tools.Exec|tools.Shell) != 0 {
		harmless |= tools.Write // by its commands
	}
	if exhaustion.Of(err) == "" || begun || t.Needs&^harmless != 0 {
		return err
	}
	return exhaustion.Before(err)
}

// An Invocation is one call of a tool about to happen: the step, the tool with its body, its
// environment (not yet restricted to its needs) and the arguments (not yet validated).
type Invocation struct {
	Step flow.Step
	At   string // the worktree it happens in; empty is the job's directory
	Tool tools.Tool
	Env  *tools.Env
	Args json.RawMessage
}

// A ToolHandler performs a call. It returns the errors of [tools.Tool.Run]. It may be called from
// several goroutines.
type ToolHandler func(ctx context.Context, p Invocation) (tools.Result, error)

// Worktrees gives sub-agents that write at once a copy of the work tree each.
// Its methods are idempotent: a step that was interrupted is performed again.
type Worktrees interface {
	// Add makes a copy named name of the work tree of, which is the job's own if
	// empty, as it is now, and states where it is.
	Add(ctx context.Context, job, name, of string) (turn.Tree, error)
	// Join brings the changes in name to of, as the step at path, so that they can be undone, and
	// removes the copy unless there are conflicts.
	Join(ctx context.Context, job, path, name, of string) (executor.Joined, error)
	// Drop removes the copy with all its content.
	Drop(ctx context.Context, job, name string) error
}

// A Confinement is the confinement of a job's commands on its host.
type Confinement struct {
	Sandbox string // the level in force; empty or "off" is none
	Network string // what commands reach; empty or "open" is everything
}

func (f Confinement) closed() bool { return f.Sandbox != "" && f.Sandbox != "off" }

// locks reports whether a path can be kept from the commands.
func (f Confinement) locks() bool { return f.closed() && !strings.HasPrefix(f.Sandbox, "landlock") }

// sealed reports whether commands reach nothing but the workspace: what they change in it is
// collected, and there is no network.
func (f Confinement) sealed() bool { return f.Sandbox == "full" && !f.open() }

func (f Confinement) open() bool { return f.Network == "" || f.Network == "open" }

// unconfined returns the confinement of commands that run without our sandbox.
func unconfined() Confinement { return Confinement{} }

func (h Host) confinement() Confinement {
	if h.Confinement == nil {
		return unconfined()
	}
	return h.Confinement()
}

// CallModes chooses native, constrained or text tool calling for a model. It is safe for
// concurrent use.
type CallModes interface {
	// Modes lists the modes to try, best first, and why the first one is
	// not native, "" if it is. No modes are all of them.
	Modes(ctx context.Context, model string) (list []turn.Mode, why string)
	// Learn records that a mode did not work with a model.
	Learn(model string, s turn.ModeFailure)
}

// trees performs the steps about worktrees.
func (h Host) trees() flow.Route {
	return flow.Route{
		Timeout: 10 * time.Minute, Safe: flow.Always,
		Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			var t turn.Tree
			if err := json.Unmarshal(s.Input, &t); err != nil {
				return nil, fmt.Errorf("worktree: decoding input: %w", err)
			}
			if h.Worktrees == nil {
				return nil, errors.New("there are no worktrees here")
			}
			if s.Name == turn.AddWorktree {
				var err error
				of := t.Of
				if t, err = h.Worktrees.Add(ctx, s.Job, t.Name, of); err != nil {
					return nil, errors.Join(h.fault(s.Job, of), err)
				}
				return json.Marshal(t)
			}
			if s.Name == turn.DropWorktree {
				if err := h.Worktrees.Drop(ctx, s.Job, t.Name); err != nil {
					return nil, errors.Join(h.fault(s.Job, t.Of), err)
				}
				return json.Marshal(t)
			}
			got, err := h.Worktrees.Join(ctx, s.Job, s.Path, t.Name, t.Of)
			if err != nil {
				return nil, errors.Join(h.fault(s.Job, t.Of), err)
			}
			return json.Marshal(got)
		},
		Describe: func(s flow.Step, out json.RawMessage) (string, json.RawMessage) {
			if s.Name == turn.AddWorktree {
				var t turn.Tree
				if json.Unmarshal(out, &t) != nil {
					return "", nil
				}
				text := fmt.Sprintf("%d files copied", t.Files)
				if t.Omitted > 0 {
					text += fmt.Sprintf(", without %s", strings.Join(t.Left[:min(len(t.Left), 3)], ", "))
				}
				if more := t.Omitted - min(len(t.Left), 3); more > 0 {
					text += fmt.Sprintf(" and %d more", more)
				}
				data, _ := json.Marshal(t) // strings
				return text, data
			}
			if s.Name == turn.DropWorktree {
				return "removed", nil
			}
			var j executor.Joined
			if json.Unmarshal(out, &j) != nil {
				return "", nil
			}
			text := spelling.Plural(len(j.Paths), "file") + " brought back"
			if len(j.Conflicts) > 0 {
				text += fmt.Sprintf(", %d in conflict: %s", len(j.Conflicts), j.ConflictList())
			}
			j.Diff, j.DiffOmitted = nil, nil
			data, _ := json.Marshal(j) // strings
			return text, data
		},
	}
}
