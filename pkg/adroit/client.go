package adroit

import (
	"context"
	"io"
	"iter"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/jobs"
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
	// Wait waits until a job neither runs nor is queued to run. Its error is also
	// that of a run of this runtime whose outcome could not be recorded.
	Wait(ctx context.Context, ref string) (*jobs.Job, error)
	// Artifacts returns what a job has produced.
	Artifacts(ctx context.Context, ref string) (*ArtifactList, error)
	// Transcript returns all that the models of a job were sent and answered.
	Transcript(ctx context.Context, ref string) (*Transcript, error)
	// Failures returns what coordinators remember, the newest first.
	Failures(ctx context.Context, q FailureQuery) ([]Failure, error)
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

// Changes are what a job did to files.
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
