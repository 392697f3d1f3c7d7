// Package adroit runs agents from a Go program: a store, tools, models and
// agents in one [Runtime].
//
//	rt, err := adroit.Open(ctx, adroit.Options{
//		Tools:  append(std.All(), wordcount.Tool),
//		Models: map[string]llm.Model{"ollama": model}, // of ollama.New
//		Model:  "ollama/qwen3:8b",
//		// To keep jobs: Storage: adroit.Storage{Data: dir, Store: sqlite.Store(dir)},
//	})
//	defer rt.Close()
//	state, err := rt.Run(ctx, adroit.Request{Target: "counter", Input: agents.Input{Prompt: "Count a.txt."}})
//
// [Ask] is the smallest program. A definition of done may name checks of the
// program's own: see [executor.NewCheck], whose result is one of the Tools.
//
// There is no configuration and nothing is printed. A call that a person must
// approve parks its job: answer with [Runtime.Signal] and go on with
// [Runtime.Resume]. A job ends with the context of Run, Execute or Resume, and
// not with that of [Runtime.Start].
package adroit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/internal/catalog"
	"github.com/adroit-run/adroit/internal/executor/handler"
	"github.com/adroit-run/adroit/internal/failures"
	"github.com/adroit-run/adroit/internal/jobdir"
	"github.com/adroit-run/adroit/internal/live"
	"github.com/adroit-run/adroit/internal/llm/script"
	"github.com/adroit-run/adroit/internal/memory/book"
	"github.com/adroit-run/adroit/internal/project"
	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/secret"
	"github.com/adroit-run/adroit/internal/tools/edit"
	"github.com/adroit-run/adroit/internal/trust"
	"github.com/adroit-run/adroit/internal/workspace/process"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Runtime runs jobs in this process. It is safe for concurrent use. Close
// it: that interrupts what still runs, and waits.
type Runtime struct {
	o      Options
	models ModelSource
	trust  *trust.Store // nil: nothing was decided about any workspace
	// tools are checked when they are needed: that takes longer than listing jobs.
	tools   func() (*tools.Set, error)
	catalog *catalog.Catalog
	home    string // has a directory for each job
	clean   func() error
	bare    bool            // jobs have no workspace: see Ask
	forgets bool            // the store is the memory of this Runtime
	failed  failures.Memory // what coordinators remember without a database

	ctx  context.Context
	stop context.CancelCauseFunc
	mu   sync.Mutex
	jobs *jobs.Manager // see Manager
	shut bool
	runs sync.WaitGroup
	here map[string]*job // that run here, or ended here without a record of it, by id
	live live.Broadcast
	// memory has what jobs and people noted for later jobs.
	memory *book.Keeper
}

// Open makes a Runtime. Without Options.Source it checks all tools and agent
// files first, else when they are needed; the error lists all that is wrong. ctx
// bounds the opening only.
func Open(ctx context.Context, o Options) (*Runtime, error) {
	rt := &Runtime{o: o, tools: sync.OnceValues(func() (*tools.Set, error) { return tools.NewSet(o.Tools...) }), here: map[string]*job{}}
	rt.catalog = catalog.New(catalog.Options{Agents: o.Agents, Pipelines: o.Pipelines, Problems: o.Coordination.Problems, Detectors: o.detectors(), Workflows: o.Workflows, Agent: o.Agent, Tools: rt.tools, Warn: rt.warn})
	var err error
	if o.Source == nil {
		_, err = rt.tools()
		err = errors.Join(err, rt.catalog.Check())
	}
	if err := errors.Join(err, o.Network.Check(), o.Coordination.policy().Check()); err != nil {
		return nil, err
	}
	if o.Source == nil {
		if len(o.Models) == 0 {
			return nil, errors.New("adroit: Options.Models is empty; a runtime needs a model")
		}
		o.Source = modelMap{o.Models, o.Model}
	}
	o.Defaults.Model = o.Model
	if o.Defaults.Substitutes == nil {
		o.Defaults.Substitutes = edit.Instead(nil)
	}
	if o.Secrets == nil {
		o.Secrets = secret.New(secret.Options{Known: secret.Environ(os.Environ())})
	}
	rt.o, rt.models, rt.trust = o, o.Source, trustIn(o.Trust)
	rt.ctx, rt.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := rt.open(); err != nil {
		return rt, err
	}
	rt.memory = &book.Keeper{Jobs: rt.store, Data: rt.data(), Names: o.Names, Secrets: o.Secrets, Warn: rt.warn}
	return rt, nil
}

// Manager creates, runs, resumes and cancels the jobs.
func (rt *Runtime) Manager(ctx context.Context) (*jobs.Manager, error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.jobs != nil {
		return rt.jobs, nil
	}
	if rt.shut {
		return nil, errors.New("adroit: the runtime is closed")
	}
	store, err := rt.o.Store(ctx)
	if err != nil {
		return nil, err
	}
	rt.jobs = &jobs.Manager{Store: store, Workflows: rt.catalog.Workflows(), Mux: rt.mux,
		Lock:  func(j *jobs.Job) (func(), bool, error) { return jobdir.Lock(filepath.Join(rt.home, j.ID)) },
		Clean: func(ev event.Event) event.Event { return handler.Clean(rt.o.Secrets, ev) }}
	return rt.jobs, nil
}

// store keeps the jobs.
func (rt *Runtime) store(ctx context.Context) (jobs.Store, error) {
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, err
	}
	return m.Store, nil
}

// open finds the directory of jobs.
func (rt *Runtime) open() error {
	rt.clean = func() error { return nil }
	data := rt.o.Data
	if data != "" && rt.o.Store == nil {
		return errors.New("adroit: Options.Data is set and Options.Store is not: write Store: sqlite.Store(dir), of pkg/sqlite, with dir the Data")
	}
	if data == "" {
		var err error
		if data, err = os.MkdirTemp("", "adroit-"); err != nil {
			return err
		}
		rt.clean = func() error { return errors.Join(jobdir.RemoveAllTrees(data), os.RemoveAll(data)) }
	}
	rt.home = filepath.Join(data, "jobs")
	if rt.o.Store != nil {
		return nil
	}
	rt.forgets = true
	rt.o.Store = func(context.Context) (jobs.Store, error) { return new(jobs.Memory), nil }
	return nil
}

// data is the directory that keeps jobs.
func (rt *Runtime) data() string { return filepath.Dir(rt.home) }

// apart refuses a workspace that contains the data of jobs: there the tools of a job
// could change what undoing it needs.
func (o *Options) apart(workspace string) error {
	if o.Data == "" {
		return nil
	}
	data, err := rootfs.Real(o.Data)
	if err != nil {
		return fmt.Errorf("the data directory: %w", err)
	}
	dir, err := rootfs.Real(workspace)
	if err != nil {
		return fmt.Errorf("the workspace: %w", err)
	}
	if rel, err := filepath.Rel(dir, data); err == nil && filepath.IsLocal(rel) {
		return apierr.Invalidf("work in a directory of its own (-C DIR), or keep the data elsewhere (--data-dir DIR)",
			"%s cannot be a workspace: the data of all jobs lies in it (%s), where tools could change it", dir, rel)
	}
	return nil
}

// Close interrupts the jobs that run, waits for them and closes the store.
func (rt *Runtime) Close() error {
	rt.mu.Lock()
	if rt.shut {
		rt.mu.Unlock()
		return nil
	}
	rt.shut = true
	rt.mu.Unlock()
	rt.stop(jobs.ErrStopped)
	rt.runs.Wait()
	rt.mu.Lock()
	defer rt.mu.Unlock()
	var servers, store error
	if rt.o.ToolServers != nil {
		servers = rt.o.ToolServers.Close()
	}
	if rt.jobs != nil {
		if c, ok := rt.jobs.Store.(io.Closer); ok {
			store = c.Close()
		}
	}
	return errors.Join(servers, rt.clean(), store)
}

// keepEnded is how many ended jobs a Runtime without Data remembers.
const keepEnded = 100

// release forgets the oldest ended jobs of a Runtime that keeps them in memory.
func (rt *Runtime) release() {
	if !rt.forgets {
		return
	}
	ctx := context.WithoutCancel(rt.ctx)
	m, err := rt.Manager(ctx)
	if err != nil {
		return
	}
	ended, err := m.Store.List(ctx, jobs.Query{Status: []jobs.Status{jobs.Done, jobs.Failed, jobs.Limit, jobs.Stuck, jobs.Cancelled}})
	if err != nil || len(ended) <= keepEnded {
		return
	}
	for _, j := range ended[keepEnded:] {
		// One that somebody resumes at this moment stays until later.
		if m.Store.Remove(ctx, j.ID) == nil {
			_ = rootfs.RemoveAll(filepath.Join(rt.home, j.ID))
		}
	}
}

// warn reports something to the operator that is no reason to stop.
func (rt *Runtime) warn(format string, args ...any) {
	if rt.o.Warn != nil {
		rt.o.Warn(fmt.Sprintf(format, args...))
	}
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
		return nil, apierr.WithHint(err, "the job has the file from its --record; adroit jobs retry "+j.ID+" runs it again without")
	}
	return r.Keep, nil
}

// trustIn is the record of trust in a directory; nil without one.
func trustIn(dir string) *trust.Store {
	if dir == "" {
		return nil
	}
	return trust.In(dir)
}

// trusts decides about a workspace.
func (rt *Runtime) trusts(dir string, all bool) (project.Decision, error) {
	return project.Decide(rt.trust, rt.data(), dir, all)
}

// confine is how the commands of jobs run.
func (rt *Runtime) confine() process.SandboxOptions {
	c := rt.o.Sandbox
	c.Hide = append(slices.Clone(c.Hide), rt.home)
	if rt.o.Data != "" {
		c.Hide = append(c.Hide, rt.o.Data)
		if c.Cache == "" {
			c.Cache = filepath.Join(rt.o.Data, "cache")
		}
	}
	return c
}
