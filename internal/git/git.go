package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// maxGitOut bounds the bytes read of git's output.
const maxGitOut = 16 << 20

// Repo runs git in the workspace for tools and workflows. It runs no code of the repository: no
// hooks, filters, external diffs, aliases, monitors or signing programs, and never prompts.
// Commits are therefore not signed and pre-commit hooks do not see them. Only files in the
// workspace are shown, even if the repository is larger.
//
// Repo is safe for concurrent use as far as git is.
type Repo struct {
	exec interface {
		Run(ctx context.Context, c process.Cmd) (*process.Output, error)
	}
	env   []string         // for each git
	files *workspace.Files // whose barrier holds here too; nil: there is none
	found *found           // of the operation under way; nil: each git looks for itself
}

// A found caches what one operation has learned about the repository, for its later gits.
type found struct {
	drivers      [][2]string // switched off
	root, prefix string
	settings     bool // drivers is known
}

// New returns a Repo that runs git through exec.
func New(exec process.Exec) *Repo { return &Repo{exec: exec} }

// WithGuard returns a Repo that shows nothing of the files that f may not read,
// neither as they are nor as they were.
func (g *Repo) WithGuard(f *workspace.Files) *Repo {
	return &Repo{exec: g.exec, env: g.env, files: f, found: g.found}
}

// Operation returns a Repo for the steps of one operation, which reads the settings
// of the repository and looks for the work tree once. Use it from one goroutine, for as
// long as nothing changes either; checking out another branch may.
func (g *Repo) Operation() *Repo {
	if g.found != nil {
		return g
	}
	return &Repo{exec: g.exec, env: g.env, files: g.files, found: new(found)}
}

// judge returns an error if name, a clean one, must not be shown.
func (g *Repo) judge(name string) error {
	if err := g.names().Check(name, name, false); err != nil || g.files == nil {
		return err
	}
	return g.files.CheckPath(name, name, false)
}

// names returns the operator's changes to the list of names, if exec knows them.
func (g *Repo) names() *rootfs.DenyList {
	if r, ok := g.exec.(*process.Runner); ok {
		return r.DenyList
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
	if e.NoIdentity() {
		return "git does not know who commits: it finds no name, or no address"
	}
	s = cmp.Or(s, "no message")
	return fmt.Sprintf("git %s: exit code %d: %s", strings.Join(e.Args, " "), e.Code, s)
}

// NoIdentity reports that git knows no name or address to commit by.
func (e *ExitError) NoIdentity() bool {
	return strings.Contains(e.Stderr, "Please tell me who you are") || strings.Contains(e.Stderr, "empty ident")
}

// NameYourself is the hint for a repository in which git does not know the committer.
const NameYourself = `git config user.name "Your Name" and git config user.email you@example.com, run in the repository, say who commits there`

// Hint returns advice for the user, or "" if git's own message suffices.
func (e *ExitError) Hint() string {
	if e.NoIdentity() {
		return NameYourself
	}
	return ""
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

func CheckRef(what, value string) error {
	if err := checkArg(what, value); err != nil {
		return err
	}
	if strings.ContainsAny(value, " :\t\\*?[") {
		return &ArgError{what, value, "contains a character that names of commits and branches do not have"}
	}
	return nil
}

// RunPlumbing runs git with the given settings on top of the fixed ones.
func (g *Repo) RunPlumbing(ctx context.Context, more [][2]string, c process.Cmd) (stdout []byte, err error) {
	return g.Capture(ctx, more, c, maxGitOut)
}

// ListNames runs a git that prints names, of which there may be many.
func (g *Repo) ListNames(ctx context.Context, args ...string) ([]string, error) {
	out, err := g.Capture(ctx, nil, process.Cmd{Args: args}, 256*rootfs.MaxNames)
	return SplitNul(out), err
}

func (g *Repo) Capture(ctx context.Context, more [][2]string, c process.Cmd, limit int) (stdout []byte, err error) {
	args := c.Args
	out := rootfs.LimitedBuffer{Max: limit}
	c.Args = slices.Concat([]string{"git"}, rootfs.GitFlags, args)
	var user []string
	if e, ok := g.exec.(interface{ Sandbox() string }); ok && e.Sandbox() == "off" {
		user = rootfs.UserConfig() // in the sandbox, a file of its own has what may be known of it
	}
	c.Env = slices.Concat(rootfs.GitEnv(more), user, g.env, c.Env)
	c.Stdout, c.Timeout = &out, cmp.Or(c.Timeout, rootfs.GitTimeout)
	o, err := g.exec.Run(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("running git: %w", err)
	}
	if o.TimedOut {
		return nil, fmt.Errorf("git %s took longer than %v and was stopped", args[0], c.Timeout)
	}
	if o.Code != 0 {
		return out.Buffer.Bytes(), &ExitError{Args: args, Code: o.Code, Stderr: o.Text}
	}
	if out.Truncated {
		return nil, fmt.Errorf("git %s printed more than %d bytes; ask for less, for example for one path", args[0], limit)
	}
	return out.Buffer.Bytes(), nil
}

// driver matches the settings whose names a repository chooses and whose values
// are programs.
var driver = lazyregexp.New(`(?s)^(filter|diff|merge)\.(.+)\.(clean|smudge|process|required|command|textconv|driver)$`)

// Run runs git after switching off the programs the repository's own
// configuration names. Those of the user's configuration stay.
func (g *Repo) Run(ctx context.Context, c process.Cmd) ([]byte, error) {
	off, err := g.drivers(ctx)
	if err != nil {
		return nil, err
	}
	return g.RunPlumbing(ctx, off, c)
}

// drivers returns settings that disable the programs in the repository's configuration, and those
// of the system's filters, which git is to heed although it reads nothing else of that file.
func (g *Repo) drivers(ctx context.Context) ([][2]string, error) {
	if g.found != nil && g.found.settings {
		return g.found.drivers, nil
	}
	list, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"config", "--list", "--show-scope", "--includes", "-z"}, Env: []string{"GIT_CONFIG_NOSYSTEM=0"}})
	if err != nil {
		return nil, err
	}
	var off [][2]string
	for _, s := range rootfs.ListedSettings(string(list)) {
		key := s.Section + "." + s.Name + "." + s.Key
		switch {
		case !driver.MatchString(key):
		case s.Scope == "system" && s.Section == "filter": // packages put that of LFS there
			off = append(off, [2]string{key, s.Value})
		case s.Scope == "global": // goes before
			off = slices.DeleteFunc(off, func(o [2]string) bool { return o[0] == key })
		case s.Scope == "local" || s.Scope == "worktree":
			switch {
			case s.Section == "merge":
				off = append(off, [2]string{key, "git merge-file --quiet %A %O %B"}) // nothing at all would take our side
			case s.Section == "filter":
				off = append(off, [2]string{"filter." + s.Name + ".required", "false"}) // the user's may be
				fallthrough
			default:
				if s.Key != "required" {
					off = append(off, [2]string{key, ""})
				}
			}
		}
	}
	if g.found != nil {
		g.found.drivers, g.found.settings = off, true
	}
	return off, nil
}

var ErrNoWorkTree = errors.New("the workspace is not in a git work tree")

// Root returns the absolute path of the work tree's top directory. It is an error if the workspace
// is not in that work tree, whatever the repository claims.
func (g *Repo) Root(ctx context.Context) (string, error) {
	root, _, err := g.Locate(ctx)
	return root, err
}

// Locate returns the work tree and the workspace's path in it, with a slash at
// its end unless it is empty.
func (g *Repo) Locate(ctx context.Context) (root, prefix string, err error) {
	if g.found != nil && g.found.root != "" {
		return g.found.root, g.found.prefix, nil
	}
	out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"rev-parse", "--is-inside-work-tree", "--show-toplevel", "--show-prefix"}})
	if err != nil {
		in, e := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"rev-parse", "--is-inside-work-tree"}})
		if e == nil && strings.TrimSpace(string(in)) == "false" { // a .git leads to a bare repository
			err = ErrNoWorkTree
		}
		return "", "", err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) < 3 {
		return "", "", fmt.Errorf("git did not say where the repository is")
	}
	if len(lines) > 3 { // a name has a line end
		top, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"rev-parse", "--show-toplevel"}})
		if err != nil {
			return "", "", err
		}
		rest := strings.TrimPrefix(strings.Join(lines[1:], "\n"), string(top)) // which ends with the line end behind it
		lines = []string{lines[0], strings.TrimSuffix(string(top), "\n"), rest}
	}
	root, prefix = lines[1], lines[2]
	if lines[0] != "true" || filepath.Dir(root) == root {
		return "", "", ErrNoWorkTree
	}
	if g.found != nil {
		g.found.root, g.found.prefix = root, prefix
	}
	return root, prefix, nil
}

// pathspec names one path and nothing else.
func (g *Repo) pathspec(name string) (string, error) {
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

func (g *Repo) pathspecs(names []string) ([]string, error) {
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

// DiffOptions select the versions to compare. The zero value compares the index with the work
// tree.
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
		if err := CheckRef("commit", ref); err != nil {
			return nil, err
		}
		args = append(args, ref)
	}
	return args, nil
}

// Diff returns a unified diff, or the counts. Files on the list of secrets, and
// those behind a barrier, are left out.
func (g *Repo) Diff(ctx context.Context, o DiffOptions) (string, error) {
	refs, err := o.args()
	if err != nil {
		return "", err
	}
	specs, err := g.pathspecs(o.Paths)
	if err != nil {
		return "", err
	}
	g = g.Operation()
	if _, _, err := g.Locate(ctx); err != nil {
		return "", err
	}
	if len(specs) == 0 {
		specs = []string{":(literal)."}
	}
	safe := []string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--relative", "--ignore-submodules=dirty"}
	names, err := g.Run(ctx, process.Cmd{Args: Args(safe, "--name-only", "--no-renames", "-z", refs, "--", specs)})
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
	out, err := g.Run(ctx, process.Cmd{Args: Args(safe, form, refs, "--", specs)})
	return string(out), err
}

// Args joins arguments and lists of arguments.
func Args(parts ...any) []string {
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

func SplitNul(out []byte) []string {
	var names []string
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// A Remote is a repository's place on a server.
type Remote struct {
	Host string // without a port
	Path string // owner/name, without .git
}

// ErrNoRemote is the error of a repository without a remote of a name.
var ErrNoRemote = errors.New("the repository has no such remote")

var (
	scpLike  = lazyregexp.New(`^(?:[\w.-]+@)?([\w.-]+):([^/].*)$`)
	noRemote = lazyregexp.New(`[^\w.-]`)
)

// Remote returns the address of a remote such as origin, according to the repository's settings,
// which the repository's author has written.
func (g *Repo) Remote(ctx context.Context, name string) (Remote, error) {
	if name == "" || noRemote.MatchString(name) {
		return Remote{}, &ArgError{"remote", name, "is not a remote's name"}
	}
	if _, _, err := g.Locate(ctx); err != nil {
		return Remote{}, err
	}
	out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"config", "--get", "remote." + name + ".url"}})
	if exit := new(ExitError); errors.As(err, &exit) && exit.Code == 1 {
		return Remote{}, ErrNoRemote
	}
	if err != nil {
		return Remote{}, err
	}
	return parseRemote(strings.TrimSpace(string(out)))
}

func parseRemote(at string) (r Remote, err error) {
	odd := &ArgError{"remote", rootfs.Visible(at), "is not the address of a server"}
	if u, err := url.Parse(at); err == nil && u.Host != "" {
		r = Remote{u.Hostname(), u.Path}
	} else if m := scpLike.FindStringSubmatch(at); m != nil {
		r = Remote{m[1], m[2]}
	} else {
		return r, odd
	}
	r.Host = strings.ToLower(r.Host)
	if r.Path = strings.TrimSuffix(strings.Trim(r.Path, "/"), ".git"); r.Path == "" {
		return r, odd
	}
	return r, nil
}
