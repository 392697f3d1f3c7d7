package work

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// describer is the agent that writes titles and bodies of pull requests.
const describer = "pr_description"

// NewPR is adroit git pr.
func NewPR(e *kit.Env) *cobra.Command {
	q := new(prFlags)
	cmd := &cobra.Command{
		Use:   "pr [JOB]",
		Short: "Commit, push and open a pull request on GitHub",
		Long: "Takes what is staged, or with --all all that is not committed, or what JOB changed, to a pull request of\n" +
			"the current branch (of JOB's, if it has a worktree): the agent " + writer + " writes the message of\n" +
			"the commit, " + describer + " the title and the text. What will be pushed is shown, and asked about;\n" +
			"before that nothing is committed and nothing leaves this machine but what the model is asked.\n\n" +
			"git commits and pushes as you would, with your settings, hooks and login; gh opens the pull request with\n" +
			"the token of github.token_env. What was done already is not done again: after a crash, run it again.\n" +
			"A change with a secret in it is refused. Where nobody can be asked, nothing is pushed without --yes.",
		Example: "  adroit run builder \"fix the rounding of totals\" --worktree && adroit git pr last\n" +
			"  adroit git pr --all --branch round-totals --purpose \"closes #12\"",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return q.run(cmd.Context(), e, strings.Join(args, ""))
		},
	}
	f := cmd.Flags()
	f.StringVarP(&q.Model, "model", "m", "", "provider/model, or script:FILE (or ADROIT_MODEL)")
	f.StringVarP(&q.Workspace, "dir", "C", ".", "the repository, or a directory in it")
	f.StringVar(&q.purpose, "purpose", "", "what the change is for, such as \"closes #12\"; with JOB its prompt")
	f.StringVar(&q.base, "base", "", "the branch that it is to be merged into (default that of origin)")
	f.StringVar(&q.branch, "branch", "", "push it under this name; on the base branch, create the branch")
	f.BoolVarP(&q.all, "all", "a", false, "commit all changes, also new files")
	f.BoolVar(&q.draft, "draft", false, "open a draft")
	f.BoolVarP(&q.yes, "yes", "y", false, "push and open it without asking")
	f.BoolVar(&q.hooks, "hooks", false, "with --yes: run the hooks and programs that the repository names")
	return cmd
}

// A pullRequest is the proposal that the person sees.
type pullRequest struct {
	change
	subject     string // of the commit to be made, with its body
	job         string // that wrote it
	title, body string
	open        *openPull // that the branch has already
}

// An openPull is a pull request on GitHub.
type openPull struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	State  string `json:"state"`
	URL    string `json:"url"`
}

func (q *prFlags) run(ctx context.Context, e *kit.Env, job string) error {
	c, err := e.Client()
	if err != nil {
		return err
	}
	if err := q.ofJob(ctx, c, job); err != nil {
		return err
	}
	dir, err := kit.Directory(q.Workspace)
	if err != nil {
		return err
	}
	ch, err := q.read(ctx, e, dir)
	if err != nil {
		return err
	}
	q.Workspace = ch.root
	if err := q.Read(e); err != nil {
		return err
	}
	p := &pullRequest{change: *ch}
	if p.open, err = findPull(ctx, c, ch); err != nil {
		return err
	}
	if p.open != nil && ch.commits() == 0 {
		fmt.Fprintf(e.Err, "#%d is open already, and has all commits\n", p.open.Number)
		fmt.Fprintln(e.Out, p.open.URL)
		return nil
	}
	if q.yes {
		if err := announce(ctx, e, c, p.root, hint.Command("git pr --yes --hooks"), true, true, q.hooks); err != nil {
			return err
		}
	}
	if err := q.describe(ctx, e, c, p); err != nil {
		return err
	}
	return q.publish(ctx, e, c, p)
}

// publish shows what would be pushed, asks, and pushes it.
func (q *prFlags) publish(ctx context.Context, e *kit.Env, c adroit.Client, p *pullRequest) error {
	p.show(e)
	if !q.yes {
		if !e.Interactive() {
			fmt.Fprintln(e.Err, "nothing is committed or pushed; --yes does it without asking")
			return nil
		}
		if err := announce(ctx, e, c, p.root, hint.Command("git pr --yes --hooks"), true, false, q.hooks); err != nil {
			return err
		}
		if err := confirmPush(ctx, e); err != nil {
			return err
		}
	}
	if err := p.commit(ctx, e, q); err != nil {
		return err
	}
	if err := p.push(ctx, e); err != nil {
		return err
	}
	if p.open != nil {
		fmt.Fprintln(e.Out, p.open.URL)
		return nil
	}
	var made openPull
	args := map[string]any{"repo": p.repo, "title": p.title, "body": p.body, "head": p.head, "base": p.base, "draft": q.draft}
	if err := callGitHub(ctx, c, p.root, "github_pr_create", args, &made); err != nil {
		return kit.Fail(fmt.Errorf("the branch %s is pushed, the pull request is not open: %w", p.head, err), hint.Command("git pr")+" again goes on there")
	}
	fmt.Fprintln(e.Out, made.URL)
	return nil
}

// ofJob takes the directory, the purpose and what is to be committed from a job.
func (q *prFlags) ofJob(ctx context.Context, c adroit.Client, ref string) error {
	if ref == "" {
		return nil
	}
	ref, err := kit.Job(ctx, c, ref, "")
	if err != nil {
		return err
	}
	d, err := c.Job(ctx, ref)
	if err != nil {
		return err
	}
	if d.Job.Status == jobs.Running || d.Job.Status == jobs.Waiting {
		return kit.Usagef(hint.Command("jobs show %s", d.Job.ID)+" shows how it stands", "%s has not ended: it is %s", d.Job.ID, d.Job.Status)
	}
	q.Workspace = d.Job.Dir
	var in struct{ Prompt string }
	_ = json.Unmarshal(d.Job.Input, &in) // without a prompt the title is the purpose
	if q.purpose == "" {
		if q.purpose = in.Prompt; q.purpose == "" {
			q.purpose = d.Job.Title
		}
	}
	if d.Worktree != nil {
		q.all = true
		return nil
	}
	diff, err := c.Diff(ctx, d.Job.ID, adroit.Selection{})
	if err != nil {
		return err
	}
	for _, ch := range diff.Changes {
		q.paths = append(q.paths, ch.Path)
	}
	return nil
}

// describe has the models write the message of the commit, and the title and the
// body.
func (q *prFlags) describe(ctx context.Context, e *kit.Env, c adroit.Client, p *pullRequest) error {
	if p.tree != "" {
		in, err := redacted(ctx, e, p.root, map[string]string{"diff": p.uncommitted, "log": p.log, "purpose": q.purpose})
		if err != nil {
			return err
		}
		r := q.Request
		r.Target, r.Inputs = writer, in
		if p.subject, p.job, err = write(ctx, e, c, r); err != nil {
			return err
		}
	}
	if p.open != nil {
		return nil
	}
	in, err := redacted(ctx, e, p.root, map[string]string{"diff": p.diff, "commits": strings.TrimSpace(p.subject + "\n\n" + p.messages), "purpose": q.purpose})
	if err != nil {
		return err
	}
	r := q.Request
	r.Target, r.Inputs = describer, in
	out, _, err := answer(ctx, e, c, r)
	if err != nil {
		return err
	}
	var text struct{ Title, Body string }
	if err := json.Unmarshal(out, &text); err != nil || text.Title == "" {
		return kit.Fail(fmt.Errorf("the agent %s answers with no title", describer), "an agent of your own has this name; its output needs title and body: "+hint.Command("agents show %s", describer))
	}
	p.title, p.body = text.Title, text.Body
	return nil
}

// A missingError is the error of a call for something that GitHub does not have.
type missingError struct {
	NoPullRequest bool `json:"no_pull_request"` // of the branch
	NotFound      bool `json:"not_found"`       // or not to be seen with this token

	err error
}

func (e *missingError) Error() string { return e.err.Error() }
func (e *missingError) Unwrap() error { return e.err }

// findPull returns the open pull request of the branch, nil if there is none. Before
// anything is asked or done it also finds out whether GitHub can be reached. If the tool
// cannot see the branch, it is asked about another one; github_pr_create, which opens
// none twice, then finds an open pull request of the branch.
func findPull(ctx context.Context, c adroit.Client, ch *change) (*openPull, error) {
	args, seen := map[string]any{}, ch.head == ch.branch && !linked(ch.root)
	if !seen {
		args = map[string]any{"repo": ch.repo, "number": 1}
	}
	var p openPull
	err := callGitHub(ctx, c, ch.root, "github_pr_view", args, &p)
	lacks := new(missingError)
	switch {
	case errors.As(err, &lacks) && (lacks.NoPullRequest || !seen && lacks.NotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case !seen || p.State != "open":
		return nil, nil // what was merged or closed is not opened again
	}
	return &p, nil
}

// linked reports whether a work tree has its repository elsewhere, where commands in
// the sandbox do not see it.
func linked(root string) bool {
	info, err := os.Lstat(filepath.Join(root, ".git"))
	return err == nil && info.Mode().IsRegular()
}

// callGitHub calls a tool and reads the pull request that it returns.
func callGitHub(ctx context.Context, c adroit.Client, dir, tool string, args map[string]any, pull *openPull) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	r, err := c.CallTool(ctx, adroit.ToolCall{Name: tool, Args: raw, Dir: dir})
	if err != nil {
		return err
	}
	if r.Failed {
		err := kit.Fail(errors.New(kit.SanitizeLine(cmp.Or(r.Summary, r.Text))), "docs/github.md: gh has to be installed, and github.token_env names the variable with a token")
		lacks := &missingError{err: err}
		if json.Unmarshal(r.Value, lacks) == nil && (lacks.NoPullRequest || lacks.NotFound) {
			return lacks
		}
		return err
	}
	return json.Unmarshal(r.Artifacts["pull_request"], pull)
}

// confirmPush asks whether it may be pushed. The error ends the command.
func confirmPush(ctx context.Context, e *kit.Env) error {
	if choose(ctx, e, "push it and open the pull request? [y]es, [n]o: ", "yes", "no") == "yes" {
		return nil
	}
	fmt.Fprintln(e.Err, "nothing is committed or pushed")
	return kit.With(kit.Cancelled)
}

// show prints what the person is asked about.
func (p *pullRequest) show(e *kit.Env) {
	s := *e.Screen()
	fmt.Fprintf(&s, "\n%s -> %s  at %s (%s)\n", s.Paint(kit.Bold, kit.SanitizeLine(p.head)), kit.SanitizeLine(p.base), kit.SanitizeLine(p.repo), kit.SanitizeLine(p.url))
	if p.subject != "" {
		first, _, _ := strings.Cut(p.subject, "\n")
		fmt.Fprintf(&s, "commits  %s\n", kit.SanitizeLine(first))
	}
	fmt.Fprintf(&s, "pushes   %s\n", kit.Plural(p.commits(), "commit"))
	if p.open != nil {
		fmt.Fprintf(&s, "#%d %s is open already\n", p.open.Number, kit.SanitizeLine(p.open.Title))
	} else {
		fmt.Fprintf(&s, "\n%s\n\n%s\n", s.Paint(kit.Bold, kit.SanitizeLine(p.title)), kit.Sanitize(p.body))
	}
	fmt.Fprintf(&s, "\n%s\n", strings.TrimRight(kit.Sanitize(p.stat), "\n"))
}

// commits counts the commits to push, including one for uncommitted changes.
func (p *change) commits() int {
	if p.tree != "" {
		return p.ahead + 1
	}
	return p.ahead
}

// commit commits what was shown, if it is the same still.
func (p *pullRequest) commit(ctx context.Context, e *kit.Env, q *prFlags) error {
	g := git.OnHost(p.root)
	if now, err := q.snapshot(ctx, g, p.root); err != nil || now != p.tree {
		return errors.Join(err, kit.Fail(errors.New("the files have changed meanwhile; nothing is committed or pushed"), hint.Command("git pr")+" again"))
	}
	if p.branch == p.base {
		if err := runGit(ctx, e, p.root, "switch", "--create", p.head); err != nil {
			return err
		}
		p.branch = p.head
	}
	if p.tree == "" {
		return nil
	}
	if q.all || q.paths != nil {
		if err := g.Stage(ctx, q.what()); err != nil {
			return err
		}
	}
	return gitCommit(ctx, e, p.root, p.subject, false, p.job)
}

// push pushes the branch.
func (p *pullRequest) push(ctx context.Context, e *kit.Env) error {
	err := person(e, p.root).Push(ctx, origin, "refs/heads/"+p.branch, p.head)
	if err != nil {
		return kit.Fail(fmt.Errorf("%w; the commits are on %s, no pull request was opened", err, p.branch), "if the branch has other commits on the remote: git pull --rebase origin "+p.head+"; then "+hint.Command("git pr")+" again")
	}
	return nil
}

// announce names what the repository has git run, and refuses it if nobody will be asked
// and nobody has agreed to it, with --hooks or by trusting the project.
func announce(ctx context.Context, e *kit.Env, c adroit.Client, root, agree string, push, yes, agreed bool) error {
	found, err := git.Programs(ctx, root, push)
	if err != nil || len(found) == 0 {
		return err
	}
	for i, f := range found {
		found[i] = kit.SanitizeLine(f)
	}
	list := strings.Join(found, ", ")
	if yes && !agreed {
		st, err := c.Trust(ctx, root)
		if err != nil {
			return err
		}
		known := slices.ContainsFunc(st.Files, func(f trust.File) bool { return f.State == trust.Trusted })
		if !known || len(st.Pending()) > 0 || st.Partial {
			return kit.Usagef(agree+" runs them; without --yes a question names them",
				"the repository has git run %s, outside of the sandbox, and is not trusted", list)
		}
	}
	fmt.Fprintf(e.Err, "git runs, outside of the sandbox: %s\n", list)
	return nil
}
