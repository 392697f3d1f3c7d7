package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
)

func (a *app) demoCommand() *cobra.Command {
	var q request
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch an agent repair a small project, without a model or a key",
		Long: "Writes a small Go project with two failing tests into a temporary directory and lets the builder\n" +
			"repair it. The model's turns are scripted; with -m a real model gets the same task.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), q, keep) },
	}
	cmd.Flags().StringVarP(&q.model, "model", "m", "", "a real model, as provider/model")
	cmd.Flags().StringVar(&q.baseURL, "base-url", "", "address of the model's server")
	cmd.Flags().BoolVar(&q.json, "json", false, "print events as JSON, one a line")
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the project's directory")
	return cmd
}

// demoAgent is who repairs the project.
const demoAgent = "builder"

func (a *app) demo(ctx context.Context, q request, keep bool) (err error) {
	if _, err := exec.LookPath("go"); err != nil {
		return exit.Fail(errors.New("the demonstration runs the tests of a Go project, and go is not on PATH"), "install Go from go.dev/dl")
	}
	work, err := os.MkdirTemp("", "adroit-demo-")
	if err != nil {
		return err
	}
	scripted := q.model == ""
	defer func() {
		if keep {
			fmt.Fprintf(a.Stderr, "the project is in %s\n", work)
			return
		}
		err = errors.Join(err, os.RemoveAll(work))
	}()
	q.dir = filepath.Join(work, "cart")
	if !keep {
		// What is thrown away needs no place among the real jobs.
		a.flags.dataDir, a.conf, a.passing = filepath.Join(work, "data"), nil, true
		defer func() { err = errors.Join(err, a.close()) }()
	}
	if err := configs.WriteDemo(q.dir); err != nil {
		return err
	}
	if err := commitAll(ctx, q.dir); err != nil {
		return err
	}
	if scripted {
		script := filepath.Join(work, "turns.yaml")
		if err := os.WriteFile(script, configs.DemoTurns(), 0o600); err != nil {
			return err
		}
		q.model = "script" + ":" + script
		fmt.Fprintln(a.Stderr, "the model's turns are scripted; files, edits and tests are real")
	}
	q.agent, q.prompt = demoAgent, configs.DemoPrompt
	if !q.json {
		fmt.Fprintf(a.Stderr, "adroit run %s %q\n", q.agent, q.prompt)
	}
	end := a.run(ctx, q)
	if q.json {
		return end
	}
	if err := a.demoDiff(ctx); err != nil {
		return errors.Join(end, err)
	}
	if scripted {
		fmt.Fprintln(a.Stderr, "with a real model: adroit demo -m ollama/qwen3:8b    on your own project: adroit run builder PROMPT")
	}
	return end
}

// demoDiff shows what the job that has just run changed.
func (a *app) demoDiff(ctx context.Context) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	d, err := c.Diff(context.WithoutCancel(ctx), "last", adroit.Selection{})
	if err != nil {
		return err
	}
	render.Diff(a.output(), d.Diff)
	return nil
}

// commitAll makes dir a repository with one commit, if git is there.
func commitAll(ctx context.Context, dir string) error {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil // the demonstration works without history
	}
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "-A"},
		{"-c", "user.name=adroit", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false", "commit", "-q", "--no-verify", "-m", "Begin"},
	} {
		cmd := exec.CommandContext(ctx, git, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}
