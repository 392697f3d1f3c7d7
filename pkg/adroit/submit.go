package adroit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// A Submitted is a job that was added, and what it will run.
type Submitted struct {
	Job  *jobs.Job `json:"job"`
	Plan *Plan     `json:"plan,omitempty"` // not of a retry
	// Repeated means that an earlier request with the same key has the job.
	Repeated bool               `json:"repeated,omitempty"`
	Worktree *worktree.Worktree `json:"worktree,omitempty"` // that was made for it
	// Lost are calls of a job that goes on with another host which may have changed files on the old
	// one: what was not pushed is there alone.
	Lost []string `json:"lost,omitempty"`
}

// Submit implements [JobWriter]. A request that cannot be resolved fails here,
// before there is a job.
func (rt *Runtime) Submit(ctx context.Context, r Request) (*Submitted, error) {
	if err := rt.mayRequest(ctx, ScopeRun, r); err != nil {
		return nil, err
	}
	var s *Submitted
	ctx = exhaustion.WithChanges(ctx)
	err := exhaustion.Retry(ctx, func() (err error) { s, err = rt.submit(ctx, r); return err })
	if err != nil {
		return nil, problem.AsError(err)
	}
	return s, nil
}

// mostKey bounds the key of a request, in bytes.
const mostKey = 1024

// submit adds a job, or leaves nothing of it.
func (rt *Runtime) submit(ctx context.Context, r Request) (*Submitted, error) {
	if r.Key != "" && strings.TrimSpace(r.Key) == "" {
		return nil, problem.Invalidf("leave it out if none is meant, and look at what was to fill it", "the key has only blanks")
	}
	if len(r.Key) > mostKey {
		return nil, problem.Invalidf("send a digest of what is long", "the key has %d bytes, and a key has at most %d", len(r.Key), mostKey)
	}
	// One directory has one name for all: a key is unique in it.
	dir, err := rootfs.Real(cmp.Or(r.Dir, rt.o.Dir))
	if err != nil {
		return nil, fmt.Errorf("looking at the directory: %w", err)
	}
	r.Dir = dir
	if r.Record, err = recordingFile(r.Record); err != nil {
		return nil, err
	}
	p, err := rt.planOf(ctx, r, true)
	if err != nil {
		return nil, err
	}
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, err
	}
	s := &Submitted{Plan: p}
	id := jobs.New(time.Now())
	request, err := requestDigest(p)
	if err != nil {
		return nil, err
	}
	scope := p.Input.Dir
	if err := rt.refuseTyped(p.Input, p.opens); err != nil {
		return nil, err
	}
	if r.Worktree {
		if s.Worktree, err = rt.isolate(ctx, id, r, p); err != nil {
			return nil, err
		}
	}
	if err := jobdir.KeepImages(rt.data(), id, p.Input.Attachments); err != nil {
		return nil, errors.Join(err, rt.forget(ctx, id))
	}
	raw, err := json.Marshal(p.Input)
	if err != nil {
		return nil, fmt.Errorf("agent %s: encoding the request: %w", p.Input.Name(), err)
	}
	r.AgentDigest = p.agent
	r.KnownWindow, r.GuessedWindow = windowOf(p.Task)
	place := ""
	if r.Key != "" { // it is for this directory
		place = rootfs.Identity(dir)
	}
	host, err := jobdir.Host(r.JobConfig, s.Worktree, place)
	if err != nil {
		return nil, errors.Join(err, rt.forget(ctx, id))
	}
	title, _ := rt.typedSecrets(scope, p.opens).String(r.Title)
	add := &jobs.Job{ID: id, Workflow: p.Workflow, Agent: p.Task.Agent, Dir: p.Input.Dir, Model: p.Task.Model, Key: r.Key, Scope: scope, Request: request, Title: title, Input: raw, Host: host}
	s.Job, err = m.Submit(ctx, add)
	if s.Job != nil && s.Job.ID != id && jobdir.Elsewhere(s.Job, place) {
		add.Scope += "//" + place // no path has this
		s.Job, err = m.Submit(ctx, add)
	}
	if errors.Is(err, jobs.ErrKey) {
		return nil, errors.Join(keyTaken(r.Key, s.Job, p.Input.Name(), shortPrompt(p.Input.Prompt)), rt.forget(ctx, id))
	}
	if err != nil {
		return nil, errors.Join(err, rt.forget(ctx, id))
	}
	s.Job.Replaced = p.replaced
	if s.Repeated = s.Job.ID != id; s.Repeated {
		s.Worktree = rt.worktree(s.Job) // and not the unused one
		return s, rt.forget(ctx, id)
	}
	return s, nil
}

// mayWorkIn refuses a directory that cannot be a job's workspace, and warns of a repository
// with which its commands or commits will not get far.
func (rt *Runtime) mayWorkIn(dir string, level sandbox.Level) error {
	rt.o.guardOwn()
	if err := rt.o.apart(dir); err != nil {
		return err
	}
	sandboxed := cmp.Or(level, rt.o.Sandbox.Level) != sandbox.Off
	for _, note := range process.RepositoryNotes(dir, sandboxed, slices.Concat(rt.o.Sandbox.Show, rt.o.Sandbox.Write)) {
		rt.warn("%s", note)
	}
	return nil
}

// requestDigest is of what was asked: of the agent's or pipeline's name, the prompt, inputs and
// attachments, not of the settings, which may differ from run to run.
func requestDigest(p *Plan) (string, error) {
	in := p.Input
	raw, err := json.Marshal([]any{in.Agent, in.Spec, in.Pipeline, in.Prompt, in.Inputs, in.Attached})
	if err != nil {
		return "", fmt.Errorf("encoding the request: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(raw)), nil
}

// keyTaken names the request that has a key and the one that wants it.
func keyTaken(key string, j *jobs.Job, name, title string) error {
	its, other := fmt.Sprintf("%s: %q", cmp.Or(j.Agent, j.Workflow), j.Title), fmt.Sprintf("%s: %q", name, title)
	if its == other {
		other += " with other words or inputs"
	}
	return &problem.Error{Kind: problem.Invalid, Message: fmt.Sprintf("the key %s belongs to job %s (%s), and this is another request (%s)", hint.Quote(key), j.ID, its, other),
		Hint: "use another key, or remove that job: " + hint.Command("jobs rm %s", j.ID), Err: jobs.ErrKey}
}

// windowOf is the size of a task's context window in tokens: what is known of it, or what
// is guessed. Nobody guesses that of a script and of where there is no model, which have
// none, nor of a CLI agent, which minds its own.
func windowOf(t executor.Task) (known, guessed int) {
	b := t.Budget
	switch {
	case t.Options.Window > 0 || b == nil:
		return t.Options.Window, 0
	case !b.Guess:
		return b.Window, 0
	case strings.HasPrefix(t.Model, "script:"), t.Model == coordinator.NoModel, extagent.IsAgent(t.Model):
		return 0, 0
	}
	return 0, b.Window
}

// isolate makes a worktree for a job to be and moves its request there.
func (rt *Runtime) isolate(ctx context.Context, id string, r Request, p *Plan) (*worktree.Worktree, error) {
	w, err := jobdir.AddWorktree(ctx, rt.data(), id, p.Input.Dir, r.Base)
	if errors.Is(err, git.ErrNoCommit) {
		err = &problem.Error{Kind: problem.NotFound, Message: err.Error(), Hint: problem.Hint(err), Err: err}
	}
	if err != nil {
		return nil, errors.Join(err, rt.forget(ctx, id))
	}
	p.Input.Dir, p.Input.Worktree = w.Dir(), true
	m, err := rt.models.At(r.BaseURL, "")
	if err == nil {
		// What the request was checked with may not be in the commit.
		_, _, err = rt.resolve(ctx, p.Input, r.JobConfig, m)
	}
	if err != nil {
		err = fmt.Errorf("in a worktree of the last commit: %w", err)
		return nil, &problem.Error{Kind: problem.Failed, Message: err.Error(), Hint: "commit what the agent needs, its file first of all, or run it without --worktree", Err: errors.Join(err, rt.forget(ctx, id))}
	}
	return w, nil
}

// Retry implements [JobWriter]. The new job has a worktree of its own if the old
// one had one.
func (rt *Runtime) Retry(ctx context.Context, ref string, o RetryOptions) (*Submitted, error) {
	if err := rt.may(ctx, ScopeRun); err != nil {
		return nil, err
	}
	var s *Submitted
	ctx = exhaustion.WithChanges(ctx)
	err := exhaustion.Retry(ctx, func() (err error) { s, err = rt.retry(ctx, ref, o); return err })
	if err != nil {
		return nil, problem.AsError(err)
	}
	return s, nil
}

func (rt *Runtime) retry(ctx context.Context, ref string, o RetryOptions) (*Submitted, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	old, m, err := rt.find(ctx, ref)
	if err == nil {
		err = errors.Join(mayTake(ctx, old, rt.config(old)), rt.mayModel(ctx, o.Model))
	}
	if err != nil {
		return nil, err
	}
	w, err := rt.oldWorktree(old)
	if err != nil {
		return nil, err
	}
	s, id := &Submitted{}, jobs.New(time.Now())
	again := &jobs.Job{ID: id, Workflow: old.Workflow, Agent: old.Agent, Title: old.Title, Dir: old.Dir, Model: old.Model, Input: old.Input}
	if again.Model, err = rt.retryModel(old, o.Model); err != nil {
		return nil, err
	}
	if o.From > 0 || o.CarryOut || w != nil || o.Model != "" || old.Workflow == coordinator.Workflow.Name {
		err = rt.again(ctx, old, again, w, s, o)
	}
	if err == nil {
		err = errors.Join(jobdir.CopyImages(rt.data(), old.ID, id), rt.copyConfig(old, again, s.Worktree))
	}
	if err == nil {
		s.Job, err = m.Submit(ctx, again)
	}
	if err != nil {
		return nil, errors.Join(err, rt.forget(ctx, id))
	}
	return s, nil
}

// oldWorktree is the worktree of a job that is done again, nil if it has none: the new
// job must not work in it.
func (rt *Runtime) oldWorktree(old *jobs.Job) (*worktree.Worktree, error) {
	w, err := jobdir.Worktree(rt.data(), old)
	if err == nil && w != nil {
		return w, nil
	}
	w, find := jobdir.FindWorktree(rt.data(), old)
	if find != nil || w != nil && w.Repo == "" {
		return nil, &problem.Error{Kind: problem.Failed, Message: fmt.Sprintf("%s has a worktree, and its repository is unknown", old.ID), Hint: "in the repository, " + hint.Command("run --worktree") + " starts a new job", Err: errors.Join(err, find)}
	}
	return w, nil
}

// retryModel is the model of a job that is done again: of the old one, unless another
// is named.
func (rt *Runtime) retryModel(old *jobs.Job, ref string) (string, error) {
	if ref == "" {
		return old.Model, nil
	}
	models, err := rt.models.At("", ref)
	if err != nil {
		return "", err
	}
	if ref, err = models.Canonical(ref); err != nil {
		return "", err
	}
	return ref, models.Check(ref)
}

// copyConfig gives a new job the configuration of an old one, without its recording,
// which is of one job, with the agent as it is now, and without the address of the
// provider if the model is another's.
func (rt *Runtime) copyConfig(old, again *jobs.Job, w *worktree.Worktree) (err error) {
	c := rt.config(old)
	var in agents.Input
	if c.Record, c.AgentDigest = "", ""; json.Unmarshal(again.Input, &in) == nil {
		c.AgentDigest = rt.agentNow(in, c.Trust)
	}
	before, _, _ := strings.Cut(old.Model, "/")
	if now, _, _ := strings.Cut(again.Model, "/"); now != before {
		c.BaseURL = ""
	}
	again.Host, err = jobdir.Host(c, w, "")
	return err
}

// again changes the request of a job that is done again: where it works, and the
// conversation that it goes on with.
func (rt *Runtime) again(ctx context.Context, old, again *jobs.Job, w *worktree.Worktree, s *Submitted, o RetryOptions) error {
	var in agents.Input
	err := json.Unmarshal(old.Input, &in)
	if err != nil {
		return fmt.Errorf("%s: reading its request: %w", old.ID, err)
	}
	if o.Model != "" {
		in.Model = again.Model
	}
	if old.Workflow == coordinator.Workflow.Name {
		coordinator.AnewInputs(in.Inputs)
	}
	if o.CarryOut {
		if err := rt.carryOut(ctx, old, &in, o, again.ID); err != nil {
			return err
		}
	}
	if o.From > 0 {
		if err := rt.branch(ctx, old, &in, o, again.ID); err != nil {
			return err
		}
	}
	if w != nil {
		if s.Worktree, err = jobdir.AddWorktree(ctx, rt.data(), again.ID, filepath.Join(w.Repo, filepath.FromSlash(w.Sub)), ""); err != nil {
			return err
		}
		in.Dir, in.Worktree = s.Worktree.Dir(), true
		again.Dir = in.Dir
	}
	again.Agent = cmp.Or(o.Agent, again.Agent)
	again.Input, err = json.Marshal(in)
	return err
}

// forget removes what was kept beside a job that was not created after all.
func (rt *Runtime) forget(ctx context.Context, id string) error {
	return jobdir.Forget(context.WithoutCancel(ctx), rt.data(), id)
}

// maxTitle bounds the title of a job in characters.
const maxTitle = 80

// shortPrompt is the beginning of a prompt's first line.
func shortPrompt(prompt string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	if r := []rune(first); len(r) > maxTitle {
		return string(r[:maxTitle-3]) + "..."
	}
	return first
}

// recordingFile settles where a new job's recording goes, "" if there is none. A
// file that is there belongs to another job, or to somebody else.
func recordingFile(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", problem.Invalidf("name another file, or remove it first", "--record: %s is there already", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", problem.Invalidf("name a file in a directory that can be read", "--record: %v", err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return "", problem.Invalidf("make it first", "--record: there is no directory %s", filepath.Dir(path))
	}
	return path, nil
}

// What is implemented below internal/ and appears in what this package exports.
type (
	// An Invocation is a call of a tool that is about to happen: Step, At, Tool, Env and
	// Args.
	Invocation = host.Invocation
	// A ToolHandler performs a call; Callbacks.Middleware wraps one in another. It is a
	// func(context.Context, Invocation) (tools.Result, error).
	ToolHandler = host.ToolHandler
	// A Hook is an operator's program that runs before or after calls of tools, or at
	// the end of runs: When, Tools, Status, Command, Timeout and OnError.
	Hook = hooks.Hook
	// CallModes knows how models call tools, for a ModelSource.
	CallModes = host.CallModes

	// A JobConfig is a runner's configuration of a job beside the job's input: the address of
	// its provider, trust, recording and sandbox.
	JobConfig = jobdir.Config
	// SandboxOptions configure the confinement of commands.
	SandboxOptions = process.SandboxOptions
	// A LanguageServer is a program that checks the files of a language.
	LanguageServer = lsp.Server

	// ToolServers have tools that are not part of this program.
	ToolServers = turn.Servers
	// A ToolServerInfo describes a server, a ToolServerReport its tools too.
	ToolServerInfo   = turn.Info
	ToolServerReport = turn.Report

	// A Change is a job's change of one file.
	Change = ledger.Change
	// A Skipped is a file that an undo or a merge left alone, and why.
	Skipped = ledger.Skipped
	// A Worktree is the git worktree of a job.
	Worktree = worktree.Worktree
)
