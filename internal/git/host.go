package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/process"
)

// outputWait bounds the wait for the end of git's output after git has ended. It
// is long because a loaded machine may let the reader run late.
const outputWait = 30 * time.Second

// A Host runs git on this machine for a person, not for a model: outside any sandbox and in no
// ledger. Killing this process does not kill its gits.
type Host struct {
	Dir  string
	Wait time.Duration // instead of outputWait

	held []*os.File // see [Repo.Holding]
}

// OnHost returns git in a directory, with env added to its environment.
func OnHost(dir string, env ...string) *Repo { return &Repo{exec: &Host{Dir: dir}, env: env} }

// Holding returns a git that has a file open for as long as it runs, even if this process is
// killed: if the file is locked with flock(2), whoever waits for the lock also waits for that git.
// It changes nothing if f is nil, or for a git that is not on the host.
func (g *Repo) Holding(f *os.File) *Repo {
	h, ok := g.exec.(*Host)
	if !ok || f == nil {
		return g
	}
	return &Repo{exec: &Host{Dir: h.Dir, Wait: h.Wait, held: append(slices.Clip(h.held), f)}, env: g.env, files: g.files, found: g.found}
}

func (h *Host) Run(ctx context.Context, c process.Cmd) (*process.Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var text process.HeadTail
	hostexec.Forbid(h.Dir)
	cmd := hostexec.Command(context.Background(), c.Args[0], c.Args[1:]...) // git is never cut short
	cmd.ExtraFiles = h.held
	cmd.Dir, cmd.Env = h.Dir, hostexec.Environ(rootfs.Environ(os.Environ(), c.Env))
	cmd.Stdout, cmd.Stderr = &text, &text
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is for us: git is never cut short
	cmd.WaitDelay = cmp.Or(h.Wait, outputWait)
	o := &process.Output{Sandbox: "off"}
	if err := cmd.Start(); err != nil {
		return nil, process.StartError(c.Args[0], h.Dir, err)
	}
	exhaustion.Begun(ctx)
	late := time.AfterFunc(c.Timeout, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	o.TimedOut = !late.Stop()
	var exit *exec.ExitError
	// What git itself printed was in the pipe when it ended and has been read by
	// now; only a child that it left behind can still hold the pipe open.
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, err
	}
	o.Code = process.ExitCode(cmd.ProcessState)
	o.Text, o.Bytes, o.Dropped = text.Text()
	return o, nil
}

// ResolveCommit returns the hash of a commit.
func (g *Repo) ResolveCommit(ctx context.Context, ref string) (string, error) {
	out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"}})
	if err != nil {
		return "", fmt.Errorf("there is no commit %s: %w", ref, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// LocksLeft returns the lock files of the index, of HEAD and of a branch that exist: another git is at work,
// or one was killed. An empty branch is the one that is checked out.
func (g *Repo) LocksLeft(ctx context.Context, branch string) (left []string, err error) {
	if branch == "" {
		on, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"symbolic-ref", "--quiet", "--short", "HEAD"}})
		if exit, ok := errors.AsType[*ExitError](err); err != nil && (!ok || exit.Code != 1) { // 1: HEAD is detached
			return nil, err
		}
		branch = strings.TrimSpace(string(on))
	}
	args := []string{"rev-parse", "--path-format=absolute"}
	for _, name := range []string{"index", "HEAD", "ORIG_HEAD", "refs/heads/" + branch} {
		args = append(args, "--git-path", name+".lock")
	}
	out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: args})
	if err != nil {
		return nil, err
	}
	for file := range strings.Lines(string(out)) {
		if file = strings.TrimSuffix(file, "\n"); file != "" {
			if _, err := os.Lstat(file); err == nil {
				left = append(left, file)
			}
		}
	}
	return left, nil
}

// IsAncestor reports whether the history of one commit has the other in it.
func (g *Repo) IsAncestor(ctx context.Context, history, commit string) (bool, error) {
	_, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"merge-base", "--is-ancestor", commit, history}})
	if exit, ok := errors.AsType[*ExitError](err); ok && exit.Code == 1 {
		return false, nil
	}
	return err == nil, err
}

const (
	// historyTimeout bounds the search of a history; then the last commit alone is
	// searched.
	historyTimeout = 5 * time.Second
	// maxVersions bounds how many versions of environment files are read, and of denied files.
	maxVersions = 500
	// maxSecretFile is the size of a file whose lines are looked at, in bytes.
	maxSecretFile = 256 << 10
)

// A version is content that a file has or had.
type version struct {
	Object string `json:"object"` // git's name of it
	Name   string `json:"name"`   // of the file, below the top of the work tree
}

// versions lists the contents that files have or had, newest first, in any commit of any branch.
func (g *Repo) versions(ctx context.Context, want func(name string) bool, specs ...string) ([]version, error) {
	// ":mode mode object object status NUL path NUL", of all branches and the last commit.
	args := append([]string{"log", "--all", "--format=", "--raw", "--no-abbrev", "--no-renames", "-m", "--no-ext-diff", "-z", "--"}, specs...)
	// A commit graph is a file that commands may write, and git goes by what it has of parents.
	settings := [][2]string{{"log.showRoot", "true"}, {"diff.relative", "false"}, {"core.commitGraph", "false"}}
	b, err := g.RunPlumbing(ctx, settings, process.Cmd{Args: args, Timeout: historyTimeout})
	if err != nil {
		return nil, err
	}
	var all []version
	fields := strings.Split(string(b), "\x00")
	for i := 0; i+1 < len(fields); i++ {
		if meta := strings.Fields(fields[i]); len(meta) == 5 && strings.HasPrefix(meta[0], ":") {
			all = append(all, version{meta[3], fields[i+1]}, version{meta[2], fields[i+1]})
			i++
		}
	}
	return chosen(all, want), nil
}

// chosen returns the versions of the wanted files, each once.
func chosen(all []version, want func(name string) bool) []version {
	seen := map[string]bool{}
	var out []version
	for _, v := range all {
		if want(v.Name) && !seen[v.Object] && len(out) < maxVersions && strings.Trim(v.Object, "0") != "" {
			seen[v.Object] = true
			out = append(out, v)
		}
	}
	return out
}

// head lists the files of the last commit.
func (g *Repo) head(ctx context.Context) ([]version, error) {
	return g.entries(ctx, func(meta []string) string {
		if meta[1] != "blob" {
			return ""
		}
		return meta[2]
	}, "ls-tree", "-r", "-z", "--full-tree", "HEAD")
}

// index lists the files of the index.
func (g *Repo) index(ctx context.Context) ([]version, error) {
	return g.entries(ctx, func(meta []string) string { return meta[1] }, "ls-files", "-s", "-z", "--full-name", "--", ":(top)")
}

func (g *Repo) entries(ctx context.Context, object func(meta []string) string, args ...string) ([]version, error) {
	list, err := g.ListNames(ctx, args...)
	if err != nil {
		return nil, err
	}
	var out []version
	for _, entry := range list {
		meta, name, _ := strings.Cut(entry, "\t")
		if f := strings.Fields(meta); len(f) == 3 && object(f) != "" {
			out = append(out, version{object(f), name})
		}
	}
	return out, nil
}

// contents returns the content of each version, "" of one that cannot be read or is larger than
// maxSecretFile. It starts two gits, however many there are.
func (g *Repo) contents(ctx context.Context, all []version) ([]string, error) {
	texts := make([]string, len(all))
	var ask strings.Builder
	for _, v := range all {
		ask.WriteString(v.Object + "\n")
	}
	if len(all) == 0 {
		return nil, nil
	}
	sizes, err := g.Capture(ctx, nil, process.Cmd{Args: []string{"cat-file", "--batch-check"}, Stdin: []byte(ask.String())}, maxGitOut)
	if err != nil {
		return nil, err
	}
	ask.Reset()
	for line := range strings.Lines(string(sizes)) { // object type size
		f := strings.Fields(line)
		if size, err := strconv.Atoi(f[len(f)-1]); len(f) == 3 && err == nil && f[1] == "blob" && size <= maxSecretFile {
			ask.WriteString(f[0] + "\n")
		}
	}
	out, err := g.Capture(ctx, nil, process.Cmd{Args: []string{"cat-file", "--batch"}, Stdin: []byte(ask.String())}, maxVersions*(maxSecretFile+100))
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for len(out) > 0 {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		f := strings.Fields(string(head))
		if len(f) != 3 {
			out = rest // one that has gone meanwhile
			continue
		}
		size, err := strconv.Atoi(f[2])
		if err != nil || size >= len(rest) {
			break
		}
		found[f[0]], out = string(rest[:size]), rest[size+1:]
	}
	for i, v := range all {
		texts[i] = found[v.Object]
	}
	return texts, nil
}

// A StateError reports what in a repository, or beside it, keeps git from reading the work tree.
type StateError struct {
	Reason, Remedy string
	Err            error // git's own
}

func (e *StateError) Error() string { return e.Reason }
func (e *StateError) Hint() string  { return e.Remedy }
func (e *StateError) Unwrap() error { return e.Err }

// Explain returns err, of a git that failed, with its cause if that is found: a filter of the
// user's configuration whose program is missing, as git-lfs often is, or an index that git cannot
// read. It measures both, and reads no message.
func (g *Repo) Explain(ctx context.Context, err error) error {
	if exit, ok := errors.AsType[*ExitError](err); !ok || exit.Code != 128 {
		return err
	}
	list, listErr := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"config", "--list", "--show-scope", "--includes", "-z"}})
	if listErr != nil {
		return err
	}
	for _, s := range rootfs.ListedSettings(string(list)) {
		program, _, _ := strings.Cut(strings.TrimSpace(s.Value), " ")
		if s.Section != "filter" || s.Key != "clean" && s.Key != "smudge" && s.Key != "process" || program == "" || strings.ContainsAny(program, "\"'$") {
			continue
		}
		if _, missing := hostexec.Find(program); missing != nil {
			return &StateError{Reason: fmt.Sprintf("git needs the program %s for the filter %q of your configuration, and it is not here", program, s.Name), Remedy: fmt.Sprintf("install %s; or git config --global filter.%s.required false, and its files are left as the repository has them", program, s.Name), Err: err}
		}
	}
	read := func(env ...string) error {
		_, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"ls-files", "-z", "--", ":(literal)."}, Env: env})
		return err
	}
	if read() != nil && read("GIT_INDEX_FILE="+filepath.Join(string(filepath.Separator), "nonexistent", "index")) == nil {
		return &StateError{Reason: "git cannot read the index of the repository, which is broken", Remedy: "remove the file that git rev-parse --git-path index names, and git reset makes it anew; no file of yours changes", Err: err}
	}
	return err
}
