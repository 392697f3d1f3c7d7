package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

// The hooks that git runs, and the settings that name a program, when it commits; and
// those that are added when it switches to a branch and pushes. They are expressions for names.
const (
	commitHooks    = "pre-commit|prepare-commit-msg|commit-msg|post-commit|post-index-change|reference-transaction|pre-auto-gc"
	pushHooks      = "post-checkout|pre-push"
	commitSettings = `core\.(fsmonitor|editor)|gpg\.(.*\.)?(program|defaultkeycommand)|filter\..*\.(clean|process)`
	pushSettings   = `core\.(sshcommand|askpass|gitproxy)|credential\.(.*\.)?helper|filter\..*\.smudge|remote\..*\.(receivepack|vcs)`
	// transportSettings also decide where a push or a fetch goes, and who may listen.
	transportSettings = `core\.(sshcommand|askpass|gitproxy|alternaterefscommand)|credential\.(.*\.)?helper|` +
		`remote\..*\.(receivepack|uploadpack|vcs|pushurl|proxy)|url\..*\.(insteadof|pushinsteadof)|http\..*`
)

// Programs lists what the repository at root, and not its user, has git run when it commits, and
// with push also when it pushes: hooks and settings.
func Programs(ctx context.Context, root string, push bool) (found []string, err error) {
	hooks, settings := commitHooks, commitSettings
	if push {
		hooks, settings = hooks+"|"+pushHooks, settings+"|"+pushSettings
	}
	own, err := ownSettings(ctx, root, `core\.hookspath`)
	if err != nil {
		return nil, err
	}
	at, err := userOutput(ctx, root, "rev-parse", "--git-path", "hooks")
	if err != nil {
		return nil, err
	}
	dir := strings.TrimSuffix(at, "\n")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	users := false // hooks of the user's, which are kept somewhere else
	if len(own) == 0 {
		set, err := userOutput(ctx, root, "config", "--get", "core.hooksPath")
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(root, dir)
		users = set != "" && (err != nil || !filepath.IsLocal(rel))
	}
	if !users {
		for name := range strings.SplitSeq(hooks, "|") {
			// A file that is not executable, or a dangling link, is not a hook.
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				found = append(found, "the hook "+name)
			}
		}
	}
	set, err := ownSettings(ctx, root, settings)
	return append(found, set...), err
}

// ownSettings lists the settings of the repository itself whose names fit.
func ownSettings(ctx context.Context, root, names string) (found []string, err error) {
	out, err := userOutput(ctx, root, "config", "--show-scope", "--includes", "--null", "--get-regexp", "^("+names+")$")
	if err != nil {
		return nil, err
	}
	parts := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for ; len(parts) >= 2; parts = parts[2:] {
		key, value, _ := strings.Cut(parts[1], "\n")
		if key == "core.fsmonitor" && slices.Contains([]string{"", "true", "false", "yes", "no", "on", "off", "1", "0"}, strings.ToLower(value)) {
			continue // that is git's own
		}
		if parts[0] == "local" || parts[0] == "worktree" {
			found = append(found, key+"="+value)
		}
	}
	return found, nil
}

// userOutput returns the output of the user's own git, for commands that run no program of the
// repository. It is empty if git config finds nothing.
func userOutput(ctx context.Context, root string, args ...string) (string, error) {
	hostexec.Forbid(root)
	cmd := hostexec.Command(ctx, "git", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && args[0] == "config" && failed.ExitCode() == 1 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}

// A User runs git as the person who runs this program would: outside any sandbox, with their
// settings, their hooks and their login.
type User struct {
	Dir string
	In  io.Reader // for an editor, a hook, a signature or a password; nil: git asks nothing
	Out io.Writer // both streams of git
	// Alone is for a job, where nobody looks on: git has no terminal to ask at, runs no hook, and
	// is refused if settings of the repository itself decide how or with whom it talks.
	Alone bool
}

// Run runs git with args.
func (u User) Run(ctx context.Context, args ...string) error {
	hostexec.Forbid(u.Dir)
	name := args[0]
	if u.Alone {
		if err := u.trusted(ctx); err != nil {
			return err
		}
		args = slices.Concat(alone, args)
	}
	cmd := hostexec.Command(ctx, "git", args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = u.Dir, u.In, u.Out, u.Out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it removes its lock
	cmd.WaitDelay = 10 * time.Second
	if u.In == nil {
		cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0")
	}
	if u.Alone {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git %s: %w", name, err)
	}
	return nil
}

// alone are settings under which git runs nothing of the repository's while it talks to a remote.
var alone = []string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.alternateRefsCommand=",
	"-c", "protocol.ext.allow=never", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "push.pushOption="}

// harmlessHTTP are settings of a repository that lead nowhere else.
var harmlessHTTP = lazyregexp.New(`^http\.(.*\.)?(extraheader|postbuffer|version)=`)

// A TransportError refuses to talk to a remote as settings of the repository itself demand.
type TransportError struct{ Settings []string }

func (e *TransportError) Error() string {
	return "settings of the repository itself decide how git reaches its remote: " + strings.Join(e.Settings, ", ")
}

func (u User) trusted(ctx context.Context) error {
	set, err := ownSettings(ctx, u.Dir, transportSettings)
	if err != nil {
		return err
	}
	set = slices.DeleteFunc(set, harmlessHTTP.MatchString)
	for i, s := range set {
		key, _, _ := strings.Cut(s, "=") // the value may be a credential
		set[i] = rootfs.Visible(key)
	}
	if len(set) > 0 {
		return &TransportError{set}
	}
	return nil
}

// ErrRejected is the error of a push that the remote, or git, has certainly not made.
var ErrRejected = errors.New("the push was rejected")

// Push pushes a commit, or a branch, to a branch of a remote. Nothing is forced: a branch that has
// other commits refuses it. With Alone the error wraps ErrRejected if nothing was pushed; after
// any other nobody can tell.
func (u User) Push(ctx context.Context, remote, commit, branch string) error {
	to := commit + ":refs/heads/" + branch
	if !u.Alone {
		return u.Run(ctx, "push", "--set-upstream", remote, to)
	}
	var out bytes.Buffer
	u.Out = &out
	err := u.Run(ctx, "push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", remote, to)
	if err == nil {
		return nil
	}
	said := strings.TrimSpace(rootfs.Visible(out.String()))
	if _, refused := errors.AsType[*TransportError](err); refused {
		return fmt.Errorf("%w: %w", ErrRejected, err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "!\t") { // git-push(1), --porcelain: a ref that was rejected
			return fmt.Errorf("%w: %s", ErrRejected, said)
		}
	}
	return fmt.Errorf("%w: %s", err, said)
}

// Fetch brings a branch of a remote here, as refs/remotes/REMOTE/BRANCH.
func (u User) Fetch(ctx context.Context, remote, branch string) error {
	var out bytes.Buffer
	u.Out = &out
	if err := u.Run(ctx, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", remote,
		"+refs/heads/"+branch+":refs/remotes/"+remote+"/"+branch); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(rootfs.Visible(out.String())))
	}
	return nil
}

// ErrNoCommit is the error of a commit that neither a repository has nor the branches of its remotes.
var ErrNoCommit = errors.New("there is no such commit")

// FetchCommit returns the hash of a commit. If the repository at top lacks it, all branches of its
// remotes are fetched, as its person could, but never in a way that its own settings decide.
func (g *Repo) FetchCommit(ctx context.Context, top, commit string) (string, error) {
	if at, err := g.ResolveCommit(ctx, commit); err == nil {
		return at, nil
	}
	var out bytes.Buffer
	fetch := User{Dir: top, Out: &out, Alone: true}.Run(ctx, "fetch", "--quiet", "--all", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
	if fetch != nil {
		fetch = fmt.Errorf("%w: %s", fetch, strings.TrimSpace(rootfs.Visible(out.String())))
	}
	at, err := g.ResolveCommit(ctx, commit)
	if err != nil {
		return "", errors.Join(ErrNoCommit, fetch)
	}
	return at, nil
}

// A LeakError refuses to publish a change with a secret in it. Kind is empty if it is the file
// that is on the list of secrets.
type LeakError struct{ Place, Kind, Fingerprint string }

func (e *LeakError) Error() string {
	if e.Kind == "" {
		return e.Place + " is on the list of secrets, and the push would publish it"
	}
	return fmt.Sprintf("%s has what looks like a secret (%s, finding %s), and the push would publish it", e.Place, e.Kind, e.Fingerprint)
}

// CheckLeaks returns a *LeakError if what differs between two commits or trees adds a file that
// names denies, or a line in which find finds a secret.
func (g *Repo) CheckLeaks(ctx context.Context, from, to string, names *rootfs.DenyList, find func(string) []secret.Finding) error {
	files, err := g.ListNames(ctx, "diff", "--name-only", "--no-renames", "--diff-filter=d", "-z", from, to)
	if err != nil {
		return err
	}
	for _, name := range files {
		if names.NameError(name) != nil {
			return &LeakError{Place: rootfs.Visible(name)}
		}
	}
	diff, err := g.Diff(ctx, DiffOptions{From: from, To: to})
	if err != nil {
		return err
	}
	for _, l := range Leaks(diff, find) {
		return &LeakError{rootfs.Visible(fmt.Sprintf("%s:%d", l.File, l.Line)), l.Kind, l.Fingerprint}
	}
	return nil
}

// A Leak is a secret in a new line of a diff; its line is counted in the new file.
type Leak struct {
	File string
	secret.Finding
}

// Leaks finds the secrets in the new lines of a diff. A hunk is looked at as
// one text, since a key may have several lines.
func Leaks(diff string, find func(string) []secret.Finding) []Leak {
	var found []Leak
	var file string
	var text strings.Builder
	var isNew []bool
	start := 0
	flush := func() {
		for _, f := range find(text.String()) {
			if f.Line <= len(isNew) && isNew[f.Line-1] {
				f.Line += start - 1
				found = append(found, Leak{file, f})
			}
		}
		text.Reset()
		isNew = isNew[:0]
	}
	hunk := false
	for l := range strings.SplitSeq(diff, "\n") {
		switch {
		case strings.HasPrefix(l, "diff --git "):
			flush()
			hunk = false
		case !hunk && strings.HasPrefix(l, "+++ b/"):
			file = l[len("+++ b/"):]
		case strings.HasPrefix(l, "@@ "):
			flush()
			hunk, start = true, begins(l)
		case hunk && (strings.HasPrefix(l, "+") || strings.HasPrefix(l, " ")):
			text.WriteString(l[1:] + "\n")
			isNew = append(isNew, l[0] == '+')
		}
	}
	flush()
	return found
}

// begins is the first line of a hunk's new side: 7 in "@@ -3,2 +7,4 @@".
func begins(head string) int {
	_, rest, _ := strings.Cut(head, "+")
	end := strings.IndexAny(rest, ", ")
	if end < 0 {
		return 1
	}
	n, err := strconv.Atoi(rest[:end])
	if err != nil {
		return 1
	}
	return n
}

// DenyList has the operator's changes to the list of names, nil where they are not known.
func (g *Repo) DenyList() *rootfs.DenyList { return g.names() }
