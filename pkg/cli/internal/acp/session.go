package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/jobs"

	sdk "github.com/coder/acp-go-sdk"
)

// A session is a conversation of an editor.
type session struct {
	id      sdk.SessionId
	dir     string
	servers json.RawMessage // that the editor brought, before the first prompt
	turn    sync.Mutex      // held during one

	mu   sync.Mutex
	job  string        // its id, "" before the first prompt
	mode executor.Mode // of the next prompt
	// model is the model that is asked, and window its context window in tokens, 0 if
	// that is not known. picked is set if the person has chosen it since the last
	// message.
	model  string
	window int
	picked bool
	closed bool               // the editor has closed the session; the job stays as it is
	last   int64              // number of the last event shown
	stop   context.CancelFunc // of the turn in progress
}

// cancel ends the turn in progress.
func (ses *session) cancel() {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.stop != nil {
		ses.stop()
	}
}

// idle is the end of a turn.
func (ses *session) idle() {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	ses.stop = nil
}

// modes lists the permission modes.
func (ses *session) modes() *sdk.SessionModeState {
	about := map[executor.Mode]string{
		executor.ModePlan: "Reads and plans, changes nothing.", executor.ModeEdits: "Changes files, asks about commands.", executor.ModeAuto: "Runs commands too, in a sandbox."}
	mode := ses.mode
	mode = cmp.Or(mode, executor.ModeEdits)
	state := &sdk.SessionModeState{CurrentModeId: sdk.SessionModeId(mode)}
	for _, m := range executor.Modes {
		state.AvailableModes = append(state.AvailableModes, sdk.SessionMode{Id: sdk.SessionModeId(m), Name: strings.ToUpper(string(m)[:1]) + string(m)[1:], Description: sdk.Ptr(about[m])})
	}
	return state
}

// Prompt implements [sdk.Agent].
func (s *server) Prompt(ctx context.Context, p sdk.PromptRequest) (out sdk.PromptResponse, err error) {
	ses, err := s.session(p.SessionId)
	if err != nil {
		return out, err
	}
	blocks, err := s.expand(ctx, ses.dir, p.Prompt)
	if err != nil {
		return out, err
	}
	m, err := message(blocks, ses.dir, s.unsaved(ctx, ses))
	if err != nil {
		return out, err
	}
	s.turns.Add(1)
	defer s.turns.Done()
	ses.turn.Lock()
	defer ses.turn.Unlock()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.ctx, stop)()
	ses.mu.Lock()
	ses.stop = stop
	ses.mu.Unlock()
	defer ses.idle()
	if ctx.Err() != nil {
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	}
	if err := s.deliver(context.WithoutCancel(ctx), ses, m); err != nil {
		return out, failure(err)
	}
	out.StopReason, err = s.run(ctx, ses, m.Text)
	return out, err
}

// deliver gives the job a message; the first begins it.
func (s *server) deliver(ctx context.Context, ses *session, m executor.Message) error {
	ses.mu.Lock()
	id, mode, model := ses.job, ses.mode, ""
	if ses.picked {
		model = ses.model
	}
	ses.mu.Unlock()
	sent := func() {
		ses.mu.Lock()
		defer ses.mu.Unlock()
		ses.picked = ses.picked && ses.model != model // another one was picked meanwhile
	}
	if id != "" {
		m.Model, m.Mode = model, mode
		j, err := s.c.Send(ctx, id, m)
		if err == nil {
			sent()
			s.warnReplaced(ses, j)
		}
		return err
	}
	r := s.o.Request
	r.Dir, r.Mode, r.Key = ses.dir, mode, string(ses.id)
	r.Servers = ses.servers
	if model != "" {
		r.Model, r.ForAll = model, true
	}
	r.Prompt, r.Attached, r.Taint = m.Text, m.Attached, r.Taint|m.Taint
	sub, err := s.c.Submit(ctx, r)
	if err != nil {
		return err
	}
	sent()
	s.warnReplaced(ses, sub.Job)
	ses.mu.Lock()
	ses.job = sub.Job.ID
	narrowed := sub.Plan != nil && sub.Plan.Task.Mode != "" && sub.Plan.Task.Mode != mode && ses.mode == mode
	if narrowed { // its agent goes no further
		ses.mode = sub.Plan.Task.Mode
	}
	now := ses.mode
	ses.mu.Unlock()
	if narrowed {
		s.update(ses, sdk.SessionUpdate{CurrentModeUpdate: &sdk.SessionCurrentModeUpdate{SessionUpdate: "current_mode_update", CurrentModeId: sdk.SessionModeId(now)}})
	}
	s.update(ses, sdk.SessionUpdate{SessionInfoUpdate: &sdk.SessionSessionInfoUpdate{SessionUpdate: "session_info_update",
		Title: sdk.Ptr(sub.Job.Title), UpdatedAt: sdk.Ptr(sub.Job.Updated.UTC().Format(time.RFC3339))}})
	return nil
}

// warnReplaced names the secrets in what the person sent, in the conversation.
func (s *server) warnReplaced(ses *session, j *jobs.Job) {
	for _, r := range j.Replaced {
		s.update(ses, sdk.UpdateAgentMessageText("Note: "+secret.ReplacedWords(r)+".\n\n"))
	}
}

// run runs the job until it has ended its turn, and asks the person in between.
func (s *server) run(ctx context.Context, ses *session, sent string) (sdk.StopReason, error) {
	t := s.translator(ses)
	t.sent = append(t.sent, sent)
	defer t.end()
	for {
		d, err := s.follow(ctx, ses, t)
		switch {
		case err != nil:
			return "", failure(err)
		case ctx.Err() != nil:
			return sdk.StopReasonCancelled, nil
		case d.Job.Status == jobs.Queued:
			continue // a message reopened it as it ended
		case d.Job.Status != jobs.Waiting || len(d.Questions) == 0:
			return s.outcome(ses, t, d)
		}
		if answered, err := s.ask(ctx, ses, t, &d.Questions[0]); err != nil {
			return "", failure(err)
		} else if !answered {
			return sdk.StopReasonCancelled, nil
		}
	}
}

// follow runs the job once and shows what it does. The end of ctx interrupts it.
func (s *server) follow(ctx context.Context, ses *session, t *translator) (*adroit.JobDetail, error) {
	all := context.WithoutCancel(ctx) // what happens to the job is read to its end
	see := func(ev event.Event) {
		ses.last = max(ses.last, ev.Seq)
		t.event(ev)
	}
	job, err := adroit.Find(all, s.c, ses.job)
	if err == nil {
		_, err = job.Start(all, adroit.StartOptions{Live: true})
	}
	switch {
	case err == nil:
		err = job.Follow(ctx, adroit.EventOptions{After: ses.last, Live: true}, "cancelled in the editor", see)
	case errors.Is(err, jobs.ErrFinal): // it has read the message already
		err = nil
	case errors.Is(err, jobs.ErrHeld) && t.elsewhere: // where it was answered, it also runs
		for ev, broken := range s.c.Events(ctx, ses.job, adroit.EventOptions{After: ses.last, Follow: true}) {
			if broken != nil {
				break // the job says how it stands
			}
			see(ev)
		}
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return s.c.Job(all, ses.job)
}

// outcome reports how a turn ended. What failed is an error.
func (s *server) outcome(ses *session, t *translator, d *adroit.JobDetail) (sdk.StopReason, error) {
	f := d.Final
	if f == nil {
		f = &jobs.Final{Status: d.Job.Status, Reason: d.Job.Reason}
	}
	if text := strings.TrimSpace(f.Summary); text != "" && !strings.Contains(t.shownText(), text) {
		t.say(text)
	}
	if d.Usage.Cost > 0 {
		t.usage(d.Usage.Cost)
	}
	switch j := d.Job; {
	case j.Status == jobs.Done || j.Status == jobs.Answered:
	case j.Status == jobs.Failed:
		return "", &sdk.RequestError{Code: -32603, Message: "the job " + j.ID + " failed: " + j.Reason}
	case j.Status == jobs.Limit && f.Stopped == "tokens":
		t.say(j.Reason)
		return sdk.StopReasonMaxTokens, nil
	case j.Status == jobs.Limit:
		t.say(j.Reason)
		return sdk.StopReasonMaxTurnRequests, nil
	case j.Status == jobs.Interrupted || j.Status == jobs.Cancelled:
		return sdk.StopReasonCancelled, nil
	default:
		t.say(j.Status.Words() + ": " + j.Reason)
	}
	return sdk.StopReasonEndTurn, nil
}

// sessionID returns the id by which editors know a job.
func sessionID(j *jobs.Job) sdk.SessionId {
	if strings.HasPrefix(j.Key, "acp-") {
		return sdk.SessionId(j.Key)
	}
	return sdk.SessionId(j.ID)
}

// find is the job of a session that another process may have begun.
func (s *server) find(ctx context.Context, id sdk.SessionId, dir string) (*jobs.Job, error) {
	list, err := s.c.Jobs(ctx, adroit.ListOptions{Dir: dir})
	if err != nil {
		return nil, err
	}
	for _, j := range list {
		if sessionID(j.Job) == id {
			return j.Job, nil
		}
	}
	return nil, &problem.Error{Kind: problem.NotFound, Message: "there is no session " + string(id) + " in " + dir}
}

// open makes a session of a job that there is.
func (s *server) open(ctx context.Context, id sdk.SessionId, dir string) (*session, *adroit.JobDetail, error) {
	if err := directory(dir); err != nil {
		return nil, nil, err
	}
	j, err := s.find(ctx, id, dir)
	if err != nil {
		return nil, nil, failure(err)
	}
	d, err := s.c.Job(ctx, j.ID)
	if err != nil {
		return nil, nil, failure(err)
	}
	ses := &session{id: id, dir: d.Job.Dir, job: d.Job.ID, mode: d.Mode, model: d.Job.Model}
	if plan, err := s.resolve(ctx, ses, ses.model); err == nil { // else the session is without a meter
		ses.window = plan.Task.Options.Window
	}
	return ses, d, nil
}

// LoadSession implements [sdk.AgentLoader]: the conversation is shown again, and the
// next prompt goes on with it.
func (s *server) LoadSession(ctx context.Context, p sdk.LoadSessionRequest) (out sdk.LoadSessionResponse, err error) {
	ses, d, err := s.open(ctx, p.SessionId, p.Cwd)
	if err != nil {
		return out, err
	}
	t := s.translator(ses)
	t.replay = true
	var in struct {
		Prompt string
		Branch *turn.Branch
	}
	if _ = json.Unmarshal(d.Job.Input, &in); in.Branch != nil {
		in.Prompt = in.Branch.Said
	}
	t.user(cmp.Or(in.Prompt, d.Job.Title))
	for ev, err := range s.c.Events(ctx, ses.job, adroit.EventOptions{}) {
		if err != nil {
			return out, failure(err)
		}
		ses.last = max(ses.last, ev.Seq)
		t.event(ev)
	}
	t.end()
	if f := d.Final; f != nil && f.Summary != "" && !strings.Contains(t.shownText(), strings.TrimSpace(f.Summary)) {
		t.say(f.Summary)
	}
	if len(p.McpServers) > 0 {
		s.log().Warn("a session keeps the MCP servers that it began with")
	}
	s.add(ses)
	s.announce(ses) // the editor knows the session
	return sdk.LoadSessionResponse{Modes: ses.modes(), ConfigOptions: s.options(ctx, ses)}, nil
}

// ResumeSession implements [sdk.Agent]: as LoadSession, and nothing is shown.
func (s *server) ResumeSession(ctx context.Context, p sdk.ResumeSessionRequest) (out sdk.ResumeSessionResponse, err error) {
	ses, d, err := s.open(ctx, p.SessionId, p.Cwd)
	if err != nil {
		return out, err
	}
	if d.End != nil {
		ses.last = d.End.Seq
	}
	s.add(ses)
	s.announce(ses)
	return sdk.ResumeSessionResponse{Modes: ses.modes(), ConfigOptions: s.options(ctx, ses)}, nil
}
