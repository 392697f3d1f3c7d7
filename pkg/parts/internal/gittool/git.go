// Package gittool shows and records changes through the workspace's git runner,
// which runs no code of the repository.
//
//	set, err := tools.NewSet(git.Status, git.Diff, git.Log, git.Show, git.Blame, git.Commit, git.Branch)
//
// It does not push, fetch, rebase or rewrite: what it does stays local and can
// be seen.
package gittool

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed *.md
var descriptions embed.FS

const mostText = 24_000 // bytes of a diff or log shown to the model

// cut ends long text at a line and reports what to do about the rest.
func cut(s, hint string) string {
	if len(s) <= mostText {
		return s
	}
	head := s[:mostText]
	if i := strings.LastIndexByte(head, '\n'); i > 0 {
		head = head[:i+1]
	}
	return fmt.Sprintf("%s[%d of %d bytes shown; %s]\n", strings.ToValidUTF8(head, ""), len(head), len(s), hint)
}

// explain adds what to do to the failures a model runs into most.
func explain(err error) error {
	var exit *git.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	switch s := err.Error(); {
	case strings.Contains(s, "not a git repository"):
		return fmt.Errorf("the workspace is not a git repository: work without git (%w)", err)
	case exit.NoIdentity():
		return fmt.Errorf("git does not know who commits: the person who runs you has to set user.name and user.email (%w)", err)
	case strings.Contains(s, "rev-parse --verify"):
		return fmt.Errorf("there is no such commit: git_log lists commits, git_branch branches (%w)", err)
	case strings.Contains(s, "has only"):
		return fmt.Errorf("the file is shorter: %w", err)
	case strings.Contains(s, "would be overwritten"):
		return fmt.Errorf("uncommitted changes are in the way: commit them first (%w)", err)
	}
	return err
}

// blameInput is the input of git_blame.
type blameInput struct {
	Path  string `json:"path" jsonschema:"description=File"`
	From  int    `json:"from,omitempty" jsonschema:"minimum=1,description=First line; default 1"`
	Lines int    `json:"lines,omitempty" jsonschema:"minimum=1,maximum=500,description=How many; default 100"`
}

// Blame is the tool git_blame.
var Blame = tools.New(tools.Metadata{
	Name: "git_blame", Category: "vcs", Optionality: tools.Optional, Needs: tools.Read | tools.Exec, Effect: tools.Idempotent,
	Paths: []string{"path"}, Requires: []string{"git"},
	Examples: []tools.Example{{Args: json.RawMessage(`{"path":"cart.go","from":40,"lines":20}`)}},
}.ProseIn(descriptions), blame)

func blame(ctx context.Context, env *tools.Env, in blameInput) (tools.Result, error) {
	in.Lines = cmp.Or(in.Lines, 100)
	lines, err := git.New(env.Exec).WithGuard(env.Files).Blame(ctx, in.Path, in.From, in.Lines)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	var b strings.Builder
	commits := map[string]bool{}
	for _, l := range lines {
		commits[l.Commit] = true
		who := fmt.Sprintf("%.10s %s %s %.60s", l.Commit, l.Time.Format("2006-01-02"), l.Author, l.Subject)
		if strings.Trim(l.Commit, "0") == "" {
			who = "not committed"
		}
		fmt.Fprintf(&b, "%s\t%d\t%s\n", who, l.Line, l.Text)
	}
	return tools.Result{Text: cut(b.String(), "ask for fewer lines"), Summary: spelling.Plural(len(lines), "line") + " of " + spelling.Plural(len(commits), "commit")}, nil
}

// branchInput is the input of git_branch.
type branchInput struct {
	Name string `json:"name,omitempty" jsonschema:"description=Branch to switch to; none lists"`
	From string `json:"from,omitempty" jsonschema:"description=Commit a new branch starts at; default HEAD"`
}

// Branch is the tool git_branch. Being on a branch already is no error, so it
// may be repeated.
var Branch = tools.New(tools.Metadata{
	Name: "git_branch", Category: "vcs", Needs: tools.Read | tools.Write | tools.Exec, Effect: tools.Idempotent, Requires: []string{"git"},
	Examples: []tools.Example{{Note: "start a branch", Args: json.RawMessage(`{"name":"round-totals"}`)}},
}.ProseIn(descriptions), branch)

func branch(ctx context.Context, env *tools.Env, in branchInput) (tools.Result, error) {
	g := git.New(env.Exec)
	all, err := g.Branches(ctx)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	if in.Name == "" {
		return branches(all), nil
	}
	verb := "switched to"
	known := false
	for _, b := range all {
		known = known || b.Name == in.Name
		if b.Name == in.Name && b.Current {
			return tools.Result{Text: "Already on " + in.Name + ".", Summary: "on " + in.Name}, nil
		}
	}
	switch {
	case known && in.From != "":
		return tools.Result{}, fmt.Errorf("branch %s exists already: leave from out to switch to it, or choose another name", in.Name)
	case !known:
		verb = "created"
		if err := g.CreateBranch(ctx, in.Name, in.From); err != nil {
			return tools.Result{}, explain(err)
		}
	}
	if err := g.Switch(ctx, in.Name); err != nil {
		return tools.Result{}, explain(err)
	}
	text := verb + " " + in.Name
	return tools.Result{Text: text, Summary: text}, nil
}

func branches(all []git.Branch) tools.Result {
	var b strings.Builder
	current := "no branch"
	for _, br := range all {
		mark := "  "
		if br.Current {
			mark, current = "* ", br.Name
		}
		fmt.Fprintf(&b, "%s%s %.10s\n", mark, br.Name, br.Hash)
	}
	if len(all) == 0 {
		b.WriteString("There is no branch yet: the first commit makes one.\n")
	}
	return tools.Result{Text: b.String(), Summary: fmt.Sprintf("on %s, %d in all", current, len(all))}
}

// logInput is the input of git_log.
type logInput struct {
	Path string `json:"path,omitempty" jsonschema:"description=Only commits that touch it"`
	Max  int    `json:"max,omitempty" jsonschema:"minimum=1,maximum=200,description=How many; default 10"`
}

// Log is the tool git_log.
var Log = tools.New(tools.Metadata{
	Name: "git_log", Category: "vcs", Needs: tools.Read | tools.Exec, Paths: []string{"path"}, Effect: tools.Idempotent, Requires: []string{"git"},
	Examples: []tools.Example{{Note: "the history of a file", Args: json.RawMessage(`{"path":"cart.go","max":5}`)}},
}.ProseIn(descriptions), log)

// A logged commit is a commit for programs, the newest first.
type logged struct {
	Hash    string `json:"hash"`
	Subject string `json:"subject"`
}

func log(ctx context.Context, env *tools.Env, in logInput) (tools.Result, error) {
	in.Max = cmp.Or(in.Max, 10)
	g := git.New(env.Exec).WithGuard(env.Files).Operation()
	s, err := g.Status(ctx)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	if s.Commit == "" {
		return tools.Result{Text: "There is no commit yet.", Summary: "0 commits"}, nil
	}
	commits, err := g.Log(ctx, in.Max, in.Path)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	if len(commits) == 0 {
		return tools.Result{Text: "No commit touches " + in.Path + ".", Summary: "0 commits"}, nil
	}
	var b strings.Builder
	for _, c := range commits {
		fmt.Fprintf(&b, "%.10s %s %s: %s\n", c.Hash, c.Time.Format("2006-01-02"), c.Author, c.Subject)
		if c.Body != "" {
			b.WriteString("    " + strings.ReplaceAll(c.Body, "\n", "\n    ") + "\n")
		}
	}
	res := tools.Result{Text: cut(b.String(), "ask for fewer"), Summary: spelling.Plural(len(commits), "commit")}
	if env.MaxValueBytes <= 0 {
		return res, nil
	}
	var list []logged
	for _, c := range commits {
		list = append(list, logged{c.Hash, c.Subject})
	}
	return turn.WithValue(res, list)
}

// statusInput is the input of git_status: there is nothing to say.
type statusInput struct{}

// Status is the tool git_status.
var Status = tools.New(tools.Metadata{
	Name: "git_status", Category: "vcs", Needs: tools.Read | tools.Exec, Effect: tools.Idempotent, Requires: []string{"git"},
	Examples: []tools.Example{{Args: json.RawMessage(`{}`)}},
}.ProseIn(descriptions), status)

const mostEntries = 300

func status(ctx context.Context, env *tools.Env, _ statusInput) (tools.Result, error) {
	s, err := git.New(env.Exec).Status(ctx)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	hidden := removeHidden(env, s)
	var b strings.Builder
	b.WriteString(headline(s) + "\n")
	for i, e := range s.Entries {
		if i == mostEntries {
			fmt.Fprintf(&b, "[%d more]\n", len(s.Entries)-i)
			break
		}
		b.WriteString(entry(e) + "\n")
	}
	sum := "clean"
	if n := len(s.Entries); n > 0 {
		sum = fmt.Sprintf("%d changed", n)
	} else {
		b.WriteString("Nothing differs from the last commit.\n")
	}
	if len(hidden) > 0 {
		fmt.Fprintf(&b, "[Not compared, since no tool may read them: %s. To git, in a command, they look changed.]\n", strings.Join(hidden, ", "))
	}
	return turn.WithValue(tools.Result{Text: b.String() + innerRepositories(ctx, env), Summary: sum}, s)
}

// removeHidden removes the files from s that git reports as changed only because they are
// hidden, and returns their names: whether they differ from the last commit is not known.
func removeHidden(env *tools.Env, s *git.Status) (names []string) {
	if env.Files == nil {
		return nil
	}
	s.Entries = slices.DeleteFunc(s.Entries, func(e git.StatusEntry) bool {
		hidden := !e.Untracked && !e.Conflict && words[e.Index] == "" && env.Files.DenyList.Check(e.Path, e.Path, false) != nil
		if hidden {
			names = append(names, spelling.PathLine(e.Path))
		}
		return hidden
	})
	return spelling.First(names, mostInner)
}

// words maps git's status letters to words.
var words = map[string]string{"M": "modified", "A": "added", "D": "deleted", "R": "renamed", "C": "copied", "T": "type changed"}

// innerRepositories names the repositories inside, submodules or not, "" if there are
// none. git is not asked about their content, since it would run in each with settings of
// its own.
func innerRepositories(ctx context.Context, env *tools.Env) string {
	if env.Files == nil {
		return ""
	}
	t := env.Files.Tree
	out, _ := t.GitList(ctx, 256<<20, "ls-files", "-s", "-z") // without an index there is no submodule
	others, _ := t.GitList(ctx, 256<<20, "ls-files", "-o", "--exclude-standard", "-z")
	var at []string
	for e := range strings.SplitSeq(string(out), "\x00") {
		if name, ok := strings.CutPrefix(e, "160000 "); ok {
			_, name, _ = strings.Cut(name, "\t")
			at = append(at, name)
		}
	}
	for e := range strings.SplitSeq(string(others), "\x00") {
		if dir, ok := strings.CutSuffix(e, "/"); ok {
			at = append(at, dir)
		}
	}
	dirs, _, err := t.InnerRepositories(ctx, at)
	for i := range dirs {
		dirs[i] = spelling.PathLine(dirs[i])
	}
	if err != nil || len(dirs) == 0 {
		return ""
	}
	return fmt.Sprintf("[What changed in these is not shown, since each is a repository of its own: %s. git -C DIR status, in a command, shows it.]\n", strings.Join(spelling.First(dirs, mostInner), ", "))
}

// mostInner bounds the repositories inside that are named.
const mostInner = 10

func headline(s *git.Status) string {
	out := "branch " + s.Branch
	if s.Branch == "" {
		out = "no branch (detached HEAD)"
	}
	if s.Commit == "" {
		out += ", no commit yet"
	}
	if s.Upstream != "" {
		out += fmt.Sprintf(", %d ahead of and %d behind %s", s.Ahead, s.Behind, s.Upstream)
	}
	return out
}

// entry words a change: a model need not know what the letters of git mean.
func entry(e git.StatusEntry) string {
	switch {
	case e.Conflict:
		return "conflict: " + spelling.PathLine(e.Path)
	case e.Untracked:
		return "untracked: " + spelling.PathLine(e.Path)
	}
	var parts []string
	if w := words[e.Index]; w != "" {
		parts = append(parts, "staged "+w)
	}
	if w := words[e.Work]; w != "" {
		parts = append(parts, w)
	}
	name := spelling.PathLine(e.Path)
	if e.From != "" {
		name = spelling.PathLine(e.From) + " -> " + name
	}
	return strings.Join(parts, ", ") + ": " + name
}
