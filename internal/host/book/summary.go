package book

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// remembers reports whether a job has a memory, according to its input.
func remembers(j *jobs.Job) (in agents.Input, ok bool) {
	return in, json.Unmarshal(j.Input, &in) == nil && in.Memory != "" && in.Memory != memory.Off
}

// summaryID returns the ID of the fact that summarises a job.
func summaryID(job string) string { return memory.ID("summary\x00" + job) }

// Summarize keeps the summary of a job that has ended. It is outside of the job:
// one that is lost to a kill is made up for by summarizeEnded.
func (k *Keeper) Summarize(ctx context.Context, j *jobs.Job) {
	if j == nil || !j.Status.Final() {
		return
	}
	if in, ok := remembers(j); ok {
		if err := k.keepSummary(ctx, j, in); err != nil {
			k.Warn("%s: its summary is not remembered: %v", j.ID, err)
		}
	}
}

// endedJobs bounds the jobs whose summaries are made up for.
const endedJobs = 20

// summarizeEnded keeps the summaries of the last jobs of a project that ended
// without: their process was killed, or nobody ran them.
func (k *Keeper) summarizeEnded(ctx context.Context, project string) error {
	all, err := k.Jobs(ctx)
	if err != nil {
		return err
	}
	store, err := k.Store(ctx)
	if err != nil {
		return err
	}
	ended, err := all.List(ctx, jobs.Query{Status: jobs.Ended(), Limit: endedJobs})
	if err != nil {
		return err
	}
	for _, j := range ended {
		in, ok := remembers(j)
		if !ok {
			continue
		}
		if at, _, err := jobdir.Project(k.Data, j.Dir); err != nil || at != project {
			continue
		}
		if old, err := store.Facts(ctx, memory.Query{ID: summaryID(j.ID)}); err != nil {
			return err
		} else if len(old) > 0 {
			continue
		}
		if err := k.keepSummary(ctx, j, in); err != nil {
			return err
		}
	}
	return nil
}

// keepSummary adds a summary of a job that code makes: its task, outcome, changes and failures.
func (k *Keeper) keepSummary(ctx context.Context, j *jobs.Job, in agents.Input) error {
	store, err := k.Store(ctx)
	if err != nil {
		return err
	}
	project, _, err := jobdir.Project(k.Data, j.Dir)
	if err != nil {
		return err
	}
	text, err := k.summary(ctx, j, in)
	if err != nil {
		return err
	}
	text, _ = k.Secrets.String(text)
	var s executor.State
	tainted := json.Unmarshal(j.Output, &s) != nil || s.Taint.Has(tools.Untrusted)
	_, err = store.AddFacts(ctx, memory.Addition{Fact: memory.Fact{ID: summaryID(j.ID), Scope: memory.Project, Project: project, Kind: memory.Summary,
		Text: text, Confidence: memory.High, Untrusted: tainted || in.Taint.Has(tools.Untrusted), Evidence: memory.Evidence{Job: j.ID}, Created: j.Finished}})
	return err
}

func (k *Keeper) summary(ctx context.Context, j *jobs.Job, in agents.Input) (string, error) {
	const task, reason = 160, 200
	asked, _, _ := strings.Cut(strings.TrimSpace(in.Prompt), "\n")
	text := fmt.Sprintf("%s was asked %q: %s", j.Agent, spelling.ClipRunes(cmp.Or(j.Title, asked), task), j.Status.Words())
	if j.Status != jobs.Done && j.Reason != "" {
		text += ": " + spelling.ClipRunes(j.Reason, reason)
	}
	changed, err := k.changedFiles(ctx, j.ID)
	if err != nil {
		return "", err
	}
	if len(changed) > 0 {
		text += "; changed " + spelling.List(changed, 5)
	}
	failed, err := k.failedCalls(ctx, j.ID)
	if err != nil {
		return "", err
	}
	if len(failed) > 0 {
		text += "; failed calls: " + spelling.List(failed, 5)
	}
	return spelling.ClipRunes(memory.OneLine(text), memory.MaxText/4), nil
}

// changedFiles lists the names of the files that a job changed.
func (k *Keeper) changedFiles(ctx context.Context, id string) ([]string, error) {
	led, err := jobdir.OpenLedger(k.Data, id)
	if err != nil || led == nil {
		return nil, err
	}
	defer led.Close()
	all, err := led.All().Changes(ctx)
	var names []string
	for _, c := range all {
		names = append(names, c.Path)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// failedCalls lists the tools whose calls failed, with counts. A call that adroit refused is no
// evidence about the project and is left out.
func (k *Keeper) failedCalls(ctx context.Context, id string) ([]string, error) {
	store, err := k.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	for ev, err := range store.Events(ctx, id, 0, false) {
		if err != nil {
			return nil, err
		}
		var d struct{ Failed, Refused bool }
		if ev.Kind == event.StepFinished && ev.Step == turn.ToolStep && json.Unmarshal(ev.Data, &d) == nil && d.Failed && !d.Refused {
			count[ev.Name]++
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		out = append(out, fmt.Sprintf("%s %d", name, count[name]))
	}
	return out, nil
}

// A Keeper keeps the facts of jobs and people, and finds them again. Its fields are
// not changed once it is used; it is safe for concurrent use.
type Keeper struct {
	// Jobs returns the store of the jobs, which keeps the facts, too, if it can.
	Jobs    func(context.Context) (jobs.Store, error)
	Data    string              // the directory that keeps jobs
	Names   *workspace.DenyList // files that are no evidence; nil: the usual list
	Secrets *secret.Redactor
	Warn    func(format string, args ...any)

	once  sync.Once
	local memory.Store // of a store of jobs that keeps no facts
}

// Store returns the store of facts: the store of the jobs if it can keep them, or else one in
// memory.
func (k *Keeper) Store(ctx context.Context) (memory.Store, error) {
	store, err := k.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	if s, ok := store.(memory.Store); ok {
		return s, nil
	}
	k.once.Do(func() { k.local = memory.New() })
	return k.local, nil
}
