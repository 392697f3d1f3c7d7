package work

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/config"
)

// prFlags are the flags of adroit git pr.
type prFlags struct {
	request.Flags
	purpose, base, branch  string
	all, draft, yes, hooks bool
	paths                  []string // to commit, of a job that shares its directory
}

// origin is the remote that everything goes to: the tools of GitHub know no other.
const origin = "origin"

// tip is the commit that is checked out.
const tip = "HEAD^0"

// A change is the content of a pull request.
type change struct {
	root         string
	branch, head string // the branch here, and its name on the remote
	base         string
	repo, url    string // owner/name, and where git pushes to
	from         string // the commit that it is compared with
	tree         string // what the commit would have; "" if there is nothing to commit
	uncommitted  string // as a diff
	diff, stat   string // of all
	messages     string // of its commits so far
	log          string // subjects before it
	ahead        int    // commits that the remote does not have, as far as is known here
}

// read finds out what a pull request of a directory would have. It changes nothing.
func (q *prFlags) read(ctx context.Context, e *kit.Env, dir string) (*change, error) {
	root, err := git.OnHost(dir).Root(ctx)
	if err != nil {
		return nil, repositoryError(ctx, dir, err)
	}
	g, ch := git.OnHost(root), &change{root: root}
	if err := q.place(ctx, e, g, ch); err != nil {
		return nil, err
	}
	if ch.tree, err = q.snapshot(ctx, g, root); err != nil {
		return nil, err
	}
	conf, err := e.Config()
	if err != nil {
		return nil, err
	}
	if err := ch.compare(ctx, g, g.WithGuard(visible(conf))); err != nil {
		return nil, err
	}
	if err := ch.check(ctx, e, g); err != nil {
		return nil, err
	}
	if ch.stat == "" {
		return nil, kit.Usagef("git add what it is to have, or --all", "there is nothing to open a pull request for: %s has no change that %s does not have", ch.branch, ch.base)
	}
	if ch.diff == "" || ch.tree != "" && ch.uncommitted == "" {
		return nil, kit.Usagef("write them yourself: git commit, gh pr create", "no model is shown what changes: it is on the list of secrets, or a rule denies it")
	}
	return ch, nil
}

// place checks the state of the repository and fills in the remote, the branches and the
// base of the change.
func (q *prFlags) place(ctx context.Context, e *kit.Env, g *git.Repo, ch *change) error {
	status, err := g.Status(ctx)
	if err != nil {
		return repositoryError(ctx, ch.root, err)
	}
	for _, entry := range status.Entries {
		if entry.Conflict {
			return kit.Usagef("resolve it and git add it", "%s is in conflict", entry.Path)
		}
	}
	if status.Branch == "" {
		return kit.Usagef("git switch -c NAME creates a branch here", "no branch is checked out: HEAD is detached")
	}
	if status.Commit == "" {
		return kit.Usagef("make the first commit yourself", "the branch has no commit yet")
	}
	r, err := g.Remote(ctx, origin)
	if errors.Is(err, git.ErrNoRemote) {
		return kit.Usagef("git remote add origin URL", "the repository has no remote origin")
	}
	if err != nil {
		return kit.Usagef("git remote -v lists the remotes", "%v", err)
	}
	conf, err := e.Config()
	if err != nil {
		return err
	}
	host := "github.com"
	for _, s := range conf.Settings() {
		if s.Key == "github.host" {
			host = s.Value
		}
	}
	if r.Host != host && r.Host != "ssh."+host {
		return kit.Usagef("github.host in the configuration names a GitHub of your own", "origin is on %s, not on %s", r.Host, host)
	}
	ch.repo, ch.branch = r.Path, status.Branch
	if ch.url, err = line(ctx, g, "remote", "get-url", "--push", origin); err != nil {
		return err
	}
	if ch.base = q.base; ch.base == "" {
		ch.base = defaultBase(ctx, g)
	}
	if ch.base == "" {
		return kit.Usagef("--base names it; git remote set-head origin --auto asks the remote", "it is not known which branch of origin is the default one")
	}
	if ch.head = q.branch; ch.head == "" {
		ch.head = ch.branch
	}
	for _, name := range []string{ch.base, ch.head} {
		if err := git.CheckRef("branch", name); err != nil {
			return kit.Usagef("", "%v", err)
		}
	}
	if ch.head == ch.base {
		return kit.Usagef("--branch NAME makes a branch of it", "%s is the branch that the pull request is to be merged into: nothing is pushed to it", ch.base)
	}
	return nil
}

// defaultBase is the default branch of the remote, as far as it is known here.
func defaultBase(ctx context.Context, g *git.Repo) string {
	if name, err := line(ctx, g, "symbolic-ref", "--quiet", "--short", "refs/remotes/"+origin+"/HEAD"); err == nil {
		return strings.TrimPrefix(name, origin+"/")
	}
	for _, name := range []string{"main", "master"} {
		if _, err := g.ResolveCommit(ctx, "refs/remotes/"+origin+"/"+name); err == nil {
			return name
		}
	}
	return ""
}

// snapshot is the tree that the commit would have, "" if it would have nothing. It
// is made in an index of its own.
func (q *prFlags) snapshot(ctx context.Context, g *git.Repo, root string) (string, error) {
	head, err := line(ctx, g, "rev-parse", "HEAD^{tree}")
	if err != nil {
		return "", err
	}
	var tree string
	if !q.all && q.paths == nil {
		tree, err = line(ctx, g, "write-tree") // of what is staged
	} else {
		var index string
		var remove func()
		if index, remove, err = tempIndex(); err != nil {
			return "", err
		}
		defer remove()
		if err := copyIndex(ctx, g, root, index); err != nil {
			return "", err
		}
		own := git.OnHost(root, "GIT_INDEX_FILE="+index)
		if _, err = line(ctx, own, "read-tree", "--reset", tip); err == nil {
			err = own.Stage(ctx, q.what())
		}
		if err == nil {
			tree, err = line(ctx, own, "write-tree")
		}
	}
	if err != nil || tree == head {
		return "", err
	}
	return tree, nil
}

// copyIndex makes a copy of the index, which knows what a sparse checkout does not have.
func copyIndex(ctx context.Context, g *git.Repo, root, to string) error {
	from, err := line(ctx, g, "rev-parse", "--git-path", "index")
	if err != nil {
		return err
	}
	if !filepath.IsAbs(from) {
		from = filepath.Join(root, from)
	}
	info, err := os.Stat(from)          // before it is read: an older time only has git look closer
	if errors.Is(err, fs.ErrNotExist) { // nothing is staged
		return nil
	} else if err != nil {
		return err
	}
	b, err := os.ReadFile(from)
	if err == nil {
		err = rootfs.WriteScratch(to, 0o600, b)
	}
	if err != nil {
		return err
	}
	// By the time of the index git knows which files may have changed since without a trace.
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// what are the pathspecs of what is to be staged.
func (q *prFlags) what() []string {
	if q.paths == nil {
		return []string{":/"}
	}
	var specs []string
	for _, p := range q.paths {
		specs = append(specs, ":(top,literal)"+p)
	}
	return specs
}

// compare reads the change against its base: with shown what a model is given.
func (ch *change) compare(ctx context.Context, g, shown *git.Repo) (err error) {
	base := "refs/remotes/" + origin + "/" + ch.base
	if _, err := g.ResolveCommit(ctx, base); err != nil {
		return kit.Usagef("git fetch origin gets it, if it exists", "%s is not known here as a branch of origin", ch.base)
	}
	if ch.from, err = line(ctx, g, "merge-base", base, tip); err != nil {
		return kit.Usagef("--base names another branch", "the branch has no commit in common with %s", ch.base)
	}
	to := ch.tree
	to = cmp.Or(to, tip)
	if ch.diff, err = shown.Diff(ctx, git.DiffOptions{From: ch.from, To: to}); err != nil {
		return err
	}
	if ch.stat, err = g.Diff(ctx, git.DiffOptions{From: ch.from, To: to, Stat: true}); err != nil {
		return err
	}
	if ch.tree != "" {
		if ch.uncommitted, err = shown.Diff(ctx, git.DiffOptions{From: tip, To: ch.tree}); err != nil {
			return err
		}
	}
	if ch.messages, err = text(ctx, g, "log", "--format=%B", "-n", "50", ch.from+"..HEAD"); err != nil {
		return err
	}
	if ch.log, err = text(ctx, g, "log", "--format=%s", "-n", strconv.Itoa(subjects)); err != nil {
		return err
	}
	known := base
	if _, err := g.ResolveCommit(ctx, "refs/remotes/"+origin+"/"+ch.head); err == nil {
		known = "refs/remotes/" + origin + "/" + ch.head
	}
	n, err := line(ctx, g, "rev-list", "--count", known+"..HEAD")
	if err == nil {
		ch.ahead, err = strconv.Atoi(n)
	}
	return err
}

// check refuses a change that would publish a secret.
func (ch *change) check(ctx context.Context, e *kit.Env, g *git.Repo) error {
	conf, err := e.Config()
	if err != nil {
		return err
	}
	list := conf.Names()
	hide := config.Redactor(conf, e.Getenv, git.FileSecrets(ctx, ch.root, git.SecretSearch{Names: list, Data: conf.DataDir, Warn: e.Warn})...)
	err = g.CheckLeaks(ctx, ch.from, cmp.Or(ch.tree, tip), list, hide.Find)
	switch leak, ok := errors.AsType[*git.LeakError](err); {
	case ok && leak.Kind == "":
		return kit.Usagef("take it out: git rm --cached, or git rebase if it is committed", "%s is on the list of secrets, and the pull request would publish it", leak.Place)
	case ok:
		return kit.Usagef("take it out, and out of the commits; if it is none, name it in secrets.known: "+leak.Fingerprint,
			"%s has what looks like a secret (%s), and the pull request would publish it", leak.Place, leak.Kind)
	}
	return err
}

// text returns the output of git.
func text(ctx context.Context, g *git.Repo, args ...string) (string, error) {
	out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: args})
	return string(out), err
}

// line is text without the line's end.
func line(ctx context.Context, g *git.Repo, args ...string) (string, error) {
	out, err := text(ctx, g, args...)
	return strings.TrimSpace(out), err
}

// tempIndex is an index of its own, so that the person's stays as it is.
func tempIndex() (file string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "adroit-pr-")
	return dir + "/index", func() { _ = os.RemoveAll(dir) }, err
}
