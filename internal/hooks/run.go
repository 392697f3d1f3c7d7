package hooks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Call is the JSON input of a hook.
type Call struct {
	When   When            `json:"when"`
	Job    string          `json:"job"`
	Step   string          `json:"step"` // the step's path: the same when it is repeated
	Dir    string          `json:"dir"`  // the workspace, and where the hook runs
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Result *Result         `json:"result,omitempty"` // after
}

// A Result is the tool's result.
type Result struct {
	Text   string `json:"text"`
	Failed bool   `json:"failed"`
}

// amendment is the output that a hook may print.
type amendment struct {
	Args json.RawMessage `json:"args"`
	Text *string         `json:"text"`
}

const (
	maxOut  = 1 << 20 // bytes of standard output; more is a fault of the hook
	maxWhy  = 4 << 10 // bytes of standard error that the model is shown
	refusal = 2       // the exit code that refuses
)

// A Runner runs hooks for one workspace. It is safe for concurrent use. Close
// it: that kills the hooks that still run, and waits.
type Runner struct {
	dir  string
	list []Hook
	exec *process.Runner
}

// New returns a Runner of hooks, which [Check] has found good, for the
// workspace dir. Hooks run outside the sandbox, with a scrubbed environment, in
// a process group of their own.
func New(dir string, list []Hook) *Runner {
	return &Runner{dir: dir, list: list, exec: process.New(dir, "", nil)}
}

// Close kills running hooks.
func (r *Runner) Close() error { return r.exec.Close() }

// Middleware is for host.Host.Middleware. Hooks run in the order given; after one that refuses,
// the later ones are not asked.
func (r *Runner) Middleware(next host.ToolHandler) host.ToolHandler {
	if len(r.list) == 0 {
		return next
	}
	return func(ctx context.Context, p host.Invocation) (tools.Result, error) {
		for _, h := range r.list {
			if !h.is(Before, p.Tool.Name) {
				continue
			}
			no, err := r.before(ctx, h, &p)
			if err != nil || no != nil {
				return deref(no), err
			}
		}
		res, err := next(ctx, p)
		if err != nil {
			return res, err
		}
		for _, h := range r.list {
			if !h.is(After, p.Tool.Name) {
				continue
			}
			if stop, err := r.after(ctx, h, p, &res); err != nil || stop {
				return res, err
			}
		}
		return res, nil
	}
}

func deref(r *tools.Result) tools.Result {
	if r == nil {
		return tools.Result{}
	}
	return *r
}

// before runs h and changes p, or gives the result of the call that it refuses.
func (r *Runner) before(ctx context.Context, h Hook, p *host.Invocation) (*tools.Result, error) {
	no := func(format string, args ...any) *tools.Result {
		return &tools.Result{Failed: true, Inconclusive: tools.CannotCheck, Text: "not run: " + fmt.Sprintf(format, args...)}
	}
	v, err := r.run(ctx, h, *p, nil)
	switch {
	case err != nil:
		return nil, err
	case v.refused:
		r.note(*p, h, "refused the call: "+v.why, "")
		return no("a rule of the operator refuses it: %s", v.why), nil
	case v.fault != nil:
		r.note(*p, h, "failed", v.fault.Error())
		if h.OnError == Block {
			return no("a check of the operator that must pass could not be made (%v); go on without %s", v.fault, p.Tool.Name), nil
		}
		return nil, nil
	case v.said.Args == nil:
		return nil, nil
	}
	// The arguments that the hook wants are invalid, and the original ones are not wanted.
	if faults := p.Tool.Input.Validate(v.said.Args); faults != nil {
		r.note(*p, h, "changed the arguments so that they do not fit", faults[0].String())
		return no("a rule of the operator changed the arguments, and they do not fit any more: %s", faults[0]), nil
	}
	p.Args = v.said.Args
	r.note(*p, h, "changed the arguments to "+spelling.Clip(string(v.said.Args), 300), "")
	return nil, nil
}

// after runs h on a result and changes it. It reports whether h objects.
func (r *Runner) after(ctx context.Context, h Hook, p host.Invocation, res *tools.Result) (stop bool, err error) {
	v, err := r.run(ctx, h, p, &Result{res.Text, res.Failed})
	switch {
	case err != nil:
		return true, err
	case v.refused:
		r.note(p, h, "objected to the result: "+v.why, "")
		res.Failed, res.Text = true, strings.TrimRight(res.Text, "\n")+"\n\nThe call has happened, but a rule of the operator objects: "+v.why
		return true, nil
	case v.fault != nil:
		r.note(p, h, "failed", v.fault.Error())
		if h.OnError == Block {
			res.Failed, res.Text = true, strings.TrimRight(res.Text, "\n")+fmt.Sprintf("\n\nThe call has happened, but a check of the operator that must pass could not be made (%v).", v.fault)
		}
		return h.OnError == Block, nil
	case v.said.Text != nil:
		res.Text, res.Summary = strings.ToValidUTF8(*v.said.Text, "\uFFFD"), ""
		r.note(p, h, "changed the text of the result", "")
	}
	return false, nil
}

// A verdict is the result of a hook.
type verdict struct {
	refused bool
	why     string // of a refusal
	said    amendment
	fault   error // the hook's own
}

// run runs h once. It returns an error only if ctx is done.
func (r *Runner) run(ctx context.Context, h Hook, p host.Invocation, res *Result) (verdict, error) {
	in, err := json.Marshal(Call{When: h.When, Job: p.Step.Job, Step: p.Step.Path, Dir: r.dir, Tool: p.Tool.Name, Args: p.Args, Result: res})
	if err != nil {
		return verdict{fault: fmt.Errorf("the call could not be encoded: %w", err)}, nil
	}
	limit := h.Timeout
	limit = cmp.Or(limit, defaultTimeout)
	out := &bounded{}
	o, err := r.exec.Run(ctx, process.Cmd{Args: h.Command, Stdin: in, Stdout: out, Timeout: limit})
	if ctx.Err() != nil {
		return verdict{}, ctx.Err()
	}
	said, flooded := out.text()
	switch {
	case err != nil:
		return verdict{fault: err}, nil
	case o.TimedOut:
		return verdict{fault: fmt.Errorf("it did not end within %s and was killed", limit)}, nil
	case o.Code == refusal:
		why := spelling.Clip(strings.TrimSpace(o.Text), maxWhy)
		why = cmp.Or(why, "no reason given")
		return verdict{refused: true, why: why}, nil
	case o.Code != 0:
		return verdict{fault: fmt.Errorf("exit code %d: %s", o.Code, spelling.Clip(strings.TrimSpace(o.Text), 300))}, nil
	case flooded:
		return verdict{fault: fmt.Errorf("it printed more than %d bytes", maxOut)}, nil
	}
	var v verdict
	if said = bytes.TrimSpace(said); len(said) == 0 || said[0] != '{' {
		return v, nil // what a program prints beside the point
	}
	dec := json.NewDecoder(bytes.NewReader(said))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v.said); err != nil {
		return verdict{fault: fmt.Errorf("what it printed is no amendment: %w", err)}, nil
	}
	if h.When == Before && v.said.Text != nil || h.When == After && v.said.Args != nil {
		return verdict{fault: errors.New("it amends what it cannot: args before a call, text after it")}, nil
	}
	return v, nil
}

// note records a hook's action in the job's events.
func (r *Runner) note(p host.Invocation, h Hook, did, fault string) {
	if p.Env == nil || p.Env.Emit == nil {
		return
	}
	if fault != "" {
		did += ": " + fault
	}
	p.Env.Emit(event.Event{
		Job: p.Step.Job, Path: p.Step.Path, Time: time.Now(), Kind: event.Note, Step: "tool", Name: p.Tool.Name,
		Text: fmt.Sprintf("hook %s %s: %s", filepath.Base(h.Command[0]), h.When, spelling.Clip(did, 500)), Error: fault,
	})
}

// bounded keeps the first maxOut bytes that are written to it.
type bounded struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more bool
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	room := maxOut - b.buf.Len()
	b.more = b.more || len(p) > room
	b.buf.Write(p[:min(len(p), room)])
	return len(p), nil
}

func (b *bounded) text() (said []byte, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Bytes(), b.more
}

// Runners run hooks in the directory that a call is about: the job's, or the
// worktree of a sub-agent. They are safe for concurrent use.
type Runners struct {
	dir  func(at string) (string, error)
	list []Hook

	mu      sync.Mutex
	runners map[string]*Runner
}

// In returns Runners for hooks; dir returns the directory that a call is about.
func In(dir func(at string) (string, error), list []Hook) *Runners {
	return &Runners{dir: dir, list: list}
}

// Around runs the hooks around a call.
func (h *Runners) Around(next host.ToolHandler) host.ToolHandler {
	if len(h.list) == 0 {
		return next
	}
	return func(ctx context.Context, p host.Invocation) (tools.Result, error) {
		r, err := h.at(p.At)
		if err != nil {
			return tools.Result{}, err
		}
		return r.Middleware(next)(ctx, p)
	}
}

func (h *Runners) at(name string) (*Runner, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r, ok := h.runners[name]; ok {
		return r, nil
	}
	dir, err := h.dir(name)
	if err != nil {
		return nil, err
	}
	if h.runners == nil {
		h.runners = map[string]*Runner{}
	}
	h.runners[name] = New(dir, h.list)
	return h.runners[name], nil
}

// Close kills running hooks.
func (h *Runners) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(h.runners)) {
		errs = append(errs, h.runners[name].Close())
	}
	return errors.Join(errs...)
}

// A notice is the input of a hook at the end of a run.
type notice struct {
	When   When        `json:"when"`
	Job    string      `json:"job"`
	Status jobs.Status `json:"status"`
	Reason string      `json:"reason,omitempty"`
	Agent  string      `json:"agent,omitempty"`
	Title  string      `json:"title,omitempty"`
	Model  string      `json:"model,omitempty"`
	Dir    string      `json:"dir,omitempty"`
}

// desktop lists the variables by which a program reaches the screen of the person that it
// notifies. They are not secrets, and commands do not get them.
var desktop = []string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"}

// Notify runs the hooks of Ended about a job, one after the other, each within its
// time. The error names those that failed.
func (r *Runner) Notify(ctx context.Context, j *jobs.Job) error {
	in, err := json.Marshal(notice{Ended, j.ID, j.Status, j.Reason, j.Agent, j.Title, j.Model, j.Dir})
	if err != nil {
		return err
	}
	env := []string{"ADROIT_JOB=" + j.ID, "ADROIT_STATUS=" + string(j.Status), "ADROIT_REASON=" + envValue(j.Reason), "ADROIT_AGENT=" + envValue(j.Agent), "ADROIT_TITLE=" + envValue(j.Title), "ADROIT_DIR=" + envValue(j.Dir)}
	var errs []error
	for _, h := range r.list {
		if h.When != Ended || len(h.Status) > 0 && !slices.Contains(h.Status, string(j.Status)) {
			continue
		}
		if err := r.Send(ctx, h, in, env); err != nil {
			errs = append(errs, fmt.Errorf("hook %s %s: %w", filepath.Base(h.Command[0]), h.When, err))
		}
	}
	return errors.Join(errs...)
}

// Send runs the command of a hook of Ended with this input, and these variables beside those of
// the desktop.
func (r *Runner) Send(ctx context.Context, h Hook, in []byte, env []string) error {
	for _, name := range desktop {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	limit := h.Timeout
	limit = cmp.Or(limit, noticeTimeout)
	o, err := r.exec.Run(ctx, process.Cmd{Args: h.Command, Env: env, Stdin: in, Stdout: &bounded{}, Timeout: limit})
	switch {
	case err != nil:
		return err
	case o.TimedOut:
		return fmt.Errorf("it did not end within %s and was killed", limit)
	case o.Code != 0:
		return fmt.Errorf("exit code %d: %s", o.Code, spelling.Clip(strings.TrimSpace(o.Text), 300))
	}
	return nil
}

// envValue makes s fit into an environment variable, which cannot contain NUL bytes.
func envValue(s string) string { return strings.ReplaceAll(s, "\x00", "") }
