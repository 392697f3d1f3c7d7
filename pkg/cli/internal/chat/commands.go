package chat

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/executor"
)

// A command is the handler of a line with a slash.
type command struct {
	name, args, about string
	do                func(s *Session, args string)
}

// commands lists all commands, in the order of /help. Templates come behind them.
func commands() []command {
	return []command{
		{"help", "", "list the commands and keys", (*Session).help},
		{"model", "[NAME]", "list the models, or go on with another", (*Session).setModel},
		{"agent", "[NAME]", "list the agents, or have another go on from here", (*Session).setAgent},
		{"mode", "[MODE]", "show the permission mode, or set it from the next message on: plan, edits, auto", (*Session).setMode},
		{"new", "", "begin a new conversation with your next message", func(s *Session, _ string) { s.startOver("a new conversation begins with your next message") }},
		{"resume", "[JOB]", "go to another conversation: words find it, without any it is the last", (*Session).resumeOther},
		{"fork", "[NUMBER]", "list your messages, or begin a conversation from before one of them", (*Session).fork},
		{"undo", "[all]", "show what the last turn changed in files, and take it back if you agree; all: every turn", (*Session).undo},
		{"diff", "", "show what the conversation changed in files", (*Session).diff},
		{"cost", "", "show what the conversation has used", (*Session).cost},
		{"context", "", "show what fills the context window", (*Session).context},
		{"copy", "[code]", "copy the last answer, or its last block of code, to the clipboard", (*Session).copy},
		{"export", "[FILE]", "write the conversation to a file, as Markdown", (*Session).export},
		{"editor", "[WORDS]", "write the message in your editor, of VISUAL or EDITOR", (*Session).editor},
		{"compact", "", "have notes take the place of the earlier turns", (*Session).compact},
		{"jobs", "", "list the jobs of this directory", (*Session).jobs},
		{"unfold", "", "print the last tool call or thought whole; again, the one before", func(s *Session, _ string) { s.Unfold() }},
		{"quit", "", "leave; the conversation can be resumed", func(s *Session, _ string) { s.Quit() }},
	}
}

// command runs a line with a slash.
func (s *Session) command(line string) {
	name, args := commandName(line)
	all := commands()
	if i := slices.IndexFunc(all, func(c command) bool { return c.name == name }); i >= 0 {
		all[i].do(s, args)
		return
	}
	switch name { // as other programs have them
	case "exit", "q":
		s.Quit()
		return
	case "clear", "reset":
		s.command("/new")
		return
	}
	s.withTemplates(func(list []template, err error) {
		if err != nil {
			s.fail(err)
		}
		if i := slices.IndexFunc(list, func(t template) bool { return t.name == name }); i >= 0 {
			if t := list[i]; t.untrusted != "" {
				s.say(kit.Red, "/%s is not used: %s is not trusted", kit.SanitizeLine(t.name), kit.SanitizeLine(t.untrusted))
				s.say(kit.Dim, "%s shows and trusts what is there", hint.Command("config trust"))
			} else {
				s.send(t.expand(args))
			}
			return
		}
		server, prompt, ok := strings.Cut(name, "/")
		switch {
		case isPath(name), isFile(name):
			s.send(line)
		case ok:
			s.serverPrompt(server, prompt, args, line)
		default:
			s.unknown(name, list)
		}
	})
}

// isPath reports whether the first word of a line, behind its slash, can be no
// command: none has a second slash after its server's.
func isPath(name string) bool {
	return name == "" || strings.HasPrefix(name, "/") || strings.Count(name, "/") > 1
}

// isFile reports whether there is a file of this name, which an error message may
// begin with.
func isFile(name string) bool {
	_, err := os.Lstat("/" + name)
	return err == nil
}

// commandName is the first word of a line behind its slash, and what follows it.
func commandName(line string) (name, args string) {
	name = strings.TrimPrefix(line, "/")
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 {
		return name[:i], strings.TrimSpace(name[i:])
	}
	return name, ""
}

// unknown reports that there is no such command.
func (s *Session) unknown(name string, list []template) {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	for _, t := range list {
		names = append(names, t.name)
	}
	help := "/help lists the commands; a message that begins with a slash needs a blank before it"
	if n := spelling.Nearest(name, names); n != "" {
		help = fmt.Sprintf("did you mean /%s? %s", n, help)
	}
	s.say(kit.Red, "unknown command /%s", name)
	s.say(kit.Dim, "%s", help)
}

// named are the commands that begin with prefix, with what they do.
func (s *Session) named(prefix string, list []template) (found []Choice) {
	for _, c := range commands() {
		if strings.HasPrefix(c.name, prefix) {
			found = append(found, Choice{"/" + c.name, c.about})
		}
	}
	for _, t := range list {
		if strings.HasPrefix(t.name, prefix) {
			found = append(found, Choice{"/" + t.name, t.about})
		}
	}
	for _, p := range s.prompts.list {
		if strings.HasPrefix(p.name, prefix) {
			found = append(found, Choice{"/" + p.name, p.about})
		}
	}
	return found[:min(len(found), maxChoices)]
}

func (s *Session) help(string) {
	s.withTemplates(func(list []template, err error) {
		if err != nil {
			s.fail(err)
		}
		dir := s.Dir
		s.call(func(context.Context) (func(w *kit.Screen), error) {
			prompts := s.readServerPrompts(dir)
			return func(w *kit.Screen) { s.list(w, list, prompts) }, nil
		})
	})
}

// list prints what can be typed.
func (s *Session) list(w *kit.Screen, list []template, prompts []serverPrompt) {
	var t kit.Table
	for _, c := range commands() {
		t.Row(strings.TrimSpace("/"+c.name+" "+c.args), c.about)
	}
	for _, c := range list {
		t.Row("/"+kit.SanitizeLine(c.name)+" [WORDS]", kit.SanitizeLine(c.about))
	}
	for _, p := range prompts {
		t.Row("/"+kit.SanitizeLine(p.name)+" "+kit.SanitizeLine(strings.Join(p.args, " ")), kit.SanitizeLine(p.about))
	}
	t.Row("!COMMAND", "run a command in the sandbox; the next message has its output")
	t.Row("@FILE", "a file that the message is about")
	for _, k := range s.keys() {
		t.Row(k[0], k[1])
	}
	t.Write(w)
}

// keys lists the keys and their effects. A stream of lines has none but the backslash.
func (s *Session) keys() [][2]string {
	if !s.Screen.Live {
		return [][2]string{{`\ at the end`, "the message goes on in the next line"}}
	}
	return [][2]string{
		{"Enter", "send; during a turn it is read at the model's next request"},
		{"Tab", "complete; during a turn queue the message for its end"},
		{"Shift+Tab", "the next permission mode: plan, edits, auto"},
		{`Alt+Enter Ctrl+J \`, "a new line"}, {"Up Down", "earlier messages; Up takes a queued one back"},
		{"Ctrl+R", "find an earlier message"}, {"Ctrl+V", "attach the picture in the clipboard"}, {"Esc", "interrupt the turn"}, {"Ctrl+O", "show the call or thought whole, or the question; again folds it back"},
		{"Ctrl+C", "clear the line, or interrupt; twice leaves"}, {"Ctrl+D", "leave"}, {"Ctrl+Z", "suspend"},
	}
}

// printWith prints what f writes.
func (s *Session) printWith(f func(w *kit.Screen)) {
	var b strings.Builder
	w := *s.Screen
	w.Writer = &b
	f(&w)
	if b.Len() > 0 {
		s.ui.Print(strings.TrimSuffix(b.String(), "\n") + "\n")
	}
}

// between reports whether no turn is in progress, which a command needs.
func (s *Session) between(what string) bool {
	if s.state == Idle {
		return true
	}
	s.say(kit.Red, "%s needs the turn to have ended; Esc interrupts it", what)
	return false
}

// startOver leaves the conversation: the next message begins another.
func (s *Session) startOver(words string) {
	if !s.between("that") {
		return
	}
	if s.job != "" {
		words += "; " + hint.Command("chat --continue %s", s.job) + " goes back"
	}
	s.input.mode = s.Mode()
	s.turn, s.input.notes, s.input.stopped, s.with = turn{}, nil, "", nil
	s.view = show.NewFeed(s.Screen, s.e.Rate())
	s.say(kit.Dim, "%s", words)
}

func (s *Session) setModel(name string) {
	if name != "" {
		if s.between("/model") {
			r := s.Request
			r.Model, r.ForAll = request.Script(name), true
			provider, _, _ := strings.Cut(s.With()[1], "/")
			s.change(r, func(ctx context.Context, r *adroit.Request) error { return s.findModel(ctx, r, provider) }, func(r adroit.Request) {
				s.Request.Model, s.ForAll, s.with = r.Model, true, nil
				if s.input.model = ""; s.job != "" {
					s.input.model = r.Model
				}
				s.say(kit.Dim, "%s is asked from your next message on", r.Model)
				s.Check() // which window it has
			})
		}
		return
	}
	s.call(func(ctx context.Context) (func(w *kit.Screen), error) {
		list, err := s.c.Models(ctx)
		return func(w *kit.Screen) {
			var t kit.Table
			for _, m := range list {
				t.Row(m.Model, m.Note)
			}
			t.Write(w)
			if now := s.Request.Model; now != "" {
				fmt.Fprintln(w, kit.SanitizeLine("in use: "+now))
			}
		}, err
	})
}

// findModel checks that a job can begin with the model of r. Words that are no model are the first
// listed one that has them, as completion shows it, but the provider in use comes first.
func (s *Session) findModel(ctx context.Context, r *adroit.Request, provider string) error {
	err := Check(ctx, s.c, *r)
	if err == nil || strings.Contains(r.Model, "/") {
		return err
	}
	here := *r
	here.Model = provider + "/" + r.Model
	found := filter(s.models.list(ctx, s.c), r.Model)
	if len(found) > 0 && !slices.ContainsFunc(found, func(c Choice) bool { return c.Text == here.Model }) {
		here.Model = found[0].Text
	}
	switch {
	case len(found) == 0 && (provider == "" || strings.Contains(r.Model+provider, ":")), Check(ctx, s.c, here) != nil:
		return err
	case len(found) > 0:
		*r = here
		return nil
	}
	e := *problem.AsError(err)
	e.Hint = "did you mean " + here.Model + "?"
	return &e
}

func (s *Session) setAgent(name string) {
	if name == "" {
		in := adroit.Scope{Dir: s.Dir, Trust: s.Trust}
		s.call(func(ctx context.Context) (func(w *kit.Screen), error) {
			list, err := s.c.Agents(ctx, in)
			if err != nil {
				return nil, err
			}
			var t kit.Table
			for _, a := range list.Items {
				t.Row(a.Name, kit.FirstSentence(a.Description))
			}
			return func(w *kit.Screen) { t.Fit(w.Width()); t.Write(w) }, nil
		})
		return
	}
	if s.between("/agent") {
		r := s.Request
		r.Target = name
		s.change(r, s.findAgent, func(r adroit.Request) {
			name = r.Target
			s.Target = name
			if s.job == "" {
				s.startOver("agent " + name + ": a new conversation begins with your next message")
				return
			}
			s.branch(0, "agent "+name+": it goes on with your next message, in a conversation of its own with all that was said")
		})
	}
}

// findAgent checks that a job can begin with the agent of r. Words that are no agent are the first
// one that has them, as completion shows it.
func (s *Session) findAgent(ctx context.Context, r *adroit.Request) error {
	err := Check(ctx, s.c, *r)
	if err != nil && problem.AsError(err).Code == problem.UnknownAgent {
		if found := s.agentsWith(ctx, adroit.Scope{Dir: r.Dir, Trust: r.Trust}, r.Target); len(found) > 0 {
			r.Target = found[0].Text
			return Check(ctx, s.c, *r)
		}
	}
	return err
}

// branch has the next message begin a conversation of its own that has what was said up to the
// end of a turn of the transcript; 0 is the last one.
func (s *Session) branch(turn int, words string) {
	id := s.job
	s.opening = opening{busy: true}
	s.do(func(ctx context.Context) func() {
		t, err := s.c.Transcript(ctx, id)
		return func() {
			if err != nil {
				s.fail(err)
			} else {
				s.startOver(words)
				if n := cmp.Or(turn, t.Last()); n > 0 {
					s.from = &origin{id, n}
				}
			}
			s.ready()
		}
	})
}

// change uses what a command sets if a job can begin with it, as find completes it; what is
// entered meanwhile waits.
func (s *Session) change(r adroit.Request, find func(context.Context, *adroit.Request) error, use func(adroit.Request)) {
	s.opening = opening{busy: true}
	s.do(func(ctx context.Context) func() {
		err := find(ctx, &r)
		return func() {
			if err != nil {
				s.fail(err)
			} else {
				use(r)
			}
			s.ready()
		}
	})
}

func (s *Session) setMode(mode string) {
	m := executor.Mode(mode)
	if i := slices.IndexFunc(executor.Modes, func(m executor.Mode) bool { return strings.HasPrefix(string(m), mode) }); i >= 0 && mode != "" {
		m = executor.Modes[i]
	}
	switch {
	case mode == "":
		s.say(kit.Plain, "mode: %s", s.Mode())
	case !slices.Contains(executor.Modes, m):
		s.say(kit.Red, "the modes are plan (read only), edits, and auto (also commands, in a sandbox)")
	default:
		s.input.mode = m
		s.say(kit.Dim, "mode %s from your next message on", m)
	}
}

// call makes a call of the client and prints what it returns.
func (s *Session) call(work func(ctx context.Context) (func(w *kit.Screen), error)) {
	s.do(func(ctx context.Context) func() {
		show, err := work(ctx)
		return func() {
			if err != nil {
				s.fail(err)
			} else if show != nil {
				s.printWith(show)
			}
		}
	})
}

// begun reports whether there is a conversation, which a command needs.
func (s *Session) begun() bool {
	if s.job == "" {
		s.say(kit.Dim, "the conversation has not begun")
	}
	return s.job != ""
}

func (s *Session) diff(string) {
	if !s.begun() {
		return
	}
	id := s.job
	s.call(func(ctx context.Context) (func(w *kit.Screen), error) {
		d, err := s.c.Diff(ctx, id, adroit.Selection{})
		if err != nil {
			return nil, err
		}
		return func(w *kit.Screen) {
			show.Diff(w, kit.Sanitize(d.Diff)) // to be read, also where it goes into a file
			show.Refs(w, d)
			show.Dirs(w, d.Dirs)
			if !show.Uncertain(w, d.Changes) && d.Diff == "" && len(d.Refs)+len(d.Dirs) == 0 {
				fmt.Fprintln(w, "nothing was changed")
			}
			for _, r := range d.Incomplete {
				words(w, kit.Red, "incomplete: "+r)
			}
		}, nil
	})
}

// undo is /undo: it shows what the last turn changed, or all turns, and takes it back if the
// person agrees.
func (s *Session) undo(args string) {
	if args != "" && args != "all" {
		s.say(kit.Red, "/undo takes back the last turn, /undo all every turn")
		return
	}
	if !s.begun() || !s.between("/undo") {
		return
	}
	id, turn := s.job, s.steps.paths
	s.call(func(ctx context.Context) (func(w *kit.Screen), error) {
		d, err := s.c.Job(ctx, id)
		if err != nil {
			return nil, err
		}
		var sel adroit.Selection
		if args == "" {
			of := func(step string) bool {
				return slices.ContainsFunc(turn, func(p string) bool { return step == p || strings.HasPrefix(step, p+".") })
			}
			i := slices.IndexFunc(d.Changes.Steps, of)
			if i < 0 {
				return func(w *kit.Screen) {
					words(w, kit.Plain, "the last turn changed no files; /undo all takes back what the conversation changed")
				}, nil
			}
			sel.From = d.Changes.Steps[i]
		}
		diff, err := s.c.Diff(ctx, id, sel)
		if err != nil {
			return nil, err
		}
		return func(w *kit.Screen) {
			if s.state != Idle || s.question != nil {
				words(w, kit.Plain, "a turn has begun meanwhile; /undo again when it has ended")
				return
			}
			show.Diff(w, kit.Sanitize(diff.Diff))
			show.Refs(w, diff)
			show.Dirs(w, diff.Dirs)
			if !show.Uncertain(w, diff.Changes) && diff.Diff == "" && len(diff.Refs)+len(diff.Dirs) == 0 {
				fmt.Fprintln(w, "there is nothing to take back")
				return
			}
			s.state, s.question = Asking, &asking{whole: true, confirm: func() { s.takeBack(id, sel) }}
			words(w, kit.Bold, "take these changes back? "+s.Choices())
		}, nil
	})
}

// takeBack undoes changes that the person has seen.
func (s *Session) takeBack(id string, sel adroit.Selection) {
	s.call(func(ctx context.Context) (func(w *kit.Screen), error) {
		r, err := s.c.Undo(ctx, id, sel)
		if err != nil {
			return nil, err
		}
		return func(w *kit.Screen) {
			show.Undo(w, w, r)
			show.CommitsKept(w, r.Commits)
			for _, why := range r.Incomplete {
				words(w, kit.Red, "incomplete: "+why)
			}
			switch {
			case r.Step == "":
			case sel.From == "":
				s.note("(I took back the changes to files that you made so far.)")
			default:
				s.note("(I took back the changes to files that you made in your last turn.)")
			}
		}, nil
	})
}

func (s *Session) cost(string) {
	if !s.begun() {
		return
	}
	id := s.job
	s.call(func(ctx context.Context) (func(w *kit.Screen), error) {
		d, err := s.c.Job(ctx, id)
		if err != nil {
			return nil, err
		}
		return func(w *kit.Screen) { show.Usage(w, d) }, nil
	})
}

func (s *Session) jobs(string) {
	o := adroit.ListOptions{Dir: s.Dir, Limit: 20}
	s.call(func(ctx context.Context) (func(w *kit.Screen), error) {
		list, err := s.c.Jobs(ctx, o)
		if err != nil {
			return nil, err
		}
		return func(w *kit.Screen) {
			show.Jobs(w, list, s.e.Now(), nil)
			if len(list) == 0 {
				fmt.Fprintln(w, "no jobs yet")
			}
		}, nil
	})
}

// Quit leaves: a turn in progress is stopped, and can be resumed.
func (s *Session) Quit() {
	s.dismiss()
	s.ui.Quit()
}
