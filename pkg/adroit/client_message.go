package adroit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/route"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// Send implements [JobWriter].
func (rt *Runtime) Send(ctx context.Context, ref string, m executor.Message) (*jobs.Job, error) {
	if err := rt.may(ctx, ScopeRun); err != nil {
		return nil, err
	}
	j, mgr, err := rt.find(ctx, ref)
	if err == nil {
		err = mayTake(ctx, j, JobConfig{Sandbox: rt.config(j).Sandbox})
	}
	if err != nil {
		return nil, problem.AsError(err)
	}
	if err := rt.takesMessages(j); err != nil {
		// A reply to a question is an answer.
		if asked, failed := jobWithSignals(ctx, mgr.Store, j.ID); failed == nil && j.Status == jobs.Waiting && len(asked.Questions) > 0 {
			return nil, problem.Invalidf(hint.Command("answer %s WORDS", j.ID)+" answers it; "+hint.Command("jobs show %s", j.ID)+" shows what it asks", "%s waits for an answer and takes no messages", j.ID)
		}
		return nil, err
	}
	if j, err = jobWithSignals(ctx, mgr.Store, j.ID); err != nil {
		return nil, problem.AsError(err)
	}
	m.Text = strings.TrimSpace(m.Text)
	r := rt.typedSecrets(j.Dir, rt.jobOpens(ctx, j, rt.config(j)))
	var replaced, more []secret.Replaced
	m.Text, replaced = rt.hideTyped(r, "the message", m.Text)
	m.Notes, more = rt.hideTyped(r, "the notes", m.Notes)
	replaced = append(replaced, more...)
	if m.Text == "" && len(m.Attachments) == 0 && !m.Compact && unread(j) == 0 {
		return nil, problem.Invalidf(hint.Command("continue %s \"also add a test\"", j.ID), "the message is empty")
	}
	if err := rt.checkMessage(ctx, j, &m); err != nil {
		return nil, problem.AsError(err)
	}
	named := func() error { return nil }
	if j.Status != jobs.Running && j.Status != jobs.Queued {
		m.Changed, named = rt.changedSince(ctx, j)
		rt.warnAgentChanged(j)
	}
	if err := jobdir.KeepImages(rt.data(), j.ID, m.Attachments); err != nil {
		return nil, problem.AsError(err)
	}
	if err := rt.deliver(ctx, mgr, j.ID, m); err != nil {
		return nil, problem.AsError(err)
	}
	if err := named(); err != nil {
		rt.warn("%s: the changed files are named again with the next message: %v", j.ID, err)
	}
	if j, err = jobWithSignals(ctx, mgr.Store, j.ID); err != nil {
		return j, asError(err)
	}
	j.Replaced = replaced
	return j, nil
}

// takesMessages refuses a job that no message can reach.
func (rt *Runtime) takesMessages(j *jobs.Job) error {
	switch j.Workflow {
	case agents.Workflow.Name:
	case pipeline.Workflow.Name:
		return problem.Invalidf(fmt.Sprintf("%s runs it again; %s has an agent go on with the files", hint.Command("run %s \"...\"", j.Agent), hint.Command("run AGENT \"...\"")),
			"%s ran the pipeline %s, whose steps are fixed: it takes no messages", j.ID, j.Agent)
	default:
		return problem.Invalidf(fmt.Sprintf("%s starts a new job; so does another agent, with the files as they are", hint.Command("run %s \"...\"", j.Agent)),
			"%s is led by the workflow %s, which decides by itself what its agents are asked: it takes no messages", j.ID, j.Workflow)
	}
	if held(j) {
		return nil
	}
	if err := rt.unusableTree(j); err != nil {
		return err
	}
	if _, err := os.Stat(j.Dir); !errors.Is(err, fs.ErrNotExist) {
		return nil // what else is wrong, the run reports
	}
	return problem.Invalidf("put it back, or start a new job elsewhere: "+hint.Command("run"), "the directory of %s is gone: %s", j.ID, j.Dir)
}

// checkMode refuses a permission mode that the agent of a job excludes.
func (rt *Runtime) checkMode(j *jobs.Job, m executor.Mode) error {
	switch {
	case m == "":
		return nil
	case !m.Known():
		return problem.Invalidf(oneOf(executor.Modes), "the mode is %q", m)
	}
	a, err := rt.agentOf(j)
	if err != nil { // it is gone: what the job began with decides
		return nil
	}
	if a.Mode == "" || slices.Index(executor.Modes, m) <= slices.Index(executor.Modes, a.Mode) {
		return nil
	}
	return problem.Invalidf("have another agent do it", "the agent %s goes no further than mode %s", a.Name, a.Mode)
}

// checkMessage refuses an invalid message, and finds out about the model.
func (rt *Runtime) checkMessage(ctx context.Context, j *jobs.Job, m *executor.Message) error {
	if bad := badLimit(m.Limits); bad != "" {
		return problem.Invalidf("leave it out for the agent's limit", "%s", bad)
	}
	if err := rt.checkMode(j, m.Mode); err != nil {
		return err
	}
	m.Window, m.Price, m.Taint, m.Changed, m.In = 0, llm.Price{}, 0, "", ""
	attaches := m.Mentions != "" || len(m.Attachments) > 0
	if m.Model == "" && !attaches {
		return nil
	}
	c := rt.config(j)
	models, err := rt.models.At(c.BaseURL, "")
	if err != nil {
		return err
	}
	if attaches {
		r := host.Reader{Dir: j.Dir, Agent: j.Agent, Rules: rt.o.Defaults.Rules, Model: cmp.Or(m.Model, j.Model)}
		if m.Taint, err = rt.readAttached(ctx, r, &m.Attached, models, true); err != nil {
			return err
		}
	}
	if m.Model == "" {
		return nil
	}
	if m.Model, err = models.Canonical(m.Model); err != nil {
		return err
	}
	if _, _, err := models.Open(m.Model); err != nil {
		return problem.Refuse(err, hint.Command("models list")+" lists the models")
	}
	m.Price, _ = rt.o.Defaults.Prices.Of(m.Model)
	m.Stated, m.Guess = 0, false
	if m.Window, err = models.Window(ctx, m.Model); err == nil && m.Window == 0 {
		ask := func(ref string) (int, int) { return models.Stated(ctx, ref) }
		m.Stated, m.Guess = route.Windows(rt.o.Defaults.Budget.Windows).Of(m.Model, ask)
	}
	return err
}

// deliver sends a message with the transaction that has its job go on, or to the
// runner that has it. The job may change from one to the other meanwhile.
func (rt *Runtime) deliver(ctx context.Context, mgr *jobs.Manager, id string, m executor.Message) error {
	for {
		j, err := jobs.Find(ctx, mgr.Store, id)
		if err != nil {
			return err
		}
		m.Anew = j.Status.Final()
		if !m.Anew && m.Limits.String() != "" {
			return problem.Invalidf("leave them out", "%s has not ended: it goes on within the limits it has", id)
		}
		o, err := rt.continuer(m)
		if err != nil {
			return err
		}
		if o.Send.Log, err = messageEvent(ctx, m); err != nil {
			return err
		}
		switch {
		case !m.Anew && m.Text == "" && len(m.Attachments) == 0 && m.Model == "" && !m.Compact:
			return nil // it reads what is there
		case j.Status == jobs.Running || j.Status == jobs.Waiting || j.Status == jobs.Queued:
			err = rt.signalJob(ctx, mgr.Store, j, *o.Send)
		default:
			err = mgr.Store.Reopen(ctx, id, o)
		}
		now, gone := jobs.Find(ctx, mgr.Store, id)
		if moved := gone == nil && now.Status != j.Status; moved && (errors.Is(err, jobs.ErrFinal) || errors.Is(err, jobs.ErrRunning)) {
			continue
		}
		if errors.Is(err, jobs.ErrFinal) {
			return problem.WithHint(err, hint.Command("jobs retry %s", id)+" runs it again from the start")
		}
		return err
	}
}

// maxAudited bounds the text of a message in the record of its sender, in bytes: the conversation
// has all of it.
const maxAudited = 2000

// messageEvent returns the log's event of a message: its sender and its beginning.
func messageEvent(ctx context.Context, m executor.Message) (*event.Event, error) {
	text := m.Text
	if m.Compact {
		text = "/compact"
	}
	if len(text) > maxAudited {
		text = strings.ToValidUTF8(text[:maxAudited], "") + "..."
	}
	value, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	return answerEvent(ctx, flow.Signal{Name: turn.MessageSignal, Value: value})
}

func (rt *Runtime) continuer(m executor.Message) (flow.Reopener, error) {
	set, err := rt.tools()
	if err != nil {
		return flow.Reopener{}, err
	}
	return m.Reopener(set)
}

// goOnUnread reopens a job that ended, by the model's doing, in the moment in which it
// was sent a message. It reports whether there is one.
func (rt *Runtime) goOnUnread(ctx context.Context, j *jobs.Job) bool {
	if j == nil || !j.Status.Succeeded() && (!j.Status.Halted() || j.Status == jobs.Limit) || j.Workflow != agents.Workflow.Name {
		return false
	}
	m, err := rt.Manager(ctx)
	if err != nil {
		return false
	}
	if j, err = jobWithSignals(ctx, m.Store, j.ID); err != nil || unread(j) == 0 {
		return false // the message stays; the job shows it
	}
	o, err := rt.continuer(executor.Message{})
	return err == nil && m.Store.Reopen(ctx, j.ID, o) == nil
}

// namedFile is the file of a job that identifies what changedSince said last.
const namedFile = "named"

// changedSince reports which files are not as a job knows them, "" if all are, if that was
// reported already, or if its record cannot be read: the stale check still keeps the
// job from overwriting them. named notes the report.
func (rt *Runtime) changedSince(ctx context.Context, j *jobs.Job) (words string, named func() error) {
	nothing := func() error { return nil }
	led, err := jobdir.OpenLedger(rt.data(), j.ID)
	if err != nil || led == nil {
		return "", nothing
	}
	defer led.Close()
	s, err := led.Stale(ctx, j.Dir)
	home := filepath.Join(rt.home, j.ID)
	if last, _ := os.ReadFile(filepath.Join(home, namedFile)); err != nil || string(last) == s.Digest {
		return "", nothing
	}
	return s.String(), func() error { return rootfs.WriteFile(filepath.Join(home, namedFile), []byte(s.Digest)) }
}

// reportLost compares the files of an interrupted job with what its finished steps left.
// What differs is reported to the person and to the model of a job that one leads, and each
// agent at work is given what is about the directory that it works in.
func (rt *Runtime) reportLost(ctx context.Context, m *jobs.Manager, j *jobs.Job) error {
	if j.Status != jobs.Interrupted {
		return nil
	}
	finished, atWork := map[string]bool{}, agentsAtWork{"": true}
	for ev, err := range m.Store.Events(ctx, j.ID, 0, false) {
		if err != nil {
			return err
		}
		if atWork.add(ev); ev.Kind == event.StepFinished {
			finished[ev.Path] = true
		}
	}
	list, digest, places := rt.lostFiles(ctx, j, func(step string) bool { return finished[step] })
	if list == "" {
		return nil
	}
	named := filepath.Join(rt.home, j.ID, lostFile)
	if last, _ := os.ReadFile(named); string(last) == digest {
		return nil
	}
	rt.warn("%s: files are not as its finished steps left them. %s", j.ID, list)
	tell := func(name, in, list string) error {
		value, err := json.Marshal(executor.Message{In: in, Changed: "Files are not as your finished calls left them. Look at them before you go on. " + list})
		if err != nil {
			return err
		}
		return rt.signalJob(ctx, m.Store, j, flow.Signal{Name: name, Value: value})
	}
	switch j.Workflow {
	case agents.Workflow.Name:
		atWork[""] = false // it reads messages, and of all copies
		if err := tell(turn.MessageSignal, "", list); err != nil {
			return err
		}
	case pipeline.Workflow.Name:
		atWork[""] = false // no model leads it
	}
	for _, agent := range slices.Sorted(maps.Keys(atWork)) {
		for _, p := range places {
			if !atWork[agent] {
				break
			}
			if err := tell(turn.ChangesSignal(agent+"."), p.name, p.list); err != nil {
				return err
			}
		}
	}
	return rootfs.WriteFile(named, []byte(digest))
}

// agentsAtWork has the agents of a job by the paths of the steps that began them, "" for the
// job's own, and whether they are at work.
type agentsAtWork map[string]bool

func (w agentsAtWork) add(ev event.Event) {
	up := strings.LastIndexByte(ev.Path, '.') + 1
	switch ev.Kind {
	case event.AgentStarted:
		w[ev.Path] = true
	case event.AgentFinished: // the step behind the one that began it
		if n, err := strconv.Atoi(ev.Path[up:]); err == nil {
			w[ev.Path[:up]+strconv.Itoa(n-1)] = false
		}
	case event.StepFinished: // also of an agent that has been reopened
		for up > 0 {
			at := ev.Path[:up-1]
			if _, is := w[at]; is {
				w[at] = true
			}
			up = strings.LastIndexByte(at, '.') + 1
		}
	}
}

// A lostPlace names the files that are lost in the job's directory, which has no name, or
// in a copy in which a sub-agent is at work.
type lostPlace struct{ name, list string }

// lostFiles names the files that finished steps have left otherwise, in the job's
// directory and in the copies in which its sub-agents work, and identifies what they are
// now. What cannot be read, the run reports.
func (rt *Runtime) lostFiles(ctx context.Context, j *jobs.Job, finished func(step string) bool) (list, digest string, places []lostPlace) {
	add := func(where, dir string, led *ledger.Ledger, err error) string {
		if err != nil || led == nil {
			return ""
		}
		defer led.Close()
		s, err := led.Lost(ctx, dir, finished)
		if err != nil || s.List() == "" {
			return ""
		}
		list, digest = strings.TrimPrefix(list+" "+where+s.List(), " "), digest+s.Digest
		return s.List()
	}
	led, err := jobdir.OpenLedger(rt.data(), j.ID)
	if lost := add("", j.Dir, led, err); lost != "" {
		places = append(places, lostPlace{"", lost})
	}
	trees, _ := jobdir.Trees(rt.data(), j.ID)
	for _, t := range trees {
		led, err := jobdir.OpenTreeLedger(rt.data(), j.ID, t.Name)
		if lost := add(fmt.Sprintf("In the copy %s of a sub-agent: ", t.Name), t.Dir(), led, err); lost != "" && t.Result == nil {
			places = append(places, lostPlace{t.Name, lost})
		}
	}
	return list, digest, places
}

// lostFile is the file of a job that identifies what reportLost reported last.
const lostFile = "lost"
