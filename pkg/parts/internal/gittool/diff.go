package gittool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
)

// diffInput is the input of git_diff.
type diffInput struct {
	Paths  []string `json:"paths,omitempty" jsonschema:"description=Only these"`
	Since  string   `json:"since,omitempty" jsonschema:"description=Commit or branch"`
	Staged bool     `json:"staged,omitempty" jsonschema:"description=Only what is staged"`
}

// Diff is the tool git_diff. Its artifact is the whole diff, also where the
// model sees a part.
var Diff = tools.New(tools.Metadata{
	Name: "git_diff", Category: "vcs", Needs: tools.Read | tools.Exec, Paths: []string{"paths"}, Effect: tools.Idempotent, Requires: []string{"git"},
	Produces: []string{"git_diff"},
	Examples: []tools.Example{{Note: "one file", Args: json.RawMessage(`{"paths":["cart.go"]}`)}},
}.ProseIn(descriptions), diff)

func diff(ctx context.Context, env *tools.Env, in diffInput) (tools.Result, error) {
	g := git.New(env.Exec).WithGuard(env.Files).Operation()
	o := git.DiffOptions{Staged: in.Staged, From: in.Since, Paths: in.Paths}
	var untracked []git.StatusEntry
	if in.Since == "" && !in.Staged {
		s, err := g.Status(ctx)
		if err != nil {
			return tools.Result{}, explain(err)
		}
		// Before the first commit there is nothing but the index to compare.
		if o.From = "HEAD"; s.Commit == "" {
			o.From, o.Staged = "", true
		}
		untracked = s.Entries
	}
	text, err := g.Diff(ctx, o)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	added, err := newFiles(ctx, env, untracked, in.Paths)
	if err != nil {
		return tools.Result{}, err
	}
	text += added
	r := tools.Result{Text: cut(text, "name paths to see the rest"), Summary: counts(text)}
	switch {
	case text == "" && o.From == "HEAD" && in.Since == "":
		r.Text = "Nothing differs."
	case text == "":
		r.Text = "No tracked file differs."
	}
	if note := innerRepositories(ctx, env); note != "" {
		r.Text = strings.TrimRight(r.Text, "\n") + "\n" + note
	}
	return turn.Bind(r, "git_diff", strings.ToValidUTF8(text, "\uFFFD"))
}

func counts(diff string) string {
	files, added, removed, head := 0, 0, 0, true
	for l := range strings.SplitSeq(diff, "\n") {
		switch {
		case strings.HasPrefix(l, "diff --git "):
			files, head = files+1, true
		case strings.HasPrefix(l, "@@"):
			head = false
		case head:
		case strings.HasPrefix(l, "+"):
			added++
		case strings.HasPrefix(l, "-"):
			removed++
		}
	}
	return fmt.Sprintf("%s +%d -%d", spelling.Plural(files, "file"), added, removed)
}

// showInput is the input of git_show.
type showInput struct {
	Commit string   `json:"commit,omitempty" jsonschema:"description=Hash or branch; default the last commit"`
	Paths  []string `json:"paths,omitempty" jsonschema:"description=Only these; default all"`
}

// Show is the tool git_show.
var Show = tools.New(tools.Metadata{
	Name: "git_show", Category: "vcs", Optionality: tools.Optional, Needs: tools.Read | tools.Exec, Effect: tools.Idempotent,
	Paths: []string{"paths"}, Requires: []string{"git"},
	Examples: []tools.Example{{Args: json.RawMessage(`{"commit":"HEAD~1","paths":["cart.go"]}`)}},
}.ProseIn(descriptions), show)

func show(ctx context.Context, env *tools.Env, in showInput) (tools.Result, error) {
	in.Commit = cmp.Or(in.Commit, "HEAD")
	c, diff, err := git.New(env.Exec).WithGuard(env.Files).Show(ctx, in.Commit, in.Paths)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s: %s\n", c.Hash, c.Time.Format("2006-01-02"), c.Author, c.Subject)
	if c.Body != "" {
		b.WriteString("    " + strings.ReplaceAll(c.Body, "\n", "\n    ") + "\n")
	}
	if len(c.Parents) > 1 {
		b.WriteString("[a merge; compared with its first parent]\n")
	}
	b.WriteString("\n" + strings.ToValidUTF8(diff, "\uFFFD"))
	if diff == "" {
		b.WriteString("It changed nothing here.\n")
	}
	return tools.Result{Text: cut(b.String(), "name paths to see the rest"), Summary: fmt.Sprintf("%.10s %s", c.Hash, counts(diff))}, nil
}
