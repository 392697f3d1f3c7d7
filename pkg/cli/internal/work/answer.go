package work

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/spf13/cobra"
)

// A talkAnswer is an answer to a job's question, with the flags of adroit answer approve and
// deny.
type talkAnswer struct {
	request.Options
	detach, always    bool
	because, question string
}

// NewAnswer is adroit answer.
func NewAnswer(e *kit.Env) *cobra.Command {
	var a talkAnswer
	cmd := &cobra.Command{
		Use:   "answer [JOB] WORDS",
		Short: "Answer a job's question, and continue it",
		Long: "Answers the question of a waiting job in words, and goes on with the job in the\n" +
			"foreground. Where adroit fix asks, continue runs the command again, abort gives\n" +
			"up, and other words go to the agents that repair. A JSON object or list is sent as\n" +
			"such. Without JOB it is the one that waits in this directory.",
		Example: "  adroit answer approve\n  adroit answer J4K2 \"the port is 8081 now\"",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), e, "answer", args)
		},
	}
	a.flags(cmd)
	return cmd
}

// asks reports whether a question waits for a signal.
func asks(q *jobs.Question, name string) bool {
	return slices.ContainsFunc(q.Signals, func(s string) bool { return show.SignalName(s) == name })
}

// fullName is the name of a question's signal with the step that it is for.
func fullName(q *jobs.Question, name string) string {
	if i := slices.IndexFunc(q.Signals, func(s string) bool { return show.SignalName(s) == name }); i >= 0 {
		return q.Signals[i]
	}
	return name
}

// wordsSignal returns the signal that answers a question in words: approve and deny mean
// continue and abort where a coordinator asks.
func wordsSignal(q *jobs.Question, name, words string) (s adroit.Signal, err error) {
	switch {
	case asks(q, "approve"):
		return s, kit.Usagef(hint.Command("answer approve")+", or "+hint.Command("answer deny WHY"), "this question takes no words")
	case asks(q, "continue"):
		s.Name = "continue"
		switch {
		case words == "abort":
			s.Name, words = "abort", ""
		case name == "deny":
			s.Name = "abort"
		case words == "continue":
			words = ""
		}
	case len(q.Signals) == 1:
		s.Name = show.SignalName(q.Signals[0])
		if structured(words) {
			s.Value, words = json.RawMessage(words), ""
		}
	case asks(q, "answer") && words == "decline":
		s.Name, words = "decline", ""
	case asks(q, "answer"): // a form; the value of its only field may be sent alone
		fields := show.Fields(q)
		if s.Name = "answer"; structured(words) || json.Valid([]byte(words)) && (len(fields) != 1 || !fields[0].Text) {
			s.Value, words = json.RawMessage(words), ""
		}
	default:
		i := slices.IndexFunc(q.Signals, func(one string) bool { return show.SignalName(one) == words })
		if i < 0 {
			return s, kit.Usagef("it is one of "+strings.Join(q.Signals, ", "), "the job does not wait for %q", words)
		}
		s.Name, words = words, ""
	}
	if words != "" {
		s.Value, err = json.Marshal(words)
	}
	return s, err
}

// structured reports whether words are a JSON object or list, which is sent as such.
func structured(words string) bool {
	return (strings.HasPrefix(words, "{") || strings.HasPrefix(words, "[")) && json.Valid([]byte(words))
}

func (a *talkAnswer) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&a.JSON, "json", false, "print events as JSON, one a line")
	f.StringVar(&a.question, "question", "", "only if this is what the job asks: the question as adroit jobs show names it")
	f.BoolVarP(&a.detach, "detach", "d", false, "go on in the background")
}

func (a *talkAnswer) run(ctx context.Context, e *kit.Env, name string, args []string) error {
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
	s, q, err := a.signal(ctx, e, d, name, strings.Join(words, " "))
	if err != nil {
		return err
	}
	if q != nil {
		s.Question, s.About = q.Path, q.About
	}
	if _, err := c.Signal(ctx, id, s); err != nil {
		return err
	}
	if d.Job.Status == jobs.Running {
		fmt.Fprintf(e.Err, "%s goes on where it runs    %s\n", id, hint.Command("jobs logs %s -f", id))
		return nil
	}
	if a.detach {
		return request.Detach(ctx, e, c, id, adroit.StartOptions{})
	}
	return request.Run(ctx, e, c, id, a.Options)
}

// job finds the job that is meant and what is left of the arguments: a job by its
// id, or the one that waits in this directory.
func (a *talkAnswer) job(ctx context.Context, c adroit.Client, name string, args []string) (id string, rest []string, err error) {
	if len(args) > 0 && (name == "approve" || len(args[0]) >= minReference && reference.MatchString(args[0])) {
		d, err := named(ctx, c, args[0])
		if err == nil {
			return d.Job.ID, args[1:], nil
		}
		if name == "approve" || len(args[0]) == len("J-------------") {
			return "", nil, err
		}
	}
	dir, err := kit.Current()
	if err != nil {
		return "", nil, err
	}
	list, err := c.Jobs(ctx, adroit.ListOptions{Dir: dir, Here: true, Status: []jobs.Status{jobs.Waiting}})
	if err != nil {
		return "", nil, err
	}
	switch len(list) {
	case 1:
		return list[0].ID, args, nil
	case 0:
		return "", nil, kit.Usagef(hint.Command("jobs --all --status waiting")+" lists those of other directories", "no job waits for a person in this directory")
	}
	var lines []string
	const most = 10
	for _, j := range list[:min(len(list), most)] {
		d, err := c.Job(ctx, j.ID)
		if err != nil {
			return "", nil, err
		}
		line := hint.Command("continue %s", j.ID) + "  has its answer"
		if len(d.Questions) > 0 && len(d.Questions[0].Signals) > 0 {
			q, path := &d.Questions[0], ""
			if len(d.Questions) > 1 {
				path = q.Path
			}
			line = show.Answers(j.ID, q.Signals[0], path) + "  " + show.QuestionLine(q)
		}
		lines = append(lines, line)
	}
	if len(list) > most {
		lines = append(lines, hint.Command("jobs --all --status waiting")+"  lists more")
	}
	return "", nil, kit.Usagef(strings.Join(lines, "\n"), "%d jobs wait in this directory: name one", len(list))
}

// signal is the answer to what the job asks now, which is shown.
func (a *talkAnswer) signal(ctx context.Context, e *kit.Env, d *adroit.JobDetail, name, words string) (s adroit.Signal, q *jobs.Question, err error) {
	s.Name = name
	if len(d.Questions) == 0 && name == "answer" && d.Job.Status.Final() {
		return s, nil, &problem.Error{Kind: problem.Answered, Message: fmt.Sprintf("%s asks nothing: it is %s", d.Job.ID, d.Job.Status.Words()), Hint: hint.Command("jobs show %s", d.Job.ID) + " shows how it ended"}
	}
	if len(d.Questions) == 0 && name == "answer" {
		return s, nil, &problem.Error{Kind: problem.Answered, Message: d.Job.ID + " asks nothing now, or has its answer already", Hint: hint.Command("continue %s", d.Job.ID) + " goes on"}
	}
	if len(d.Questions) == 0 {
		return s, nil, nil // the client says why there is nothing to answer
	}
	q = &d.Questions[0]
	if a.question != "" {
		i := slices.IndexFunc(d.Questions, func(q jobs.Question) bool { return q.Path == a.question })
		if i < 0 {
			return s, nil, &problem.Error{Kind: problem.Answered, Message: fmt.Sprintf("%s does not ask the question %s now; nothing is answered", d.Job.ID, a.question), Hint: hint.Command("jobs show %s", d.Job.ID) + " shows what it asks"}
		}
		q = &d.Questions[i]
	} else if len(d.Questions) > 1 {
		// Which of them was shown is not known here.
		return s, nil, kit.Usagef(strings.Join(show.Asked(d), "\n"), "%s asks %d questions; nothing is answered: --question says which", d.Job.ID, len(d.Questions))
	}
	if name == "answer" && asks(q, "approve") {
		switch answer, why := kit.Reply(words); answer {
		case "yes":
			name, words = "approve", ""
		case "no":
			name, words = "deny", why
		}
	}
	// The answer is for the question that is shown here, and for no later one.
	s.Name = fullName(q, name)
	text, _ := show.Question(q, -1, e.Screen().Width())
	fmt.Fprint(e.Err, show.PaintQuestion(e.Screen(), text))
	if name == "answer" && strings.TrimSpace(words+a.because) == "" {
		return s, nil, kit.Usagef(show.Answers(d.Job.ID, q.Signals[0], a.question), "%s asks: %s; the answer is empty", d.Job.ID, show.QuestionLine(q))
	}
	if name == "answer" || asks(q, "continue") {
		s, err = wordsSignal(q, name, strings.TrimSpace(words+" "+a.because))
		return s, q, err
	}
	if len(q.Signals) > 0 && !asks(q, name) {
		return s, nil, kit.Usagef(show.Answers(d.Job.ID, q.Signals[0], a.question), "this question takes no %s; nothing is answered", name)
	}
	switch tool := show.ToolQuestion(q); {
	case a.always && (tool == nil || tool.Always == nil):
		return s, nil, kit.Usagef(hint.Command("answer approve %s", d.Job.ID)+" approves this once", "this question offers no rule to hold for the rest of the job")
	case a.always:
		fmt.Fprintf(e.Err, "     always, in this job only: %s\n", show.Quote(kit.SanitizeLine(tool.Always.String())))
		s.Value = json.RawMessage(`{"always":true}`)
	case name == "deny":
		if a.because != "" {
			words = strings.TrimSpace(words + " " + a.because)
		}
		if words == "" && e.Interactive() {
			words = request.AskWhy(e, kit.NewLineReader(ctx, e.In))
		}
		if words != "" {
			s.Value, err = json.Marshal(words)
		}
	}
	return s, q, err
}

// NewApprove is adroit answer approve.
func NewApprove(e *kit.Env) *cobra.Command {
	var a talkAnswer
	cmd := &cobra.Command{
		Use:   "approve [JOB]",
		Short: "Approve what a job waits for, and continue it",
		Long: "Approves the call that a waiting job asks about, shows it once more, and goes on\n" +
			"with the job in the foreground. Without JOB it is the one that waits in this\n" +
			"directory. --always also lets later calls run in this job, by the rule that the\n" +
			"question shows; adroit jobs show shows the question.",
		Example: "  adroit answer approve\n  adroit answer approve J4K2 --always",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), e, "approve", args)
		},
	}
	a.flags(cmd)
	cmd.Flags().BoolVar(&a.always, "always", false, "for the rest of the job, by the rule that the question shows")
	return cmd
}

// NewDeny is adroit answer deny.
func NewDeny(e *kit.Env) *cobra.Command {
	var a talkAnswer
	cmd := &cobra.Command{
		Use:   "deny [JOB] [WHY]",
		Short: "Deny what a job waits for, and continue it",
		Long: "Denies the call that a waiting job asks about, and goes on with the job in the\n" +
			"foreground. WHY, or --because, goes to the model; at a terminal it is asked for.\n" +
			"Without JOB it is the one that waits in this directory.",
		Example: "  adroit answer deny \"use the make target instead\"\n  adroit answer deny J4K2 --because \"not in this directory\"",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), e, "deny", args)
		},
	}
	a.flags(cmd)
	cmd.Flags().StringVar(&a.because, "because", "", "why, for the model")
	kit.AllowEmpty(cmd.Flags(), "because")
	return cmd
}
