package serve

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/triggers"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/config"
)

// engine returns the engine of the configuration's triggers, nil if it has
// none.
func engine(e *kit.Env, c adroit.Client) (*triggers.Engine, error) {
	conf, err := e.Config()
	if err != nil || len(conf.Triggers)+len(conf.Notices) == 0 {
		return nil, err
	}
	data, err := e.DataDir()
	if err != nil {
		return nil, err
	}
	hide := config.Redactor(conf, e.Getenv)
	return triggers.New(triggers.Options{
		Client: c, Data: data, Home: e.Getenv("HOME"), Triggers: conf.Triggers, Notices: conf.Notices, Getenv: e.Getenv, Now: time.Now, Log: logger(e),
		Redact: func(s string) string { s, _ = hide.String(s); return s },
	}), nil
}

// heed runs an engine beside serve, and ends it when serve has ended.
func heed(ctx context.Context, en *triggers.Engine, log func(string, ...any), serve func(context.Context) error) error {
	if en == nil {
		return serve(ctx)
	}
	inner, stop := context.WithCancel(ctx)
	var heeding sync.WaitGroup
	heeding.Go(func() {
		if err := en.Run(inner); err != nil {
			log("no trigger is heeded: %v", err)
		}
	})
	err := serve(ctx)
	stop()
	heeding.Wait()
	return err
}

// newTriggers returns the command adroit serve triggers.
func newTriggers(e *kit.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "triggers",
		Short: "List and test what starts jobs by itself",
		Long: "Lists and tests the triggers of the configuration: times, changes of files, signed requests\n" +
			"and the ends of other jobs. adroit serve heeds them while it runs.",
		Example: "  adroit serve triggers list\n  adroit serve triggers test nightly --dry-run",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTriggersList(e), newTriggersTest(e))
	return cmd
}

func newTriggersList(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the triggers with their next time and last job",
		Long:    "Lists the triggers: what each waits for, its next time, when it last fired, and the job of that.",
		Example: "  adroit serve triggers list\n  adroit serve triggers list --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			conf, err := e.Config()
			if err != nil {
				return err
			}
			data, err := e.DataDir()
			if err != nil {
				return err
			}
			all, err := triggers.List(data, conf.Triggers, time.Now())
			if err != nil {
				return kit.Fail(err, "")
			}
			if asJSON {
				return kit.JSON(e.Out, all)
			}
			if len(all) == 0 {
				fmt.Fprintln(e.Out, "the configuration has no triggers; docs/serve.md has examples")
				return nil
			}
			var rows kit.Table
			for _, t := range all {
				rows.Row(t.Name, t.On, t.Run, next(t), fired(e, t), t.Job, kit.SanitizeLine(t.Error))
			}
			rows.Write(e.Out)
			return nil
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}

func next(t triggers.Listed) string {
	switch {
	case t.Waiting > 0:
		return strconv.Itoa(t.Waiting) + " waiting"
	case t.Next.IsZero():
		return "-"
	}
	return "next " + t.Next.Format("2006-01-02 15:04:05 MST")
}

func fired(e *kit.Env, t triggers.Listed) string {
	if t.Fired.IsZero() {
		return "not fired yet"
	}
	return "fired " + kit.Ago(e.Now(), t.Fired)
}

func newTriggersTest(e *kit.Env) *cobra.Command {
	var dry bool
	var payload string
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Fire a trigger once",
		Long: "Starts the job of a trigger as if it had fired, and runs it here. --payload is what would come\n" +
			"with it, as JSON. --dry-run shows what would run, and runs nothing.",
		Example: "  adroit serve triggers test nightly --dry-run\n  adroit serve triggers test ci --payload delivery.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			conf, err := e.Config()
			if err != nil {
				return err
			}
			text := ""
			if payload != "" {
				if text, err = e.Content("@" + payload); err != nil {
					return err
				}
			}
			r, err := triggers.Test(conf.Triggers, args[0], e.Getenv("HOME"), text, time.Now())
			if err != nil {
				return err
			}
			return tryOut(cmd.Context(), e, r, dry)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what would run, and run nothing")
	cmd.Flags().StringVar(&payload, "payload", "", "a file with the payload as JSON, - for standard input")
	return cmd
}

// tryOut runs a request, or shows what would run.
func tryOut(ctx context.Context, e *kit.Env, r adroit.Request, dry bool) error {
	if _, err := os.Stat(r.Dir); err != nil {
		return kit.Usagef("correct dir in the configuration", "%v", err)
	}
	c, err := e.Client()
	if err != nil {
		return err
	}
	if dry {
		return request.DryRun(ctx, e, c, r, false)
	}
	s, err := request.Submit(ctx, e, c, r)
	if err != nil {
		return err
	}
	return request.Run(ctx, e, c, s.Job.ID, request.Options{})
}
