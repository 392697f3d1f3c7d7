package adroit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/host/book"
	"github.com/adroit-run/adroit/internal/host/catalog"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
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
	forgets bool           // the store is the memory of this Runtime
	failed  problem.Memory // what coordinators remember without a database

	ctx         context.Context
	stop        context.CancelCauseFunc
	readers     context.Context // of events; ends when no job runs any more
	shutReaders context.CancelFunc
	opening     sync.Mutex // of the store; before mu
	mu          sync.Mutex
	jobs        *jobs.Manager // see Manager
	earlier     []jobs.Store  // that were for reading only
	shut        bool
	runs        sync.WaitGroup
	held        chan struct{}             // places of jobs that run or are queued here; nil is no bound
	refusals    map[string]*problem.Error // why jobs did not start here
	here        map[string]*jobRun        // that run here, or ended here without a record of it, by id
	handles     map[string]int            // on jobs, by id, where jobs are forgotten
	unlooked    int                       // ends of jobs since release has looked
	resumed     []resumedRemoval
	live        eventBroadcast
	unknown     sync.Map // what was warned of already: see warnUnknown
	waits       sync.Map // when it was last warned of by what it waits for
	// memory keeps the notes of jobs and people for later jobs.
	memory *book.Keeper
}

// A resumedRemoval is the removal of a job that this process has taken over.
type resumedRemoval struct {
	job *jobs.Job
	err error
}

// A jobRun is a run of a job that this process has begun.
type jobRun struct {
	id      string
	stop    context.CancelCauseFunc
	claimed chan struct{} // closed when its lease is taken
	done    chan struct{}
	job     *jobs.Job // after done
	err     error     // after done: not how the job went, but that it could not be run
}

func (j *jobRun) ended() bool { return closed(j.done) }

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// wait waits for a channel to be closed, or for the end of the run, whose error
// it returns then.
func (j *jobRun) wait(ctx context.Context, until <-chan struct{}) error {
	select {
	case <-until:
	case <-j.done:
		if !closed(until) {
			return j.err
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// data is the directory that keeps jobs.
func (rt *Runtime) data() string { return filepath.Dir(rt.home) }

// makeHome makes the directory of jobs, for what finds it there.
func (rt *Runtime) makeHome() error { return os.MkdirAll(rt.home, 0o700) }

// warn reports something to the operator that is no reason to stop.
func (rt *Runtime) warn(format string, args ...any) {
	if rt.o.Warn != nil {
		rt.o.Warn(fmt.Sprintf(format, args...))
	}
}

// warnWaiting warns that what no run of a job reports by itself waits for the host: many
// jobs wait for the same, so once in a while.
func (rt *Runtime) warnWaiting(what exhaustion.Resource, err error) {
	now := time.Now()
	before, _ := rt.waits.Swap(what, now)
	if last, ok := before.(time.Time); !ok || now.Sub(last) > time.Minute {
		rt.warn("waiting: %s: %v", what.Words(), err)
	}
}

// warnOfWait warns of an event that says that a run waits for the host: a follower of the
// log does not see it before there is room for it.
func (rt *Runtime) warnOfWait(ev event.Event) {
	if ev.Kind != event.Note || len(ev.Data) == 0 || ev.Path != "" {
		return
	}
	var d struct{ Waiting exhaustion.Resource }
	if json.Unmarshal(ev.Data, &d) == nil && d.Waiting != "" {
		rt.warnWaiting(d.Waiting, errors.New(ev.Error))
	}
}

// trusts decides about a workspace.
func (rt *Runtime) trusts(dir string, all bool) (catalog.Decision, error) {
	return catalog.Decide(rt.trust, rt.data(), dir, all)
}

// confine returns the sandbox of the jobs' commands.
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

// agentDigest identifies the definition of an agent.
func agentDigest(a *agents.DynamicAgent) string {
	b, err := json.Marshal(a)
	if err != nil {
		return "" // then its changes are left out
	}
	return flow.Digest(b)
}

// agentNow is the digest of the agent that a request names, as it is now; "" if it
// cannot be used.
func (rt *Runtime) agentNow(in agents.Input, trust bool) string {
	d, err := rt.trusts(in.Dir, trust)
	if err != nil || in.Agent == "" {
		return ""
	}
	cat := rt.catalog.Agents(d) // what is wrong with others does not matter
	a, err := cat.Lookup(in.Agent)
	if err != nil {
		return ""
	}
	return agentDigest(a)
}

// warnAgentChanged warns that the agent of a job is another now: the job goes on with
// its first.
func (rt *Runtime) warnAgentChanged(j *jobs.Job) {
	c := rt.config(j)
	var in agents.Input
	if c.AgentDigest == "" || j.Workflow != agents.Workflow.Name || json.Unmarshal(j.Input, &in) != nil || in.Agent == "" {
		return
	}
	switch now := rt.agentNow(in, c.Trust); now {
	case c.AgentDigest:
	case "":
		rt.warn("the agent %s cannot be used any more; %s goes on with it as it was", in.Agent, j.ID)
	default:
		rt.warn("the agent %s has changed since %s began, which goes on with it as it was; %s takes it as it is now", in.Agent, j.ID, hint.Command("jobs retry %s", j.ID))
	}
}

// config is the configuration of a job. If it cannot be known any more, the person is
// warned and the job goes on without: it trusts nothing, has no servers of its request,
// and its commands are confined as those of all jobs here.
func (rt *Runtime) config(j *jobs.Job) JobConfig {
	c, err := jobdir.LoadConfig(rt.data(), j)
	if err != nil {
		rt.warnUnknown(j.ID+" config", "%v: the options that %s was started with are unknown, and it goes on with the settings", err, j.ID)
		return JobConfig{}
	}
	return c
}

// worktree is the worktree of a job, nil if it has none or that cannot be known.
func (rt *Runtime) worktree(j *jobs.Job) *worktree.Worktree {
	w, err := jobdir.Worktree(rt.data(), j)
	if err != nil {
		rt.warnUnknown(j.ID+" worktree", "%v: whether %s has a worktree is unknown; its files are in %s", err, j.ID, j.Dir)
		return nil
	}
	return w
}

// warnUnknown warns once of each thing.
func (rt *Runtime) warnUnknown(about, format string, args ...any) {
	if _, again := rt.unknown.LoadOrStore(about, true); !again {
		rt.warn(format, args...)
	}
}

// unusableTree is an error if a person has removed the worktree of a job, its branch, or what the
// repository keeps of it.
func (rt *Runtime) unusableTree(j *jobs.Job) error {
	if err := rt.goneTree(j); err != nil {
		return err
	}
	if w := rt.worktree(j); w != nil {
		if err := w.Check(); err != nil {
			return problem.AsError(fmt.Errorf("%s: %w", j.ID, err))
		}
	}
	return nil
}

// goneTree is an error if the worktree of a job was removed by hand, with what still works.
func (rt *Runtime) goneTree(j *jobs.Job) error {
	if _, err := os.Stat(j.Dir); !errors.Is(err, fs.ErrNotExist) {
		return nil // working there reports what else is wrong
	}
	w := rt.worktree(j)
	if w == nil {
		return nil
	}
	help := fmt.Sprintf("%s does its task again in a new worktree\n%s lists what it had changed; %s forgets it",
		hint.Command("jobs retry %s", j.ID), hint.Command("jobs steps %s", j.ID), hint.Command("jobs rm %s", j.ID))
	if we := new(worktree.Error); errors.As(w.Check(), &we) && we.Remedy != "" {
		help = we.Remedy + "\n" + help
	}
	return problem.Invalidf(help, "the worktree of %s is gone, with what was not committed there: %s", j.ID, j.Dir)
}

// typedSecrets finds the secrets in what a person types for a job in dir. A job keeps that
// in the database, and providers of models get it. A job in memory that opens no workspace looks at no file.
func (rt *Runtime) typedSecrets(dir string, opens bool) *secret.Redactor {
	if !opens && rt.forgets {
		return rt.o.Secrets
	}
	return rt.o.Secrets.With(secret.DotenvAt(dir)...)
}

// hideTyped replaces the secrets in text that models read, and warns of each. where
// names the text.
func (rt *Runtime) hideTyped(r *secret.Redactor, where, text string) (clean string, replaced []secret.Replaced) {
	clean, hit := r.String(text)
	if !hit {
		return text, nil
	}
	for _, f := range r.Find(text) {
		if one := (secret.Replaced{Where: where, Kind: f.Kind, Fingerprint: f.Fingerprint}); !slices.Contains(replaced, one) {
			replaced = append(replaced, one)
		}
	}
	if replaced == nil {
		replaced = []secret.Replaced{{Where: where}}
	}
	for _, one := range replaced {
		rt.warn("%s", secret.ReplacedWords(one))
	}
	return clean, replaced
}

// hideTypedInput hides the secrets in a request that models read: in its prompt and, where
// no program reads them, in its inputs.
func (rt *Runtime) hideTypedInput(agent *agents.DynamicAgent, in *agents.Input, opens bool) (replaced []secret.Replaced) {
	r := rt.typedSecrets(in.Dir, opens)
	in.Prompt, replaced = rt.hideTyped(r, "the prompt", in.Prompt)
	var more []secret.Replaced
	in.Notes, more = rt.hideTyped(r, "the notes", in.Notes)
	replaced = append(replaced, more...)
	in.Inputs = maps.Clone(in.Inputs) // they are the caller's
	for _, name := range slices.Sorted(maps.Keys(in.Inputs)) {
		if clean, hit := r.JSON(in.Inputs[name]); hit && !readByCode(agent, in, name) {
			_, more := rt.hideTyped(r, "the input "+name, string(in.Inputs[name]))
			replaced = append(replaced, more...)
			in.Inputs[name] = clean
		}
	}
	return replaced
}

// readByCode reports whether code reads an input of a request: then another text in its
// place would have it do another thing.
func readByCode(agent *agents.DynamicAgent, in *agents.Input, name string) bool {
	switch {
	case in.Pipeline != "":
		return true
	case agent.Runs() == coordinator.Workflow.Name:
		return name == "command" || name == "steps"
	}
	return agent.Runs() != agents.Workflow.Name
}

// refuseTyped refuses secrets in what code reads of a request whose text for models has
// none any more: the job would keep them.
func (rt *Runtime) refuseTyped(in agents.Input, opens bool) error {
	given := map[string]json.RawMessage{}
	for name, v := range in.Inputs {
		given["the input "+name] = v
	}
	if in.Test != "" {
		given["the command of --test"], _ = json.Marshal(in.Test)
	}
	r := rt.typedSecrets(in.Dir, opens)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if shown, hit := r.JSON(given[name]); hit {
			return secretRefused(name, string(shown))
		}
	}
	return nil
}

// secretRefused refuses what code or a question would get with a secret in it.
func secretRefused(where, shown string) error {
	return problem.Invalidf("put it into a variable or a file that the command reads, and name that; secrets.known in the configuration names what is no secret",
		"%s has a secret in it, which the job would keep: %s", where, shown)
}
