package talk

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// NewAnswer is adroit answer.
func NewAnswer(e *env.Env) *cobra.Command {
	var a answer
	cmd := &cobra.Command{
		Use:   "answer [JOB] WORDS",
		Short: "Answer a job's question, and continue it",
		Long: "Answers the question of a waiting job in words, and goes on with the job in the\n" +
			"foreground. Where adroit fix asks, continue runs the command again, abort gives\n" +
			"up, and other words go to the agents that repair. Without JOB it is the one that\n" +
			"waits in this directory.",
		Example: "  adroit answer continue\n  adroit answer J4K2 \"the port is 8081 now\"",
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
	return slices.ContainsFunc(q.Signals, func(s string) bool { return render.SignalName(s) == name })
}

// inWords is the signal that answers a question in words: approve and deny are
// continue and abort where a coordinator asks.
func inWords(q *jobs.Question, name, words string) (s adroit.Signal, err error) {
	switch {
	case asks(q, "approve"):
		return s, exit.Usagef("adroit approve, or adroit deny WHY", "this question takes no words")
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
		s.Name = render.SignalName(q.Signals[0])
	default:
		i := slices.IndexFunc(q.Signals, func(one string) bool { return render.SignalName(one) == words })
		if i < 0 {
			return s, exit.Usagef("it is one of "+strings.Join(q.Signals, ", "), "the job does not wait for %q", words)
		}
		s.Name, words = words, ""
	}
	if words != "" {
		s.Value, err = json.Marshal(words)
	}
	return s, err
}
