package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/chat"
	"github.com/adroit-run/adroit/pkg/cli/internal/chatscreen"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/config"
)

// agent is whom a conversation is with if none is named.
const agent = "chat"

// A chatCommand is adroit chat with its flags.
type chatCommand struct {
	request.Flags
	resume string
	plain  bool
}

// NewChat returns the command adroit chat.
func NewChat(e *kit.Env) *cobra.Command {
	q := new(chatCommand)
	cmd := &cobra.Command{
		Use:   "chat [AGENT]",
		Short: "Talk with an agent",
		Long: "Holds a conversation with an agent, in the terminal's normal screen: what is finished stays in its scrollback.\n" +
			"Without AGENT it is with the agent chat, which answers and changes files as it is asked. A conversation is a\n" +
			"job: it is on disk before a message counts as sent, and --resume goes back to it, also after the process was\n" +
			"killed. /help lists the commands and keys.\n\n" +
			"Without a terminal, or with --plain, each line of standard input is a message, a backslash at its end goes on\n" +
			"in the next line, and the conversation is printed to standard output.\n\n" +
			"Exit codes: 0 left, 2 usage, 3 the last turn of lines was stuck, 4 input ended while a question waits,\n" +
			"130 and 143 stopped by a signal.",
		Example: "  adroit chat -m ollama/qwen3:8b\n  adroit chat --resume\n  echo \"what does this project do?\" | adroit chat",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Target = agent
			if len(args) == 1 {
				q.Target = args[0]
			}
			return q.run(cmd.Context(), e, cmd.Flags().Changed("resume"))
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
	f.StringVar(&q.resume, "resume", "", "go back to the conversation of this job; without one, to the newest of this directory")
	f.Lookup("resume").NoOptDefVal = newest
	f.BoolVar(&q.plain, "plain", false, "a line is a message; no keys and no live lines")
	return cmd
}

// newest is --resume without a job.
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
	style := *e.OutScreen()
	if plain {
		return q.linesFrom(ctx, e, c, &style, resume)
	}
	begin := func(s *chat.Session, ready func()) { s.Check(); ready() }
	if resume {
		d, err := chat.Find(ctx, c, q.resume, q.Dir)
		if err != nil {
			return err
		}
		begin = func(s *chat.Session, ready func()) { s.Load(d.Job.ID, ready) }
	}
	return q.screen(ctx, e, c, &style, func(s *chat.Session) {
		s.Open(&q.Flags, func(ready func()) { begin(s, ready) })
	})
}

// linesFrom holds the conversation as a stream of lines, from where it was left or
// from the beginning.
func (q *chatCommand) linesFrom(ctx context.Context, e *kit.Env, c adroit.Client, style *kit.Screen, resume bool) error {
	begin := func(*chat.Session) {}
	if resume {
		past, err := chat.Load(ctx, c, q.resume, q.Dir)
		if err != nil {
			return err
		}
		begin = func(s *chat.Session) { s.Resume(past) }
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
	own.Err = printed{ui}
	defer e.Divert(own.Err)()
	s := chat.New(talk, &own, c, ui, chat.Options{Request: q.Request, Screen: style})
	err = ui.Run(ctx, s, func() { begin(s) })
	leave(errLeft)
	s.Wait()
	if s.Job() != "" {
		fmt.Fprintf(e.Out, "%s goes on\n", hint.Command("chat --resume %s", s.Job()))
	}
	if ctx.Err() != nil {
		return kit.Stopped(ctx)
	}
	return err
}

// errLeft is the cause with which leaving the conversation stops a turn in progress.
var errLeft = errors.New("the conversation was left")

// printed prints what is written in place of standard error.
type printed struct{ ui chat.UI }

func (p printed) Write(b []byte) (int, error) {
	p.ui.Print(string(b))
	return len(b), nil
}
