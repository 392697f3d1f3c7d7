package gittool

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A leaked is a secret that a commit would publish.
type leaked struct {
	file string
	secret.Finding
}

// leak refuses a commit whose new lines hold secrets: known values and what is
// shaped like one. The message names places and kinds and not the secrets. Names
// that are secret by themselves are refused by [git.Repo.Commit].
func leak(ctx context.Context, g *git.Repo, files *workspace.Files, s *git.Status, paths []string) error {
	r := secret.From(ctx)
	o := git.DiffOptions{Staged: true, Context: 1}
	if len(paths) > 0 && s.Commit != "" {
		o = git.DiffOptions{From: "HEAD", Paths: paths, Context: 1}
	}
	diff, err := g.Diff(ctx, o)
	if err != nil {
		return explain(err)
	}
	found := added(r, diff)
	for _, e := range s.Entries {
		if !e.Untracked || len(paths) == 0 || !within(e.Path, paths) {
			continue
		}
		b, err := fs.ReadFile(files.FS(), e.Path)
		if err != nil {
			continue // Commit refuses a name that may not be read
		}
		for _, f := range r.Find(string(b)) {
			found = append(found, leaked{e.Path, f})
		}
	}
	return refused(found)
}

// added finds the secrets in the new lines of a diff. A hunk is looked at as
// one text, since a key may have several lines.
func added(r *secret.Redactor, diff string) []leaked {
	var found []leaked
	var file string
	var text strings.Builder
	var isNew []bool
	start := 0
	flush := func() {
		for _, f := range r.Find(text.String()) {
			if f.Line <= len(isNew) && isNew[f.Line-1] {
				f.Line += start - 1
				found = append(found, leaked{file, f})
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

func within(name string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return covers(p, name) })
}

// mostLeaks bounds the places that a refusal names.
const mostLeaks = 10

func refused(found []leaked) error {
	if len(found) == 0 {
		return nil
	}
	var places []string
	for i, f := range found {
		if i == mostLeaks {
			places = append(places, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		places = append(places, fmt.Sprintf("%s:%d has %s (finding %s)", f.file, f.Line, withArticle(f.Kind), f.Fingerprint))
	}
	return fmt.Errorf("nothing was committed: %s. Take it out before committing. "+
		"If it is no secret, the person who runs you can say so under secrets.known in the configuration", strings.Join(places, "; "))
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
