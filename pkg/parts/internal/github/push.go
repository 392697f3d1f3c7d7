package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/tools"
)

// origin is the remote that pull requests are on.
const origin = "origin"

// checkoutInput is the input of github_pr_checkout.
type checkoutInput struct {
	Number int    `json:"number" jsonschema:"minimum=1,description=The pull request's"`
	Repo   string `json:"repo,omitempty" jsonschema:"description=owner/name; default the workspace's"`
}

func (in checkoutInput) repository() string { return in.Repo }

// person is the git of the one whose machine it is, for what only their login may do.
func (a *api) person() git.User { return git.User{Dir: a.env.Files.Dir(), Alone: true} }

// ownBranch finds an open pull request whose branch is in the workspace's own repository.
func (a *api) ownBranch(ctx context.Context, number int) (*pull, error) {
	r, err := git.New(a.env.Exec).Remote(ctx, origin)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the workspace is no clone of %s: %w", a.repo, err)
	case r.Host != a.Host && r.Host != "ssh."+a.Host || !strings.EqualFold(r.Path, a.repo):
		return nil, fmt.Errorf("the workspace is a clone of %s on %s, not of %s on %s", r.Path, r.Host, a.repo, a.Host)
	}
	p, err := a.pull(ctx, number)
	switch {
	case err != nil:
		return nil, err
	case p.state() != "open":
		return nil, fmt.Errorf("#%d is %s: only an open pull request is worked on", number, p.state())
	case !strings.EqualFold(p.Head.Repo.Name, a.repo):
		return nil, fmt.Errorf("the branch of #%d is in another repository (%q), and only its owner pushes there", number, p.Head.Repo.Name)
	}
	return p, git.CheckRef("branch", p.Head.Ref)
}

func (c Config) prCheckout() tools.Tool {
	t := tool(c, "github_pr_checkout", `{"number":13}`, tools.Read|tools.Write, func(ctx context.Context, a *api, in checkoutInput) (tools.Result, error) {
		p, err := a.ownBranch(ctx, in.Number)
		if err != nil {
			return tools.Result{}, err
		}
		g := git.New(a.env.Exec)
		s, err := g.Status(ctx)
		if err != nil {
			return tools.Result{}, err
		}
		if s.Commit == p.Head.SHA {
			return checkedOut(a, p, "is checked out already")
		}
		if len(s.Entries) > 0 {
			return tools.Result{}, fmt.Errorf("%d files are not committed, such as %s: nothing else is checked out over them", len(s.Entries), line(s.Entries[0].Path))
		}
		if err := a.person().Fetch(ctx, origin, p.Head.Ref); err != nil {
			return tools.Result{}, err
		}
		// It may have moved since GitHub was asked.
		if p.Head.SHA, err = g.ResolveCommit(ctx, "refs/remotes/"+origin+"/"+p.Head.Ref); err != nil {
			return tools.Result{}, err
		}
		if err := g.Detach(ctx, p.Head.SHA); err != nil {
			return tools.Result{}, err
		}
		return checkedOut(a, p, "is checked out")
	}, "pull_request")
	t.Requires = append(t.Requires, "git")
	return t
}

func checkedOut(a *api, p *pull, how string) (tools.Result, error) {
	text := fmt.Sprintf("#%d %s: %s of %s %s, on no branch.", p.Number, line(p.Title), p.Head.SHA[:min(10, len(p.Head.SHA))], line(p.Head.Ref), how)
	r, err := result(text, fmt.Sprintf("#%d at %.10s", p.Number, p.Head.SHA), "pull_request", p.artifact(a.repo))
	return valued(r, err, p.Head.SHA)
}

// valued gives programs a commit as the value of a result.
func valued(r tools.Result, err error, commit string) (tools.Result, error) {
	if err != nil {
		return r, err
	}
	return turn.WithValue(r, commit)
}

// pushInput is the input of github_pr_push. All of it is required, so that the question shows it
// and an approval covers one commit and one branch.
type pushInput struct {
	Repo   string `json:"repo" jsonschema:"description=owner/name"`
	Number int    `json:"number" jsonschema:"minimum=1,description=The pull request's"`
	Branch string `json:"branch" jsonschema:"description=The pull request's own branch"`
	Commit string `json:"commit" jsonschema:"description=Hash of the last commit to push, as git_commit returns it"`
}

func (in pushInput) repository() string { return in.Repo }

var commitHash = lazyregexp.New(`^[0-9a-f]{7,64}$`)

// mostCommits bounds what one push brings.
const mostCommits = 100

func (c Config) prPush() tools.Tool {
	t := tool(c, "github_pr_push", `{"repo":"acme/shop","number":13,"branch":"round-totals","commit":"1f0c9a2e4b"}`, tools.Read|tools.Publish, push)
	t.Effect, t.Requires = tools.Unsafe, append(t.Requires, "git")
	t.Preview = func(env *tools.Env, args json.RawMessage) string {
		var in pushInput
		if json.Unmarshal(args, &in) != nil {
			return ""
		}
		return preview(context.Background(), git.OnHost(env.Files.Dir()), in)
	}
	return t
}

func push(ctx context.Context, a *api, in pushInput) (tools.Result, error) {
	p, err := a.ownBranch(ctx, in.Number)
	if err != nil {
		return tools.Result{}, err
	}
	var repo struct {
		Default string `json:"default_branch"`
	}
	if err := a.get(ctx, "", nil, &repo); err != nil {
		return tools.Result{}, err
	}
	switch {
	case in.Branch != p.Head.Ref:
		return tools.Result{}, fmt.Errorf("the branch of #%d is %s: nothing is pushed to another one", in.Number, line(p.Head.Ref))
	case in.Branch == p.Base.Ref || in.Branch == repo.Default:
		return tools.Result{}, fmt.Errorf("nothing is pushed to %s, which others are merged into", line(in.Branch))
	case !commitHash.MatchString(in.Commit):
		return tools.Result{}, errors.New("commit is no hash of a commit, as git_commit returns it")
	}
	g := git.OnHost(a.env.Files.Dir())
	commit, err := g.ResolveCommit(ctx, in.Commit)
	if err != nil {
		return tools.Result{}, err
	}
	if p.Head.SHA == commit {
		return pushed(p, commit, "has this commit already; nothing was pushed")
	}
	n, err := a.outgoing(ctx, g, p.Head.SHA, commit)
	if err != nil {
		return tools.Result{}, err
	}
	err = a.person().Push(ctx, origin, commit, p.Head.Ref)
	if errors.Is(err, git.ErrRejected) {
		return tools.Result{}, err
	}
	if err != nil {
		if now, ferr := a.pull(ctx, in.Number); ferr != nil || now.Head.SHA != commit {
			return tools.Result{Failed: true, Undecided: true, Taint: tools.Unconfirmed, Summary: "not known to be pushed",
				Text: fmt.Sprintf("Nobody can tell whether %.10s was pushed to %s: %v. Tell the user to look there.", commit, line(p.Head.Ref), err)}, nil
		}
	}
	return pushed(p, commit, fmt.Sprintf("got %d commits", n))
}

// outgoing counts the commits that a push would bring, and refuses those that have secrets, each
// for itself: what a later one takes out is published all the same.
func (a *api) outgoing(ctx context.Context, g *git.Repo, from, to string) (int, error) {
	if known, err := g.IsAncestor(ctx, to, from); err != nil || !known {
		return 0, errors.New("the pull request's branch has commits that this one does not follow from, and nothing is forced: github_pr_checkout brings them here")
	}
	list, err := g.ListNames(ctx, "log", "-z", "--format=%H %P", from+".."+to)
	if err != nil {
		return 0, err
	}
	if len(list) > mostCommits {
		return 0, fmt.Errorf("there are %d commits to push, and %d at most are pushed at once", len(list), mostCommits)
	}
	names, hide := git.New(a.env.Exec).DenyList(), secret.From(ctx)
	for _, entry := range list {
		f := strings.Fields(entry)
		if len(f) < 2 {
			return 0, fmt.Errorf("git log printed a line that is not understood: %q", entry)
		}
		if err := g.CheckLeaks(ctx, f[1], f[0], names, hide.Find); err != nil {
			return 0, fmt.Errorf("commit %.10s: %w", f[0], err)
		}
	}
	return len(list), nil
}

func pushed(p *pull, commit, how string) (tools.Result, error) {
	r, err := result(fmt.Sprintf("%s, the branch of #%d, %s. It is at %.10s.", line(p.Head.Ref), p.Number, how, commit), fmt.Sprintf("#%d is at %.10s", p.Number, commit), "", nil)
	return valued(r, err, commit)
}

// preview shows what would be pushed, as far as it is known here.
func preview(ctx context.Context, g *git.Repo, in pushInput) string {
	if git.CheckRef("branch", in.Branch) != nil || !commitHash.MatchString(in.Commit) {
		return ""
	}
	run := func(args ...string) string {
		out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: args})
		if err != nil {
			return ""
		}
		return strings.TrimSpace(rootfs.Visible(strings.ToValidUTF8(string(out), "\uFFFD")))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "pushes to %s at %s", in.Branch, in.Repo)
	if at := run("remote", "get-url", "--push", origin); at != "" {
		if u, err := url.Parse(at); err == nil && u.User != nil {
			u.User = nil // it may have a token
			at = u.String()
		}
		fmt.Fprintf(&b, " (%s)", at)
	}
	from := "refs/remotes/" + origin + "/" + in.Branch
	if _, err := g.ResolveCommit(ctx, from); err != nil {
		return b.String() + "\n"
	}
	fmt.Fprintf(&b, "\n\n%s\n", run("log", "--format=%h %s", "-n", "20", from+".."+in.Commit))
	for _, o := range []git.DiffOptions{{From: from, To: in.Commit, Stat: true}, {From: from, To: in.Commit}} {
		if text, err := g.Diff(ctx, o); err == nil {
			fmt.Fprintf(&b, "\n%s\n", shown(text, mostText))
		}
	}
	return b.String()
}
