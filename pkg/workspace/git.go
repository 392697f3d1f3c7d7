package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/lazyregexp"
)

const (
	gitTimeout = 2 * time.Minute
	maxGitOut  = 16 << 20 // bytes taken of what git prints
)

// Git runs git in the workspace for tools and workflows. It runs no code of
// the repository: no hooks, filters, external diffs, aliases, monitors or
// signing programs, and asks nobody anything. Commits are therefore not signed
// and pre-commit hooks do not see them. Only what lies in the workspace is
// shown, also where the repository is larger.
//
// Git is safe for concurrent use as far as git is.
type Git struct {
	exec interface {
		Run(ctx context.Context, c Cmd) (*Output, error)
	}
	env   []string // for each git
	files *Files   // whose barrier holds here too; nil: there is none
}

// NewGit returns a Git that runs through exec.
func NewGit(exec Exec) *Git { return &Git{exec: exec} }

// Under returns a Git that shows nothing of the files that f may not read,
// neither as they are nor as they were.
func (g *Git) Under(f *Files) *Git {
	return &Git{exec: g.exec, env: g.env, files: f}
}

// judge returns an error if name, a clean one, must not be shown.
func (g *Git) judge(name string) error {
	if err := g.names().deny(name, name, false); err != nil || g.files == nil {
		return err
	}
	return g.files.judge(name, name, false)
}

// names are the operator's changes to the list of names, if exec knows them.
func (g *Git) names() *Names {
	if r, ok := g.exec.(*Runner); ok {
		return r.Names
	}
	return nil
}

// An ExitError is a git command that failed.
type ExitError struct {
	Args   []string // without the ones that make git safe
	Code   int
	Stderr string
}

func (e *ExitError) Error() string {
	s := strings.TrimSpace(e.Stderr)
	if s == "" {
		s = "no message"
	}
	return fmt.Sprintf("git %s: exit code %d: %s", strings.Join(e.Args, " "), e.Code, s)
}

// An ArgError refuses a value that git could take for something else.
type ArgError struct {
	What, Value, Reason string
}

func (e *ArgError) Error() string { return fmt.Sprintf("the %s %q %s", e.What, e.Value, e.Reason) }

// checkArg refuses values that git would read as an option.
func checkArg(what, value string) error {
	switch {
	case value == "":
		return &ArgError{what, value, "is empty"}
	case strings.HasPrefix(value, "-"):
		return &ArgError{what, value, `begins with "-", which git would take for an option; name it differently`}
	case strings.ContainsAny(value, "\x00\n\r"):
		return &ArgError{what, value, "contains a line break or a NUL byte; leave it out"}
	}
	return nil
}

func checkRef(what, value string) error {
	if err := checkArg(what, value); err != nil {
		return err
	}
	if strings.ContainsAny(value, " :\t\\*?[") {
		return &ArgError{what, value, "contains a character that names of commits and branches do not have"}
	}
	return nil
}

// gitConfig overrides every setting that makes git run a program or ask.
var gitConfig = [][2]string{
	{"core.hooksPath", os.DevNull}, {"core.fsmonitor", "false"}, {"core.pager", "cat"}, {"core.editor", "false"},
	{"core.askPass", ""}, {"core.sshCommand", "false"}, {"core.gitProxy", ""}, {"core.alternateRefsCommand", ""},
	{"core.quotePath", "false"}, {"credential.helper", ""}, {"diff.external", ""}, {"gpg.program", "false"},
	{"gpg.ssh.program", "false"}, {"gpg.x509.program", "false"}, {"gpg.ssh.defaultKeyCommand", ""},
	{"commit.gpgSign", "false"}, {"tag.gpgSign", "false"}, {"log.showSignature", "false"}, {"merge.verifySignatures", "false"},
	{"protocol.ext.allow", "never"}, {"safe.bareRepository", "explicit"}, {"submodule.recurse", "false"},
	{"sequence.editor", "false"}, {"color.ui", "false"}, {"gc.auto", "0"}, {"maintenance.auto", "false"},
	{"branch.autoSetupMerge", "false"}, {"branch.autoSetupRebase", "never"}, {"diff.submodule", "short"}, {"diff.ignoreSubmodules", "dirty"},
	{"core.filesRefLockTimeout", "30000"}, {"core.packedRefsTimeout", "30000"}, // milliseconds: a loaded machine is no reason to fail
	{"status.submoduleSummary", "false"}, {"merge.autoStash", "false"}, {"rerere.enabled", "false"}, {"commit.template", ""},
}

// gitEnv passes settings in the environment, where neither a value nor a
// subsection with an odd name can be mistaken for anything else.
func gitEnv(more [][2]string) []string {
	// No transport is allowed: of a partial clone, even log and diff would fetch
	// what is missing, by a program that the configuration names.
	env := []string{"GIT_ALLOW_PROTOCOL=", "GIT_NO_LAZY_FETCH=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C"}
	all := append(append([][2]string{}, gitConfig...), more...)
	for i, kv := range all {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+kv[0], "GIT_CONFIG_VALUE_"+n+"="+kv[1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(all)))
}

var gitFlags = []string{"--no-pager", "--no-optional-locks"}

// raw runs git with the given settings on top of the fixed ones.
func (g *Git) raw(ctx context.Context, more [][2]string, c Cmd) (stdout []byte, err error) {
	args := c.Args
	var out capped
	c.Args = append(append([]string{"git"}, gitFlags...), args...)
	c.Env = append(append(gitEnv(more), g.env...), c.Env...)
	c.Stdout, c.Timeout = &out, cmp.Or(c.Timeout, gitTimeout)
	o, err := g.exec.Run(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("running git: %w", err)
	}
	if o.TimedOut {
		return nil, fmt.Errorf("git %s took longer than %v and was stopped", args[0], c.Timeout)
	}
	if o.Code != 0 {
		return out.b.Bytes(), &ExitError{Args: args, Code: o.Code, Stderr: o.Text}
	}
	if out.cut {
		return nil, fmt.Errorf("git %s printed more than %d bytes; ask for less, for example for one path", args[0], maxGitOut)
	}
	return out.b.Bytes(), nil
}

// capped is a writer that keeps the first maxGitOut bytes.
type capped struct {
	b   bytes.Buffer
	cut bool
}

func (c *capped) Write(p []byte) (int, error) {
	room := maxGitOut - c.b.Len()
	c.cut = c.cut || len(p) > room
	c.b.Write(p[:min(room, len(p))])
	return len(p), nil
}

// drivers are the settings whose names a repository chooses and whose values
// are programs.
var drivers = lazyregexp.New(`(?s)^(filter|diff|merge)\.(.+)\.(clean|smudge|process|required|command|textconv|driver)$`)

// run runs git after switching off the programs the repository's own
// configuration names. Those of the user's configuration stay.
func (g *Git) run(ctx context.Context, c Cmd) ([]byte, error) {
	list, err := g.raw(ctx, nil, Cmd{Args: []string{"config", "--list", "--show-scope", "--includes", "-z"}})
	if err != nil {
		return nil, err
	}
	fields := strings.Split(string(list), "\x00") // scope, key LF value, scope, …
	var off [][2]string
	for i := 0; i+1 < len(fields); i += 2 {
		key, _, _ := strings.Cut(fields[i+1], "\n")
		if fields[i] != "local" && fields[i] != "worktree" {
			continue
		}
		if m := drivers.FindStringSubmatch(key); m != nil {
			value := ""
			switch {
			case m[3] == "required":
				value = "false"
			case m[1] == "merge":
				value = "git merge-file --quiet %A %O %B" // nothing at all would take our side
			}
			off = append(off, [2]string{key, value})
		}
	}
	return g.raw(ctx, off, c)
}

var errNoWorkTree = errors.New("the workspace is not in a git work tree")

// Root is the absolute path of the work tree's top directory. It is an error if
// the workspace is not in that work tree, whatever the repository claims.
func (g *Git) Root(ctx context.Context) (string, error) {
	root, _, err := g.place(ctx)
	return root, err
}

// place returns the work tree and the workspace's path in it, with a slash at
// its end unless it is empty.
func (g *Git) place(ctx context.Context) (root, prefix string, err error) {
	out, err := g.raw(ctx, nil, Cmd{Args: []string{"rev-parse", "--show-toplevel", "--show-prefix"}})
	if err != nil {
		return "", "", err
	}
	lines := strings.SplitN(string(out), "\n", 3)
	if len(lines) < 2 {
		return "", "", fmt.Errorf("git did not say where the repository is")
	}
	root, prefix = lines[0], lines[1]
	if out, err = g.raw(ctx, nil, Cmd{Args: []string{"rev-parse", "--is-inside-work-tree"}}); err != nil {
		return "", "", err
	}
	if strings.TrimSpace(string(out)) != "true" || filepath.Dir(root) == root {
		return "", "", errNoWorkTree
	}
	return root, prefix, nil
}

// pathspec names one path and nothing else.
func (g *Git) pathspec(name string) (string, error) {
	if err := checkArg("path", name); err != nil {
		return "", err
	}
	if filepath.IsAbs(name) || !filepath.IsLocal(name) {
		return "", &ArgError{"path", name, "is not below the workspace; write it relative to it"}
	}
	if err := g.judge(filepath.ToSlash(filepath.Clean(name))); err != nil {
		return "", err
	}
	return ":(literal)" + filepath.ToSlash(filepath.Clean(name)), nil
}

func (g *Git) pathspecs(names []string) ([]string, error) {
	var specs []string
	for _, n := range names {
		s, err := g.pathspec(n)
		if err != nil {
			return nil, err
		}
		specs = append(specs, s)
	}
	return specs, nil
}

// DiffOptions says what to compare. The zero value compares the index with the
// work tree.
type DiffOptions struct {
	Staged  bool     // HEAD with the index
	From    string   // a commit, with the work tree or with To
	To      string   // a commit
	Paths   []string // only these; all if empty
	Context int      // lines around a change; 3 if zero
	Stat    bool     // counts only
}

func (o DiffOptions) args() ([]string, error) {
	var args []string
	if o.Staged {
		args = append(args, "--cached")
	}
	if o.To != "" && o.From == "" {
		return nil, &ArgError{"commit", o.To, "has nothing to be compared with; give From too"}
	}
	for _, ref := range []string{o.From, o.To} {
		if ref == "" {
			continue
		}
		if err := checkRef("commit", ref); err != nil {
			return nil, err
		}
		args = append(args, ref)
	}
	return args, nil
}

// Diff returns a unified diff, or the counts. Files on the list of secrets, and
// those behind a barrier, are left out.
func (g *Git) Diff(ctx context.Context, o DiffOptions) (string, error) {
	refs, err := o.args()
	if err != nil {
		return "", err
	}
	specs, err := g.pathspecs(o.Paths)
	if err != nil {
		return "", err
	}
	if _, _, err := g.place(ctx); err != nil {
		return "", err
	}
	if len(specs) == 0 {
		specs = []string{":(literal)."}
	}
	safe := []string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--relative", "--ignore-submodules=dirty"}
	names, err := g.run(ctx, Cmd{Args: with(safe, "--name-only", "--no-renames", "-z", refs, "--", specs)})
	if err != nil {
		return "", err
	}
	for name := range strings.SplitSeq(string(names), "\x00") {
		if name != "" && g.judge(name) != nil {
			specs = append(specs, ":(exclude,literal)"+name)
		}
	}
	form := []string{"-M", "--src-prefix=a/", "--dst-prefix=b/", "-U" + strconv.Itoa(max(o.Context, 0))}
	if o.Context <= 0 {
		form[3] = "-U3"
	}
	if o.Stat {
		form = []string{"-M", "--stat"}
	}
	out, err := g.run(ctx, Cmd{Args: with(safe, form, refs, "--", specs)})
	return string(out), err
}

// with joins arguments and lists of arguments.
func with(parts ...any) []string {
	var args []string
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			args = append(args, p)
		case []string:
			args = append(args, p...)
		}
	}
	return args
}

// A Commit is one entry of a history.
type Commit struct {
	Hash    string    `json:"hash"`
	Parents []string  `json:"parents,omitempty"`
	Author  string    `json:"author"`
	Email   string    `json:"email"`
	Time    time.Time `json:"time"`
	Subject string    `json:"subject"`
	Body    string    `json:"body,omitempty"`
}

const logFormat = "--format=%H%x1f%P%x1f%an%x1f%ae%x1f%aI%x1f%s%x1f%b"

// Log returns the newest n commits, of one path if that is not empty.
func (g *Git) Log(ctx context.Context, n int, path string) ([]Commit, error) {
	args := []string{"log", "-z", "--no-show-signature", "--no-ext-diff", "--no-textconv", logFormat, "-n", strconv.Itoa(max(n, 1))}
	if path != "" {
		spec, err := g.pathspec(path)
		if err != nil {
			return nil, err
		}
		args = append(args, "--", spec)
	}
	out, err := g.run(ctx, Cmd{Args: args})
	if err != nil {
		return nil, err
	}
	return parseLog(string(out)), nil
}

func parseLog(out string) []Commit {
	var commits []Commit
	for entry := range strings.SplitSeq(out, "\x00") {
		f := strings.SplitN(entry, "\x1f", 7)
		if len(f) != 7 {
			continue
		}
		when, _ := time.Parse(time.RFC3339, f[4])
		commits = append(commits, Commit{Hash: f[0], Parents: strings.Fields(f[1]), Author: Visible(f[2]), Email: Visible(f[3]),
			Time: when, Subject: Visible(f[5]), Body: Visible(strings.TrimSpace(f[6]))})
	}
	return commits
}

// Commit commits the given paths as they are in the work tree, new and deleted
// ones too, and leaves what else is staged staged. Without paths it commits
// what is staged. Nothing to commit is an *ExitError.
func (g *Git) Commit(ctx context.Context, message string, paths []string) (*Commit, error) {
	if strings.TrimSpace(message) == "" {
		return nil, &ArgError{"message", message, "is empty; say what the commit does and why"}
	}
	if strings.ContainsRune(message, 0) {
		return nil, &ArgError{"message", message, "contains a NUL byte; leave it out"}
	}
	specs, err := g.pathspecs(paths)
	if err != nil {
		return nil, err
	}
	_, prefix, err := g.place(ctx)
	if err != nil {
		return nil, err
	}
	args := []string{"commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-edit", "--cleanup=whitespace", "-F", "-"}
	if len(specs) > 0 {
		if _, err := g.run(ctx, Cmd{Args: with("add", "-A", "--", specs)}); err != nil {
			return nil, err
		}
		args = append(append(args, "--"), specs...)
	}
	names, err := g.run(ctx, Cmd{Args: with("diff", "--cached", "--no-ext-diff", "--no-textconv", "--name-only", "--no-renames", "--diff-filter=d", "-z", "--", specs)})
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(string(names), "\x00") {
		if name == "" {
			continue
		}
		err := g.names().deny(name, name, false) // from the top of the work tree
		if here, ok := strings.CutPrefix(name, prefix); ok && err == nil {
			err = g.judge(here)
		}
		if err != nil {
			if len(specs) > 0 { // take back what was staged for this commit
				_, _ = g.run(ctx, Cmd{Args: with("reset", "--quiet", "--", ":(top,literal)"+name)})
			}
			return nil, err
		}
	}
	if _, err := g.run(ctx, Cmd{Args: args, Stdin: []byte(message)}); err != nil {
		return nil, err
	}
	log, err := g.Log(ctx, 1, "")
	if err != nil || len(log) == 0 {
		return nil, fmt.Errorf("the commit was made, but git does not show it: %w", err)
	}
	return &log[0], nil
}

// A Branch is a local branch.
type Branch struct {
	Name    string `json:"name"`
	Hash    string `json:"hash"`
	Current bool   `json:"current,omitempty"`
}

// Branches lists the local branches by name.
func (g *Git) Branches(ctx context.Context) ([]Branch, error) {
	out, err := g.run(ctx, Cmd{Args: []string{"for-each-ref", "--format=%(HEAD)%(objectname) %(refname:short)", "refs/heads/"}})
	if err != nil {
		return nil, err
	}
	var bs []Branch
	for line := range strings.Lines(string(out)) {
		hash, name, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "*")), " ")
		if ok {
			bs = append(bs, Branch{Name: name, Hash: hash, Current: strings.HasPrefix(line, "*")})
		}
	}
	return bs, nil
}

// CreateBranch makes a branch at a commit, at HEAD if from is empty, and does
// not switch to it.
func (g *Git) CreateBranch(ctx context.Context, name, from string) error {
	if err := checkRef("branch", name); err != nil {
		return err
	}
	args := []string{"branch", "--no-track", name}
	if from != "" {
		if err := checkRef("commit", from); err != nil {
			return err
		}
		args = append(args, from)
	}
	_, err := g.run(ctx, Cmd{Args: args})
	return err
}

// Switch makes a local branch the current one. The files it changes are noted
// in the ledger of the Exec.
func (g *Git) Switch(ctx context.Context, name string) error {
	if err := checkRef("branch", name); err != nil {
		return err
	}
	if _, _, err := g.place(ctx); err != nil {
		return err
	}
	_, err := g.run(ctx, Cmd{Args: []string{"switch", "--quiet", "--no-guess", name}, Snapshot: true})
	return err
}
