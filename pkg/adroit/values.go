package adroit

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// A JobDetail is a job with what is known beside it.
type JobDetail struct {
	Job       *jobs.Job       `json:"job"`
	Config    JobConfig       `json:"config"`
	Questions []jobs.Question `json:"questions,omitempty"` // that it asks now
	Unread    int             `json:"unread,omitempty"`    // messages that it was sent and has not read
	Mode      executor.Mode   `json:"mode,omitempty"`      // permission mode that it began in, or that the last message has set
	Final     *jobs.Final     `json:"final,omitempty"`     // how its last run ended
	// End is the event that Final is of. It is nil if another came after it: the
	// job went on and has not ended in order since.
	End      *event.Event       `json:"end,omitempty"`
	Position *Position          `json:"position,omitempty"` // of an interrupted job
	Queue    int                `json:"queue,omitempty"`    // position of a queued job that runs by itself, from 1
	Todo     json.RawMessage    `json:"todo,omitempty"`     // the list of tasks that its agent keeps, with content and status
	Usage    UsageDetail        `json:"usage"`
	Changes  ChangeSummary      `json:"changes"`
	Worktree *worktree.Worktree `json:"worktree,omitempty"`
	Trees    []KeptTree         `json:"worktrees,omitempty"` // of its sub-agents
	// Unreadable is the reason why its worktrees are unknown.
	Unreadable string `json:"unreadable,omitempty"`
	// Disconnected is the reason why its worktree cannot be worked with, and so neither continued
	// nor merged, with the commands of git that connect it again. It is nil while the job runs.
	Disconnected *problem.Error `json:"disconnected,omitempty"`
	Actions      []Action       `json:"actions,omitempty"` // what makes sense next, the likeliest first
	// Refused is the error of the runtime's last attempt to start it, until it starts or the
	// runtime ends.
	Refused *problem.Error `json:"refused,omitempty"`

	canCarryOut bool // the plan with which it ended
	goneTree    bool // its worktree was removed by hand
}

// A JobSummary is a job as lists show it.
type JobSummary struct {
	*jobs.Job
	Position *Position `json:"position,omitempty"` // of an interrupted job
	Queue    int       `json:"queue,omitempty"`    // position of a queued job that runs by itself, from 1
	Actions  []Action  `json:"actions,omitempty"`  // what makes sense next, the likeliest first
}

// A Position is a job's progress when its runner stopped.
type Position struct {
	Turns int    `json:"turns"`          // model calls that have ended
	Calls int    `json:"calls"`          // tool calls that have ended
	Tool  string `json:"tool,omitempty"` // whose call has not ended
}

// A UsageDetail is a job's usage.
type UsageDetail struct {
	Total jobs.Figures `json:"total"` // so far, parts included
	Parts []jobs.Part  `json:"parts,omitempty"`
	// Models and Cost are of Final, in USD at the runtime's prices if it has no
	// cost itself. Models is nil if it was one alone.
	Models []ModelUsage `json:"models,omitempty"`
	Cost   float64      `json:"cost_usd,omitempty"`
	// PricesOf is the day of the oldest built-in price in Cost, as 2026-10-16; "" if
	// all are the operator's.
	PricesOf string `json:"prices_as_of,omitempty"`
}

// A ModelUsage is a job's usage of one model.
type ModelUsage struct {
	Model string `json:"model"`
	llm.Usage
	Cost float64 `json:"cost_usd,omitempty"`
}

// A ChangeSummary summarizes the record of a job's file changes.
type ChangeSummary struct {
	Changed bool     `json:"changed,omitempty"`
	Steps   []string `json:"steps,omitempty"` // that changed files
	Bytes   int64    `json:"bytes,omitempty"` // of former content, kept for undo
	// Incomplete lists gaps in the record, Unreadable is the reason why it cannot be read.
	Incomplete []string `json:"incomplete,omitempty"`
	Unreadable string   `json:"unreadable,omitempty"`
}

// A KeptTree is the worktree of a sub-agent that is still there: one in use, one
// with conflicts, or one of a sub-agent that did not get done.
type KeptTree struct {
	Name      string    `json:"name"`
	Dir       string    `json:"dir"`
	Branch    string    `json:"branch,omitempty"`
	Base      string    `json:"base,omitempty"` // the commit it began with
	Conflicts []Skipped `json:"conflicts,omitempty"`
}

// ListOptions select jobs; the zero value is all.
type ListOptions struct {
	Agent    string        `json:"agent,omitempty"`
	Workflow string        `json:"workflow,omitempty"` // that runs the agent, or pipeline
	Status   []jobs.Status `json:"status,omitempty"`   // any of these
	// Dir selects jobs that work in this directory, around or below it, or in a
	// worktree of such a repository. It is absolute.
	Dir string `json:"dir,omitempty"`
	// Here selects the jobs that somebody in Dir goes on with: those of its project,
	// not of others around or below it, and none that was done on the side, such as
	// the one of adroit git commit.
	Here  bool `json:"here,omitempty"`
	Limit int  `json:"limit,omitempty"` // the newest; 0 is all
	Full  bool `json:"full,omitempty"`  // with input and output, without position and actions
}

// An ArtifactList lists a job's artifacts, by name.
type ArtifactList struct {
	Job       string                       `json:"job"`
	Artifacts map[string]executor.Artifact `json:"artifacts"`
}

// An ArtifactFile names bytes of a file that an artifact of a job has as its path.
type ArtifactFile struct {
	Artifact string `json:"artifact"`
	Path     string `json:"path,omitempty"`   // as the artifact has it; empty: its only one
	Offset   int64  `json:"offset,omitempty"` // the first byte
	Most     int    `json:"most,omitempty"`   // bytes; at most 1 MiB, which 0 means
}

// Bounds of what is read of a file that a job has made.
const (
	maxPiece        = 1 << 20 // bytes of one piece
	maxArtifactFile = 4 << 30 // bytes of a file
)

// A FilePiece is some bytes of a file, none at its end or behind it.
type FilePiece struct {
	Path     string    `json:"path"` // relative to the job's directory
	Size     int64     `json:"size"` // bytes of the whole file
	Modified time.Time `json:"modified"`
	Data     []byte    `json:"data,omitempty"`
}

// A StatsQuery selects the jobs that are counted; the zero value is all.
type StatsQuery struct {
	Dir   string    `json:"dir,omitempty"`  // as ListOptions.Dir
	Since time.Time `json:"since,omitzero"` // made then or later
}

// CoordinatorStats counts what coordinators did about failures, and their results.
type CoordinatorStats = coordinator.Stats

// EventOptions select events.
type EventOptions struct {
	After  int64 `json:"after,omitempty"`  // only those with a higher number
	Follow bool  `json:"follow,omitempty"` // until the job no longer runs
	// Live adds, while a job is followed that the runtime runs, what is not kept:
	// pieces of answers, which have no number, those of a step between its start and
	// its end. They begin at the start of the run for its first follower
	// if StartOptions.Live was set, and else now. A reader that is
	// thousands behind loses some, never a numbered event.
	Live bool `json:"live,omitempty"`
}

// StartOptions control how a job goes on.
type StartOptions struct {
	// Limits are for a job that a limit stopped. Turns count for the stopped
	// agent; all else bounds the whole job.
	Limits executor.Limits `json:"limits,omitzero"`
	// AtOnce queues the job until fewer than this many run; 0 is the runtime's bound.
	AtOnce int `json:"at_once,omitempty"`
	// Live keeps what EventOptions.Live adds until somebody follows the run, after the
	// event that was the last before it, however soon it ends.
	Live bool `json:"live,omitempty"`
	// DryRun only checks whether the job can be started with these options.
	DryRun bool `json:"dry_run,omitempty"`
}

// A Started describes a job that has begun to run, and where.
type Started struct {
	Job      *jobs.Job          `json:"job"` // before it began
	Config   JobConfig          `json:"config"`
	Worktree *worktree.Worktree `json:"worktree,omitempty"`
	Queue    int                `json:"queue,omitempty"`  // its position, if it has to wait for a place
	Sandbox  string             `json:"sandbox"`          // the level at which its commands are confined; unused if it opens no workspace, empty where its host alone knows it
	Others   []string           `json:"others,omitempty"` // other jobs that run in its directory, or around or below it
}

// A Signal is sent to a job: approve, deny, or the name of another.
type Signal struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value,omitempty"`
	// Question is the path of the question that it answers, as [JobDetail] has it: if the
	// job does not ask that one now, nothing is sent. Empty is whichever it asks.
	Question string `json:"question,omitempty"`
	// About is the subject of that question when it was answered: if the job asks about something
	// else there now, nothing is sent. Empty is any subject.
	About json.RawMessage `json:"about,omitempty"`
	// Keep has the rule that an approval of always adds hold for later jobs of the project, too.
	Keep bool `json:"keep,omitempty"`
	// Start has the job go on with the answer if nobody runs it, in the runtime. Permission to
	// answer is enough: the job was begun with permission to run. If it cannot, the answer
	// counts, and JobDetail.Refused has the reason.
	Start bool `json:"start,omitempty"`
}

// SignalSent is the result of a signal.
type SignalSent struct {
	Job      *jobs.Job      `json:"job"`
	Question *jobs.Question `json:"question,omitempty"` // that it answers
	// Early means that the job does not wait for it yet; it is kept until then.
	Early bool `json:"early,omitempty"`
}

// RemoveOptions control how a job is removed.
type RemoveOptions struct {
	Force bool `json:"force,omitempty"` // also what is not committed or merged in its worktree
}

// Removed is a job that is no more, as it was.
type Removed struct {
	*jobs.Job
	// Notes are for the remover: the branch that stays, what went with it. They
	// are no reason to stop.
	Notes []string `json:"notes,omitempty"`
}

// PruneOptions select the jobs to remove.
type PruneOptions struct {
	Age    time.Duration `json:"age_ns"`            // since they ended
	DryRun bool          `json:"dry_run,omitempty"` // only list them
}

// A PruneReport has the jobs that were removed, or would be, by id.
type PruneReport struct {
	Removed []string  `json:"removed"`
	Kept    []KeptJob `json:"kept,omitempty"`
	Notes   []string  `json:"notes,omitempty"` // those of [Removed]
}

// A KeptJob is a job that could not be removed.
type KeptJob struct {
	Job   string         `json:"job"`
	Error *problem.Error `json:"error"`
}

// Err returns the reasons why jobs were kept, nil if none was.
func (r *PruneReport) Err() error {
	var errs []error
	for _, k := range r.Kept {
		errs = append(errs, fmt.Errorf("%s is kept: %w", k.Job, k.Error))
	}
	return errors.Join(errs...)
}

// A Selection is the part of a job's changes that a call is about; the zero
// value is all that is certain.
type Selection struct {
	Step      string `json:"step,omitempty"`      // only this step
	From      string `json:"from,omitempty"`      // this step and all later ones
	Uncertain bool   `json:"uncertain,omitempty"` // also what may be somebody else's work
	// Patch: the diff is one that git apply takes, with names from the top of the
	// repository, and with binary and large files in it.
	Patch bool `json:"patch,omitempty"`
}

// A Step changed files.
type Step struct {
	Step    string   `json:"step"` // empty: before steps were noted
	Changes []Change `json:"changes"`
	Name    string   `json:"name,omitempty"` // the tool
	Refs    []Change `json:"refs,omitempty"` // of the repository
	Dirs    []Change `json:"dirs,omitempty"` // see Diff
}

// A StepList is the steps of a job that changed files.
type StepList struct {
	Job        string   `json:"job"`
	Steps      []Step   `json:"steps"`
	Incomplete []string `json:"incomplete,omitempty"`
}

// A Diff is a job's changes.
type Diff struct {
	Job     string   `json:"job"`
	Changes []Change `json:"changes"`
	Diff    string   `json:"diff"`
	// Dirs are directories that changed: new and removed ones in which no file changed, and
	// those with other permissions.
	Dirs []Change `json:"dirs,omitempty"`
	// Refs are branches, tags and the like that it moved, made or removed, and Commits
	// those that they have and no other has.
	Refs       []Change        `json:"refs,omitempty"`
	Commits    []ledger.Commit `json:"commits,omitempty"`
	Raw        []byte          `json:"raw,omitempty"` // Diff, if that is not UTF-8: JSON cannot hold it
	Incomplete []string        `json:"incomplete,omitempty"`
}

// An UndoReport is the result of an undo.
type UndoReport struct {
	Job        string    `json:"job"`
	Restored   []string  `json:"restored,omitempty"` // have their original content and mode again
	Removed    []string  `json:"removed,omitempty"`  // the job had created them
	Moved      []Change  `json:"moved,omitempty"`    // branches and tags, back to where they were
	Skipped    []Skipped `json:"skipped,omitempty"`
	Step       string    `json:"step,omitempty"` // that the undo is, and is undone by; "" if it did nothing
	Incomplete []string  `json:"incomplete,omitempty"`
	// Commits lists the commits of a job of an older version, which did not note what it moved.
	Commits []string `json:"commits,omitempty"`
}

// A MergeReport is the result of a merge.
type MergeReport struct {
	Job    string   `json:"job"`
	Repo   string   `json:"repo"`             // the repository's directory
	Into   string   `json:"into"`             // the branch
	Commit string   `json:"commit,omitempty"` // what it is at now; empty if there was nothing to merge
	Paths  []string `json:"paths,omitempty"`  // that changed
	// Left are paths of the worktree that no merge brings: in submodules, and what the
	// job wrote and git ignores.
	Left []string `json:"left,omitempty"`
	// Hidden are merged paths that are not on disk, since the checkout is sparse.
	Hidden []string `json:"hidden,omitempty"`
}

// A TrustChange decides about files of a workspace.
type TrustChange struct {
	Dir string `json:"dir"`
	// Files lists the files to trust, as Trust returned them: one that has changed since is not
	// trusted. Nil means all that are not trusted, as they are now.
	Files []trust.File `json:"files,omitempty"`
	// Trust is yes or no; Revoke forgets all that was decided.
	Trust  bool `json:"trust,omitempty"`
	Revoke bool `json:"revoke,omitempty"`
}

// An Action is a possible next action on a job.
type Action struct {
	Do     string `json:"do"`               // diff, undo, merge, logs, resume, continue, retry, signal
	Job    string `json:"job"`              // its id
	Signal string `json:"signal,omitempty"` // of signal: its name
	// Question is the path of the question that the signal answers, if there are several.
	Question string `json:"question,omitempty"`
	// Limit is the limit that has to be raised for resume: turns, tokens, cost or time.
	Limit  string `json:"limit,omitempty"`
	Follow bool   `json:"follow,omitempty"` // of logs: the job still runs
	// CarryOut is of retry: see [RetryOptions].
	CarryOut bool `json:"carry_out,omitempty"`
}
