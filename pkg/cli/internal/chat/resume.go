package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
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
	s.input.mode, s.input.stopped = d.Mode, ""
	s.view = show.NewFeed(s.Screen, s.e.Rate())
	s.view.Known(d.Config.KnownWindow)
	s.with = nil
	s.Dir, s.Target, s.Request.Model = j.Dir, j.Agent, j.Model
	in := input(j)
	real, kept := s.ui, &collector{}
	s.ui = kept
	if b := in.Branch; b != nil {
		s.say(kit.Dim, "it goes on from turn %d of %s; %s shows what was said there", b.Turn, b.Job, hint.Command("chat --continue %s", b.Job))
		s.printSaid(b.Said, executor.Attached{}) // the request has those of the first message
	} else {
		s.printSaid(in.Prompt, in.Attached)
	}
	for _, ev := range p.events {
		s.last = max(s.last, ev.Seq)
		s.steps.add(ev)
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

// input is the request that a job began with; its title stands for a prompt that is not there.
func input(j *jobs.Job) (in agents.Input) {
	_ = json.Unmarshal(j.Input, &in)
	in.Prompt = cmp.Or(in.Prompt, j.Title)
	return in
}

// A collector keeps what is printed.
type collector struct {
	UI
	text strings.Builder
}

func (c *collector) Print(text string) { c.text.WriteString(text) }

// conversations finds jobs that messages go on with by words in their title, directory or id:
// those of the directory before all others.
func (s *Session) conversations(ctx context.Context, dir, words string) (found []Choice) {
	const most = 300 // of each list, the newest
	seen := map[string]bool{}
	for _, o := range []adroit.ListOptions{{Dir: dir, Here: true, Limit: most}, {Limit: most}} {
		list, err := s.c.Jobs(ctx, o)
		if err != nil {
			return found // the command reports why
		}
		for _, j := range list {
			if j.Workflow != agents.Workflow.Name || seen[j.ID] {
				continue
			}
			seen[j.ID] = true
			about := j.Title
			if j.Dir != dir {
				about += "  " + s.e.Home(j.Dir)
			}
			if hasAll(about, words) || strings.HasPrefix(j.ID, strings.ToUpper(words)) { // within IDs and ages any digit is found
				found = append(found, Choice{j.ID, kit.Ago(s.e.Now(), j.Updated) + "  " + about})
			}
		}
	}
	return found
}

// hasAll reports whether a text has all of these words, in any case.
func hasAll(text, words string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(words)), func(w string) bool { return !strings.Contains(text, w) })
}

// messages lists the person's messages by their numbers.
func (s *Session) messages() (list []Choice) {
	for i, text := range s.said {
		first, _, _ := strings.Cut(text, "\n")
		list = append(list, Choice{strconv.Itoa(i + 1), first})
	}
	return list
}

// fork is /fork: the next message begins a conversation with what was said before an earlier
// message, which stands in the line again.
func (s *Session) fork(args string) {
	if !s.begun() || !s.between("/fork") {
		return
	}
	if args == "" {
		s.printWith(func(w *kit.Screen) {
			var t kit.Table
			for _, m := range s.messages() {
				t.Row(m.Text, kit.SanitizeLine(m.About))
			}
			t.Fit(w.Width())
			t.Write(w)
		})
		s.say(kit.Dim, "/fork NUMBER begins a conversation from before that message; files stay as they are")
		return
	}
	n, err := strconv.Atoi(args)
	if err != nil || n < 1 || n > len(s.said) {
		s.say(kit.Red, "there is no message %s; /fork lists them", args)
		return
	}
	id, said := s.job, slices.Clone(s.said[:n])
	s.opening = opening{busy: true}
	s.do(func(ctx context.Context) func() {
		t, err := s.c.Transcript(ctx, id)
		var d *adroit.JobDetail
		if err == nil {
			d, err = s.c.Job(ctx, id)
		}
		return func() {
			if err != nil {
				s.fail(err)
			} else if turn, found := turnBefore(t, said); !found {
				s.say(kit.Red, "message %d was not read by the model", n)
			} else {
				s.startOver("your next message begins a conversation from before message " + args)
				if turn > 0 {
					s.from = &origin{id, turn}
				} else if b := input(d.Job).Branch; b != nil {
					s.from = &origin{b.Job, b.Turn}
				}
				s.ui.Edit(said[n-1])
			}
			s.ready()
		}
	})
}

// turnBefore is the turn of a transcript before the one that has the last of these messages of
// the person, 0 if that begins the conversation.
func turnBefore(t *adroit.Transcript, said []string) (turn int, found bool) {
	next := 0
	for _, now := range t.Turns {
		for _, m := range now.New {
			for m.Role == llm.User && next < len(said) && strings.Contains(m.Text, said[next]) {
				if next++; next < len(said) {
					continue
				}
				if now.After == 0 && now.Turn > 1 { // behind a compaction
					return now.Turn - 1, true
				}
				return now.After, true
			}
		}
	}
	return 0, false
}

// export is /export: it writes the conversation to a new file.
func (s *Session) export(name string) {
	if !s.begun() {
		return
	}
	id, file := s.job, cmp.Or(name, "conversation-"+s.job+".md")
	if rest, ok := strings.CutPrefix(file, "~/"); ok { // no shell has expanded it
		file = filepath.Join(s.e.Getenv("HOME"), rest)
	} else if !filepath.IsAbs(file) {
		file = filepath.Join(s.Dir, file)
	}
	s.call(func(ctx context.Context) (func(w *kit.Screen), error) {
		t, err := s.c.Transcript(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := rootfs.CreateFile(file, 0o600, []byte(markdown(t))); errors.Is(err, fs.ErrExist) {
			return nil, problem.Invalidf("/export FILE writes another", "there is a file %s already", file)
		} else if err != nil {
			return nil, fmt.Errorf("writing %s: %w", file, err)
		}
		return func(w *kit.Screen) { fmt.Fprintln(w, "written: "+kit.Path(s.e.Home(file))) }, nil
	})
}

// markdown is a transcript for people to read, without the system prompt.
func markdown(t *adroit.Transcript) string {
	var b strings.Builder
	fenced := func(text string) {
		fence := "```"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		fmt.Fprintf(&b, "%s\n%s\n%s\n\n", fence, strings.TrimRight(text, "\n"), fence)
	}
	message := func(m *llm.Message) {
		switch m.Role {
		case llm.User:
			fmt.Fprintf(&b, "## You\n\n%s\n\n", m.Text)
		case llm.Tool:
			fmt.Fprintf(&b, "Result of `%s`:\n\n", m.Name)
			fenced(m.Text)
		case llm.Assistant:
			fmt.Fprintf(&b, "## Agent\n\n")
			if m.Text != "" {
				b.WriteString(m.Text + "\n\n")
			}
			for _, c := range m.Calls {
				fmt.Fprintf(&b, "Call of `%s`:\n\n", c.Name)
				fenced(string(c.Args))
			}
		}
	}
	for i := range t.Turns {
		for _, m := range t.Turns[i].New {
			message(&m)
		}
		if r := t.Turns[i].Response; r != nil {
			message(r)
		}
	}
	for _, m := range t.Rest {
		message(&m)
	}
	return b.String()
}
