package request

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// previewChars is the number of characters of each argument that are shown at first.
const previewChars = 2000

// ask puts the first of a job's questions to the person at the terminal and
// sends the answer. It reports false if there was none: then the job stays
// parked.
func (s *session) ask(ctx context.Context, questions []jobs.Question) (answered bool, err error) {
	if len(questions) == 0 {
		return false, nil
	}
	q := &questions[0]
	if show.UserQuestion(q) != nil {
		return s.askUser(ctx, q)
	}
	if again, end := signalOf(q, "continue"), signalOf(q, "abort"); again != "" && end != "" {
		return s.escalation(ctx, q, again, end)
	}
	yes, no := signalOf(q, "approve"), signalOf(q, "deny")
	if yes == "" || no == "" {
		return false, nil
	}
	always := show.ToolQuestion(q)
	if always != nil && always.Always == nil {
		always = nil
	}
	d := s.show(ctx, q)
	choices := "run it? [y]es, [n]o, [v]iew all of it: "
	if always != nil {
		for _, row := range kit.WrapIndented("     "+show.Always(always), s.e.Screen().Width()) {
			fmt.Fprintln(s.e.Err, row)
		}
		choices = "run it? [y]es, [a]lways, [n]o, [v]iew all of it: "
		if d.kept = show.Keepable(always); d.kept {
			choices = "run it? [y]es, [a]lways in this job, always in this [p]roject, [n]o, [v]iew all of it: "
		}
	}
	sig := adroit.Signal{}
	switch d.choose(choices, always != nil) {
	case "yes":
		sig.Name = yes
	case "always":
		sig = adroit.Signal{Name: yes, Value: json.RawMessage(`{"always":true}`)}
	case "project":
		sig = adroit.Signal{Name: yes, Value: json.RawMessage(`{"always":true}`), Keep: true}
	case "no":
		sig.Name = no
		if why := d.because(); why != "" {
			if sig.Value, err = json.Marshal(why); err != nil {
				return false, err
			}
		}
	default:
		return false, nil
	}
	return s.send(ctx, q, sig)
}

// escalation asks whether the failed command is to be run again, given up, or repaired by
// the person's instructions.
func (s *session) escalation(ctx context.Context, q *jobs.Question, again, end string) (answered bool, err error) {
	d := s.show(ctx, q)
	fmt.Fprint(s.e.Err, "     [c]ontinue runs it again, [a]bort gives up; or type what the agents should know: ")
	line, err := d.in.ReadLine()
	line = strings.TrimSpace(line)
	if err != nil || line == "" {
		fmt.Fprintln(s.e.Err)
		return false, nil // nobody answers: it stays parked
	}
	sig := adroit.Signal{Name: again}
	switch strings.ToLower(line) {
	case "c", "continue":
	case "a", "abort":
		sig.Name = end
	default:
		if sig.Value, err = json.Marshal(line); err != nil {
			return false, err
		}
	}
	return s.send(ctx, q, sig)
}

// send sends the answer to a question. If somebody else was faster, that answer holds, and
// the job goes on with it.
func (s *session) send(ctx context.Context, q *jobs.Question, sig adroit.Signal) (answered bool, err error) {
	sig.Question, sig.About = q.Path, q.About
	_, err = s.c.Signal(ctx, s.id, sig)
	if e := problem.AsError(err); e != nil && e.Kind == problem.Answered {
		s.e.Warn("%s", e.Message)
		return true, nil
	}
	return err == nil, err
}

// permit asks about something that a model at work is about to do on its own: why
// not, "" for yes.
func (s *session) permit(ctx context.Context, about json.RawMessage) (no string, err error) {
	d := s.show(ctx, &jobs.Question{About: about})
	switch d.choose("may it? [y]es, [n]o, [v]iew all of it: ", false) {
	case "yes":
		return "", nil
	case "no":
		if why := d.because(); why != "" {
			return "denied by a person (" + why + "); find a way without it", nil
		}
		return "denied by a person; find a way without it", nil
	}
	return "", d.err
}

// AskWhy reads the reason for a denial, "" if none is given.
func AskWhy(e *kit.Env, in *kit.LineReader) string {
	fmt.Fprint(e.Err, "     why? the model reads it; empty is no reason: ")
	line, err := in.ReadLine()
	if err != nil {
		fmt.Fprintln(e.Err)
		return ""
	}
	return strings.TrimSpace(line)
}

// A dialog is a question on the terminal.
type dialog struct {
	s     *session
	q     *jobs.Question
	in    *kit.LineReader
	whole bool   // all of it was shown
	kept  bool   // always can also be said of the project
	why   string // the words after no
	err   error  // why there is no answer
}

// show prints a question.
func (s *session) show(ctx context.Context, q *jobs.Question) *dialog {
	d := &dialog{s: s, q: q, in: kit.NewLineReader(ctx, s.e.In)}
	d.print(previewChars)
	return d
}

func (d *dialog) print(characters int) {
	var text string
	text, d.whole = show.Question(d.q, characters, d.s.e.Screen().Width())
	fmt.Fprint(d.s.e.Err, show.PaintQuestion(d.s.e.Screen(), text))
}

// choose reads yes, no, always or project, "" if no answer comes. Nobody says yes to what
// was shown in part.
func (d *dialog) choose(choices string, always bool) string {
	for {
		fmt.Fprint(d.s.e.Err, "     "+choices)
		line, err := d.in.ReadLine()
		if err != nil {
			fmt.Fprintln(d.s.e.Err)
			d.err = err
			return ""
		}
		word, why := kit.Reply(line)
		switch {
		case word == "view":
			d.print(-1)
		case word == "no":
			d.why = why
			return word
		case word != "yes" && (word != "always" && (word != "project" || !d.kept) || !always):
			d.explain(always)
		case !d.whole:
			fmt.Fprintln(d.s.e.Err, "     only a part of it was shown; v shows the rest")
		default:
			return word
		}
	}
}

// because is the reason for a denial: the words after no, or else what is asked for.
func (d *dialog) because() string {
	if d.why != "" {
		return d.why
	}
	return AskWhy(d.s.e, d.in)
}

// explain prints the effect of each answer.
func (d *dialog) explain(always bool) {
	text := "     y runs it, this once\n"
	if always {
		text += "     a runs it, and what that rule allows, until the job ends\n"
	}
	if d.kept {
		text += "     p likewise, and in later jobs of this project, too\n"
	}
	fmt.Fprint(d.s.e.Err, text+"     n or n WHY does not; the model reads why\n     v shows all of it; Ctrl+C leaves the job, and "+hint.Command("answer approve %s", d.s.id)+" or deny answers later\n")
}

// signalOf is the full name of a signal that q waits for, "" if it does not.
func signalOf(q *jobs.Question, name string) string {
	for _, s := range q.Signals {
		if s == name || show.SignalName(s) == name {
			return s
		}
	}
	return ""
}

// askUser puts what a tool asks to the person at the terminal, field by field, and
// sends the answer. Nothing that is typed is sent before a yes.
func (s *session) askUser(ctx context.Context, q *jobs.Question) (answered bool, err error) {
	d := s.show(ctx, q)
	fields, answer := show.Fields(q), map[string]json.RawMessage{}
	for _, f := range fields {
		fmt.Fprintf(s.e.Err, "     %s: ", show.Quote(kit.SanitizeLine(f.Name)))
		line, err := d.in.ReadLine()
		if err != nil {
			fmt.Fprintln(s.e.Err)
			return false, nil
		}
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "" && !f.Required:
		case f.Text || !json.Valid([]byte(line)):
			if answer[f.Name], err = json.Marshal(line); err != nil {
				return false, err
			}
		default:
			answer[f.Name] = json.RawMessage(line)
		}
	}
	sig := adroit.Signal{}
	switch d.choose("send it? [y]es, [n]o: ", false) {
	case "yes":
		sig.Name = signalOf(q, "answer")
		if len(fields) > 0 {
			if sig.Value, err = json.Marshal(answer); err != nil {
				return false, err
			}
		}
	case "no":
		sig.Name = signalOf(q, "decline")
	default:
		return false, nil
	}
	return s.send(ctx, q, sig)
}
