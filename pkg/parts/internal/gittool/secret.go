package gittool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// checkSecrets refuses a commit whose new lines contain secrets: known values and text of
// their shape. The message names places and kinds and not the secrets. Names that are
// secret by themselves are refused by [git.Repo.Commit].
func checkSecrets(ctx context.Context, g *git.Repo, files *workspace.Files, s *git.Status, paths []string) error {
	r := secret.From(ctx)
	o := git.DiffOptions{Staged: true, Context: 1}
	if len(paths) > 0 && s.Commit != "" {
		o = git.DiffOptions{From: "HEAD", Paths: paths, Context: 1}
	}
	diff, err := g.Diff(ctx, o)
	if err != nil {
		return explain(err)
	}
	found := git.Leaks(diff, r.Find)
	for _, e := range s.Entries {
		if !e.Untracked || len(paths) == 0 || !within(e.Path, paths) {
			continue
		}
		b, err := fs.ReadFile(files.FS(), e.Path)
		if err != nil {
			continue // Commit refuses a name that may not be read
		}
		for _, f := range r.Find(string(b)) {
			found = append(found, git.Leak{File: e.Path, Finding: f})
		}
	}
	return refused(found)
}

func within(name string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return covers(p, name) })
}

// mostLeaks bounds the places that a refusal names.
const mostLeaks = 10

func refused(found []git.Leak) error {
	if len(found) == 0 {
		return nil
	}
	var places []string
	for _, f := range found {
		places = append(places, fmt.Sprintf("%s:%d has %s (finding %s)", f.File, f.Line, withArticle(f.Kind), f.Fingerprint))
	}
	return fmt.Errorf("nothing was committed: %s. Take it out before committing. "+
		"If it is no secret, the person who runs you can say so under secrets.known in the configuration", strings.Join(spelling.First(places, mostLeaks), "; "))
}

func withArticle(kind string) string {
	if strings.ContainsAny(kind[:1], "aeiou") {
		return "an " + kind
	}
	return "a " + kind
}

// covers reports whether name is path or lies below it.
func covers(path, name string) bool {
	path = strings.TrimPrefix(strings.TrimSuffix(path, "/"), "./")
	return path == "." || path == "" || path == name || strings.HasPrefix(name, path+"/")
}

// commitInput is the input of git_commit.
type commitInput struct {
	Message string   `json:"message" jsonschema:"description=Subject line; then maybe a blank line and why"`
	Paths   []string `json:"paths,omitempty" jsonschema:"description=Files or directories; default what is staged"`
}

// Commit is the tool git_commit.
var Commit = tools.New(tools.Metadata{
	Name: "git_commit", Category: "vcs", Needs: tools.Read | tools.Write | tools.Exec, Paths: []string{"paths"}, Requires: []string{"git"},
	Examples: []tools.Example{{Args: json.RawMessage(`{"message":"Round totals per cart","paths":["cart.go","cart_test.go"]}`)}},
}.ProseIn(descriptions), commit)

func commit(ctx context.Context, env *tools.Env, in commitInput) (tools.Result, error) {
	g := git.New(env.Exec).WithGuard(env.Files).Operation()
	s, err := g.Status(ctx)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	if err := ready(s, in.Paths); err != nil {
		return tools.Result{}, err
	}
	if err := checkSecrets(ctx, g, env.Files, s, in.Paths); err != nil {
		return tools.Result{}, err
	}
	c, err := g.Commit(ctx, in.Message, in.Paths)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	text := fmt.Sprintf("%.10s %s", c.Hash, c.Subject)
	return turn.WithValue(tools.Result{Text: "Committed as " + text, Summary: text}, c.Hash)
}

// ready refuses what git would refuse in words that help less.
func ready(s *git.Status, paths []string) error {
	var changed []string
	staged := false
	for _, e := range s.Entries {
		if e.Conflict {
			return fmt.Errorf("%s is in conflict: resolve it before committing", e.Path)
		}
		staged = staged || e.Index != ""
		changed = append(changed, e.Path)
	}
	switch {
	case len(changed) == 0:
		return errors.New("nothing differs from the last commit: there is nothing to commit")
	case len(paths) == 0 && !staged:
		return fmt.Errorf("nothing is staged: name in paths what to commit. Changed: %s", spelling.List(changed, 20))
	}
	for _, p := range paths {
		if !touches(p, changed) {
			return fmt.Errorf("%s has no changes. Changed: %s", p, spelling.List(changed, 20))
		}
	}
	return nil
}

func touches(path string, changed []string) bool {
	return slices.ContainsFunc(changed, func(c string) bool { return covers(path, c) })
}

// Bounds of the new files whose content a diff shows.
const (
	mostNew      = 100
	mostNewBytes = 256 << 10
)

// newFiles are the untracked files among entries, as hunks of a diff, but for
// those that git ignores or that no tool may read. Only those at or below
// paths, if there are any.
func newFiles(ctx context.Context, env *tools.Env, entries []git.StatusEntry, paths []string) (string, error) {
	var b strings.Builder
	n := 0
	for _, e := range entries {
		if !e.Untracked || len(paths) > 0 && !within(e.Path, paths) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
		info, err := env.Files.Stat(e.Path)
		if err != nil || !info.Mode().IsRegular() {
			continue // what may not be read, or is no file
		}
		if info.Size() > mostNewBytes {
			fmt.Fprintf(&b, "diff --git %s %s\nnew file mode 100644\n[%d bytes; read_file shows them]\n", spelling.PathLine("a/"+e.Path), spelling.PathLine("b/"+e.Path), info.Size())
			continue
		}
		content, err := env.Files.ReadFile(e.Path)
		if err != nil {
			continue
		}
		if n++; n > mostNew {
			fmt.Fprintf(&b, "[more new files; git_status names them]\n")
			break
		}
		writeNew(&b, e.Path, content)
	}
	return b.String(), nil
}

// writeNew writes a file as git diff shows one that was added.
func writeNew(b *strings.Builder, name string, content []byte) {
	to := spelling.PathLine("b/" + name)
	fmt.Fprintf(b, "diff --git %s %s\nnew file mode 100644\n", spelling.PathLine("a/"+name), to)
	switch {
	case bytes.IndexByte(content, 0) >= 0:
		fmt.Fprintf(b, "Binary files /dev/null and %s differ\n", to)
		return
	case len(content) == 0:
		return
	}
	text, whole := strings.CutSuffix(string(content), "\n")
	lines := strings.Split(text, "\n")
	fmt.Fprintf(b, "--- /dev/null\n+++ %s\n@@ -0,0 +1,%d @@\n", to, len(lines))
	for _, l := range lines {
		b.WriteString("+" + l + "\n")
	}
	if !whole {
		b.WriteString("\\ No newline at end of file\n")
	}
}

// Continue is the tool git_continue.
var Continue = tools.New(tools.Metadata{
	Name: "git_continue", Category: "vcs", Needs: tools.Read | tools.Write | tools.Exec, Effect: tools.Unsafe, Requires: []string{"git"},
	Asks:     "it commits what was resolved, and goes on with the merge, rebase, cherry-pick or revert",
	Examples: []tools.Example{{Args: json.RawMessage(`{}`)}},
}.ProseIn(descriptions), continueOperation)

func continueOperation(ctx context.Context, env *tools.Env, _ struct{}) (tools.Result, error) {
	g := git.New(env.Exec).WithGuard(env.Files).Operation()
	before, err := g.Unmerged(ctx)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	for _, name := range before.Files {
		content, err := env.Files.ReadFile(name)
		if err != nil {
			continue // it was removed, which settles it
		}
		if at := marker(string(content)); at > 0 {
			return conflicts(before, fmt.Sprintf("not continued: %s still has the marks of a conflict in line %d", name, at))
		}
	}
	after, err := g.Continue(ctx, before)
	if err != nil {
		return tools.Result{}, explain(err)
	}
	if len(after.Files) > 0 {
		after.Continued = true
		return conflicts(after, "continued up to the next conflict")
	}
	done := "staged"
	if before.Operation != "" {
		done = before.Operation + " continued to its end"
	}
	return turn.WithValue(tools.Result{Text: done + ": " + spelling.List(before.Files, 20), Summary: done}, after)
}

// conflicts is the result where files are still in conflict, in git's own words.
func conflicts(m *git.Merging, why string) (tools.Result, error) {
	var b strings.Builder
	for _, name := range m.Files {
		fmt.Fprintf(&b, "CONFLICT (content): Merge conflict in %s\n", name)
	}
	return turn.WithValue(tools.Result{Failed: true, Text: b.String() + why, Summary: why}, m)
}

// marker is the number of the first line that marks a conflict, 0 if there is none.
func marker(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") {
			return n
		}
	}
	return 0
}
