// Package adroit runs agents from a Go program: a store, tools, models and
// agents in one [Runtime].
//
//	rt, err := adroit.Open(ctx, adroit.Options{
//		Tools:  append(std.All(), wordcount.Tool),
//		Models: map[string]llm.Model{"ollama": model}, // of ollama.New
//		Model:  "ollama/qwen3:8b",
//		// To keep jobs: Data: dir, Store: sqlite.Store(dir),
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
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/executor/handler"
	"github.com/adroit-run/adroit/internal/failures"
	"github.com/adroit-run/adroit/internal/jobdir"
	"github.com/adroit-run/adroit/internal/memory/book"
	"github.com/adroit-run/adroit/internal/pipeline"
	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/secret"
	"github.com/adroit-run/adroit/internal/tools/edit"
	"github.com/adroit-run/adroit/internal/trust"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/netguard"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Options say what a Runtime is made of. Models must be set.
type Options struct {
	// Tools are what agents may use and name as checks. executor.NewCheck makes a
	// check over the state of a run.
	Tools []tools.Tool
	// ToolServers have more tools, for agents that name a server. Close closes
	// them. May be nil.
	ToolServers ToolServers
	Models      map[string]llm.Model // by the part of provider/model before the slash
	Source      ModelSource          // instead of Models: opens them by reference
	Model       string               // of requests and agents that name none
	Agents      []agents.Layer       // files, for Lookup and by name
	Agent       string               // of requests that name none; empty: builder in a git repository
	// Pipelines are files, for requests that name one; Skills are files for all agents.
	Pipelines []pipeline.Layer
	Skills    []agents.Layer
	// Problems are files with types of problems, detectors and strategies for
	// coordinators; Detectors recognise failures in Go.
	Problems  []agents.Layer
	Detectors []Detector
	// Trust knows which agents, pipelines, skills and instructions of a workspace
	// its operator trusts. Nil: none are looked at, but for a request with Trust.
	Trust *trust.Store
	// ProjectBytes bounds what a project's AGENTS.md may take of a prompt; 0 is
	// the default, -1 none of it.
	ProjectBytes int
	// TestCommands are the command lines that run tests, by directory or "*".
	TestCommands map[string]string
	// Workflows are those that agents name with workflow:, of agents.Define. The
	// agent loop and that of pipelines are there without being named.
	Workflows []flow.Workflow
	// Defaults for what neither requests nor agents say. Its Model is not
	// read: see Model. Without Instead, models get the tools of the form of
	// editing that is known to suit them, as far as Tools has them.
	Defaults agents.Defaults
	// Servers are the language servers that look at what jobs change; nil means
	// those of lsp.Known that are installed, an empty list none.
	Servers []LanguageServer
	// NoDiagnostics keeps the language servers from checking what calls change.
	NoDiagnostics bool
	// Hooks are commands that see each call of a tool and its result.
	Hooks []Hook
	// Coordination is how jobs learn from the failures of earlier ones: see docs/fix.md.
	Coordination Coordination
	// Middleware wraps each call of a tool, inside of the hooks; the first is
	// outermost.
	Middleware []func(ToolHandler) ToolHandler
	// ModelWait is how long a request waits for a server that loads its model or
	// limits the rate. Zero: as long as five attempts take.
	ModelWait time.Duration
	// Dir is the workspace of requests that name none; empty means the
	// current directory.
	Dir string
	// Sandbox is how commands are confined: at the best level that the machine
	// can do unless Level says otherwise. Its Private is not read, and Data is
	// hidden from commands always.
	Sandbox SandboxOptions
	// Network is how far tools reach: public addresses, and what it allows.
	Network netguard.Guard
	// Data is the directory of what jobs leave beside the store, such as what
	// undo needs; it must lie outside of every workspace. Empty is a temporary one.
	Data string
	// DataInWorkspace accepts workspaces that contain Data.
	DataInWorkspace bool
	// Store opens what keeps the jobs, when a job is first needed: [sqlite.Store]
	// of Data, or one of the program's own. Close closes it if it is an io.Closer.
	// Without Store and Data jobs are kept in memory: they end with the Runtime,
	// and of those that have ended it remembers the newest hundred.
	//
	// [sqlite.Store]: https://pkg.go.dev/github.com/adroit-run/adroit/pkg/sqlite#Store
	Store func(context.Context) (jobs.Store, error)
	// CheckStore reads the pages of what keeps the jobs, with all also every
	// record, and returns the jobs and what is damaged. For Doctor; may be nil.
	CheckStore func(ctx context.Context, all bool) (list []*jobs.Job, damage []string, err error)
	// ConfigFile is what findings of Doctor call the configuration.
	ConfigFile string
	// AtOnce bounds how many jobs of the store run at once, in all processes that
	// have it; those above it are queued. 0 is no bound. See docs/operate.md.
	AtOnce int
	// Names changes the list of names of files that no tool may touch.
	Names *workspace.DenyList
	// Secrets keeps secrets out of what jobs leave behind. Nil knows those of
	// the environment and the well-known shapes. Those of a workspace's .env*
	// files are added for its jobs.
	Secrets *secret.Redactor
	// Emit sees the events of all jobs that run here. May be nil.
	Emit event.Sink
	// Person returns what asks a person, while a job runs, about something that
	// a model at work is about to do on its own; question is JSON of
	// executor.Question, and no says why not. Nil, or nil returned: nobody is there.
	Person func() func(ctx context.Context, question json.RawMessage) (no string, err error)
	// Warn reports what is no reason to stop. May be nil.
	Warn func(text string)
	// Hook is passed to the engine of each job, for tests that kill. May be nil.
	Hook func(point string, s flow.Step)
}

// Coordination says how coordinators, which repair what fails, learn.
type Coordination struct {
	// Memory is where what was done about the same failure before is looked for:
	// project (the default), user (all projects) or off, which keeps nothing either.
	Memory string
	// Compare assigns jobs to the two sides of a comparison by their id: memory: on,
	// off; strategy: the names of two strategies, or of one and default.
	Compare map[string][]string
}

// A Runtime runs jobs in this process. It is safe for concurrent use. Close
// it: that interrupts what still runs, and waits.
type Runtime struct {
	o      Options
	models ModelSource
	// What the options have, without any project's; read and checked when it is
	// needed: checking all built-in tools takes longer than listing jobs.
	tools     func() (*tools.Set, error)
	agents    func() (*agents.Catalog, agents.Problems)
	pipelines func() (*pipeline.Catalog, agents.Problems)
	home      string // has a directory for each job
	clean     func() error
	bare      bool            // jobs have no workspace: see Ask
	forgets   bool            // the store is the memory of this Runtime
	failed    failures.Memory // what coordinators remember without a database

	ctx  context.Context
	stop context.CancelCauseFunc
	mu   sync.Mutex
	jobs *jobs.Manager // see Manager
	shut bool
	runs sync.WaitGroup
	here map[string]*job // that run here, or ended here without a record of it, by id
	live broadcast
	// memory has what jobs and people noted for later jobs.
	memory *book.Keeper
}

// toolSet is the tools of the options; nil, which is empty, if they are not
// valid: whatever runs one reports that.
func (rt *Runtime) toolSet() *tools.Set {
	set, _ := rt.tools()
	return set
}

// Open makes a Runtime. Without Options.Source it checks all tools and agent
// files first, else when they are needed; the error lists all that is wrong. ctx
// bounds the opening only.
func Open(ctx context.Context, o Options) (*Runtime, error) {
	set := sync.OnceValues(func() (*tools.Set, error) { return tools.NewSet(o.Tools...) })
	types := sync.OnceFunc(o.registerTypes)
	all := renewed(o.Agents, func(l agents.Layer) fs.FS { return l.FS }, func(l ...agents.Layer) (*agents.Catalog, agents.Problems) {
		types()
		return agents.Load(l...)
	})
	pipelines := renewed(o.Pipelines, func(l pipeline.Layer) fs.FS { return l.FS }, pipeline.Load)
	var err error
	if o.Source == nil {
		_, problems := all()
		_, more := pipelines()
		_, err = set()
		err = errors.Join(err, problems.Err(), more.Err())
	}
	if err := errors.Join(err, o.Network.Check(), o.Coordination.policy().Check()); err != nil {
		return nil, err
	}
	if err := o.apart(o.Dir); err != nil {
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
	if o.Defaults.Missing == nil {
		o.Defaults.Missing = missingFor
	}
	if o.Secrets == nil {
		o.Secrets = secret.New(secret.Options{Known: secret.Environ(os.Environ())})
	}
	rt := &Runtime{o: o, models: o.Source, tools: set, agents: all, pipelines: pipelines, here: map[string]*job{}}
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
	rt.jobs = &jobs.Manager{Store: store, Workflows: rt.workflows(), Mux: rt.mux,
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
		rt.clean = func() error { return errors.Join(rt.removeAllTrees(), os.RemoveAll(data)) }
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

// apart is an error if the data directory lies in a workspace: there the tools
// of a job could change what undoing it needs.
func (o *Options) apart(dir string) error {
	if o.Data == "" || o.DataInWorkspace {
		return nil
	}
	d, err := rootfs.Real(o.Data)
	if err != nil {
		return fmt.Errorf("adroit: Options.Data: %w", err)
	}
	w, err := rootfs.Real(dir)
	if err != nil {
		return fmt.Errorf("adroit: the workspace: %w", err)
	}
	if rel, err := filepath.Rel(w, d); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("adroit: Options.Data (%s) lies in the workspace %s; keep jobs outside of it, for example below os.UserCacheDir", o.Data, w)
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

// Agent binds an agent built in Go to the runtime, so that Execute works.
func (rt *Runtime) Agent(a agents.DynamicAgent) *agents.DynamicAgent {
	a.Runner = runner{rt}
	return &a
}

// Lookup finds an agent of Options.Agents, bound to the runtime.
func (rt *Runtime) Lookup(name string) (*agents.DynamicAgent, error) {
	cat, _ := rt.agents()
	a, err := cat.Lookup(name)
	if err != nil {
		return nil, err
	}
	return rt.Agent(*a), nil
}

// runner runs agents that are bound to a runtime.
type runner struct{ *Runtime }

// Submit implements [agents.Runner].
func (r runner) Submit(ctx context.Context, in agents.Input) (agents.Job, error) {
	return r.Execute(ctx, in)
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
