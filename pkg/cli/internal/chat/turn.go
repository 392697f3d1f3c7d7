package chat

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// leaves are lines by which people leave other programs: no model has a use for them.
var leaves = map[string]bool{"exit": true, "quit": true, ":q": true}

// Enter handles a line of input: a message, /command or !command.
func (s *Session) Enter(text string) {
	text = strings.TrimSpace(text)
	name, _ := commandName(text)
	slash := strings.HasPrefix(text, "/") && !isPath(name)
	switch {
	case s.state == Asking && !slash:
		s.answerLine(text)
	case s.opening.busy && text != "/quit":
		if text != "" {
			s.opening.lines = append(s.opening.lines, text)
		}
	case text == "":
		s.resume()
	case slash:
		s.command(text)
	case leaves[text]:
		s.Quit()
	case strings.HasPrefix(text, "!"):
		s.shell(strings.TrimSpace(text[1:]))
	default:
		s.send(text)
	}
}

// Say sends a message as it is, whatever it begins with; "" is none. typed is its typed
// part: files are attached that it names.
func (s *Session) Say(typed, text string) {
	if strings.TrimSpace(text) != "" {
		s.outbox = append(s.outbox, outgoing{shown: typed, text: text, mode: s.input.mode})
		s.deliver()
	}
}

// Later queues a message for the end of the turn; without one it is as [Session.Enter].
func (s *Session) Later(text string) {
	text = strings.TrimSpace(text)
	own := s.state == Asking && (s.question.confirm != nil || s.question.files != nil)
	if s.state == Idle || own {
		s.Enter(text)
	} else if text != "" {
		s.input.queue = append(s.input.queue, queued{text, s.input.mode})
	}
}

// TakeBack returns the last queued message and takes it from the queue.
func (s *Session) TakeBack() string {
	n := len(s.input.queue)
	if n == 0 {
		return ""
	}
	last := s.input.queue[n-1]
	s.input.queue = s.input.queue[:n-1]
	s.input.mode = cmp.Or(last.mode, s.input.mode)
	return last.text
}

// Interrupt stops the turn; what is queued comes back to the line. It is no to a question of the
// chat's own, such as that of an undo.
func (s *Session) Interrupt() {
	if s.state == Asking && s.question.confirm != nil {
		s.deny("")
		return
	}
	if s.state == Asking {
		s.say(kit.Plain, "     nothing runs while this waits; %s", s.Choices())
	}
	if s.state != Working || s.stopping || s.job == "" {
		return
	}
	s.stopping = true
	s.unqueue()
	id := s.job
	s.do(func(ctx context.Context) func() {
		_, err := s.c.Stop(ctx, id, "by you")
		if err == nil {
			return nil // the turn's end says it
		}
		return func() { s.stopping = false; s.fail(err) }
	})
}

// unqueue puts what is queued back into the line.
func (s *Session) unqueue() {
	if len(s.input.queue) > 0 {
		s.ui.Edit(strings.Join(s.Queue(), "\n"))
		s.input.mode = cmp.Or(s.input.queue[0].mode, s.input.mode)
		s.input.queue = nil
	}
}

// Check reports what would keep a conversation from beginning.
func Check(ctx context.Context, c adroit.Client, r adroit.Request) error {
	r.Prompt = "hello"
	_, err := c.Resolve(ctx, r)
	return err
}

// Check prints what would keep the conversation from beginning, while the person
// already types.
func (s *Session) Check() {
	r := s.Request
	s.do(func(ctx context.Context) func() {
		r.Prompt = "hello"
		p, err := s.c.Resolve(ctx, r)
		if err != nil {
			return func() { s.fail(err) }
		}
		return func() { s.known(p) }
	})
}

// known notes what the conversation is held with.
func (s *Session) known(p *adroit.Plan) {
	if p == nil {
		return
	}
	s.with = []string{p.Task.Model}
	n := show.KnownWindow(p.Task)
	if s.view.Known(n); n > 0 {
		s.with = append(s.with, "window "+kit.Count(n))
	}
	s.usual = p.Task.Mode
}

// With are the agent, and as far as they are known the model, its window, the directory and the
// branch of the conversation.
func (s *Session) With() []string {
	with := s.with
	if with == nil {
		with = []string{s.Request.Model}
	}
	dir := filepath.Base(s.Dir)
	if branch := hostexec.Branch(s.Dir); branch != "" {
		dir += " (" + branch + ")"
	}
	return append(append([]string{s.Target}, with...), dir)
}

// resume continues a job that was interrupted.
func (s *Session) resume() {
	if s.state == Idle && s.job != "" && (s.status == jobs.Interrupted || s.status == jobs.Queued || s.status == jobs.Running) {
		s.input.stopped = "" // it is written again
		s.work()
		s.run()
	}
}

// work marks the beginning of a turn.
func (s *Session) work() {
	s.state, s.stopping, s.question = Working, false, nil
	s.view.Begin()
}

// run runs the job as far as it gets, and shows what it does.
func (s *Session) run() {
	id, after := s.job, s.last
	s.running = true
	s.do(func(ctx context.Context) func() {
		defer s.attend()()
		d, err := s.runTurn(ctx, id, after)
		return func() { s.drain(); s.ended(d, err) }
	})
}

// runTurn runs the job and passes on the events of the run until it has ended. The end of the
// session's context stops it.
func (s *Session) runTurn(ctx context.Context, id string, after int64) (*adroit.JobDetail, error) {
	job, err := adroit.Find(ctx, s.c, id)
	if err == nil {
		_, err = job.Start(ctx, adroit.StartOptions{Live: s.Screen.Live})
	}
	switch {
	case err == nil, errors.Is(err, jobs.ErrHeld): // another process works at it, and reads the message
		err = job.Follow(s.ctx, adroit.EventOptions{After: after, Live: s.Screen.Live}, "", s.take)
	case errors.Is(err, jobs.ErrFinal): // it has read the message already
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return s.c.Job(ctx, id)
}

// ended shows the outcome of a turn, and sends the messages queued for its end.
func (s *Session) ended(d *adroit.JobDetail, err error) {
	left, written := s.view.BreakOff()
	if left != "" {
		s.ui.Print(left)
	}
	if s.stopping {
		s.input.stopped = written
	}
	s.running, s.stopping = false, false
	s.settle()
	if err != nil {
		s.compaction = noCompaction
		s.fail(err)
		s.unqueue()
		s.ui.Notify(hint.Program() + ": an error")
		return
	}
	s.status, s.title, s.ran = d.Job.Status, d.Job.Title, true
	if d.Job.Status == jobs.Waiting && len(d.Questions) > 0 {
		s.ask(&d.Questions[0])
		return
	}
	reopened := d.Job.Status == jobs.Queued && len(s.sent) > 0 // by a message
	if !s.compacted() && !reopened {
		s.outcome(d)
	}
	s.resumeSent()
	if s.state != Idle || reopened {
		return // a message is on its way, or has arrived
	}
	if d.Job.Status.Succeeded() && len(s.input.queue) > 0 {
		next := s.input.queue[0]
		s.input.queue = s.input.queue[1:]
		s.sendIn(next.mode, next.text)
		return
	}
	s.unqueue()
	s.ui.Notify(hint.Program() + ": " + d.Job.Status.Words())
}

// resumeSent continues a job that got a message in the moment in which its turn ended:
// too late for the turn, and too early for this session to start another.
func (s *Session) resumeSent() {
	if len(s.sent) == 0 || s.job == "" {
		return
	}
	id := s.job
	s.do(func(ctx context.Context) func() {
		d, err := s.c.Job(ctx, id)
		if err != nil || d.Job.Status != jobs.Queued {
			return nil // what ended otherwise is not started again unasked
		}
		return func() {
			if s.state == Idle && s.job == id {
				s.work()
				s.run()
			}
		}
	})
}

// outcome prints the answer, if it is not on the screen, and how the turn ended.
func (s *Session) outcome(d *adroit.JobDetail) {
	f := d.Final
	if f == nil {
		f = &jobs.Final{Status: d.Job.Status, Reason: d.Job.Reason}
	}
	text := strings.TrimSpace(f.Summary)
	if text != "" && d.Job.Status.Succeeded() && !strings.HasPrefix(s.view.Last(), text) {
		s.ui.Print(kit.NewMarkdown(s.Screen, kit.Plain, "     ").Text(text))
	}
	for _, r := range d.Changes.Incomplete {
		s.say(kit.Red, "incomplete: %s", r)
	}
	var lines []string
	if d.Job.Status != jobs.Done && d.Job.Status != jobs.Planned || len(f.Met) > 0 { // else the answer is all there is to say
		lines = show.Verdict(d.Job, f)
	}
	// A run that fails may end with the figures of its last part alone: only those of the
	// whole job never get smaller.
	turn, all := *f, d.Usage.Total.Usage
	turn.Usage = llm.Usage{In: all.In - s.used.In, Out: all.Out - s.used.Out, Cached: all.Cached - s.used.Cached}
	if figures := show.Figures(&turn, d.Usage.Cost-s.paid, s.view.Took()); figures != "" {
		lines = append(lines, strings.TrimSpace(figures+"  "+s.view.Context()))
	}
	s.used, s.paid = all, max(s.paid, d.Usage.Cost)
	style := kit.Dim
	if show.StatusStyle(d.Job.Status) == kit.Red {
		style = kit.Red
	}
	if len(lines) > 0 {
		s.say(style, "%s", strings.Join(lines, "\n"))
	}
	if s.Screen.Live && slices.ContainsFunc(d.Actions, func(a adroit.Action) bool { return a.CarryOut }) {
		s.say(kit.Dim, "Shift+Tab, then a message, has the plan carried out")
	}
	if d.Job.Status == jobs.Interrupted {
		s.say(kit.Dim, "your next message redirects it; an empty one goes on")
	}
}
