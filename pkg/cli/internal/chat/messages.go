package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	stepio "github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// An outgoing is a message on its way to the job.
type outgoing struct {
	shown, text string        // as it was typed, and as the model reads it
	notes       string        // what goes before it
	mode        executor.Mode // in which it was typed, "" for no change
}

// send sends a message, with what commands printed since the last one, behind those
// that are on their way. The model reads one that comes while a turn is in progress
// at its next request.
func (s *Session) send(text string) { s.sendIn(s.input.mode, text) }

// sendIn is send for a message that was typed in a mode.
func (s *Session) sendIn(mode executor.Mode, text string) {
	if t := s.input.stopped; t != "" {
		s.note("I stopped you in this answer:\n````\n" + shortened(t) + "\n````")
	}
	s.outbox = append(s.outbox, outgoing{text, text, strings.Join(s.input.notes, "\n\n"), mode})
	s.input.notes, s.input.stopped = nil, ""
	s.deliver()
}

// deliver sends the first message that waits: one after the other, so that the job
// has them in the order in which they were typed.
func (s *Session) deliver() {
	if s.delivering || len(s.outbox) == 0 {
		return
	}
	o := s.outbox[0]
	s.outbox, s.delivering = s.outbox[1:], true
	if s.state == Idle {
		s.work()
	}
	id, r, m := s.job, s.Request, executor.Message{Text: o.text, Model: s.input.model}
	r.Prompt, r.Attached, r.Mode = o.text, request.Attached(o.shown, s.Dir), cmp.Or(o.mode, r.Mode)
	r.Notes = o.notes
	m.Attached, m.Mode = r.Attached, o.mode // the job's own may be another than is shown
	from := s.from
	s.do(func(ctx context.Context) func() {
		var sub *adroit.Submitted
		var err error
		var about strings.Builder // what goes with the message
		e := *s.e
		e.Err = &about
		switch {
		case from != nil:
			b := adroit.RetryOptions{From: from.turn, Agent: r.Target, Model: r.Model, Mode: r.Mode, Message: o.text, Attached: r.Attached}
			if sub, err = s.c.Retry(ctx, from.job, b); err == nil {
				request.WarnReplaced(&e, sub.Job)
			}
		case id == "":
			sub, err = request.Submit(ctx, &e, s.c, r)
		default:
			var j *jobs.Job
			if j, err = s.c.Send(ctx, id, m); err == nil {
				request.WarnReplaced(&e, j)
			}
		}
		return func() {
			s.delivering = false
			if err != nil {
				s.undelivered(o, err)
				return
			}
			s.delivered(o, sub, about.String())
			s.deliver()
		}
	})
}

// delivered prints a message that the job has on disk, and goes on with the job.
func (s *Session) delivered(o outgoing, begun *adroit.Submitted, about string) {
	s.drain()
	s.input.model, s.failed = "", false
	s.mode = cmp.Or(o.mode, s.mode)
	note := ""
	switch {
	case begun != nil:
		s.job, s.title, s.from = begun.Job.ID, begun.Job.Title, nil
		s.mode = cmp.Or(s.mode, s.Request.Mode)
		if begun.Plan != nil {
			s.known(begun.Plan)
			s.mode = begun.Plan.Task.Mode // its agent may go no further
			if s.input.mode == o.mode {
				s.input.mode = s.mode
			}
		} else {
			s.Check() // what a branch is held with
		}
	case s.running:
		s.sent = append(s.sent, o.text)
		note = "it is read at the model's next request"
	default:
		s.sent = append(s.sent, o.text)
	}
	s.printMessage(o.shown, note)
	if about != "" {
		s.say(kit.Dim, "%s", strings.TrimSpace(about))
	}
	if !s.running && s.state != Asking {
		s.run()
	}
}

// undelivered puts messages back into the line that the job does not have.
func (s *Session) undelivered(o outgoing, err error) {
	back, kept := []string{}, []string{}
	for _, m := range append([]outgoing{o}, s.outbox...) {
		back = append(back, m.shown)
		if m.notes != "" {
			kept = append(kept, m.notes)
		}
	}
	s.input.notes = append(kept, s.input.notes...)
	s.outbox = nil
	s.settle()
	s.ui.Edit(strings.Join(back, "\n"))
	s.fail(err)
}

// settle ends the turn if nothing is in progress.
func (s *Session) settle() {
	if !s.running && !s.delivering && s.question == nil {
		s.state = Idle
	}
}

// message shows an event that says that the model was given a message, unless the
// message stands on the screen. It reports whether ev is one.
func (s *Session) message(ev event.Event) bool {
	var sig flow.Signal
	if ev.Kind != event.StepFinished && ev.Kind != event.StepRecalled || ev.Step != flow.KindAwait || json.Unmarshal(ev.Data, &sig) != nil || sig.Name != stepio.MessageSignal {
		return false
	}
	if ev.Kind == event.StepRecalled && s.given[ev.Path] {
		return true // the log has it, which may have been lost with a killed process
	}
	if s.given == nil {
		s.given = map[string]bool{}
	}
	s.given[ev.Path] = true
	var m executor.Message
	_ = json.Unmarshal(sig.Value, &m) // without a text there is nothing to show
	if i := slices.Index(s.sent, m.Text); i >= 0 {
		s.sent = slices.Delete(s.sent, i, i+1)
		for _, l := range show.Attachments(m.Attached) {
			s.say(kit.Dim, "%s", l)
		}
	} else {
		s.printSaid(m.Text, m.Attached)
	}
	if m.Changed != "" {
		s.say(kit.Dim, "note: %s", m.Changed)
	}
	return true
}

// printSaid prints a message of an earlier turn or another process, and what was given with it.
func (s *Session) printSaid(text string, with executor.Attached) {
	if text != "" {
		s.printMessage(text, "")
	}
	for _, l := range show.Beside(with) {
		s.say(kit.Dim, "  %s", l)
	}
}

// maxCopied bounds what is copied, in bytes: terminals ignore longer sequences.
const maxCopied = 74_000

// copy is /copy: it has the terminal put the last answer, or its last block of code, into the
// clipboard.
func (s *Session) copy(what string) {
	ui, can := s.ui.(interface{ Copy(text string) })
	text := strings.TrimSpace(s.view.Last())
	if what == "code" {
		text = kit.LastCode(text)
	}
	switch {
	case what != "" && what != "code":
		s.say(kit.Red, "/copy copies the last answer, /copy code its last block of code")
	case !can:
		s.say(kit.Red, "/copy needs a terminal; /export writes the conversation to a file")
	case text == "" && what == "code":
		s.say(kit.Dim, "the last answer has no block of code")
	case text == "":
		s.say(kit.Dim, "there is no answer yet")
	case len(text) > maxCopied:
		s.say(kit.Red, "it has %s bytes, and terminals copy %s at most; /export writes it to a file", kit.Count(len(text)), kit.Count(maxCopied))
	default:
		ui.Copy(text)
		s.say(kit.Dim, "copied: %s, as far as the terminal lets programs copy", kit.Plural(strings.Count(text, "\n")+1, "line"))
	}
}

// editor is /editor: the person writes the message in their editor, and sends it with Enter.
func (s *Session) editor(words string) {
	ui, can := s.ui.(interface {
		Compose(command []string, text string) (string, error)
	})
	command := fields(cmp.Or(s.e.Getenv("VISUAL"), s.e.Getenv("EDITOR")))
	switch {
	case !can:
		s.say(kit.Red, "/editor needs a terminal")
		return
	case len(command) == 0:
		s.say(kit.Red, "no editor is set: put its command into EDITOR")
		return
	}
	text, err := ui.Compose(command, words)
	if err != nil {
		s.fail(fmt.Errorf("the editor %s: %w", command[0], err))
	}
	s.ui.Edit(strings.TrimRight(text, "\n"))
}

// context is /context: it shows what fills the window. Servers count the whole alone, so the
// parts are their shares in bytes of it.
func (s *Session) context(string) {
	if !s.begun() {
		return
	}
	id := s.job
	used, window := s.view.InUse()
	s.call(func(ctx context.Context) (func(w *kit.Screen), error) {
		t, err := s.c.Transcript(ctx, id)
		if err != nil {
			return nil, err
		}
		r := t.Request(t.Last())
		if r == nil {
			return func(w *kit.Screen) { fmt.Fprintln(w, "the model has not been asked yet") }, nil
		}
		return func(w *kit.Screen) { contextTable(w, r, used, window) }, nil
	})
}

// contextTable prints the parts of a request, which took so many tokens of a window; 0: nobody
// knows.
func contextTable(w *kit.Screen, r *llm.Request, used, window int) {
	parts := []string{"system prompt", "tools", "your messages", "answers", "tool calls", "tool results", "thinking"}
	sizes := make([]int, len(parts))
	for _, t := range r.Tools {
		sizes[1] += len(t.Name) + len(t.Description) + len(t.Input)
	}
	for _, m := range r.Messages {
		switch sizes[6] += len(m.Thinking); m.Role {
		case llm.System:
			sizes[0] += len(m.Text)
		case llm.User:
			sizes[2] += len(m.Text)
		case llm.Assistant:
			sizes[3] += len(m.Text)
		case llm.Tool:
			sizes[5] += len(m.Text)
		}
		for _, c := range m.Calls {
			sizes[4] += len(c.Name) + len(c.Args)
		}
	}
	all := 0
	for _, n := range sizes {
		all += n
	}
	total := cmp.Or(used, kit.Tokens(all))
	var t kit.Table
	for i, n := range sizes {
		if n > 0 {
			t.Row(parts[i], kit.Count(total*n/all)+" tokens", fmt.Sprintf("%d%%", (100*n+all/2)/all))
		}
	}
	t.Row("in all", kit.Count(total)+" tokens", "")
	if window > 0 {
		t.Row("free", kit.Count(max(0, window-total))+" tokens", fmt.Sprintf("of %s", kit.Count(window)))
	}
	t.Write(w)
	words(w, kit.Dim, "shares by bytes; /compact has notes take the place of earlier turns")
}
