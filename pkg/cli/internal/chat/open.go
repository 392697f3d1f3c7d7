package chat

import (
	"context"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
)

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
