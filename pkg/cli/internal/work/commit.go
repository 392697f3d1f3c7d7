package work

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/workspace"
	"github.com/spf13/cobra"
)

// writer is the agent that writes the message.
const writer = "commit_message"

// NewCommit returns the command adroit git commit.
func NewCommit(e *kit.Env) *cobra.Command {
	var q request.Flags
	var yes, dry, hooks bool
	q.Target, q.Aside = writer, true
	cmd := &cobra.Command{
		Use:   "commit [PURPOSE]",
		Short: "Write a commit message for the staged changes, and commit",
		Long: "Gives the staged diff and the last subjects to the agent " + writer + ", which answers once and has\n" +
			"no tools, shows the message, and asks. Then it runs git commit as you would: with your settings,\n" +
			"your hooks and your signature. PURPOSE says what the change is for.\n\n" +
			"Where nobody can be asked, the message is printed and nothing committed, unless --yes says so.\n" +
			"What the repository has git run, its hooks and programs in its settings, is named; with --yes it is\n" +
			"refused unless the project is trusted or --hooks is given.\n" +
			"Secrets are left out of what the model sees, large files are shown in part.",
		Example: "  git add -p && adroit git commit \"closes #12\"\n" +
			"  adroit git commit -m ollama/qwen3:8b --yes",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return commit(cmd.Context(), e, q, strings.Join(args, ""), yes, dry, hooks)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&q.Model, "model", "m", "", "provider/model, or script:FILE (or ADROIT_MODEL)")
	f.StringVarP(&q.Workspace, "dir", "C", ".", "the repository, or a directory in it")
	f.BoolVarP(&yes, "yes", "y", false, "commit without asking")
	f.BoolVar(&hooks, "hooks", false, "with --yes: run the hooks and programs that the repository names")
	f.BoolVar(&dry, "dry-run", false, "print what the model would be asked, and ask and commit nothing")
	return cmd
}

func commit(ctx context.Context, e *kit.Env, q request.Flags, purpose string, yes, dry, hooks bool) error {
	dir, err := kit.Directory(q.Workspace)
	if err != nil {
		return err
	}
	now, err := readStaged(ctx, e, dir)
	if err != nil {
		return err
	}
	q.Workspace = now.root
	if err := q.Read(e); err != nil {
		return err
	}
	if q.Inputs, err = redacted(ctx, e, now.root, map[string]string{"diff": now.diff, "log": now.log, "purpose": purpose}); err != nil {
		return err
	}
	c, err := e.Client()
	if err != nil {
		return err
	}
	if dry {
		return request.DryRun(ctx, e, c, q.Request, false)
	}
	if yes {
		if err := announce(ctx, e, c, now.root, hint.Command("git commit --yes --hooks"), false, yes, hooks); err != nil {
			return err
		}
	}
	message, id, err := write(ctx, e, c, q.Request)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.Out, kit.Sanitize(message))
	edit := false
	if !yes {
		if !e.Interactive() {
			fmt.Fprintln(e.Err, "nothing is committed; --yes commits without asking")
			return nil
		}
		if err := announce(ctx, e, c, now.root, hint.Command("git commit --yes --hooks"), false, false, hooks); err != nil {
			return err
		}
		if edit, err = confirm(ctx, e); err != nil {
			return err
		}
	}
	then, err := readStaged(ctx, e, dir)
	if err != nil {
		return err
	}
	if then.diff != now.diff {
		return kit.Fail(errors.New("what is staged has changed while the message was written; nothing is committed"), hint.Command("git commit")+" again")
	}
	return gitCommit(ctx, e, now.root, message, edit, id)
}

// redacted are inputs of an agent, without secrets.
func redacted(ctx context.Context, e *kit.Env, root string, texts map[string]string) (map[string]json.RawMessage, error) {
	conf, err := e.Config()
	if err != nil {
		return nil, err
	}
	hide := config.Redactor(conf, e.Getenv, git.FileSecrets(ctx, root, git.SecretSearch{Names: conf.Names(), Data: conf.DataDir, Warn: e.Warn})...)
	in := map[string]json.RawMessage{}
	for name, text := range texts {
		text, _ = hide.String(text)
		if in[name], err = json.Marshal(strings.ToValidUTF8(text, "\uFFFD")); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// write has the message written by a job, and returns the job's id too.
func write(ctx context.Context, e *kit.Env, c adroit.Client, r adroit.Request) (message, id string, err error) {
	raw, id, err := answer(ctx, e, c, r)
	if err != nil {
		return "", "", err
	}
	var out struct{ Subject, Body string }
	if err := json.Unmarshal(raw, &out); err != nil || out.Subject == "" {
		return "", "", kit.Fail(fmt.Errorf("%s: the agent %s answers with no subject", id, writer),
			"an agent of your own has this name; its output needs subject and body: "+hint.Command("agents show %s", writer))
	}
	return strings.TrimSpace(out.Subject + "\n\n" + out.Body), id, nil
}

// answer runs an agent and returns its output, and the id of the job.
func answer(ctx context.Context, e *kit.Env, c adroit.Client, r adroit.Request) (out json.RawMessage, id string, err error) {
	s, err := request.Submit(ctx, e, c, r)
	if err != nil {
		return nil, "", err
	}
	id = s.Job.ID
	end, err := request.Attach(ctx, e, c, id, request.Options{Window: s.Plan.Task.Options.Window})
	if err != nil {
		return nil, "", err
	}
	if d := end.Job; d.Job.Status != jobs.Done {
		show.Outcome(e.Screen(), e.OutScreen(), *end)
		return nil, "", kit.With(kit.OfJob(ctx, d.Job.Status))
	}
	made, err := c.Artifacts(ctx, id)
	if err != nil {
		return nil, "", err
	}
	return made.Artifacts["output"].Value, id, nil
}

// confirm asks whether the message is right. The error ends the command.
func confirm(ctx context.Context, e *kit.Env) (edit bool, err error) {
	switch choose(ctx, e, "commit with this message? [y]es, [e]dit it first, [n]o: ", "yes", "edit", "no") {
	case "yes":
		return false, nil
	case "edit":
		return true, nil
	}
	fmt.Fprintln(e.Err, "nothing is committed")
	return false, kit.With(kit.Cancelled)
}

// choose asks a person until the answer is one of words, or its first letter. The end
// of the input is the last of them.
func choose(ctx context.Context, e *kit.Env, question string, words ...string) string {
	in := kit.NewLineReader(ctx, e.In)
	for {
		fmt.Fprint(e.Err, question)
		answer, err := in.ReadLine()
		if err != nil {
			fmt.Fprintln(e.Err)
			return words[len(words)-1]
		}
		answer = strings.ToLower(strings.TrimSpace(answer))
		for _, word := range words {
			if answer == word || answer == word[:1] {
				return word
			}
		}
	}
}

// gitCommit is the user's own git commit: no sandbox, no settings of ours. The
// message is one argument, which no shell reads.
func gitCommit(ctx context.Context, e *kit.Env, dir, message string, edit bool, job string) error {
	args := []string{"commit", "--message=" + message}
	if edit {
		args = append(args, "--edit")
	}
	for _, who := range []string{"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"} {
		cmd := hostexec.Command(ctx, "git", "var", who)
		cmd.Dir = dir
		said, err := cmd.CombinedOutput()
		if no := (&git.ExitError{Stderr: string(said)}); err != nil && no.NoIdentity() {
			return kit.Fail(fmt.Errorf("%w; nothing is committed", no), no.Hint()+"\n"+hint.Command("jobs artifacts %s", job)+" output has the message")
		}
	}
	before, unborn := git.OnHost(dir).ResolveCommit(ctx, "HEAD")
	if err := runGit(ctx, e, dir, args...); err != nil {
		return failedCommit(context.WithoutCancel(ctx), dir, before, unborn != nil, err, job)
	}
	return nil
}

// failedCommit describes the state after a git commit that failed. One that was killed may have made its
// commit before, and leaves locks. before was the last commit, if the branch was not unborn.
func failedCommit(ctx context.Context, dir, before string, unborn bool, err error, job string) error {
	g := git.OnHost(dir)
	help := hint.Command("jobs artifacts %s", job) + " output has the message"
	if locks, lerr := g.LocksLeft(ctx, ""); lerr == nil && len(locks) > 0 {
		help += "\n" + unlock(locks) + ": git has left its locks"
	}
	tip, unknown := g.ResolveCommit(ctx, "HEAD")
	switch {
	case unknown == nil && tip != before:
		return kit.Fail(fmt.Errorf("%w; the branch has a new commit all the same, %.10s", err, tip), "git show "+tip[:10]+" has it\n"+help)
	case unknown != nil && !unborn:
		return kit.Fail(fmt.Errorf("%w; whether it has committed anything is not known: %w", err, unknown), help)
	}
	return kit.Fail(fmt.Errorf("%w; nothing is committed", err), help)
}

func unlock(locks []string) string {
	words := make([]string, len(locks))
	for i, l := range locks {
		words[i] = hint.Quote(l)
	}
	return "if no git is at work: rm " + strings.Join(words, " ")
}

// runGit is the person's own git: no sandbox, no settings of ours.
func runGit(ctx context.Context, e *kit.Env, dir string, args ...string) error {
	return person(e, dir).Run(ctx, args...)
}

func person(e *kit.Env, dir string) git.User {
	u := git.User{Dir: dir, Out: e.Err}
	if e.Interactive() {
		u.In = e.In
	}
	return u
}

// A staged is the content of a commit, and earlier messages for its style.
type staged struct{ root, diff, log string }

// subjects is the number of earlier commits that show the style of messages.
const subjects = 12

func readStaged(ctx context.Context, e *kit.Env, dir string) (s staged, err error) {
	conf, err := e.Config()
	if err != nil {
		return s, err
	}
	names, shown := conf.Names(), visible(conf)
	g, done := open(dir, names)
	s.root, err = g.Root(ctx)
	if err = errors.Join(err, done()); err != nil {
		return s, repositoryError(ctx, dir, err)
	}
	g, done = open(s.root, names)
	g = g.WithGuard(shown)
	defer func() { err = errors.Join(err, done()) }()
	status, err := g.Status(ctx)
	if err != nil {
		return s, repositoryError(ctx, s.root, err)
	}
	if err := check(e, status, shown); err != nil {
		return s, err
	}
	// Before a model is asked: git would refuse the commit.
	if locks, err := g.LocksLeft(ctx, status.Branch); err != nil {
		return s, err
	} else if len(locks) > 0 {
		return s, kit.Fail(errors.New("a git is at work, or was killed and has left its locks: "+strings.Join(locks, ", ")), unlock(locks)+"; then "+hint.Command("git commit")+" again")
	}
	if s.diff, err = g.Diff(ctx, git.DiffOptions{Staged: true}); err != nil {
		return s, err
	}
	if s.diff == "" {
		return s, kit.Usagef("write the message yourself: git commit", "no model is shown what is staged: it is on the list of secrets, or a rule denies it")
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

// open is a repository, to be closed with done.
func open(dir string, names *workspace.DenyList) (g *git.Repo, done func() error) {
	ex := process.New(dir, "", nil)
	ex.DenyList = names
	return git.New(ex), ex.Close
}

// visible judges which files the models may be shown that write for git: the list of names
// and the rules about paths decide, as for a file that is attached.
func visible(conf *config.Config) *workspace.Files {
	rules := permit.Rules(conf.Permissions)
	return new(workspace.Files).WithDenyList(conf.Names()).WithGuard(func(name string, _ bool) string {
		return cmp.Or(rules.Bars(writer, "read_file", name), rules.Bars(describer, "read_file", name))
	})
}

// check refuses an index that cannot be committed, and notes what is committed
// that the model does not see.
func check(e *kit.Env, status *git.Status, shown *workspace.Files) error {
	any := false
	for _, entry := range status.Entries {
		if entry.Conflict {
			return kit.Usagef("resolve it and git add it", "%s is in conflict", entry.Path)
		}
		if entry.Index != "" && entry.Index != "D" {
			if hidden, ok := errors.AsType[*rootfs.PathError](shown.CheckPath(entry.Path, entry.Path, false)); ok {
				e.Warn("%s %s: the model does not see it, but it is staged and will be committed", hidden.Name, hidden.Reason)
			}
		}
		any = any || entry.Index != ""
	}
	if !any {
		return kit.Usagef("git add what the commit is to have", "nothing is staged")
	}
	return nil
}

// repositoryError returns the defect of the repository in dir that made git fail with
// err, or err if there is none.
func repositoryError(ctx context.Context, dir string, err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return kit.Fail(err, "install git: commits and pull requests are made with it")
	}
	if errors.Is(err, git.ErrNoWorkTree) {
		return kit.Usagef("-C names a work tree; git worktree add makes one of a bare repository", "%s is in no git work tree", dir)
	}
	if _, ok := errors.AsType[*git.ExitError](err); !ok {
		return err
	}
	if real, e := filepath.EvalSymlinks(dir); e == nil {
		dir = real
	}
	if broken := rootfs.BrokenRepository(ctx, dir); broken != nil {
		return broken
	}
	if _, ok := rootfs.Repository(dir); !ok {
		return kit.Usagef(cmp.Or(process.UnusedRepository(dir), "-C names a directory of a git repository"), "%s is in no git repository", dir)
	}
	return err
}
