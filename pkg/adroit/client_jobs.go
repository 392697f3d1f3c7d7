package adroit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/workflows"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Artifacts implements [JobReader].
func (rt *Runtime) Artifacts(ctx context.Context, ref string) (*ArtifactList, error) {
	j, _, err := rt.findFor(ctx, ScopeRead, ref)
	if err != nil {
		return nil, err
	}
	var s executor.State
	if len(j.Output) > 0 {
		if err := json.Unmarshal(j.Output, &s); err != nil {
			return nil, problem.AsError(fmt.Errorf("%s: reading its output: %w", j.ID, err))
		}
	}
	if s.Artifacts == nil {
		s.Artifacts = map[string]executor.Artifact{}
	}
	return &ArtifactList{j.ID, s.Artifacts}, nil
}

// ArtifactFile implements [JobReader].
func (rt *Runtime) ArtifactFile(ctx context.Context, ref string, want ArtifactFile) (*FilePiece, error) {
	list, err := rt.Artifacts(ctx, ref)
	if err != nil {
		return nil, err
	}
	j, _, err := rt.find(ctx, list.Job)
	if err != nil {
		return nil, problem.AsError(err)
	}
	name, err := fileOf(list, want)
	if err != nil {
		return nil, err
	}
	if err := rt.goneTree(j); err != nil {
		return nil, problem.AsError(err)
	}
	p, err := rt.readPiece(j, name, want.Offset, want.Most)
	barred := new(workspace.PathError)
	switch {
	case errors.As(err, &barred), errors.Is(err, fs.ErrInvalid):
		return nil, &problem.Error{Kind: problem.Forbidden, Message: fmt.Sprintf("%s: %v", j.ID, err), Hint: "only files in the job's directory that its agent may read are sent", Err: err}
	case errors.Is(err, fs.ErrNotExist):
		return nil, &problem.Error{Kind: problem.NotFound, Message: fmt.Sprintf("%s: %s is not there any more", j.ID, name), Hint: "it was moved, removed or undone"}
	}
	return p, asError(err)
}

// fileOf is the path that a request means, among those of the artifact that it names.
func fileOf(list *ArtifactList, want ArtifactFile) (string, error) {
	a, ok := list.Artifacts[want.Artifact]
	if !ok {
		return "", &problem.Error{Kind: problem.NotFound, Message: fmt.Sprintf("%s has no artifact %q", list.Job, want.Artifact), Hint: hint.Command("jobs artifacts %s", list.Job) + " lists them"}
	}
	type file struct {
		Path string `json:"path"`
	}
	var one file
	var all []file
	if json.Unmarshal(a.Value, &one) == nil {
		all = []file{one}
	} else if json.Unmarshal(a.Value, &all) != nil {
		all = nil // it names no files
	}
	all = slices.DeleteFunc(all, func(f file) bool { return f.Path == "" || want.Path != "" && f.Path != want.Path })
	if len(all) == 0 || want.Path == "" && len(all) > 1 {
		return "", &problem.Error{Kind: problem.NotFound, Message: fmt.Sprintf("the artifact %s of %s does not name that file", want.Artifact, list.Job), Hint: "give a path as the artifact has it"}
	}
	return all[0].Path, nil
}

// readPiece reads a piece of a file in a job's directory as its agent could with read_file. All that is
// sent is of one state of the file, by its size and time.
func (rt *Runtime) readPiece(j *jobs.Job, name string, offset int64, most int) (*FilePiece, error) {
	files, err := workspace.Open(j.Dir, nil)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	var in agents.Input
	if err := json.Unmarshal(j.Input, &in); err != nil && len(j.Input) > 0 {
		return nil, fmt.Errorf("%s: reading its request: %w", j.ID, err)
	}
	rules := permit.Rules(rt.o.Defaults.Rules)
	if in.Spec != nil {
		rules = slices.Concat(rules, in.Spec.Permissions)
	}
	files = files.WithDenyList(rt.o.Names).WithGuard(func(p string, _ bool) string { return rules.Bars(j.Agent, "read_file", p) })
	f, err := files.FS().Open(path.Clean(filepath.ToSlash(name)))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	at, ok := f.(io.ReaderAt)
	switch {
	case !info.Mode().IsRegular() || !ok:
		return nil, problem.Invalidf("name a file", "%s is not a file", name)
	case info.Size() > maxArtifactFile:
		return nil, problem.Invalidf("look at it where the job ran", "%s has %d bytes, and at most %d are sent", name, info.Size(), int64(maxArtifactFile))
	case offset < 0:
		return nil, problem.Invalidf("the first byte has the offset 0", "the offset %d is negative", offset)
	}
	if most <= 0 || most > maxPiece {
		most = maxPiece
	}
	p := &FilePiece{Path: name, Size: info.Size(), Modified: info.ModTime().UTC(), Data: make([]byte, min(int64(most), max(info.Size()-offset, 0)))}
	n, err := at.ReadAt(p.Data, offset)
	if p.Data = p.Data[:n]; err == io.EOF {
		err = nil
	}
	return p, err
}

// Cancel implements [JobWriter].
func (rt *Runtime) Cancel(ctx context.Context, ref string) (*jobs.Job, error) {
	j, m, err := rt.findFor(ctx, ScopeRun, ref)
	if err != nil {
		return nil, err
	}
	id := j.ID
	if away, err := rt.elsewhere(j); err != nil {
		return nil, problem.AsError(err)
	} else if away != nil && !j.Status.Final() {
		if err := away.Cancel(ctx, id); err != nil && !errors.Is(err, jobs.ErrFinal) {
			return nil, problem.AsError(err)
		}
	}
	log, err := answerEvent(ctx, flow.Signal{Name: "cancel"})
	if err != nil {
		return nil, problem.AsError(err)
	}
	j, err = m.Cancel(ctx, id, log)
	switch {
	case errors.Is(err, jobs.ErrFinal):
		return nil, problem.WithHint(err, "there is nothing to cancel; "+hint.Command("jobs undo %s", id)+" takes back what it changed")
	case err != nil:
		return nil, problem.AsError(err)
	case j.Status != jobs.Cancelled:
		return nil, &problem.Error{Kind: problem.Ended, Message: fmt.Sprintf("%s ended as %s before the cancel reached it", id, j.Status), Hint: hint.Command("jobs show %s", id)}
	}
	return j, nil
}

// signalName matches the signal names of workflows and pipelines.
var signalName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// Signal implements [JobWriter].
func (rt *Runtime) Signal(ctx context.Context, ref string, s Signal) (*SignalSent, error) {
	j, m, err := rt.findFor(ctx, ScopeAnswer, ref)
	if err != nil {
		return nil, err
	}
	if j.Status.Final() {
		return nil, &problem.Error{Kind: problem.Ended, Message: fmt.Sprintf("%s has ended: %s", j.ID, j.Status), Hint: hint.Command("jobs show %s", j.ID)}
	}
	now, err := jobs.Find(ctx, m.Store, j.ID)
	if err != nil {
		return nil, problem.AsError(err)
	}
	sent, full, err := s.To(now)
	if err != nil {
		return nil, problem.AsError(err)
	}
	sent.Job = j
	if shown, hit := rt.typedSecrets(j.Dir, rt.jobOpens(ctx, j, rt.config(j))).JSON(s.Value); hit {
		return nil, secretRefused("the answer", string(shown))
	}
	signal := flow.Signal{Name: full, Value: s.Value}
	if q := sent.Question; q != nil {
		signal.Question = q.Path
	}
	if signal.Log, err = answerEvent(ctx, signal); err != nil {
		return nil, problem.AsError(err)
	}
	if s.Keep { // before the job goes on: a kept rule that its answer did not reach is asked about again
		if AuthorityOf(ctx) != nil {
			return nil, problem.Invalidf("leave keep out: then the rule holds for this job", "only the owner of the runtime keeps a rule for a project")
		}
		if err := rt.keepRule(j.Dir, sent.Question, signal); err != nil {
			return nil, err
		}
	}
	err = rt.signalJob(ctx, m.Store, j, signal)
	if errors.Is(err, jobs.ErrAnswered) { // by somebody else, in this moment
		return nil, answered(hint.Command("jobs show %s", j.ID)+" shows how it stands", "%s has the answer to this question already; nothing was sent", j.ID)
	}
	if err != nil {
		return nil, problem.AsError(err)
	}
	if s.Start && !held(j) {
		_, _, err := rt.startFound(ctx, m, j, StartOptions{Live: true})
		rt.refusal(j.ID, err)
	}
	return sent, nil
}

// answerEvent returns the log's event of a signal, with its sender.
func answerEvent(ctx context.Context, s flow.Signal) (*event.Event, error) {
	a := jobs.Answer{By: "owner", From: lock.Name(), Question: s.Question, Value: s.Value}
	if by := AuthorityOf(ctx); by != nil {
		a.By, a.From = by.Name, by.From
	}
	b, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(s.Name, "@")
	return &event.Event{Time: time.Now().UTC(), Kind: event.Answer, Path: s.Question, Name: name, Text: "by " + a.By, Data: b}, nil
}

// keepRule keeps the rule that always means for a question, for later jobs of the project in dir.
func (rt *Runtime) keepRule(dir string, q *jobs.Question, answer flow.Signal) error {
	var how struct{ Always bool }
	if name, _, _ := strings.Cut(answer.Name, "@"); name != "approve" || json.Unmarshal(answer.Value, &how) != nil || !how.Always {
		return problem.Invalidf("leave keep out", "only an approval of always has a rule that could be kept")
	}
	var about executor.Question
	if q == nil || json.Unmarshal(q.About, &about) != nil || about.Always == nil {
		return problem.Invalidf("leave keep out", "the question has no rule that could be kept")
	}
	if about.Sandbox == "" || about.Sandbox == string(sandbox.Off) {
		return problem.Invalidf("leave keep out", "a rule is kept for commands in a sandbox, and this one runs without")
	}
	store, err := rt.trustStore()
	if err != nil {
		return err
	}
	if from, err := jobdir.Origin(rt.data(), dir); err == nil && from != "" {
		dir = from // a worktree is gone with its job
	}
	if err := store.Allow(dir, *about.Always, about.Network == "open"); err != nil {
		return problem.Invalidf("leave keep out", "%v", err)
	}
	return nil
}

// To checks s as an answer to j, which comes with its questions. It returns what is sent, and under which full
// name: that of the question that j asks now, or the name itself for signals that may come early.
func (s Signal) To(j *jobs.Job) (sent *SignalSent, full string, err error) {
	sent = &SignalSent{Job: j}
	if full, err = s.name(sent); err != nil {
		return nil, "", err
	}
	q := sent.Question
	if q == nil {
		return sent, full, nil
	}
	if err := (flow.Wait{Type: q.Type}).Accepts(s.Value); err != nil {
		return nil, "", problem.Invalidf("nothing was sent; text is a string, and so is what is no JSON", "%s: %s", full, err)
	}
	if _, err := executor.Always(s.Value); err != nil && isToolQuestion(*q) && strings.HasPrefix(full, "approve@") {
		if e, ok := errors.AsType[*stored.UnknownError](err); ok {
			err = errors.New(e.What) // a request was not written by another version
		}
		return nil, "", problem.Invalidf(`nothing was sent; the value of an approval is left out, or {"always": true}`, "%s: %s", full, err)
	}
	return sent, full, nil
}

func (s Signal) name(sent *SignalSent) (string, error) {
	j, name := sent.Job, s.Name
	qs := slices.Clone(j.Questions)
	if s.Question != "" {
		if qs = slices.DeleteFunc(qs, func(q jobs.Question) bool { return q.Path != s.Question }); len(qs) == 0 {
			return "", answered(hint.Command("jobs show %s", j.ID)+" shows what it asks", "%s does not ask the question %s now, or has its answer already; nothing was sent", j.ID, s.Question)
		}
		if err := sameQuestion(j, qs[0], s.About); err != nil {
			return "", err
		}
	}
	var waits, fits []string
	for i := range qs {
		for _, s := range qs[i].Signals {
			short, _, _ := strings.Cut(s, "@") // what follows is the step it is for
			if s == name {
				sent.Question = &qs[i]
				return s, nil
			}
			if short == name && !slices.Contains(fits, s) {
				sent.Question, fits = &qs[i], append(fits, s)
			}
			waits = append(waits, short)
		}
	}
	switch len(fits) {
	case 0:
	case 1:
		return fits[0], nil
	default: // the approver has seen one of them
		sent.Question = nil
		return "", problem.Invalidf("name the question: "+strings.Join(fits, ", "), "%s asks %d questions that %q would answer", j.ID, len(fits), name)
	}
	early := []string{"continue", "abort", "answer", workflows.CancelStages}
	all := append([]string{"approve", "deny"}, early...)
	switch {
	case slices.Contains(early, name):
		return name, nil
	case len(qs) == 0 && j.Status == jobs.Waiting:
		return "", answered(hint.Command("continue %s", j.ID)+" goes on with it", "%s has its answer already, and asks nothing else now", j.ID)
	case strings.Contains(name, "@"): // of a step that asked, or of none
		return "", answered(hint.Command("jobs show %s", j.ID)+" shows what it asks", "%s does not ask the question of %s now, or has its answer already", j.ID, name)
	case len(waits) > 0:
		return "", problem.Invalidf("it waits for "+strings.Join(waits, " or "), "%s does not wait for %q", j.ID, name)
	case slices.Contains(all, name):
		return "", answered(hint.Command("jobs show %s", j.ID)+" says how it stands", "%s asks nothing now, so there is nothing to %s", j.ID, name)
	}
	help := "signals are " + strings.Join(all, ", ") + ", and those that workflows and pipelines name"
	if n := spelling.Nearest(name, all); n != "" {
		return "", problem.Invalidf(fmt.Sprintf("did you mean %q?\n%s", n, help), "unknown signal %q", name)
	}
	if !signalName.MatchString(name) {
		return "", problem.Invalidf("a name is letters, digits, - and _", "%q cannot be the name of a signal", name)
	}
	sent.Early = true
	return name, nil
}

// answered refuses an answer that nothing waits for.
func answered(help, format string, args ...any) error {
	return &problem.Error{Kind: problem.Answered, Message: fmt.Sprintf(format, args...), Hint: help}
}

// What an Action does.
const (
	actionDiff   = "diff"
	actionUndo   = "undo"
	actionMerge  = "merge"
	actionLogs   = "logs"
	actionResume = "resume"
	actionRetry  = "retry"
	actionSignal = "signal"

	actionContinue = "continue" // with messages that the job has not read
)

// next returns what makes sense to do next with a job, the likeliest first.
// Surfaces render it: as commands, as buttons.
func next(d *JobDetail) []Action {
	all := nextOf(d)
	if d.Disconnected == nil {
		return all
	}
	return slices.DeleteFunc(all, func(a Action) bool {
		return slices.Contains([]string{actionMerge, actionResume, actionContinue, actionSignal}, a.Do)
	})
}

// nextOf is next, whether or not the job's worktree can be worked with.
func nextOf(d *JobDetail) []Action {
	j := d.Job
	act := func(do string) Action { return Action{Do: do, Job: j.ID} }
	var changes []Action
	if d.Changes.Changed {
		changes = []Action{act(actionDiff), act(actionUndo)}
	}
	resume := act(actionResume)
	if d.goneTree && !held(j) {
		return []Action{act(actionLogs), act(actionRetry)}
	}
	if d.Unread > 0 && j.Status.Final() {
		return append([]Action{act(actionContinue)}, changes...)
	}
	switch {
	case j.Status == jobs.Planned && d.canCarryOut:
		retry := act(actionRetry)
		retry.CarryOut = true
		return append([]Action{retry}, changes...)
	case j.Status.Succeeded():
		switch {
		case d.Worktree != nil && changes != nil:
			return []Action{changes[0], act(actionMerge)}
		case changes == nil:
			return []Action{act(actionLogs)}
		}
		return changes
	case capped(j):
		return append([]Action{act(actionRetry)}, changes...)
	case j.Status == jobs.Limit:
		resume.Limit = cmp.Or(outcomeOf(j).Limit, "turns")
		return append([]Action{resume}, changes...)
	case j.Status == jobs.Cancelled:
		return append(changes, act(actionRetry))
	case j.Status == jobs.Failed && coordinator.Decided(outcomeOf(j).Code):
		return append([]Action{act(actionRetry)}, changes[:min(1, len(changes))]...)
	case j.Status == jobs.Failed || j.Status.Halted():
		return append([]Action{resume}, changes[:min(1, len(changes))]...)
	case j.Status == jobs.Waiting:
		if len(d.Questions) == 0 { // it has its answer and only has to go on
			return []Action{resume}
		}
		var all []Action
		for _, q := range d.Questions {
			signal := act(actionSignal)
			signal.Signal = "approve"
			if !isToolQuestion(q) && len(q.Signals) > 0 {
				signal.Signal, _, _ = strings.Cut(q.Signals[0], "@")
			}
			if len(d.Questions) > 1 {
				signal.Question = q.Path
			}
			all = append(all, signal)
		}
		return append(all, resume)
	case j.Status == jobs.Interrupted || j.Status == jobs.Blocked || j.Status == jobs.Queued:
		if !held(j) {
			return append([]Action{resume}, changes...)
		}
		fallthrough // it runs by itself
	case j.Status == jobs.Running:
		logs := act(actionLogs)
		logs.Follow = true
		return []Action{logs}
	}
	return nil
}

// capped reports that a job ended at a bound of its pipeline's file, which nothing that is
// given to a resume raises.
func capped(j *jobs.Job) bool {
	limit := outcomeOf(j).Limit
	return j.Status == jobs.Limit && (limit == pipeline.LimitMax || limit == pipeline.LimitMaxSteps)
}

// outcomeOf returns a job's outcome, as far as that is kept.
func outcomeOf(j *jobs.Job) executor.Outcome {
	var s struct{ Outcome executor.Outcome }
	_ = json.Unmarshal(j.Output, &s) // a job without an outcome names none
	return s.Outcome
}

// isToolQuestion reports whether a question is about a call of a tool.
func isToolQuestion(q jobs.Question) bool {
	var about executor.Question
	return json.Unmarshal(q.About, &about) == nil && about.Tool != ""
}

// Events implements [JobReader].
func (rt *Runtime) Events(ctx context.Context, ref string, o EventOptions) iter.Seq2[event.Event, error] {
	return rt.readEvents(ctx, func(ctx context.Context, stop func()) (iter.Seq2[event.Event, error], func(), error) {
		j, m, err := rt.find(ctx, ref)
		if err != nil {
			return nil, nil, err
		}
		kept := m.Store.Events(ctx, j.ID, o.After, o.Follow)
		if !o.Follow || !o.Live {
			return kept, func() {}, nil
		}
		pieces := rt.live.Join(j.ID)
		return mergeEvents(kept, stop, pieces), pieces.Leave, nil
	})
}

// AllEvents implements [JobReader].
func (rt *Runtime) AllEvents(ctx context.Context, o EventOptions) iter.Seq2[event.Event, error] {
	return rt.readEvents(ctx, func(ctx context.Context, _ func()) (iter.Seq2[event.Event, error], func(), error) {
		if o.Live {
			return nil, nil, problem.Invalidf("follow the job itself", "pieces of answers are not among the events of all jobs")
		}
		store, err := rt.store(ctx)
		if err != nil {
			return nil, nil, err
		}
		return rt.seen(ctx, store, store.AllEvents(ctx, o.After, o.Follow)), func() {}, nil
	})
}

// seen returns the events of jobs that the caller sees.
func (rt *Runtime) seen(ctx context.Context, store jobs.Store, all iter.Seq2[event.Event, error]) iter.Seq2[event.Event, error] {
	if AuthorityOf(ctx).everywhere() {
		return all
	}
	return func(yield func(event.Event, error) bool) {
		sees := map[string]bool{} // by job
		for ev, err := range all {
			see, known := sees[ev.Job]
			if err == nil && !known {
				var j *jobs.Job
				if j, err = jobs.Find(ctx, store, ev.Job); err == nil {
					see = rt.sees(ctx, j)
				} else if errors.Is(err, jobs.ErrNotExist) {
					err = nil // it was removed
				}
				sees[ev.Job] = see
			}
			if (see || err != nil) && !yield(ev, err) {
				return
			}
		}
	}
}

// readEvents yields what open opens, until the runtime is closed; leave ends the reading.
func (rt *Runtime) readEvents(ctx context.Context, open func(ctx context.Context, stop func()) (kept iter.Seq2[event.Event, error], leave func(), err error)) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		if err := rt.may(ctx, ScopeRead); err != nil {
			yield(event.Event{}, err)
			return
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		kept, leave, err := open(ctx, stop)
		if err != nil {
			yield(event.Event{}, problem.AsError(err))
			return
		}
		defer leave()
		defer context.AfterFunc(rt.readers, stop)()
		for ev, err := range kept {
			if err != nil && rt.readers.Err() != nil {
				err = ErrClosed
			}
			if !yield(ev, asError(err)) {
				return
			}
		}
	}
}
