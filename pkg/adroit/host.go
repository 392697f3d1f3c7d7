package adroit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/host/catalog"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// ErrClosed is the error of every method of a Runtime after Close, and of what reads its
// events then.
var ErrClosed = errors.New("adroit: the runtime is closed")

// usable is [ErrClosed] once Close was called.
func (rt *Runtime) usable() error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.shut {
		return problem.AsError(ErrClosed)
	}
	return nil
}

// Manager creates, runs, resumes and cancels the jobs.
func (rt *Runtime) Manager(ctx context.Context) (*jobs.Manager, error) {
	rt.opening.Lock() // not mu: it may take as long as the host is waited for
	defer rt.opening.Unlock()
	rt.mu.Lock()
	m, shut := rt.jobs, rt.shut
	rt.mu.Unlock()
	switch {
	case m != nil && !(exhaustion.Changes(ctx) && readsOnly(m.Store)):
		return m, nil
	case shut:
		return nil, ErrClosed
	}
	var store jobs.Store
	err := exhaustion.Retry(ctx, func() (err error) { store, err = rt.o.Store(ctx); return err })
	if err != nil {
		return nil, err
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.shut {
		if c, ok := store.(io.Closer); ok {
			_ = c.Close() // nothing was written
		}
		return nil, ErrClosed
	}
	if rt.jobs != nil && store != nil {
		rt.earlier = append(rt.earlier, rt.jobs.Store) // somebody may read from it still
	}
	if store == nil {
		return nil, errors.New("adroit: Options.Store returned no store and no error")
	}
	if rt.o.Data != "" { // else nobody has begun anything yet
		rt.finishRemovals(ctx, store)
		rt.reportMerges()
	}
	rt.jobs = &jobs.Manager{Store: store, Workflows: rt.catalog.Workflows(), Mux: rt.mux,
		Lock:  rt.lock,
		Clean: func(ev event.Event) event.Event { return host.Clean(rt.o.Secrets, ev) }}
	return rt.jobs, nil
}

// readsOnly reports whether a store was opened for reading only, as on a disk that was full
// then: what is to change something opens it again.
func readsOnly(s jobs.Store) bool {
	r, ok := s.(interface{ ReadOnly() bool })
	return ok && r.ReadOnly()
}

// store keeps the jobs.
func (rt *Runtime) store(ctx context.Context) (jobs.Store, error) {
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, err
	}
	return m.Store, nil
}

// mux opens the workspace of a job and serves its steps. Besides it only callTool, which has no
// job, constructs a host.Host.
func (rt *Runtime) mux(ctx context.Context, j *jobs.Job, blobs flow.Blobs) (flow.Mux, func(), error) {
	c := rt.config(j)
	models, err := rt.models.At(c.BaseURL, j.Model)
	if err != nil {
		return nil, nil, err
	}
	if !rt.forgets { // else nobody could undo it later
		if err := jobdir.SaveJob(rt.data(), j); err != nil {
			return nil, nil, err
		}
	}
	set, err := rt.tools()
	if err != nil {
		return nil, nil, err
	}
	h := host.Host{
		Models:    func(_ context.Context, ref string) (llm.Model, string, error) { return models.Open(ref) },
		Trusted:   func() bool { d, err := rt.trusts(j.Dir, c.Trust); return err == nil && d.Settled() },
		CallModes: models.Driver(), Rate: rt.rate(), Patience: rt.o.ModelWait, Tools: set, Confinement: func() host.Confinement { return rt.fence(ctx, c) }, Blobs: blobs,
		Results:   &host.ResultStore{Dir: filepath.Join(rt.home, j.ID, "results")},
		Images:    func(digest string) ([]byte, error) { return jobdir.ReadImage(rt.data(), j.ID, digest) },
		KeepImage: func(i *llm.Image) error { return jobdir.KeepImage(rt.data(), j.ID, i) },
	}
	if c, ok := models.(ModelCatalog); ok {
		h.NoImages = c.NoImages
	}
	pinned := rt.toolServers().Pinned(filepath.Join(rt.home, j.ID), func() (turn.Scope, error) { return rt.jobServers(j.Dir, c) })
	if rt.o.ToolServers != nil {
		h.ServerTool = pinned.Lookup
	}
	opens := rt.jobOpens(ctx, j, c)
	hide, shut, err := rt.openWorkspace(ctx, j, c, &h, opens)
	if err != nil {
		return nil, nil, err
	}
	if h.Record, err = recorder(j, c.Record, hide, models); err != nil {
		return nil, nil, errors.Join(err, shut())
	}
	h.Person = rt.person(hide)
	// Nothing depends on what it returns: all writes are synced already.
	done := func() {
		if err := shut(); err != nil {
			rt.warn("%s: closing its workspace: %v", j.ID, err)
		}
	}
	m := host.Serve(h)
	maps.Copy(m, agents.Routes(func(ctx context.Context, in agents.Input) (executor.Task, error) {
		t, p, err := rt.resolve(ctx, in, c, models)
		if err == nil && len(p.servers) > 0 {
			err = pinned.Pin(t, p.servers)
		}
		if err == nil && !opens {
			err = needsNone(t)
		}
		return t, err
	}))
	if !opens {
		return host.Guard(m, hide), done, nil // its loop asks for no other steps
	}
	maps.Copy(m, coordinator.Routes(treeRepairs{Worktrees: h.Worktrees}, rt.catalog.Detectors()))
	maps.Copy(m, rt.failureMemory(j, treeRepairs{Worktrees: h.Worktrees}, hide).Routes())
	maps.Copy(m, pipeline.Routes(func(ctx context.Context, in agents.Input) (pipeline.Pinned, error) {
		pin, _, err := rt.pin(ctx, in, c, models)
		return pin, err
	}))
	return host.Guard(m, hide), done, nil
}

// openWorkspace gives a host what its tools may touch, and what happens around
// their calls. It returns the secrets to hide, and what closes it all.
func (rt *Runtime) openWorkspace(ctx context.Context, j *jobs.Job, c JobConfig, h *host.Host, opens bool) (*secret.Redactor, func() error, error) {
	h.Policy = rt.o.Policy
	if !opens {
		hide, client := rt.typedSecrets(j.Dir, opens), rt.o.Network.Client()
		h.Env = func(context.Context, string, string) (*tools.Env, error) { return &tools.Env{HTTP: client}, nil }
		h.Middleware, h.Secrets = rt.o.Middleware, hide
		if len(rt.o.Defaults.Prices) == 0 {
			h.Rate = nil // no model here states its own costs
		}
		h.Context = rt.memory.With(func(string) (string, error) { return j.Dir, nil }, hide)
		return hide, func() error { client.CloseIdleConnections(); return nil }, nil
	}
	rt.o.guardOwn()
	hide := rt.o.Secrets.With(rt.fileSecrets(ctx, j.Dir)...).With(catalog.Secrets(c.Servers)...)
	gone, err := rt.recordGone(ctx, j.ID)
	if err != nil {
		return nil, nil, err
	}
	b, err := rt.openWorkspaces(j, c, hide)
	if err != nil {
		return nil, nil, err
	}
	if gone != "" { // which the new one does not show
		if err := b.NoteGone(gone); err != nil {
			return nil, nil, errors.Join(err, b.Close())
		}
	}
	runners := hooks.In(b.Dir, rt.o.Hooks)
	h.New = rt.beginner(b)
	h.Env, h.Bind, h.Fault, h.Revert, h.Worktrees = b.Env, b.Bind, b.Fault, b.Revert, b
	h.Middleware, h.Context, h.Secrets = rt.around(runners, b), rt.memory.With(b.Dir, hide), hide
	return hide, func() error { return errors.Join(runners.Close(), b.Close()) }, nil
}

// workspaceCaps are the capabilities that only a workspace gives to tools.
const workspaceCaps = tools.Read | tools.Write | tools.Exec | tools.Shell

// agentByValue is the agent of a request that nothing outside of this program can change, nil
// if there is none.
func (rt *Runtime) agentByValue(in agents.Input) *agents.DynamicAgent {
	if in.Spec != nil {
		return in.Spec
	}
	for i := range rt.o.Literals {
		if rt.o.Literals[i].Name == in.Agent {
			return &rt.o.Literals[i]
		}
	}
	return nil
}

// opens reports whether a job opens its workspace. It does unless what is known of its agent,
// its request and this runtime shows that nothing will need it. A nil agent is not known.
func (rt *Runtime) opens(ctx context.Context, agent *agents.DynamicAgent, in agents.Input, c JobConfig, m ModelSource) bool {
	hooked := slices.ContainsFunc(rt.o.Hooks, func(k hooks.Hook) bool { return k.When != hooks.Ended })
	if agent == nil || hooked || rt.trust != nil || c.Trust || rt.o.ToolServers != nil || len(c.Servers) > 0 {
		return true
	}
	if in.Pipeline != "" || in.Worktree || in.Parent != nil || in.Branch != nil || in.Conversation != nil || in.Mentions != "" || len(in.Attachments) > 0 {
		return true
	}
	remembers := cmp.Or(in.Memory, agent.Memory, memory.Off) != memory.Off
	if remembers || agent.Runs() != agents.Workflow.Name || agent.Spawn != nil || len(agent.MCPServers)+len(agent.Skills)+len(agent.Auto) > 0 {
		return true
	}
	works := func(ref string) bool { return extagent.IsAgent(ref) } // in the workspace
	route, err := m.Route(ctx, in.Model)
	if err != nil || works(in.Model) || works(route.Model) || slices.ContainsFunc(route.Fallbacks, func(f executor.Fallback) bool { return works(f.Model) }) {
		return true
	}
	set, err := rt.tools()
	return err != nil || slices.ContainsFunc(agent.Tools, func(name string) bool { return toolNeeds(set, name) }) || criterionNeeds(set, agent.Done)
}

// jobOpens is opens for an existing job. A literal counts only if it has not changed since the
// job began.
func (rt *Runtime) jobOpens(ctx context.Context, j *jobs.Job, c JobConfig) bool {
	var in agents.Input
	if j.Workflow != agents.Workflow.Name || json.Unmarshal(j.Input, &in) != nil {
		return true
	}
	agent := rt.agentByValue(in)
	if agent == nil || in.Spec == nil && agentDigest(agent) != c.AgentDigest {
		return true
	}
	m, err := rt.models.At(c.BaseURL, j.Model)
	in.Model = j.Model
	return err != nil || rt.opens(ctx, agent, in, c, m)
}

// toolNeeds reports whether a tool that a name or a pattern means needs a workspace. An
// unknown one may, and so does what notes facts, in which no secret of a file may be.
func toolNeeds(set *tools.Set, name string) bool {
	known := false
	for t := range set.All() {
		if ok, err := path.Match(name, t.Name); ok || err != nil {
			known = true
			if t.Needs&workspaceCaps != 0 || t.Missing != nil || t.RunsCode || t.Outside || slices.Contains(t.Uses, memory.JobTaint) {
				return true
			}
		}
	}
	return !known
}

// criterionNeeds reports whether something must run in a workspace, or change there, for a
// criterion to hold.
func criterionNeeds(set *tools.Set, c executor.Criterion) bool {
	if c.Run != "" || c.Artifact == "diff" || c.Check != "" && toolNeeds(set, c.Check) {
		return true
	}
	parts := slices.Concat(c.All, c.Any)
	for _, p := range []*executor.Criterion{c.IfMissing, c.When} {
		if p != nil {
			parts = append(parts, *p)
		}
	}
	return slices.ContainsFunc(parts, func(p executor.Criterion) bool { return criterionNeeds(set, p) })
}

// needsNone refuses a task that needs a workspace all the same, in a job without one.
func needsNone(t executor.Task) error {
	for _, tool := range slices.Concat(t.Tools, t.Checks) {
		if lacking := tool.Needs & workspaceCaps; lacking != 0 {
			return fmt.Errorf("the tool %s needs to %s, and the job was begun without a workspace: what it may use has changed since. Submit the request again", tool.Name, lacking)
		}
	}
	return nil
}

// fileSecrets returns the secrets in the files of a directory that no tool may read.
func (rt *Runtime) fileSecrets(ctx context.Context, dir string) []secret.Known {
	return git.FileSecrets(ctx, dir, git.SecretSearch{Names: rt.o.Names, Data: rt.data(), Warn: rt.warn})
}

// around lists what happens around a call of a tool, outermost first: the
// operator's hooks see the call first and the result last.
func (rt *Runtime) around(h *hooks.Runners, b *jobdir.Workspaces) []func(host.ToolHandler) host.ToolHandler {
	list := slices.Concat([]func(host.ToolHandler) host.ToolHandler{h.Around}, rt.o.Middleware)
	if !rt.o.NoDiagnostics {
		list = append(list, b.Diagnose)
	}
	return list
}

// openWorkspaces opens a job's workspace with its commands confined.
func (rt *Runtime) openWorkspaces(j *jobs.Job, c JobConfig, hide *secret.Redactor) (*jobdir.Workspaces, error) {
	servers := rt.o.Servers
	if servers == nil {
		servers = lsp.Known()
	}
	if err := rt.makeHome(); err != nil {
		return nil, err
	}
	confine := rt.confine()
	if c.Sandbox != "" {
		var err error
		if confine.Level, err = sandbox.Parse(string(c.Sandbox)); err != nil {
			return nil, fmt.Errorf("the job's sandbox: %w", err)
		}
	}
	return jobdir.OpenWorkspaces(jobdir.Options{Job: j.ID, Dir: j.Dir, Data: rt.data(), Worktree: rt.worktree(j), Sandbox: confine, Secrets: hide, DenyList: rt.o.Names, Network: rt.o.Network, Servers: servers})
}

// rate returns what models cost, in USD; it is 0 for one without a price.
func (rt *Runtime) rate() func(model string, u llm.Usage) float64 {
	prices := rt.o.Defaults.Prices
	return func(model string, u llm.Usage) float64 {
		p, _ := prices.Of(model)
		return p.Cost(u)
	}
}

// person asks the watcher of a job about what a model is about to do on its
// own, without the secrets that are known.
func (rt *Runtime) person(hide *secret.Redactor) func(context.Context, executor.Question) (string, error) {
	if rt.o.Person == nil {
		return nil
	}
	ask := rt.o.Person()
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, q executor.Question) (string, error) {
		b, err := json.Marshal(q)
		if err != nil {
			return "", err
		}
		b, _ = hide.Known().JSON(b)
		return ask(ctx, b)
	}
}

// fence returns the confinement of a job's commands here. Where they are refused there is
// none: then nobody reads that one would be confined. Finding out runs this program anew in a
// sandbox, as soon as the host has what that takes.
func (rt *Runtime) fence(ctx context.Context, c JobConfig) host.Confinement {
	f := host.Confinement{Sandbox: string(sandbox.Off), Network: "open"}
	var r sandbox.Report
	err := exhaustion.Retry(ctx, func() error {
		r = sandbox.Choose(cmp.Or(c.Sandbox, rt.o.Sandbox.Level, sandbox.Auto))
		return r.Err()
	})
	if err != nil || r.Level == sandbox.Off {
		return f
	}
	f.Sandbox = string(r.Level)
	if !rt.o.Sandbox.NetOpen {
		f.Network = "private"
	}
	return f
}

// recorder keeps the turns of a job in a file, nil if nobody asked for it.
func recorder(j *jobs.Job, path string, hide *secret.Redactor, m ModelSource) (func(*llm.Request, *llm.Response) error, error) {
	if path == "" {
		return nil, nil
	}
	of := script.Recording{Job: j.ID, Model: j.Model}
	var in agents.Input
	if err := json.Unmarshal(j.Input, &in); err == nil {
		of.Window = in.Options.Window
	}
	if r, err := m.Recording(j.Model); err == nil && r != nil {
		of.Model = r.Model // a recording of a recording
	}
	r, err := script.Record(path, of, hide)
	if err != nil {
		return nil, problem.WithHint(err, "the job has the file from its --record; "+hint.Command("jobs retry %s", j.ID)+" runs it again without")
	}
	return r.Keep, nil
}

// failureStore returns the coordinators' memory: in the store of the jobs if that is a
// database, else as long as this runtime.
func (rt *Runtime) failureStore(ctx context.Context) (problem.Store, error) {
	store, err := rt.store(ctx)
	if err != nil {
		return nil, err
	}
	if db, ok := store.(problem.Database); ok {
		return problem.In(db), nil
	}
	return &rt.failed, nil
}

// failureMemory returns what a job's steps about earlier failures need.
func (rt *Runtime) failureMemory(j *jobs.Job, fixes treeRepairs, hide *secret.Redactor) coordinator.Memory {
	return coordinator.Memory{
		Store: rt.failureStore, Project: rt.projectOf(j), Fixes: fixes, Now: time.Now,
		Setup: rt.o.Coordination.Setup,
		Hide:  hide.String,
	}
}

// projectOf returns the directory that a job's failures belong to: of a worktree, the one that
// it was made from.
func (rt *Runtime) projectOf(j *jobs.Job) string {
	dir := j.Dir
	if w := rt.worktree(j); w != nil {
		dir = filepath.Join(w.Repo, filepath.FromSlash(w.Sub))
	}
	if p, err := rootfs.Real(dir); err == nil {
		return p
	}
	return dir
}

// beginner notes a step that the journal has never seen in the record of changes. It is an error if that has it, or
// one behind it in its scope: the database has gone back, as after a damage or when a copy of it was put back. What it
// lacks would be done twice.
func (rt *Runtime) beginner(b *jobdir.Workspaces) func(ctx context.Context, job, at, path string) error {
	return func(ctx context.Context, job, at, path string) error {
		led, _, err := b.Ledger(at)
		if err != nil {
			return err
		}
		scope := path[:strings.LastIndexByte(path, '.')+1]
		lost := led.Begun(func(p string) bool { return strings.HasPrefix(p, scope) && flow.Compare(p, path) >= 0 })
		if len(lost) == 0 {
			return led.Begin(path)
		}
		store, err := rt.store(ctx)
		if err != nil {
			return err
		}
		for ev, err := range store.Events(ctx, job, 0, false) {
			if err != nil {
				return err
			}
			delete(lost, ev.Path) // it is tried again: its first attempt is in the log
		}
		if len(lost) == 0 {
			return led.Begin(path)
		}
		return fmt.Errorf("the database has gone back: the job has begun step %s before, as the record of its changes shows, and the database has lost it. "+
			"Step %s is not repeated. Look at what the job changed; then undo the job, or retry it, which begins anew", slices.MinFunc(slices.Collect(maps.Keys(lost)), flow.Compare), path)
	}
}
