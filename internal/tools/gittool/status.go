package gittool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
)

// statusInput is the input of git_status: there is nothing to say.
type statusInput struct{}

//go:embed git_status.md
var statusProse string

// Status is the tool git_status.
var Status = tools.New(tools.Metadata{
	Name: "git_status", Category: "vcs", Needs: tools.Read | tools.Exec, Effect: tools.Idempotent, Requires: []string{"git"},
	Examples: []tools.Example{{Args: json.RawMessage(`{}`)}},
}.Prose(statusProse), status)

const mostEntries = 300

func status(ctx context.Context, env *tools.Env, _ statusInput) (tools.Result, error) {
	s, err := git.New(env.Exec).Status(ctx)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	hidden := takeHidden(env, s)
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
	value, err := json.Marshal(s)
	if err != nil {
		return tools.Result{}, tools.Fatal(err)
	}
	return tools.Result{Text: b.String() + passedOver(ctx, env), Summary: sum, Value: value}, nil
}

// takeHidden takes out of s what git takes for changed because it is hidden, and returns the
// names: whether these files differ from the last commit is not known.
func takeHidden(env *tools.Env, s *git.Status) (names []string) {
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
	if n := len(names); n > mostInner {
		names = append(names[:mostInner], fmt.Sprintf("and %d more", n-mostInner))
	}
	return names
}

// words are what the letters of git mean.
var words = map[string]string{"M": "modified", "A": "added", "D": "deleted", "R": "renamed", "C": "copied", "T": "type changed"}

// passedOver names the repositories inside, submodules or not: git is not asked about what is
// in them, which would run git in each by settings of its own; "" if there are none.
func passedOver(ctx context.Context, env *tools.Env) string {
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
	if n := len(dirs); err != nil || n == 0 {
		return ""
	} else if n > mostInner {
		dirs = append(dirs[:mostInner], fmt.Sprintf("and %d more", n-mostInner))
	}
	return fmt.Sprintf("[What changed in these is not shown, since each is a repository of its own: %s. git -C DIR status, in a command, shows it.]\n", strings.Join(dirs, ", "))
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
