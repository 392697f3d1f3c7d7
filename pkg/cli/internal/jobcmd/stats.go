package jobcmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// NewStats returns the command adroit fix stats.
func NewStats(e *kit.Env) *cobra.Command {
	var asJSON bool
	var since time.Duration
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show what coordinators decided: problems, decisions, agents, cost",
		Long: "Counts the jobs of adroit fix that have ended: by type of problem, by decision, by the\n" +
			"agent that repaired, with time, tokens and cost. Each step of a pipeline, stage of a\n" +
			"validation and run of until_tests_pass that failed and had a coordinator counts as one,\n" +
			"with its time of work. A share comes with the interval that it lies in with a\n" +
			"probability of 95 %: where that is wide, the figure says little.",
		Example: "  adroit fix stats\n  adroit fix stats --since 720h --json",
		Args:    cobra.NoArgs,
		RunE: e.With(func(ctx context.Context, c adroit.Client, _ []string) error {
			var q adroit.StatsQuery
			if since > 0 {
				q.Since = e.Now().Add(-since)
			}
			s, err := c.FailureStats(ctx, q)
			if err != nil {
				return err
			}
			return kit.Print(e.Out, asJSON, *s, statsText)
		}),
	}
	cmd.Flags().DurationVar(&since, "since", 0, "only jobs that are not older, for example 720h")
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}

func statsText(w io.Writer, s coordinator.Stats) {
	if s.Jobs == 0 {
		fmt.Fprintln(w, "nothing was coordinated yet")
		return
	}
	fmt.Fprintf(w, "%d jobs: %s; fixed %s\n", s.Jobs, counts(s.Status), percent(s.Fixed))
	fmt.Fprintf(w, "median time to a fix %s, %d tokens, %.2f USD\n", s.Median.Round(100*time.Millisecond), s.Tokens, s.Cost)
	fmt.Fprintf(w, "decisions: %s; made by %s\n", counts(s.Decisions), counts(s.Deciders))
	fmt.Fprintf(w, "jobs that came to need a person: %s\n", percent(s.Escalated))
	table(w, "problem", "fixed", s.Problems)
	table(w, "agent", "helped", s.Agents)
	for _, c := range s.Compared {
		fmt.Fprintf(w, "\n%-24s %5s  %-22s  %-22s  %s\n", "comparison: "+c.Name, "jobs", "fixed", "needed a person", "median tokens")
		for _, side := range c.Sides {
			fmt.Fprintf(w, "%-24s %5d  %-22s  %-22s  %s\n", side.Name, side.Jobs, percent(side.Fixed), percent(side.Escalated), tokens(side))
		}
		fmt.Fprintln(w, c.Verdict)
	}
}

func table(w io.Writer, name, well string, list []coordinator.Share) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%-24s %5s  %s\n", name, "all", well)
	for _, s := range list {
		fmt.Fprintf(w, "%-24s %5d  %s\n", s.Name, s.All, percent(s))
	}
}

func percent(s coordinator.Share) string {
	if s.All == 0 {
		return "-"
	}
	return fmt.Sprintf("%d (%.0f %%, %.0f-%.0f %%)", s.Well, math.Round(100*float64(s.Well)/float64(s.All)), 100*s.Low, 100*s.High)
}

func tokens(s coordinator.Side) string {
	if s.MedianHigh == 0 {
		return fmt.Sprint(s.Median)
	}
	return fmt.Sprintf("%d (%d-%d)", s.Median, s.MedianLow, s.MedianHigh)
}

func counts(m map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%d %s", m[name], name))
	}
	return strings.Join(out, ", ")
}
