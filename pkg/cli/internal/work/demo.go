package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/spf13/cobra"
)

// NewDemo returns the command adroit demo.
func NewDemo(e *kit.Env) *cobra.Command {
	var q request.Flags
	var keep, asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch an agent repair a small project, without a model or a key",
		Long: "Writes a small project with two failing tests into a temporary directory, and lets the builder\n" +
			"repair it. It is a Go module, or shell functions on a machine without Go. The model's turns are\n" +
			"scripted; with -m a real model gets the same task.",
		Example: "  adroit demo",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), e, q, keep, asJSON) },
	}
	cmd.Flags().StringVarP(&q.Model, "model", "m", "", "a real model, as provider/model")
	cmd.Flags().StringVar(&q.BaseURL, "base-url", "", "address of the model's server")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print events as JSON, one a line")
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the project's directory")
	return cmd
}

// demoAgent repairs the project.
const demoAgent = "builder"

func demo(ctx context.Context, e *kit.Env, q request.Flags, keep, asJSON bool) (err error) {
	project := configs.DemoGo
	if _, err := hostexec.InSandbox("go"); err != nil {
		project, q.Test = configs.DemoShell, configs.DemoShellTest
	}
	work, err := os.MkdirTemp("", "adroit-demo-")
	if err != nil {
		return err
	}
	if keep {
		defer fmt.Fprintf(e.Err, "the project is in %s\n", work)
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
		// A demonstration is thrown away and is not kept among the real jobs.
		own, shut := e.Temporary(filepath.Join(work, "data"))
		defer func() { err = errors.Join(err, shut()) }()
		e = own
	}
	q.Workspace = filepath.Join(work, "cart")
	if err := errors.Join(configs.WriteDemo(q.Workspace, project), CommitAll(ctx, q.Workspace)); err != nil {
		return err
	}
	scripted := q.Model == ""
	if scripted {
		if q.Model, err = Script(work, configs.DemoTurns(project)); err != nil {
			return err
		}
		fmt.Fprintln(e.Err, "the model's turns are scripted; files, edits and tests are real")
	}
	q.Target, q.Prompt = demoAgent, configs.DemoPrompt
	if !asJSON {
		fmt.Fprintln(e.Err, hint.Name("run %s %s", q.Target, q.Prompt))
	}
	end, err := run(ctx, e, q, asJSON)
	if err != nil {
		return errors.Join(end, err)
	}
	if scripted && !asJSON {
		fmt.Fprintln(e.Err, "with a real model: "+hint.Command("demo -m ollama/qwen3:8b")+"    on your own project: "+hint.Command("run builder PROMPT"))
	}
	return end
}

// run repairs the project and shows what was changed. end is the job's end.
func run(ctx context.Context, e *kit.Env, q request.Flags, asJSON bool) (end, err error) {
	if err := q.Read(e); err != nil {
		return nil, err
	}
	c, err := e.Client()
	if err != nil {
		return nil, err
	}
	s, err := request.Submit(ctx, e, c, q.Request)
	if err != nil {
		return nil, err
	}
	end = request.Run(ctx, e, c, s.Job.ID, request.Options{JSON: asJSON, Window: s.Plan.Task.Options.Window, Known: show.KnownWindow(s.Plan.Task)})
	if asJSON {
		return end, nil
	}
	d, err := c.Diff(context.WithoutCancel(ctx), s.Job.ID, adroit.Selection{})
	if err == nil {
		show.Diff(kit.NewScreen(e.Out, e.Getenv), d.Diff)
	}
	return end, err
}

// CommitAll makes dir a repository with one commit, if git is there.
func CommitAll(ctx context.Context, dir string) error {
	if _, err := hostexec.Find("git"); err != nil {
		return nil // what is shown works without history
	}
	return Git(ctx, dir, []string{"init", "-q"}, []string{"add", "-A"},
		[]string{"-c", "user.name=adroit", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false", "commit", "-q", "--no-verify", "-m", "Begin"})
}

// Git runs git in dir, once for each list of arguments.
func Git(ctx context.Context, dir string, lists ...[]string) error {
	for _, args := range lists {
		cmd := hostexec.Command(ctx, "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// Script writes a script in dir and returns the model that plays it.
func Script(dir string, turns []byte) (model string, err error) {
	path := filepath.Join(dir, "turns.yaml")
	return "script:" + path, rootfs.WriteScratch(path, 0o600, turns)
}
