package adroit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Jobs implements [JobReader].
func (rt *Runtime) Jobs(ctx context.Context, o ListOptions) ([]JobSummary, error) {
	if err := rt.may(ctx, ScopeRead, o.Dir); err != nil {
		return nil, err
	}
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, problem.AsError(err)
	}
	all, err := rt.jobsIn(ctx, m.Store, jobs.Query{Agent: o.Agent, Workflow: o.Workflow, Status: o.Status, Limit: o.Limit, Brief: !o.Full && !o.Here}, o.Dir, o.Here)
	if err != nil {
		return nil, problem.AsError(err)
	}
	list, line := []JobSummary{}, []string(nil)
	for _, j := range all {
		s := JobSummary{Job: j}
		if j.Status == jobs.Queued && held(j) {
			if line == nil {
				if line, err = queued(ctx, m.Store); err != nil {
					return nil, problem.AsError(err)
				}
			}
			s.Queue = slices.Index(line, j.ID) + 1
		}
		if !o.Full {
			if err := rt.summarize(ctx, m.Store, &s); err != nil {
				return nil, problem.AsError(err)
			}
		}
		list = append(list, s)
	}
	return list, nil
}

// queued lists the jobs that are queued for a place, in the order in which they get
// one.
func queued(ctx context.Context, store jobs.Store) ([]string, error) {
	all, err := store.List(ctx, jobs.Query{Status: []jobs.Status{jobs.Queued}, Brief: true})
	line := []string{}
	for _, j := range slices.Backward(all) {
		if held(j) {
			line = append(line, j.ID)
		}
	}
	return line, err
}

// queue is the position of a job that is queued for a place, 0 if it is not.
func (rt *Runtime) queue(ctx context.Context, store jobs.Store, id string) (int, error) {
	j, err := jobs.Find(ctx, store, id)
	if err != nil || j.Status != jobs.Queued || !held(j) {
		return 0, err
	}
	line, err := queued(ctx, store)
	return slices.Index(line, id) + 1, err
}

// summarize fills in what a job's row in the store does not have.
func (rt *Runtime) summarize(ctx context.Context, store jobs.Store, s *JobSummary) (err error) {
	d := &JobDetail{Job: s.Job, Changes: ChangeSummary{Changed: rt.changed(s.ID)}, canCarryOut: rt.canBeCarriedOut(s.Job), goneTree: rt.goneTree(s.Job) != nil}
	if w := rt.worktree(s.Job); w != nil && !d.goneTree && !held(s.Job) {
		if err := w.CheckConnected(); err != nil {
			d.Disconnected = problem.AsError(err)
		}
	}
	switch s.Status {
	case jobs.Interrupted:
		log, err := rt.readLog(store.Events(ctx, s.ID, 0, false))
		if err != nil {
			return err
		}
		s.Position = log.position()
	case jobs.Waiting:
		var j *jobs.Job
		if j, err = jobs.Find(ctx, store, s.ID); err == nil {
			d.Questions = j.Questions
		}
	}
	s.Actions = next(d)
	return err
}

// Job implements [JobReader].
func (rt *Runtime) Job(ctx context.Context, ref string) (*JobDetail, error) {
	j, m, err := rt.findFor(ctx, ScopeRead, ref)
	if err != nil {
		return nil, err
	}
	d := &JobDetail{Job: j, Changes: rt.changes(ctx, j.ID), canCarryOut: rt.canBeCarriedOut(j), goneTree: rt.goneTree(j) != nil}
	d.Config = rt.config(j)
	d.Config.Servers = nil // they may have secrets
	asked, err := jobWithSignals(ctx, m.Store, j.ID)
	if err != nil {
		return nil, problem.AsError(err)
	}
	d.Questions, d.Unread = asked.Questions, unread(asked)
	j.Signals = asked.Signals
	var noTree, noTrees error
	d.Worktree, noTree = jobdir.Worktree(rt.data(), j)
	d.Trees, noTrees = rt.keptTrees(j.ID)
	if err := errors.Join(noTree, noTrees); err != nil {
		d.Unreadable = err.Error()
	}
	if !d.goneTree && !held(j) {
		if err := rt.unusableTree(j); err != nil {
			d.Disconnected = problem.AsError(err)
		}
	}
	log, err := rt.readLog(m.Store.Events(ctx, j.ID, 0, false))
	if err != nil {
		return nil, problem.AsError(err)
	}
	d.Mode = rt.mode(j, log)
	d.Final, d.End, d.Todo, d.Usage = log.final, log.end, log.todo, rt.usage(j, log)
	if j.Status == jobs.Interrupted {
		d.Position = log.position()
	}
	if d.Queue, err = rt.queue(ctx, m.Store, j.ID); err != nil {
		return nil, problem.AsError(err)
	}
	d.Actions = next(d)
	rt.mu.Lock()
	d.Refused = rt.refusals[j.ID]
	rt.mu.Unlock()
	return d, nil
}

// A jobLog is the summary of a job's events.
type jobLog struct {
	usage jobs.UsageReport
	calls map[string]bool // paths of tool calls that have ended
	tool  string          // whose call has not ended
	todo  json.RawMessage // of its agent, not of sub-agents
	mode  executor.Mode   // that messages it has read set, "" if none has
	final *jobs.Final     // the last
	end   *event.Event    // that final is of, if none came after it
}

func (rt *Runtime) readLog(events iter.Seq2[event.Event, error]) (*jobLog, error) {
	l := &jobLog{calls: map[string]bool{}}
	l.usage.Rate = rt.cost
	for ev, err := range events {
		if err != nil {
			return nil, err
		}
		l.add(ev)
	}
	return l, nil
}

func (l *jobLog) add(ev event.Event) {
	if ev.Kind == event.Answer {
		return // it says nothing of how the job stands
	}
	l.usage.Add(ev)
	l.end = nil
	if ev.Kind == event.JobFinished || ev.Kind == event.JobWaiting {
		var f jobs.Final
		if json.Unmarshal(ev.Data, &f) == nil {
			l.final, l.end = &f, &ev
		}
	}
	if ev.Kind == event.StepFinished && ev.Step == flow.KindAwait {
		var sig flow.Signal
		if json.Unmarshal(ev.Data, &sig) == nil {
			l.mode = cmp.Or(modeOf(sig), l.mode)
		}
	}
	if ev.Step != "tool" {
		return
	}
	switch ev.Kind {
	case event.StepStarted:
		l.tool = ev.Name
	case event.StepFinished:
		l.tool = ""
		var d struct {
			Asks, Failed bool
			Args         struct{ Items json.RawMessage }
		}
		if json.Unmarshal(ev.Data, &d) != nil || !d.Asks { // else it only asked a person
			l.calls[ev.Path] = true
		}
		if ev.Name == "todo" && ev.Error == "" && !d.Asks && !d.Failed && len(l.usage.Around(ev.Path)) == 0 {
			if l.todo = d.Args.Items; string(l.todo) == "[]" {
				l.todo = nil
			}
		}
	}
}

// modeOf is the permission mode that a signal sets, "" if it is no message that does.
func modeOf(sig flow.Signal) executor.Mode {
	var m executor.Message
	if sig.Name != turn.MessageSignal || json.Unmarshal(sig.Value, &m) != nil {
		return ""
	}
	return m.Mode
}

// mode is the permission mode of a job, whose log has the messages that it has read.
func (rt *Runtime) mode(j *jobs.Job, l *jobLog) executor.Mode {
	var in agents.Input
	if json.Unmarshal(j.Input, &in) != nil {
		return ""
	}
	mode := cmp.Or(l.mode, in.Mode, rt.o.Defaults.Mode, executor.ModeEdits)
	for _, sig := range j.Signals {
		mode = cmp.Or(modeOf(sig), mode)
	}
	if a, err := rt.agentOf(j); err == nil && a.Mode != "" && slices.Index(executor.Modes, a.Mode) < slices.Index(executor.Modes, mode) {
		return a.Mode
	}
	return mode
}

func (l *jobLog) position() *Position {
	return &Position{Turns: l.usage.All().Turns, Calls: len(l.calls), Tool: l.tool}
}

// cost returns the price of a model's tokens in USD, 0 if the model has none.
func (rt *Runtime) cost(model string, u llm.Usage) float64 {
	p, _ := rt.o.Defaults.Prices.Of(model)
	return p.Cost(u)
}

func (rt *Runtime) usage(j *jobs.Job, l *jobLog) UsageDetail {
	d := UsageDetail{Total: l.usage.All()}
	d.Parts, _ = l.usage.Parts(0, j.Status)
	f := l.final
	if f == nil {
		return d
	}
	for _, model := range slices.Sorted(maps.Keys(f.Used)) {
		u := ModelUsage{model, f.Used[model], rt.cost(model, f.Used[model])}
		d.Models, d.Cost = append(d.Models, u), d.Cost+u.Cost
	}
	if f.Used == nil {
		d.Cost = rt.cost(j.Model, f.Usage)
	}
	if f.Cost > 0 {
		d.Cost = f.Cost
	}
	if d.Cost > 0 {
		d.PricesOf = rt.pricesOf(j, f)
	}
	return d
}

// pricesOf is the day of the oldest built-in price of what a job has used, "" for
// none.
func (rt *Runtime) pricesOf(j *jobs.Job, f *jobs.Final) (oldest string) {
	models := slices.Collect(maps.Keys(f.Used))
	if f.Used == nil {
		models = []string{j.Model}
	}
	for _, m := range models {
		if p, ok := rt.o.Defaults.Prices.Of(m); ok && p.Date != "" && (oldest == "" || p.Date < oldest) {
			oldest = p.Date
		}
	}
	return oldest
}

// changed reports whether a job changed files.
func (rt *Runtime) changed(id string) bool {
	return ledger.Recorded(filepath.Join(rt.home, id, "ledger"))
}

// recordGone returns why nothing is known of what a job changed: it has worked on files, and has no
// record of changes any more. It returns "" if it has one, or did not work on files.
func (rt *Runtime) recordGone(ctx context.Context, id string) (string, error) {
	dir := filepath.Join(rt.home, id, "ledger")
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return "", nil // opening it reports what is wrong with it
	}
	store, err := rt.store(ctx)
	if err != nil {
		return "", err
	}
	set, err := rt.tools()
	if err != nil {
		return "", err
	}
	for ev, err := range store.Events(ctx, id, 0, false) {
		if err != nil {
			return "", err
		}
		if ev.Kind == event.StepFinished && ev.Step == turn.ToolStep && toolNeeds(set, ev.Name) {
			return "its record of changes is gone, and what it changed is not known: " + dir, nil
		}
	}
	return "", nil
}

// incompleteWithout returns what makes the record of a job incomplete that has no ledger.
func (rt *Runtime) incompleteWithout(ctx context.Context, id string) ([]string, error) {
	gone, err := rt.recordGone(ctx, id)
	if err != nil || gone == "" {
		return nil, err
	}
	return []string{gone}, nil
}

func (rt *Runtime) changes(ctx context.Context, id string) ChangeSummary {
	s := ChangeSummary{Changed: rt.changed(id)}
	led, err := jobdir.OpenLedger(rt.data(), id)
	if err == nil && led == nil {
		s.Incomplete, err = rt.incompleteWithout(ctx, id)
		s.Changed = len(s.Incomplete) > 0 // perhaps
	}
	if err != nil {
		s.Unreadable, s.Incomplete = err.Error(), []string{err.Error()}
	}
	if led == nil {
		return s
	}
	defer led.Close()
	steps, err := led.Steps(ctx)
	if err != nil {
		s.Unreadable = err.Error()
	}
	for _, step := range steps {
		s.Steps = append(s.Steps, step.Step)
	}
	s.Bytes, s.Incomplete = led.Size(), led.Incomplete(ctx)
	return s
}

func (rt *Runtime) keptTrees(id string) ([]KeptTree, error) {
	list, err := jobdir.Trees(rt.data(), id)
	var out []KeptTree
	for _, t := range list {
		k := KeptTree{Name: t.Name, Dir: t.Dir(), Branch: t.Tree.Branch, Base: t.Tree.Base}
		if t.Result != nil {
			k.Conflicts = t.Result.Conflicts
		}
		out = append(out, k)
	}
	return out, err
}
