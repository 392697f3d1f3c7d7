package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// maxReplayed bounds the lines of an earlier conversation that are printed.
const maxReplayed = 2000

// A Past is a conversation as it was left.
type Past struct {
	detail *adroit.JobDetail
	events []event.Event
}

// Find returns the job of a conversation, the newest of the directory for "".
func Find(ctx context.Context, c adroit.Client, ref, dir string) (*adroit.JobDetail, error) {
	if ref == "" || kit.IsLast(ref) {
		list, err := c.Jobs(ctx, adroit.ListOptions{Dir: dir, Here: true, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, kit.Usagef(hint.Command("chat")+" begins one", "there is no conversation in this directory yet")
		}
		ref = list[0].ID
	}
	return c.Job(ctx, ref)
}

// Load reads the conversation of a job, the newest of the directory for "".
func Load(ctx context.Context, c adroit.Client, ref, dir string) (*Past, error) {
	d, err := Find(ctx, c, ref, dir)
	if err != nil {
		return nil, err
	}
	p := &Past{detail: d}
	for ev, err := range c.Events(ctx, d.Job.ID, adroit.EventOptions{}) {
		if err != nil {
			return nil, err
		}
		p.events = append(p.events, ev)
	}
	return p, nil
}

// resumeOther is /resume: it goes to another conversation.
func (s *Session) resumeOther(ref string) {
	if s.between("/resume") {
		s.opening = opening{busy: true}
		s.Load(ref, s.ready)
	}
}

// Load goes to a conversation, which may be long, and calls ready.
func (s *Session) Load(ref string, ready func()) {
	dir := s.Dir
	s.state = Working
	s.do(func(ctx context.Context) func() {
		p, err := Load(ctx, s.c, ref, dir)
		return func() {
			if s.state = Idle; err != nil {
				s.fail(err)
			} else {
				s.Resume(p)
			}
			ready()
		}
	})
}

// Resume prints a conversation and waits where it stopped. It runs nothing.
func (s *Session) Resume(p *Past) {
	d, j := p.detail, p.detail.Job
	s.turn = turn{job: j.ID, title: j.Title, status: j.Status, mode: d.Mode}
	s.input.mode = d.Mode
	s.view = show.NewFeed(s.Screen, s.e.Rate())
	s.view.Known(d.Config.KnownWindow)
	s.with = nil
	s.Dir, s.Target, s.Request.Model = j.Dir, j.Agent, j.Model
	var in struct{ Prompt string }
	_ = json.Unmarshal(j.Input, &in) // the title stands for a prompt that is not there
	in.Prompt = cmp.Or(in.Prompt, j.Title)
	real, kept := s.ui, &collector{}
	s.ui = kept
	s.printMessage(in.Prompt, "")
	for _, ev := range p.events {
		s.last = max(s.last, ev.Seq)
		if !s.message(ev) {
			s.ui.Print(s.view.Replay(ev))
		}
	}
	s.ui = real
	lines := strings.SplitAfter(kept.text.String(), "\n")
	if n := len(lines) - maxReplayed; n > 0 {
		s.say(kit.Dim, "%d lines before; %s has all of it", n, hint.Command("jobs transcript %s", j.ID))
		lines = lines[n:]
	}
	s.ui.Print(strings.Join(lines, ""))
	s.showStatus(d)
}

// showStatus reports the state of a conversation that was resumed.
func (s *Session) showStatus(d *adroit.JobDetail) {
	s.used, s.paid = d.Usage.Total.Usage, d.Usage.Cost // of the turns that were
	switch j := d.Job; {
	case j.Status == jobs.Waiting && len(d.Questions) > 0:
		s.ask(&d.Questions[0])
	case j.Status.Final():
		s.outcome(d)
		if context := s.view.Context(); context != "" {
			s.say(kit.Dim, "%s", context)
		}
	case j.Status == jobs.Running:
		s.say(kit.Dim, "%s runs in another process, or did when that was killed; an empty message goes on where it stopped", j.ID)
	default:
		s.say(kit.Dim, "%s is %s; an empty message goes on where it stopped", j.ID, j.Status.Words())
	}
}

// A collector keeps what is printed.
type collector struct {
	UI
	text strings.Builder
}

func (c *collector) Print(text string) { c.text.WriteString(text) }
