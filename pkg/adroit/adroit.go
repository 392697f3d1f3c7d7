// Package adroit runs agents from a Go program: a store, tools, models and
// agents in one [Runtime].
//
//	rt, err := adroit.Open(ctx, adroit.Options{
//		Tools:  append(parts.Tools(), wordcount.Tool),
//		Models: map[string]llm.Model{"ollama": model}, // of ollama.New
//		Model:  "ollama/qwen3:8b",
//		// To keep jobs: Storage: adroit.Storage{Data: dir, Store: sqlite.Store(dir)},
//	})
//	defer rt.Close()
//	state, err := adroit.Run(ctx, rt, adroit.Request{Target: "counter", Input: agents.Input{Prompt: "Count a.txt."}})
//
// [Ask] is the smallest program. A definition of done may name checks of the
// program's own: see [executor.NewCheck], whose result is one of the Tools.
//
// There is no configuration and nothing is printed. A call that a person must
// approve parks its job: a [Job] has the question, takes the answer and goes on. A job
// ends with the context of [Run], and not with that of [Start].
package adroit

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/host/book"
	"github.com/adroit-run/adroit/internal/host/catalog"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"golang.org/x/sys/unix"
)

// tools are the program's, checked together.
func (o Options) tools() (*tools.Set, error) {
	set, err := tools.NewSet(o.Tools...)
	if err != nil {
		return nil, &problem.Error{Kind: problem.Failed, Message: "this program's tools: " + err.Error(),
			Hint: "this is a defect of the program; run " + hint.Command("tools lint") + " for details", Err: err}
	}
	return set, nil
}

// Open makes a Runtime. Without Options.Source it checks all tools and agent
// files first, else when they are needed; the error lists all that is wrong. ctx
// bounds the opening only.
func Open(ctx context.Context, o Options) (*Runtime, error) {
	rt := &Runtime{o: o, tools: sync.OnceValues(o.tools), here: map[string]*jobRun{}, handles: map[string]int{}}
	rt.catalog = catalog.New(catalog.Options{Agents: o.Agents, Literals: o.Literals, Pipelines: o.Pipelines, Problems: o.Coordination.Problems, Detectors: o.Coordination.Detectors, Workflows: o.Workflows, Agent: o.Agent, Tools: rt.tools, Warn: rt.warn})
	err := catalog.CheckWorkflows(o.Workflows)
	if err != nil {
		return nil, fmt.Errorf("adroit: Options.Workflows: %w", err)
	}
	if err := rt.catalog.CheckLiterals(); err != nil {
		return nil, fmt.Errorf("adroit: Options.%w", err)
	}
	if o.Source == nil {
		_, err = rt.tools()
		err = errors.Join(err, rt.catalog.Check())
	}
	if err := errors.Join(err, o.Network.Check(), o.Coordination.Check(), hooks.Check(o.Hooks)); err != nil {
		return nil, err
	}
	if o.Source == nil {
		if len(o.Models) == 0 {
			return nil, errors.New("adroit: Options.Models is empty; a runtime needs a model")
		}
		o.Source = modelMap{o.Models, o.Model}
	}
	if i := slices.IndexFunc(o.Middleware, func(wrap func(ToolHandler) ToolHandler) bool { return wrap == nil }); i >= 0 {
		return nil, fmt.Errorf("adroit: Options.Middleware[%d] is nil", i)
	}
	n := jobsByFiles(filesOf(o))
	o.AtOnce, rt.held = cmp.Or(o.AtOnce, n), heldByFiles(n)
	o.Defaults.Model = o.Model
	if o.Defaults.Substitutes == nil {
		o.Defaults.Substitutes = edit.Instead(nil)
	}
	if o.Secrets == nil {
		o.Secrets = secret.NewRedactor(secret.Options{Known: secret.Environ(os.Environ())})
	}
	for _, t := range o.Tools {
		values, _ := t.LookupSecrets(os.LookupEnv)
		for name, v := range values {
			o.Secrets = o.Secrets.With(secret.Known{Name: name, Value: v})
		}
	}
	o.guardOwn()
	rt.o, rt.models, rt.trust = o, o.Source, trustIn(o.Trust)
	rt.readers, rt.shutReaders = context.WithCancel(context.WithoutCancel(ctx))
	rt.ctx, rt.stop = context.WithCancelCause(exhaustion.WithNotice(context.WithoutCancel(ctx), rt.warnWaiting))
	if err := rt.open(); err != nil {
		return rt, err
	}
	rt.memory = &book.Keeper{Jobs: rt.store, Data: rt.data(), Names: o.Names, Secrets: o.Secrets, Warn: rt.warn}
	return rt, nil
}

// open finds the directory of jobs. Nobody can guess the name of a temporary one, which is
// made when a job has something to keep there.
func (rt *Runtime) open() error {
	rt.clean = func() error { return nil }
	data := rt.o.Data
	if data != "" && rt.o.Store == nil {
		return errors.New("adroit: Options.Data is set and Options.Store is not: write Store: sqlite.Store(dir), of pkg/jobs/sqlite, with dir the Data")
	}
	if data == "" {
		data = filepath.Join(os.TempDir(), "adroit-"+rand.Text())
		rt.clean = func() error {
			if _, err := os.Lstat(data); errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return errors.Join(jobdir.RemoveAllTrees(data), os.RemoveAll(data))
		}
	}
	rt.home = filepath.Join(data, "jobs")
	if rt.o.Store != nil {
		return nil
	}
	rt.forgets = true
	rt.o.Store = func(context.Context) (jobs.Store, error) { return new(jobs.Memory), nil }
	return nil
}

// Close interrupts the jobs that run, waits for them, ends readers of events, and closes the
// store. Any other method returns [ErrClosed] from then on.
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
	rt.shutReaders()
	rt.mu.Lock()
	defer rt.mu.Unlock()
	var servers, store error
	if rt.o.ToolServers != nil {
		servers = rt.o.ToolServers.Close()
	}
	if rt.jobs != nil {
		for _, s := range append(rt.earlier, rt.jobs.Store) {
			if c, ok := s.(io.Closer); ok {
				store = errors.Join(store, c.Close())
			}
		}
	}
	return errors.Join(servers, rt.clean(), store)
}

// trustIn is the record of trust in a directory; nil without one.
func trustIn(dir string) *trust.Store {
	if dir == "" {
		return nil
	}
	return trust.In(dir)
}

// Ask asks a model, which may call the tools, and returns its final answer. It is
// the smallest use of adroit: nothing is kept, and a call that a person would
// have to approve is refused. It ends within executor.DefaultLimits, and with ctx. The current directory is the workspace of tools
// that need one; without such a tool none is opened, see [Workspace]. See [llm.Named] for a
// provider with several models.
func Ask(ctx context.Context, model llm.Model, prompt string, list ...tools.Tool) (answer string, err error) {
	if model == nil {
		return "", errors.New("adroit: Ask without a model")
	}
	rt, err := Open(ctx, Options{
		Tools: list, Models: map[string]llm.Model{"ask": model}, Model: "ask/model",
		Defaults: agents.Defaults{Approve: executor.ApproveNone}, Workspace: Workspace{Servers: []lsp.Server{}, NoDiagnostics: true},
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	agent := agents.DynamicAgent{Name: "ask", Description: "Answer a prompt.", Prompt: "You answer the user. Use the tools where they help."}
	for _, t := range list {
		agent.Tools = append(agent.Tools, t.Name)
	}
	s, err := rt.runOnce(ctx, Request{Input: agents.Input{Spec: &agent, Prompt: prompt}})
	if s != nil {
		answer = s.Last
	}
	return answer, err
}

// Open files of a process, as measured at their peaks: those that it has without a job, those of
// one job with a command that is started and, in half of the jobs, a copy of the workspace, those
// of a program beside a job, which are pipes and what looks after it, and the locks of queued
// jobs, one each.
const (
	filesOfProcess = 64
	filesOfJob     = 30
	filesOfProgram = 12
	filesOfQueued  = 64
)

// filesOf returns the number of files a job may open: each tool server has a program in each
// workspace, and so has a language server.
func filesOf(o Options) int {
	n := filesOfJob
	if o.ToolServers != nil {
		list, _ := o.ToolServers.List(turn.Scope{}) // what cannot be read is not started either
		n += filesOfProgram * len(list)
	}
	if !o.NoDiagnostics && (o.Servers == nil || len(o.Servers) > 0) {
		n += filesOfProgram
	}
	return n
}

// jobsByFiles returns the number of jobs of so many files that may run at once by the process's
// limit of open files, 0 where that is no bound worth a queue.
func jobsByFiles(each int) int {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil || lim.Cur > 1<<16 {
		return 0
	}
	return max(1, (int(lim.Cur)-filesOfProcess-queuedOf(lim))/each)
}

// heldByFiles are the places of jobs that run, of which there are n, or are queued here: a queued
// one has its lock open. The others wait before that. Nil where there is no bound.
func heldByFiles(n int) chan struct{} {
	if n == 0 {
		return nil
	}
	var lim unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) // it worked before
	return make(chan struct{}, n+queuedOf(lim))
}

// queuedOf bounds the queued jobs that have their locks open.
func queuedOf(lim unix.Rlimit) int { return min(filesOfQueued, int(lim.Cur)/8) }
