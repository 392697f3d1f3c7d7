package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/workspace/process"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// commitWriter is the agent that writes the message.
const commitWriter = "commit_message"

func (a *app) commitCommand() *cobra.Command {
	q := request{agent: commitWriter}
	var yes bool
	cmd := &cobra.Command{
		Use:   "commit [PURPOSE]",
		Short: "Write a commit message for the staged changes, and commit",
		Long: "Gives the staged diff and the last subjects to the agent " + commitWriter + ", which answers once and has\n" +
			"no tools, shows the message, and asks. Then it runs git commit as you would: with your settings,\n" +
			"your hooks and your signature. PURPOSE says what the change is for.\n\n" +
			"Where nobody can be asked, the message is printed and nothing committed, unless --yes says so.\n" +
			"Secrets are left out of what the model sees, large files are shown in part.",
		Example: "  git add -p && adroit commit \"closes #12\"\n" +
			"  adroit commit -m ollama/qwen3:8b --yes",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.commit(cmd.Context(), q, strings.Join(args, ""), yes)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&q.model, "model", "m", "", "provider/model, or script:FILE (or ADROIT_MODEL)")
	f.StringVarP(&q.dir, "dir", "C", ".", "the repository, or a directory in it")
	f.BoolVarP(&yes, "yes", "y", false, "commit without asking")
	f.BoolVar(&q.dry, "dry-run", false, "print what the model would be asked, and ask and commit nothing")
	return cmd
}

func (a *app) commit(ctx context.Context, q request, purpose string, yes bool) error {
	dir, err := env.Directory(q.dir)
	if err != nil {
		return err
	}
	now, err := a.staged(ctx, dir)
	if err != nil {
		return err
	}
	q.dir, q.given = now.root, map[string]json.RawMessage{}
	hide := a.redactorIn(ctx, now.root)
	for name, text := range map[string]string{"diff": now.diff, "log": now.log, "purpose": purpose} {
		text, _ = hide.String(text)
		if q.given[name], err = json.Marshal(strings.ToValidUTF8(text, "\uFFFD")); err != nil {
			return err
		}
	}
	message, id, err := a.write(ctx, q)
	if err != nil || q.dry {
		return err
	}
	fmt.Fprintln(a.Stdout, render.Sanitize(message))
	edit := false
	if !yes {
		if !a.asks() {
			fmt.Fprintln(a.Stderr, "nothing is committed; --yes commits without asking")
			return nil
		}
		if edit, err = a.confirm(ctx); err != nil {
			return err
		}
	}
	then, err := a.staged(ctx, dir)
	if err != nil {
		return err
	}
	if then.diff != now.diff {
		return exit.Fail(errors.New("what is staged has changed while the message was written; nothing is committed"), "adroit commit again")
	}
	return a.gitCommit(ctx, now.root, message, edit, id)
}

// A staging is what a commit would have.
type staging struct{ root, diff, log string }

// subjects is how many earlier commits show the style of messages.
const subjects = 12

func (a *app) staged(ctx context.Context, dir string) (s staging, err error) {
	repoAt := func(dir string) (*git.Repo, func() error) {
		ex := process.New(dir, "", nil)
		ex.DenyList = a.names()
		return git.New(ex), ex.Close
	}
	g, done := repoAt(dir)
	s.root, err = g.Root(ctx)
	if err = errors.Join(err, done()); err != nil {
		return s, exit.Usagef("-C names a directory of a git repository", "%v", err)
	}
	g, done = repoAt(s.root)
	defer func() { err = errors.Join(err, done()) }()
	status, err := g.Status(ctx)
	if err != nil {
		return s, err
	}
	staged := false
	for _, e := range status.Entries {
		if e.Conflict {
			return s, exit.Usagef("resolve it and git add it", "%s is in conflict", e.Path)
		}
		if e.Index != "" && e.Index != "D" && a.names().NameError(e.Path) != nil {
			a.note("%s is on the list of secrets: the model does not see it, but it is staged and will be committed", e.Path)
		}
		staged = staged || e.Index != ""
	}
	if !staged {
		return s, exit.Usagef("git add what the commit is to have", "nothing is staged")
	}
	if s.diff, err = g.Diff(ctx, git.DiffOptions{Staged: true}); err != nil {
		return s, err
	}
	if s.diff == "" {
		return s, exit.Usagef("write the message yourself: git commit", "all that is staged is on the list of secrets, which no model is shown")
	}
	if status.Commit == "" {
		return s, nil // there are no subjects before the first commit
	}
	commits, err := g.Log(ctx, subjects, "")
	for _, c := range commits {
		s.log += c.Subject + "\n"
	}
	return s, err
}

// write has the message written by a job, and returns the job's id too.
func (a *app) write(ctx context.Context, q request) (message, id string, err error) {
	if q.dry {
		p, err := a.plan(ctx, q)
		if err != nil {
			return "", "", err
		}
		return "", "", a.dryRun(ctx, p, q)
	}
	m, err := a.manager(ctx)
	if err != nil {
		return "", "", err
	}
	sub, err := a.submit(ctx, q)
	if err != nil {
		return "", "", err
	}
	job := sub.Job
	a.header(ctx, job, sub.Plan.Task.Options.Window)
	past, err := render.ReadHistory(m.Store.Events(context.WithoutCancel(ctx), job.ID, 0, false), a.rate())
	if err != nil {
		return "", "", err
	}
	o, start := jobs.RunOptions{Hook: killHook()}, time.Now()
	end := a.watch(ctx, m.Store, job.ID, &past, false, &o)
	done, err := m.Run(ctx, job.ID, o)
	end()
	if err != nil {
		return "", "", a.runFault(job.ID, err)
	}
	if done.Status != jobs.Done {
		if err := a.standing(ctx, job.ID, false, time.Since(start)); err != nil {
			return "", "", err
		}
		return "", "", exit.With(exit.OfJob(ctx, done.Status))
	}
	var st executor.State
	var out struct{ Subject, Body string }
	if err := json.Unmarshal(done.Output, &st); err != nil {
		return "", "", fmt.Errorf("%s: reading its output: %w", job.ID, err)
	}
	if err := json.Unmarshal(st.Value("output"), &out); err != nil || out.Subject == "" {
		return "", "", exit.Fail(fmt.Errorf("%s: the agent %s answers with no subject", job.ID, commitWriter),
			"an agent of your own has this name; its output needs subject and body: adroit agents show "+commitWriter)
	}
	return strings.TrimSpace(out.Subject + "\n\n" + out.Body), job.ID, nil
}

// confirm asks whether the message is right. The error ends the command.
func (a *app) confirm(ctx context.Context) (edit bool, err error) {
	in := term.NewLineReader(ctx, a.Stdin)
	for {
		fmt.Fprint(a.Stderr, "commit with this message? [y]es, [e]dit it first, [n]o: ")
		word, err := in.ReadLine()
		if err != nil {
			fmt.Fprintln(a.Stderr)
			word = "n"
		}
		switch strings.ToLower(strings.TrimSpace(word)) {
		case "y", "yes":
			return false, nil
		case "e", "edit":
			return true, nil
		case "n", "no":
			fmt.Fprintln(a.Stderr, "nothing is committed")
			return false, exit.With(exit.Cancelled)
		}
	}
}

// gitCommit is the user's own git commit: no sandbox, no settings of ours. The
// message is one argument, which no shell reads.
func (a *app) gitCommit(ctx context.Context, dir, message string, edit bool, job string) error {
	args := []string{"commit", "--message=" + message}
	if edit {
		args = append(args, "--edit")
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, a.Stderr, a.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it removes its lock
	cmd.WaitDelay = 10 * time.Second
	if a.asks() {
		cmd.Stdin = a.Stdin // for an editor, a hook or a signature
	}
	if err := cmd.Run(); err != nil {
		return exit.Fail(fmt.Errorf("git commit: %w; nothing is committed", err), "adroit jobs artifacts "+job+" output has the message")
	}
	return nil
}
