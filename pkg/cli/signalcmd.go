package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/lazyregexp"
	"github.com/adroit-run/adroit/pkg/cli/exit"
	"github.com/adroit-run/adroit/pkg/cli/render"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/workflows"
)

func (a *app) signalCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "signal ID NAME [JSON]",
		Short: "Answer a job that waits: approve, deny, continue, abort, answer",
		Long: "Sends a signal to a job. approve and deny answer the question the job asks now; deny takes a reason.\n" +
			"approve takes {\"always\": true} to hold for the rest of the job, where the question offers it.\n" +
			"continue, abort, answer, cancel_stages and those that workflows and pipelines name may come early: they\n" +
			"are kept until the job asks for them. cancel_stages ends a validation after the stage that runs. A value\n" +
			"that is not JSON is sent as a string.",
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			j, err := a.job(ctx, args[0])
			if err != nil {
				return err
			}
			var value json.RawMessage
			if len(args) == 3 {
				text, err := a.content(args[2])
				if err != nil {
					return err
				}
				if value, err = jsonOrString(text); err != nil {
					return err
				}
			}
			if j.Status.Final() {
				return exit.Fail(fmt.Errorf("%s has ended: %s", j.ID, j.Status), "adroit jobs show "+j.ID)
			}
			name, q, err := a.addressed(ctx, j, args[1])
			if err != nil {
				return err
			}
			if q != nil {
				if err := (flow.Wait{Type: q.Type}).Accepts(value); err != nil {
					return exit.Usagef("nothing was sent; text is a string, and so is what is no JSON", "%s: %s", name, err)
				}
			}
			if err := send(ctx, a.db, j.ID, name, value); err != nil {
				return err
			}
			next := "adroit jobs resume " + j.ID
			if j.Status == jobs.Running {
				next = "adroit jobs logs " + j.ID + " -f"
			}
			fmt.Fprintf(a.Stdout, "%s: %s sent    %s\n", j.ID, render.SanitizeLine(args[1]), next)
			if render.ToolQuestion(q) != nil {
				text, _ := render.Question(q, -1)
				fmt.Fprint(a.Stdout, text)
			}
			return nil
		},
	}
}

// signalName is what workflows and pipelines may call signals of their own.
var signalName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// jsonOrString is text as it stands if it is JSON, else as a JSON string.
func jsonOrString(text string) (json.RawMessage, error) {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	return json.Marshal(text)
}

// addressed is the full name of the signal that name means for a job: that of
// the question it asks now, with that question, or name itself for those that
// may come early.
func (a *app) addressed(ctx context.Context, j *jobs.Job, name string) (string, *jobs.Question, error) {
	qs, err := jobs.Pending(ctx, a.db, j.ID)
	if err != nil {
		return "", nil, err
	}
	var waits []string
	for i := range qs {
		if full := listens(&qs[i], name); full != "" {
			return full, &qs[i], nil
		}
		for _, s := range qs[i].Signals {
			waits = append(waits, render.SignalName(s))
		}
	}
	switch name {
	case "continue", "abort", "answer", workflows.CancelStages:
		return name, nil, nil
	}
	if len(waits) > 0 {
		return "", nil, exit.Usagef("it waits for "+strings.Join(waits, " or "), "%s does not wait for %q", j.ID, name)
	}
	if len(qs) == 0 && j.Status == jobs.Waiting {
		return "", nil, exit.Usagef("adroit jobs resume "+j.ID+" goes on with it", "%s has its answer already, and asks nothing else now", j.ID)
	}
	all := []string{"approve", "deny", "continue", "abort", "answer", workflows.CancelStages}
	if !slices.Contains(all, name) {
		hint := "signals are " + strings.Join(all, ", ") + ", and those that workflows and pipelines name"
		if n := nearest(name, all); n != "" {
			return "", nil, exit.Usagef(fmt.Sprintf("did you mean %q?\n%s", n, hint), "unknown signal %q", name)
		}
		if !signalName.MatchString(name) {
			return "", nil, exit.Usagef("a name is letters, digits, - and _", "%q cannot be the name of a signal", name)
		}
		a.note("%s does not wait for %s now; it is kept until the job asks for it", j.ID, name)
		return name, nil, nil
	}
	return "", nil, exit.Fail(fmt.Errorf("%s asks nothing now, so there is nothing to %s", j.ID, name), "adroit jobs show "+j.ID+" says how it stands")
}
