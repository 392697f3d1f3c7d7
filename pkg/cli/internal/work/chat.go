package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/host/catalog"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/chat"
	"github.com/adroit-run/adroit/pkg/cli/internal/chatscreen"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/machine"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/config"
)

// agent is the agent of conversations that name none.
const agent = "chat"

// A chatCommand is adroit chat with its flags.
type chatCommand struct {
	request.Flags
	resume string
	plain  bool
	first  string // message
}

// bare runs the program without a command: a conversation on a terminal, else a sentence
// as the prompt. Its flags are adroit chat's.
func (q *chatCommand) bare(cmd *cobra.Command, e *kit.Env, args []string) error {
	in, _ := terminal(e)
	given, resume := false, cmd.Flags().Changed("continue")
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { given = given || f.Changed })
	switch {
	case len(args) > 0 && !sentence(args[0]) && (len(args) > 1 || resume || kit.Near(cmd, args[0]) != ""):
		return kit.Group(cmd, args)
	case len(args) <= 1 && !given && in == nil && (len(args) == 0 || !sentence(args[0])):
		return q.piped(cmd, e, args)
	case len(args) > 0 && !sentence(args[0]):
		return kit.Group(cmd, args)
	case len(args) > 0 && !resume && !q.plain && !Possible(e):
		run := runCommand{Flags: q.Flags}
		return run.named(cmd.Context(), e, args, cmd.ArgsLenAtDash())
	}
	return q.begin(cmd.Context(), e, args, resume)
}

// piped runs what is piped in as a prompt: alone, or as the data of a word. Without it the word is
// no command.
func (q *chatCommand) piped(cmd *cobra.Command, e *kit.Env, words []string) error {
	run := runCommand{Flags: q.Flags}
	if err := run.ReadPrompt(e, words); err != nil {
		return err
	}
	if run.Prompt == run.Typed() {
		return kit.Group(cmd, words)
	}
	if err := run.ReadAgent(e); err != nil {
		return err
	}
	return run.run(cmd.Context(), e)
}

// begin holds the conversation that the arguments begin.
func (q *chatCommand) begin(ctx context.Context, e *kit.Env, args []string, resume bool) error {
	if q.Target = agent; len(args) > 0 && !sentence(args[0]) {
		q.Target, args = args[0], args[1:]
	}
	if len(args) > 0 {
		if err := q.ReadPrompt(e, args); err != nil {
			return err
		}
		q.first, q.Prompt = q.Prompt, ""
	}
	err := q.run(ctx, e, resume)
	if q.Target != agent && unknownAgent(err) && !near(ctx, e, &q.Flags) {
		words := append([]string{q.Target}, args...)
		err = problem.WithHint(err, problem.Hint(err)+"\n"+hint.Command("chat chat %s", strings.Join(words, " "))+" begins with that message")
	}
	return err
}

// NewChat returns the command adroit chat, and what the program does without a command.
func NewChat(e *kit.Env) (_ *cobra.Command, bare func(*cobra.Command, []string) error) {
	q := new(chatCommand)
	cmd := &cobra.Command{
		Use:   "chat [AGENT] [MESSAGE]",
		Short: "Talk with an agent",
		Long: "Holds a conversation with an agent, in the terminal's normal screen: what is finished stays in its scrollback.\n" +
			"Without AGENT it is with the agent chat, which answers and changes files as it is asked. A first argument with\n" +
			"a space or a letter beyond ASCII is the first message. A conversation is a\n" +
			"job: it is on disk before a message counts as sent, and --continue goes back to it, also after the process was\n" +
			"killed. /help lists the commands and keys.\n\n" +
			"Without a terminal, or with --plain, each line of standard input is a message, a backslash at its end goes on\n" +
			"in the next line, and the conversation is printed to standard output. Behind a MESSAGE what is piped in\n" +
			"is data of that message.\n\n" +
			"Exit codes: 0 left, 2 usage, 3 the last turn of lines was stuck, 4 input ended while a question waits,\n" +
			"130 and 143 stopped by a signal.",
		Example: "  adroit chat -m ollama/qwen3:8b\n  adroit chat \"what does this project do?\"\n  adroit chat --continue\n  echo \"what does this project do?\" | adroit chat",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return q.begin(cmd.Context(), e, args, cmd.Flags().Changed("continue"))
		},
	}
	f := cmd.Flags()
	f.StringVarP(&q.Model, "model", "m", "", "provider/model, or script:FILE (or ADROIT_MODEL)")
	f.StringVar(&q.BaseURL, "base-url", "", "address of the model's server")
	f.StringVarP(&q.Workspace, "dir", "C", ".", "work in this directory")
	f.StringVar((*string)(&q.Mode), "mode", "", "permission mode: plan (read only), edits, or auto (also commands, in a sandbox) (or ADROIT_MODE)")
	f.StringVar((*string)(&q.Approve), "approve", "", "what is approved without asking: ask (nothing), edits, all; none denies what would be asked")
	f.StringVar((*string)(&q.Sandbox), "sandbox", "", "confine commands at this level: auto, full, bubblewrap, landlock, off (or ADROIT_SANDBOX)")
	f.BoolVar(&q.Worktree, "worktree", false, "work in a git worktree of the last commit, on a branch of its own; see jobs merge")
	f.BoolVar(&q.Trust, "trust-project", false, "load this project's agents, skills and AGENTS.md for this conversation")
	f.StringVar(&q.resume, "continue", "", "go back to the conversation of this job; without one, to the newest of this directory")
	f.Lookup("continue").NoOptDefVal = newest
	f.BoolVar(&q.plain, "plain", false, "a line is a message; no keys and no live lines")
	return cmd, func(cmd *cobra.Command, args []string) error { return q.bare(cmd, e, args) }
}

// noModel reports whether a request failed for want of a model.
func noModel(err error) bool {
	e := new(problem.Error)
	return errors.As(err, &e) && e.Code == problem.NoModel
}

// pulled is the model of Ollama that is offered where it has none.
const pulled = "qwen3:8b"

// A modelChoice is a model that the person can choose where none is set up.
type modelChoice struct {
	ref, about string
	prepare    func() error
}

// maxOffered bounds the models of a server that are offered where none is set up.
const maxOffered = 20

// modelChoices are the models in reach, those first that are ready.
func modelChoices(ctx context.Context, e *kit.Env, c adroit.Client) []modelChoice {
	list, err := c.Models(ctx)
	if err != nil {
		return nil
	}
	var ready, others, later []modelChoice
	of := map[string]int{}
	for _, m := range list {
		provider, _, _ := strings.Cut(m.Model, "/")
		switch m.Lacks {
		case "":
			if of[provider]++; of[provider] > maxOffered {
				continue
			}
			ready = append(ready, modelChoice{m.Model, m.Note, func() error { return machine.Keep(e, "model", m.Model) }})
		case adroit.LacksModel:
			others = append(others, modelChoice{provider + "/" + pulled, "fetched first, about 5 GB", func() error { return machine.Pull(ctx, e, c, pulled) }})
		case adroit.LacksServer:
			later = append(later, modelChoice{provider + "/" + pulled, "on this machine; start Ollama first (https://ollama.com)", func() error { return machine.Pull(ctx, e, c, pulled) }})
		case adroit.LacksKey:
			others = append(others, modelChoice{provider, "with a key of yours, which is asked for next", func() error { return machine.Login(ctx, e, provider) }})
		}
	}
	return slices.Concat(ready, others, later)
}

// chooseModel asks at the terminal which of the models in reach is to be used, and keeps the
// answer for later requests. It returns the client that knows it; without an answer the error
// is why, which is what keeps the request from running.
func chooseModel(ctx context.Context, e *kit.Env, c adroit.Client, why error) (adroit.Client, error) {
	if !e.Interactive() || e.Served() {
		return c, why
	}
	choices := modelChoices(ctx, e, c)
	if len(choices) == 0 {
		return c, why
	}
	fmt.Fprintln(e.Err, "no model is set up yet; in reach are:")
	var t kit.Table
	for i, m := range choices {
		t.Row(fmt.Sprintf("%4d", i+1), m.ref, m.about)
	}
	t.Write(e.Err)
	in := kit.NewLineReader(ctx, e.In)
	for {
		fmt.Fprintf(e.Err, "     which one? [1-%d, Enter for none]: ", len(choices))
		word, err := in.ReadLine()
		word = strings.TrimSpace(word)
		if err != nil || word == "" {
			fmt.Fprintln(e.Err)
			return c, why
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(choices) {
			continue
		}
		if err := choices[n-1].prepare(); err != nil {
			return c, err
		}
		if err := e.Reopen(); err != nil {
			return c, err
		}
		return e.Client()
	}
}

// newest is --continue without a job.
const newest = "newest"

func (q *chatCommand) run(ctx context.Context, e *kit.Env, resume bool) error {
	plain := q.plain || !Possible(e)
	if plain {
		if err := request.AskTrust(ctx, e, &q.Flags, true); err != nil {
			return err
		}
	}
	if err := q.Read(e); err != nil {
		return err
	}
	if q.resume == newest {
		q.resume = ""
	}
	c, err := e.Client()
	if err != nil {
		return err
	}
	if e.Interactive() && !resume {
		err := chat.Check(ctx, c, q.Request)
		if noModel(err) {
			if c, err = chooseModel(ctx, e, c, err); err != nil {
				return err
			}
		}
		if unknownAgent(err) && !catalog.Has(q.Dir, configs.AgentsDir+"/"+q.Target+".md") && !catalog.Has(q.Dir, configs.ClaudeAgents+"/"+q.Target+".md") {
			return err // an agent of the project is asked about first
		}
	}
	style := *e.OutScreen()
	if plain {
		return q.linesFrom(ctx, e, c, &style, resume)
	}
	begin := func(s *chat.Session, ready func()) { s.Check(); s.Say(q.Typed(), q.first); ready() }
	if resume {
		d, err := chat.Find(ctx, c, q.resume, q.Dir)
		if err != nil {
			return err
		}
		begin = func(s *chat.Session, ready func()) {
			s.Load(d.Job.ID, func() { s.Say(q.Typed(), q.first); ready() })
		}
	}
	return q.screen(ctx, e, c, &style, func(s *chat.Session) {
		s.Open(&q.Flags, func(ready func()) { begin(s, ready) })
	})
}

// linesFrom holds the conversation as a stream of lines, from where it was left or
// from the beginning.
func (q *chatCommand) linesFrom(ctx context.Context, e *kit.Env, c adroit.Client, style *kit.Screen, resume bool) error {
	begin := func(s *chat.Session) { s.Say(q.Typed(), q.first) }
	if resume {
		past, err := chat.Load(ctx, c, q.resume, q.Dir)
		if err != nil {
			return err
		}
		begin = func(s *chat.Session) { s.Resume(past); s.Say(q.Typed(), q.first) }
	} else if err := chat.Check(ctx, c, q.Request); err != nil {
		return err
	}
	return q.lines(ctx, e, c, style, begin)
}

// Possible reports whether somebody is at a terminal that shows a conversation.
func Possible(e *kit.Env) bool {
	in, _ := terminal(e)
	return in != nil && e.OutScreen().Live
}

// terminal is the terminal that somebody types at, nil if there is none.
func terminal(e *kit.Env) (in, out *os.File) {
	to, ok := e.Out.(*kit.Output)
	if from, isFile := e.In.(*os.File); ok && isFile && e.Interactive() && to.Terminal() != nil {
		return from, to.Terminal()
	}
	return nil, nil
}

// lines holds the conversation as a stream of lines.
func (q *chatCommand) lines(ctx context.Context, e *kit.Env, c adroit.Client, style *kit.Screen, begin func(*chat.Session)) error {
	style.Live = false
	ui := chat.NewPlain(e.In, e.Out, e.Interactive())
	s := chat.New(ctx, e, c, ui, chat.Options{Request: q.Request, Screen: style, Typed: e.Interactive()})
	begin(s)
	err := ui.Run(ctx, s)
	s.Wait()
	return err
}

// screen holds the conversation on a terminal.
func (q *chatCommand) screen(ctx context.Context, e *kit.Env, c adroit.Client, style *kit.Screen, begin func(*chat.Session)) error {
	in, out := terminal(e)
	conf, err := e.Config()
	if err != nil {
		return err
	}
	data, err := e.DataDir()
	if err != nil {
		return err
	}
	style.Writer = io.Discard
	talk, leave := context.WithCancelCause(ctx)
	history := chat.OpenHistory(filepath.Join(data, "chat", "history"), config.Redactor(conf, e.Getenv))
	ui := chatscreen.New(in, out, e.Getenv("TERM"), style, history)
	own := *e
	own.Err = printed{ui, style}
	defer e.Divert(own.Err)()
	s := chat.New(talk, &own, c, ui, chat.Options{Request: q.Request, Screen: style})
	err = ui.Run(ctx, s, func() { begin(s) })
	leave(errLeft)
	s.Wait()
	if s.Job() != "" {
		for _, row := range kit.Wrap(hint.Command("chat --continue %s", s.Job())+" goes on", style.Width()) {
			fmt.Fprintln(e.Out, row)
		}
	}
	if ctx.Err() != nil {
		return kit.Stopped(ctx)
	}
	return err
}

// errLeft is the cause with which leaving the conversation stops a turn in progress.
var errLeft = errors.New("the conversation was left")

// printed prints what is written in place of standard error.
type printed struct {
	ui    chat.UI
	style *kit.Screen
}

func (p printed) Write(b []byte) (int, error) {
	text := strings.TrimSuffix(string(b), "\n")
	p.ui.Post(func() { // who owns the screen knows its width
		var rows []string
		for l := range strings.SplitSeq(text, "\n") {
			rows = append(rows, kit.WrapIndented(l, p.style.Width())...)
		}
		p.ui.Print(strings.Join(rows, "\n") + "\n")
	})
	return len(b), nil
}
