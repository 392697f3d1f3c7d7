package adroit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/host/catalog"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A Client is adroit as a surface sees it: a *Runtime in this process, or a
// runtime behind an interface such as that of pkg/api. Every argument and result
// is a plain value that survives JSON, and every error an *Error. A job is named
// by its id, or a unique beginning or end of it; a *Runtime also knows the word last. It
// is safe for concurrent use. The suite in pkg/adroit/adroittest holds for each implementation.
type Client interface {
	JobReader
	JobWriter
	Changes
	Catalog
	Models
	Memory
	Machine
	io.Closer
}

// A JobReader reports how jobs stand and what they did.
type JobReader interface {
	// Jobs lists jobs, the newest first.
	Jobs(ctx context.Context, o ListOptions) ([]JobSummary, error)
	Job(ctx context.Context, ref string) (*JobDetail, error)
	// Events replays the numbered events of a job. What it yields with an error
	// is no event.
	Events(ctx context.Context, ref string, o EventOptions) iter.Seq2[event.Event, error]
	// AllEvents replays the numbered events of all jobs, those that other processes run
	// included, in one order, each with its ID: EventOptions.After is an ID, or, if it is
	// negative, how many of the last events it begins with. With Follow it goes on until
	// ctx ends.
	AllEvents(ctx context.Context, o EventOptions) iter.Seq2[event.Event, error]
	// Wait waits until a job neither runs nor is queued to run. Its error is also
	// that of a run of this runtime whose outcome could not be recorded.
	Wait(ctx context.Context, ref string) (*jobs.Job, error)
	// Artifacts returns what a job has produced.
	Artifacts(ctx context.Context, ref string) (*ArtifactList, error)
	// ArtifactFile reads a piece of a file that an artifact of a job names as its path, or as that of an
	// element of its list. A file outside of the job's directory, a link that leads out of it, and a name
	// that no tool may read are refused.
	ArtifactFile(ctx context.Context, ref string, f ArtifactFile) (*FilePiece, error)
	// Transcript returns all that the models of a job were sent and answered.
	Transcript(ctx context.Context, ref string) (*Transcript, error)
	// Failures returns what coordinators remember, the newest first.
	Failures(ctx context.Context, q FailureQuery) ([]Failure, error)
	// FailureStats counts what coordinators did in jobs that have ended.
	FailureStats(ctx context.Context, q StatsQuery) (*CoordinatorStats, error)
}

// A JobWriter begins, steers and removes jobs.
type JobWriter interface {
	// Resolve returns what Submit would pin, and adds nothing.
	Resolve(ctx context.Context, r Request) (*Plan, error)
	// Submit adds a job, which does not run yet. The same Key gives the same job.
	Submit(ctx context.Context, r Request) (*Submitted, error)
	// Start runs a job, or goes on with it, where the runtime is. It returns once
	// the job's lease is taken, which may still be queued for a place then; the end
	// of ctx does not end the job.
	Start(ctx context.Context, ref string, o StartOptions) (*Started, error)
	// Stop interrupts a job that the runtime runs: it ends at its next step, and
	// Start resumes it. Stop waits for that. A job that nobody runs stays as it is.
	// The reason is the job's; empty: the operator stopped it.
	Stop(ctx context.Context, ref, reason string) (*jobs.Job, error)
	// Signal answers the question that a job asks, or sends a signal early.
	Signal(ctx context.Context, ref string, s Signal) (*SignalSent, error)
	// Send gives a job a message of a person, once and durably. A job that is running
	// reads it before its next request to the model, also instead of ending. Any
	// other goes on with it when it is started next, whether it was interrupted, has
	// ended or was cancelled: in the same conversation, with the same record of
	// changes, its definition of done judged anew. It returns the job as it stands then, with
	// what it has not read among its Signals.
	Send(ctx context.Context, ref string, m executor.Message) (*jobs.Job, error)
	// Cancel ends a job for good and waits until its runner has confirmed.
	Cancel(ctx context.Context, ref string) (*jobs.Job, error)
	// Retry adds a new job with the task of an old one, which stays as it is. With
	// RetryOptions.From it goes on from a turn of the old one's conversation.
	Retry(ctx context.Context, ref string, o RetryOptions) (*Submitted, error)
	// Remove forgets a job with all that is kept for it, and returns what it was.
	Remove(ctx context.Context, ref string, o RemoveOptions) (*Removed, error)
	// ForgetFailures removes what coordinators remember, and returns how much it was.
	ForgetFailures(ctx context.Context, q FailureQuery) (int, error)
	// Prune removes the jobs that ended long ago. One that cannot be removed keeps
	// no other from it.
	Prune(ctx context.Context, o PruneOptions) (*PruneReport, error)
}

// Changes gives access to a job's file changes.
type Changes interface {
	// Steps lists the steps that changed files.
	Steps(ctx context.Context, ref string) (*StepList, error)
	Diff(ctx context.Context, ref string, s Selection) (*Diff, error)
	// Undo restores what the selection covers. It is a step of the job.
	Undo(ctx context.Context, ref string, s Selection) (*UndoReport, error)
	// Merge commits what a job did in its worktree and merges it. Without a message
	// the commit has the job's title.
	Merge(ctx context.Context, ref, message string) (*MergeReport, error)
}

// A Catalog lists what requests may name, and calls tools.
type Catalog interface {
	Agents(ctx context.Context, in Scope) (*Listing[AgentInfo], error)
	ShowAgent(ctx context.Context, n Named) (*AgentInfo, error)
	Pipelines(ctx context.Context, in Scope) (*Listing[PipelineInfo], error)
	ShowPipeline(ctx context.Context, n Named) (*PipelineDetail, error)
	// PipelineFile returns the text of a pipeline: of the project's file NAME.yaml as it is, whether it can
	// be used or not, else of the pipeline of that name.
	PipelineFile(ctx context.Context, n Named) (*PipelineFile, error)
	// WritePipeline writes a pipeline into a project and has it trusted as it is. A file that is not as it
	// was read is left alone.
	WritePipeline(ctx context.Context, w PipelineWrite) (*PipelineFile, error)
	// PipelineSchema is the JSON Schema of a pipeline's file.
	PipelineSchema(ctx context.Context) (json.RawMessage, error)
	Skills(ctx context.Context, in Scope) (*Listing[SkillInfo], error)
	ShowSkill(ctx context.Context, n Named) (*SkillDetail, error)
	// LintAgents checks the agents of a scope, or those of files.
	LintAgents(ctx context.Context, r LintRequest) (*LintReport, error)
	LintPipelines(ctx context.Context, r LintRequest) (*LintReport, error)
	Tools(ctx context.Context) (*Listing[ToolInfo], error)
	// CallTool calls a tool in a directory, without a job: what it changes cannot
	// be undone.
	CallTool(ctx context.Context, c ToolCall) (*executor.ToolResult, error)
	// ToolServers lists the MCP servers of a scope, without starting any.
	ToolServers(ctx context.Context, in Scope) (*Listing[ToolServerInfo], error)
	// CheckToolServer starts one and reports its tools.
	CheckToolServer(ctx context.Context, c ToolServerCheck) (*ToolServerReport, error)
	// ToolServerPrompt returns a prompt of one, filled in, to begin a request with.
	// Others have written it.
	ToolServerPrompt(ctx context.Context, p ToolServerPrompt) (string, error)
}

// Models are the models that can be asked.
type Models interface {
	// Models lists models, and providers whose models cannot be listed.
	Models(ctx context.Context) ([]ModelInfo, error)
	// CheckModel asks a model for a word.
	CheckModel(ctx context.Context, q ModelQuery) (*ModelReport, error)
	// ModelState reports how a model would serve a request, without asking it.
	ModelState(ctx context.Context, q ModelQuery) (*ModelState, error)
	// PullModel has Ollama fetch a model, and yields how far that is. What it
	// yields with an error is no progress.
	PullModel(ctx context.Context, p ModelPull) iter.Seq2[PullProgress, error]
	// ForgetModel forgets which ways to call tools did not work with a model, or
	// with all of them for "", and returns how many there were.
	ForgetModel(ctx context.Context, ref string) (int, error)
}

// A Machine holds what an operator has decided about the workspaces on it, and
// what jobs need.
type Machine interface {
	// Trust reports which files of a workspace would instruct agents.
	Trust(ctx context.Context, dir string) (*trust.Status, error)
	// SetTrust decides about them, and reports how they stand then; after a
	// revocation it reports nothing.
	SetTrust(ctx context.Context, c TrustChange) (*trust.Status, error)
	// Trusts lists the workspaces about which something was decided.
	Trusts(ctx context.Context) ([]trust.Place, error)
	// Doctor looks for what keeps jobs from running.
	Doctor(ctx context.Context, q DoctorQuery) ([]Finding, error)
}

var _ Client = (*Runtime)(nil)

// A ToolCall calls a tool outside of a job.
type ToolCall struct {
	Name    string          `json:"name"`
	Server  string          `json:"server,omitempty"` // the MCP server that has the tool, under the name that it gives it
	Args    json.RawMessage `json:"args"`
	Dir     string          `json:"dir"`
	Sandbox string          `json:"sandbox,omitempty"` // the level of commands; empty: as configured
	Mode    executor.Mode   `json:"mode,omitempty"`    // the permission mode; empty: as configured
}

// CallTool implements [Catalog].
func (rt *Runtime) CallTool(ctx context.Context, c ToolCall) (*executor.ToolResult, error) {
	if err := rt.mayLook(ctx, ScopeAdmin, c.Dir); err != nil {
		return nil, err
	}
	if c.Mode != "" && !c.Mode.Known() {
		return nil, problem.Invalidf(oneOf(executor.Modes), "mode is %q", c.Mode)
	}
	r, err := rt.callTool(ctx, c)
	if err != nil {
		return nil, problem.AsError(err)
	}
	return r, nil
}

// callTool performs the step that a job would perform, with the operator's rules, mode, hooks and
// secrets. The caller approves it, so that only what is denied is refused.
func (rt *Runtime) callTool(ctx context.Context, c ToolCall) (r *executor.ToolResult, err error) {
	t, ctx, err := rt.calledTool(ctx, c)
	if err != nil {
		return nil, err
	}
	logs, err := os.MkdirTemp("", "adroit-call-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(logs)
	rt.o.guardOwn()
	files, err := workspace.Open(c.Dir, nil)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	confined := rt.confine()
	if c.Sandbox != "" {
		if confined.Level, err = sandbox.Parse(c.Sandbox); err != nil {
			return nil, problem.Invalidf("", "--sandbox: %v", err)
		}
	}
	confined.Private = filepath.Join(logs, "sandbox")
	// logs goes when the command has ended; what it must not leave stays.
	confined.Removed = filepath.Join(rt.data(), "removed", time.Now().UTC().Format("20060102T150405.000"))
	exec := process.New(c.Dir, logs, nil, process.WithSandbox(confined))
	exec.DenyList = rt.o.Names
	defer exec.Close()
	test, _, err := rt.testCommandIn(c.Dir)
	if err != nil {
		return nil, err
	}
	dir := func(string) (string, error) { return c.Dir, nil }
	runners := hooks.In(dir, rt.o.Hooks)
	defer func() { err = errors.Join(err, runners.Close()) }()
	hide := rt.o.Secrets.With(rt.fileSecrets(ctx, c.Dir)...)
	client := rt.o.Network.Client()
	defer client.CloseIdleConnections()
	h := host.Host{
		ServerTool: func(string) (tools.Tool, bool) { return t, true }, Secrets: hide, Policy: rt.o.Policy,
		Env: func(context.Context, string, string) (*tools.Env, error) {
			return &tools.Env{Files: files.WithDenyList(rt.o.Names), Exec: exec, HTTP: client}, nil
		},
		Middleware:  slices.Concat([]func(host.ToolHandler) host.ToolHandler{runners.Around}, rt.o.Middleware),
		Confinement: func() host.Confinement { return rt.fence(ctx, JobConfig{Sandbox: confined.Level}) },
	}
	given := map[string]json.RawMessage{}
	if test != "" {
		if given[tools.TestCommand], err = json.Marshal(test); err != nil {
			return nil, err
		}
	}
	use := turn.ToolCall{Args: c.Args, Artifacts: given, Permission: &turn.PermissionContext{
		Mode: string(cmp.Or(c.Mode, rt.o.Defaults.Mode)), Approve: string(executor.ApproveAll), Rules: rt.o.Defaults.Rules,
	}}
	step := host.Guard(host.Serve(h), hide)[turn.ToolStep].Handler
	if r, err = toolStep(ctx, step, t.Name, use); err != nil {
		return nil, err
	}
	if r.Unchecked != nil {
		u := new(turn.Unchecked)
		if err := json.Unmarshal(r.Unchecked, u); err != nil {
			return nil, err
		}
		if failed, err := rt.precheck(ctx, c, u); failed != nil || err != nil {
			return failed, err
		}
		use.Checked = u.Digest
		if r, err = toolStep(ctx, step, t.Name, use); err != nil {
			return nil, err
		}
	}
	switch q := r.Question; {
	case q != nil:
		return nil, problem.Invalidf("a job asks a person about it", "%s was not run: %s", t.Name, q.Why)
	case r.Unchecked != nil:
		return nil, problem.Invalidf("call it again", "%s was not run: what it makes visible to others has changed while it was checked", t.Name)
	}
	return r, nil
}

// toolStep performs a tool step outside of a job.
func toolStep(ctx context.Context, do func(context.Context, flow.Step, event.Sink) (json.RawMessage, error), name string, use turn.ToolCall) (*executor.ToolResult, error) {
	raw, err := json.Marshal(use)
	if err != nil {
		return nil, problem.Invalidf("the arguments are one JSON object", "%v", err)
	}
	if raw, err = do(ctx, flow.Step{Job: "call", Kind: turn.ToolStep, Name: name, Input: raw}, func(event.Event) {}); err != nil {
		return nil, err
	}
	r := new(executor.ToolResult)
	return r, json.Unmarshal(raw, r)
}

// precheck makes the checks that must pass before a call, and returns what the call
// comes to if one does not.
func (rt *Runtime) precheck(ctx context.Context, c ToolCall, u *turn.Unchecked) (*executor.ToolResult, error) {
	for _, check := range u.Checks {
		r, err := rt.callTool(ctx, ToolCall{Name: check.Tool, Args: check.Args, Dir: c.Dir, Sandbox: c.Sandbox, Mode: c.Mode})
		if err != nil {
			return nil, fmt.Errorf("%s was not run: the check %s must pass first: %w", c.Name, check.Tool, err)
		}
		if r.Failed && r.Inconclusive != tools.NothingToCheck {
			r.Result = tools.Result{Failed: true, Text: fmt.Sprintf("%s was not run: the check %s must pass first on what it makes visible to others, and it has not:\n%s", c.Name, check.Tool, cmp.Or(r.Text, "it says nothing more"))}
			return r, nil
		}
	}
	return nil, nil
}

// calledTool is the tool that a call names, the program's or a server's.
func (rt *Runtime) calledTool(ctx context.Context, c ToolCall) (t tools.Tool, _ context.Context, err error) {
	set, err := rt.tools()
	if err != nil {
		return t, ctx, err
	}
	if c.Server != "" {
		scope, err := rt.serverScope(c.Dir, false)
		if err != nil {
			return t, ctx, err
		}
		scope.Sandbox = string(c.Sandbox)
		t, err = rt.toolServers().Find(ctx, scope, c.Server, c.Name)
		return t, turn.WithSaid(ctx, turn.Said{Nobody: true}), err
	}
	t, ok := set.Lookup(c.Name)
	if !ok {
		help := hint.Command("tools list") + " lists the tools"
		if n := set.Nearest(c.Name); n != "" {
			help = fmt.Sprintf("did you mean %q?", n)
		}
		return t, ctx, problem.Invalidf(help, "unknown tool %q", c.Name)
	}
	return t, ctx, nil
}

// testCommandIn returns the command line that runs the tests of a workspace, and
// where it comes from.
func (rt *Runtime) testCommandIn(dir string) (command, from string, err error) {
	d, err := rt.trusts(dir, false)
	if err != nil {
		return "", "", err
	}
	command, from = d.TestCommand(rt.o.TestCommands, rt.warn)
	return command, from, nil
}

// A ToolServerCheck names a server of a scope; Accept accepts its tools as they are.
type ToolServerCheck struct {
	Named
	Accept bool `json:"accept,omitempty"`
}

// A ToolServerPrompt names a prompt of a server of a scope, with its arguments.
type ToolServerPrompt struct {
	Named
	Prompt string            `json:"prompt"`
	Args   map[string]string `json:"args,omitempty"`
}

// ToolServers implements [Catalog].
func (rt *Runtime) ToolServers(ctx context.Context, in Scope) (*Listing[ToolServerInfo], error) {
	if err := rt.mayLook(ctx, ScopeRead, in.Dir); err != nil {
		return nil, err
	}
	l := &Listing[ToolServerInfo]{Items: []ToolServerInfo{}}
	if rt.o.ToolServers == nil {
		return l, nil
	}
	scope, err := rt.serverScope(in.Dir, in.Trust)
	if err == nil {
		l.Items, err = rt.o.ToolServers.List(scope)
	}
	if err != nil {
		return nil, problem.AsError(err)
	}
	return l, nil
}

// CheckToolServer implements [Catalog].
func (rt *Runtime) CheckToolServer(ctx context.Context, c ToolServerCheck) (*ToolServerReport, error) {
	if err := rt.mayLook(ctx, ScopeAdmin, c.Dir); err != nil {
		return nil, err
	}
	if rt.o.ToolServers == nil {
		return nil, problem.Invalidf("", "this program has no MCP servers")
	}
	scope, err := rt.serverScope(c.Dir, c.Trust)
	if err != nil {
		return nil, problem.AsError(err)
	}
	r, err := rt.o.ToolServers.Check(ctx, scope, c.Name, c.Accept)
	if err != nil {
		return nil, problem.AsError(err)
	}
	return r, nil
}

// ToolServerPrompt implements [Catalog].
func (rt *Runtime) ToolServerPrompt(ctx context.Context, p ToolServerPrompt) (string, error) {
	if err := rt.mayLook(ctx, ScopeRun, p.Dir); err != nil {
		return "", err
	}
	if rt.o.ToolServers == nil {
		return "", problem.Invalidf("", "this program has no MCP servers")
	}
	scope, err := rt.serverScope(p.Dir, p.Trust)
	if err != nil {
		return "", problem.AsError(err)
	}
	text, err := rt.o.ToolServers.Prompt(ctx, scope, p.Name, p.Prompt, p.Args)
	if err != nil {
		return "", problem.AsError(err)
	}
	return text, nil
}

// serverScope returns the scope of a workspace, with its own servers as far as it is trusted.
func (rt *Runtime) serverScope(dir string, all bool) (turn.Scope, error) {
	s := turn.Scope{Dir: dir}
	if dir == "" {
		return s, nil
	}
	d, err := rt.trusts(dir, all)
	if err == nil {
		s.Project, err = d.ToolServers()
	}
	if err == nil {
		s.Origin, err = jobdir.Origin(rt.data(), dir)
	}
	return s, err
}

// toolServers decides which tools of servers agents get.
func (rt *Runtime) toolServers() catalog.Source {
	return catalog.Source{Servers: rt.o.ToolServers, Warn: rt.warn}
}

// jobServers is the scope of a job, with the servers that came with it.
func (rt *Runtime) jobServers(dir string, c JobConfig) (turn.Scope, error) {
	s, err := rt.serverScope(dir, c.Trust)
	s.Client, s.Sandbox = c.Servers, string(c.Sandbox)
	return s, err
}

// A Failure is a failure that a coordinator met, with one thing it did about it. It outlives its job.
type Failure = problem.Failure

// A FailureQuery selects failures; the zero value is all.
type FailureQuery = problem.Query

// Failures implements [JobReader].
func (rt *Runtime) Failures(ctx context.Context, q FailureQuery) ([]Failure, error) {
	if err := rt.mayIn(ctx, ScopeRead, q.Project); err != nil {
		return nil, err
	}
	q, s, err := rt.failureQuery(ctx, q)
	if err != nil {
		return nil, problem.AsError(err)
	}
	list, err := s.Find(ctx, q)
	if list == nil {
		list = []Failure{}
	}
	return list, asError(err)
}

// ForgetFailures implements [JobWriter].
func (rt *Runtime) ForgetFailures(ctx context.Context, q FailureQuery) (int, error) {
	if err := rt.mayIn(ctx, ScopeAdmin, q.Project); err != nil {
		return 0, err
	}
	q, s, err := rt.failureQuery(ctx, q)
	if err != nil {
		return 0, problem.AsError(err)
	}
	n, err := s.Forget(ctx, q)
	return n, asError(err)
}

// failureQuery completes a query by a directory.
func (rt *Runtime) failureQuery(ctx context.Context, q FailureQuery) (FailureQuery, problem.Store, error) {
	if q.Project != "" {
		p, err := rootfs.Real(q.Project)
		if err != nil {
			return q, nil, err
		}
		q.Project = p
	}
	if q.Skip < 0 {
		return q, nil, problem.Invalidf("it counts from 0", "skip is %d", q.Skip)
	}
	s, err := rt.failureStore(ctx)
	return q, s, err
}

// coordinated are the workflows in which something may be coordinated.
var coordinated = []string{coordinator.Workflow.Name, "pipeline", "validate", "until_tests_pass"}

// FailureStats implements [JobReader].
func (rt *Runtime) FailureStats(ctx context.Context, q StatsQuery) (*CoordinatorStats, error) {
	return SumCoordinators(ctx, rt.Jobs, q)
}

// SumCoordinators sums up what the coordinators of jobs have done, as FailureStats of a [JobReader] whose
// jobs come from list.
func SumCoordinators(ctx context.Context, list func(context.Context, ListOptions) ([]JobSummary, error), q StatsQuery) (*CoordinatorStats, error) {
	var all []coordinator.Handled
	for _, name := range coordinated {
		list, err := list(ctx, ListOptions{Workflow: name, Dir: q.Dir, Full: true})
		if err != nil {
			return nil, err
		}
		for _, j := range list {
			if !j.Created.Before(q.Since) {
				all = append(all, handled(j.Job)...)
			}
		}
	}
	s := coordinator.Summarise(all)
	return &s, nil
}

// A coordinatedPart is the data about coordinators in a result, at any depth.
type coordinatedPart struct {
	coordinator.Record
	Steps  []coordinatedPart // of a pipeline
	Stages []coordinatedPart // of a validation
}

// handled are the failures that a job's coordinators have handled.
func (p coordinatedPart) handled() (out []coordinator.Handled) {
	out = p.Handled()
	for _, q := range slices.Concat(p.Steps, p.Stages) {
		out = append(out, q.handled()...)
	}
	return out
}

// handled reads the result of a job that has ended.
func handled(j *jobs.Job) (out []coordinator.Handled) {
	var s executor.State
	if !j.Status.Final() && j.Status != jobs.Failed && j.Status != jobs.Limit || json.Unmarshal(j.Output, &s) != nil {
		return nil
	}
	for _, name := range []string{"pipeline", "validation", "coordinated"} {
		var p coordinatedPart
		if json.Unmarshal(s.Value(name), &p) == nil {
			out = append(out, p.handled()...)
		}
	}
	var h coordinator.Handled
	if j.Workflow != coordinator.Workflow.Name || json.Unmarshal(s.Value("fix"), &h.Result) != nil || h.Result.Status == "" {
		return out
	}
	h.Tokens, h.Cost = s.Usage.In+s.Usage.Out+s.SubAgents.Usage.In+s.SubAgents.Usage.Out, s.Cost+s.SubAgents.Cost
	h.Took = j.Updated.Sub(j.Created)
	return append(out, h)
}
