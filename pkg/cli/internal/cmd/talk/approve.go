package talk

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/attach"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/format"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// An answer is how adroit approve and adroit deny go on.
type answer struct {
	attach.Options
	detach, always bool
	because        string
}

// NewApprove is adroit approve.
func NewApprove(e *env.Env) *cobra.Command {
	var a answer
	cmd := &cobra.Command{
		Use:   "approve [JOB]",
		Short: "Approve what a job waits for, and continue it",
		Long: "Approves the call that a waiting job asks about, shows it once more, and goes on\n" +
			"with the job in the foreground. Without JOB it is the one that waits in this\n" +
			"directory. --always also lets later calls run in this job, by the rule that the\n" +
			"question shows; adroit jobs show shows the question.",
		Example: "  adroit approve\n  adroit approve J4K2 --always",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), e, "approve", args)
		},
	}
	a.flags(cmd)
	cmd.Flags().BoolVar(&a.always, "always", false, "for the rest of the job, by the rule that the question shows")
	return cmd
}

// NewDeny is adroit deny.
func NewDeny(e *env.Env) *cobra.Command {
	var a answer
	cmd := &cobra.Command{
		Use:   "deny [JOB] [WHY]",
		Short: "Deny what a job waits for, and continue it",
		Long: "Denies the call that a waiting job asks about, and goes on with the job in the\n" +
			"foreground. WHY, or --because, goes to the model; at a terminal it is asked for.\n" +
			"Without JOB it is the one that waits in this directory.",
		Example: "  adroit deny \"use the make target instead\"\n  adroit deny J4K2 --because \"not in this directory\"",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), e, "deny", args)
		},
	}
	a.flags(cmd)
	cmd.Flags().StringVar(&a.because, "because", "", "why, for the model")
	return cmd
}

func (a *answer) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&a.JSON, "json", false, "print events as JSON, one a line")
	f.BoolVarP(&a.detach, "detach", "d", false, "go on in the background")
}

func (a *answer) run(ctx context.Context, e *env.Env, name string, args []string) error {
	c, err := e.Client()
	if err != nil {
		return err
	}
	id, words, err := a.job(ctx, c, name, args)
	if err != nil {
		return err
	}
	d, err := c.Job(ctx, id)
	if err != nil {
		return err
	}
	s, err := a.signal(ctx, e, d, name, strings.Join(words, " "))
	if err != nil {
		return err
	}
	if _, err := c.Signal(ctx, id, s); err != nil {
		return err
	}
	if d.Job.Status == jobs.Running {
		fmt.Fprintf(e.Err, "%s goes on where it runs    adroit jobs logs %s -f\n", id, id)
		return nil
	}
	if a.detach {
		return attach.Detach(ctx, e, c, id, adroit.StartOptions{})
	}
	return attach.Run(ctx, e, c, id, a.Options)
}

// job finds the job that is meant and what is left of the arguments: a job by its
// id, or the one that waits in this directory.
func (a *answer) job(ctx context.Context, c adroit.Client, name string, args []string) (id string, rest []string, err error) {
	if len(args) > 0 && (name == "approve" || len(args[0]) >= minReference && reference.MatchString(args[0])) {
		d, err := c.Job(ctx, args[0])
		if err == nil {
			return d.Job.ID, args[1:], nil
		}
		if name == "approve" || len(args[0]) == len("J-------------") {
			return "", nil, err
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", nil, err
	}
	list, err := c.Jobs(ctx, adroit.ListOptions{Dir: dir, Status: []jobs.Status{jobs.Waiting}})
	if err != nil {
		return "", nil, err
	}
	switch len(list) {
	case 1:
		return list[0].ID, args, nil
	case 0:
		return "", nil, exit.Usagef("adroit jobs --all --status waiting lists those of other directories", "no job waits for a person in this directory")
	}
	var lines []string
	for _, j := range list {
		d, err := c.Job(ctx, j.ID)
		if err != nil {
			return "", nil, err
		}
		line := "adroit " + name + " " + j.ID + "  "
		if len(d.Questions) > 0 {
			line += render.QuestionLine(&d.Questions[0])
		} else {
			line += "has its answer"
		}
		lines = append(lines, line)
	}
	return "", nil, exit.Usagef(strings.Join(lines, "\n"), "%d jobs wait in this directory: name one", len(list))
}

// signal is the answer to what the job asks now, which is shown.
func (a *answer) signal(ctx context.Context, e *env.Env, d *adroit.JobDetail, name, words string) (adroit.Signal, error) {
	s := adroit.Signal{Name: name}
	if len(d.Questions) == 0 && name == "answer" {
		return s, exit.Usagef("adroit jobs resume "+d.Job.ID+" goes on", "%s asks nothing now, or has its answer already", d.Job.ID)
	}
	if len(d.Questions) == 0 {
		return s, nil // the client says why there is nothing to answer
	}
	q := &d.Questions[0]
	text, _ := render.Question(q, -1)
	fmt.Fprint(e.Err, render.PaintQuestion(e.Screen(), text))
	if name == "answer" || asks(q, "continue") {
		return inWords(q, name, strings.TrimSpace(words+" "+a.because))
	}
	var err error
	switch tool := render.ToolQuestion(q); {
	case a.always && (tool == nil || tool.Always == nil):
		return s, exit.Usagef("adroit approve "+d.Job.ID+" approves this once", "this question offers no rule to hold for the rest of the job")
	case a.always:
		fmt.Fprintf(e.Err, "     always, in this job only: %s\n", render.Quote(format.SanitizeLine(tool.Always.String())))
		s.Value = json.RawMessage(`{"always":true}`)
	case name == "deny":
		if a.because != "" {
			words = strings.TrimSpace(words + " " + a.because)
		}
		if words == "" && e.Interactive() {
			words = attach.AskWhy(e, term.NewLineReader(ctx, e.In))
		}
		if words != "" {
			s.Value, err = json.Marshal(words)
		}
	}
	return s, err
}
