package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// previewChars is the number of characters of each argument of a call that are shown at
// first.
const previewChars = 2000

// An asking is a question that waits for the person.
type asking struct {
	q     *jobs.Question
	whole bool // all of it was shown
	// reply is of a model that works itself and waits; nil for a question of the job.
	reply func(no string, err error)
	keep  bool               // always holds for the project
	files *request.Untrusted // that the question is about, in place of a job's
	// confirm performs the command about which the person was asked, after yes.
	confirm func()
}

// ask shows a question of the job and waits for the answer.
func (s *Session) ask(q *jobs.Question) {
	s.state, s.question = Asking, &asking{q: q}
	s.showQuestion(previewChars)
	s.ui.Notify(hint.Program() + ": a question waits")
}

func (s *Session) showQuestion(limit int) {
	switch {
	case s.question.confirm != nil:
		return // it stands above, whole
	case s.question.files != nil:
		s.showFiles(limit)
		return
	}
	text, whole := show.Question(s.question.q, limit, s.Screen.Width())
	s.question.whole = whole
	s.ui.Print(show.PaintQuestion(s.Screen, text))
	if s.rule() != "" {
		s.say(kit.Plain, "     %s", show.Always(show.ToolQuestion(s.question.q)))
	}
}

// rule returns the rule that the answer always would add, "" if there is no such answer.
func (s *Session) rule() string {
	if s.question == nil || s.question.reply != nil || s.question.files != nil || s.question.confirm != nil {
		return ""
	}
	if e := show.ToolQuestion(s.question.q); e != nil && e.Always != nil {
		return show.Quote(kit.SanitizeLine(e.Always.String()))
	}
	return ""
}

// Choices lists the answers to the question that waits.
func (s *Session) Choices() string {
	if s.question == nil {
		return ""
	}
	if s.question.confirm != nil {
		return "y yes   n no   then Enter"
	}
	if s.question.files != nil {
		return "y use them   n do not   v view them whole   then Enter"
	}
	choices := "y yes"
	if s.rule() != "" {
		choices += "   a always"
	}
	if show.Keepable(show.ToolQuestion(s.question.q)) {
		choices += "   p always in this project"
	}
	if !s.approval() {
		return "the question waits for one of: " + strings.Join(s.signals(), ", ")
	}
	return choices + "   n no   n WHY no, and why   v view it whole   then Enter"
}

// approval reports whether the question is answered by yes or no.
func (s *Session) approval() bool {
	return s.question.reply != nil || s.question.files != nil || s.question.confirm != nil || s.signal("approve") != "" && s.signal("deny") != ""
}

func (s *Session) signals() (names []string) {
	for _, name := range s.question.q.Signals {
		names = append(names, show.SignalName(name))
	}
	return names
}

// signal is the full name of a signal that the question waits for, "" if it does
// not.
func (s *Session) signal(name string) string {
	for _, full := range s.question.q.Signals {
		if full == name || show.SignalName(full) == name {
			return full
		}
	}
	return ""
}

// answerLine answers the question as a line: y, a, n WHY, v, or the name of a
// signal with its value.
func (s *Session) answerLine(line string) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	if !s.approval() {
		if full := s.signal(word); full != "" {
			s.answer(full, value(rest))
		} else {
			s.say(kit.Plain, "     %s", s.Choices())
		}
		return
	}
	switch answer, why := kit.Reply(line); {
	case s.question.files != nil && rest != "":
		s.early(line)
	case answer == "view":
		s.showQuestion(-1)
	case answer == "no":
		s.deny(why)
	case answer == "yes":
		s.approve(false)
	case answer == "always" && s.rule() != "":
		s.approve(true)
	case answer == "project" && s.rule() != "" && show.Keepable(show.ToolQuestion(s.question.q)):
		s.question.keep = true
		s.approve(true)
	case s.question.files != nil && line != "":
		s.early(line)
	default:
		said := ""
		if line != "" { // not left in the input, before the next answer; Up has it again
			said = fmt.Sprintf(" by %q", kit.Cut(kit.SanitizeLine(line), 60))
		}
		s.say(kit.Plain, "     nothing was answered%s; %s", said, s.Choices())
	}
}

// early keeps a message that was typed where a question about the project's files
// waits.
func (s *Session) early(line string) {
	s.opening.lines = append(s.opening.lines, line)
	s.say(kit.Dim, "     your message is kept, and sent after your answer; %s", s.Choices())
}

// approve answers yes. Nobody says yes to what was shown in part.
func (s *Session) approve(always bool) {
	switch {
	case s.question.confirm != nil:
		do := s.question.confirm
		s.question = nil
		s.settle()
		do()
	case s.question.files != nil:
		s.decide(true)
	case !s.question.whole:
		s.say(kit.Plain, "     only a part of it was shown; v shows the rest")
	case s.question.reply != nil:
		s.replied("", nil)
	case always:
		s.answer(s.signal("approve"), json.RawMessage(`{"always":true}`))
	default:
		s.answer(s.signal("approve"), nil)
	}
}

// deny answers no, with words for the model if there are some.
func (s *Session) deny(why string) {
	if s.question.confirm != nil {
		s.question = nil
		s.settle()
		s.say(kit.Dim, "left as it is")
		return
	}
	if s.question.files != nil {
		s.decide(false)
		return
	}
	if s.question.reply != nil {
		why = cmp.Or(why, "denied by a person; find a way without it")
		s.replied(why, nil)
		return
	}
	s.answer(s.signal("deny"), value(why))
}

// value is the value of a signal: JSON, or text as a string.
func value(text string) json.RawMessage {
	switch {
	case text == "":
		return nil
	case json.Valid([]byte(text)) && strings.ContainsAny(text[:1], "{["):
		return json.RawMessage(text)
	}
	b, _ := json.Marshal(text) // a string always can be
	return b
}

// answer sends the answer to the job's question, and goes on with the job.
func (s *Session) answer(signal string, v json.RawMessage) {
	id, asked := s.job, s.question
	s.work()
	s.do(func(ctx context.Context) func() {
		_, err := s.c.Signal(ctx, id, adroit.Signal{Name: signal, Value: v, Question: asked.q.Path, About: asked.q.About, Keep: asked.keep})
		return func() {
			if e := problem.AsError(err); e != nil && e.Kind == problem.Answered {
				s.fail(err) // somebody else was faster: that answer holds
				err = nil
			}
			if err != nil {
				s.state, s.question = Asking, asked
				s.fail(err)
				return
			}
			s.run()
		}
	})
}

// attend has the person asked what a model asks that works itself, until leave is
// called.
func (s *Session) attend() (leave func()) {
	return s.e.Attendant.Attend(func(ctx context.Context, about json.RawMessage) (string, error) {
		type reply struct {
			no  string
			err error
		}
		replies := make(chan reply, 1)
		s.ui.Post(func() {
			s.drain()
			s.state = Asking
			s.question = &asking{q: &jobs.Question{About: about}, reply: func(no string, err error) { replies <- reply{no, err} }}
			s.showQuestion(previewChars)
			s.ui.Notify(hint.Program() + ": a question waits")
		})
		select {
		case r := <-replies:
			return r.no, r.err
		case <-ctx.Done():
			s.ui.Post(func() { s.replied("", context.Cause(ctx)) })
			return "", context.Cause(ctx)
		}
	})
}

// replied answers a model that works itself, and goes on with the turn.
func (s *Session) replied(no string, err error) {
	if s.question == nil || s.question.reply == nil {
		return
	}
	s.question.reply(no, err)
	s.state, s.question = Working, nil
}

// dismiss leaves a question unanswered, so that the program can end.
func (s *Session) dismiss() {
	if s.state == Asking {
		s.replied("", errors.New("the conversation was left"))
	}
}

// opening is a session that is not ready for messages.
type opening struct {
	busy  bool
	then  func(ready func())
	lines []string // that were entered meanwhile
}

// Open settles which files of the project may instruct agents, asks about those
// that nobody has decided about, and calls then. Lines that are entered until then
// calls ready are taken up after that, in their order.
func (s *Session) Open(f *request.Flags, then func(ready func())) {
	s.opening = opening{busy: true, then: then}
	s.do(func(ctx context.Context) func() {
		u, err := request.FindUntrusted(ctx, s.e, s.c, f)
		return func() {
			switch {
			case err != nil:
				s.fail(err)
				then(s.ready)
			case u == nil:
				then(s.ready)
			default:
				s.state, s.question = Asking, &asking{files: u, whole: true}
				s.showQuestion(0)
				s.ui.Notify(hint.Program() + ": a question waits")
			}
		}
	})
}

// showFiles shows the files that a question is about; their text with a negative limit, as
// for all questions.
func (s *Session) showFiles(limit int) {
	u := s.question.files
	s.printWith(func(w *kit.Screen) {
		_, _ = w.Write([]byte(w.Paint(kit.Bold, u.Question(s.e)) + "\n")) // a buffer
		u.List(s.e, w, limit < 0)
	})
}

// decide records the answer to a question about files.
func (s *Session) decide(yes bool) {
	u := s.question.files
	s.question = nil
	s.settle()
	s.do(func(ctx context.Context) func() {
		err := u.Decide(ctx, s.c, yes)
		return func() {
			if err != nil {
				s.fail(err)
			}
			s.opening.then(s.ready)
		}
	})
}

// ready takes up what was entered. None of it answers a question that was not on
// the screen.
func (s *Session) ready() {
	o := s.opening
	s.opening = opening{}
	if s.state == Asking && len(o.lines) > 0 {
		s.ui.Edit(strings.Join(o.lines, "\n"))
		return
	}
	for _, l := range o.lines {
		s.Enter(l)
	}
}
