package cli

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/exit"
	"github.com/adroit-run/adroit/pkg/cli/render"
	"github.com/adroit-run/adroit/pkg/cli/term"
	"github.com/adroit-run/adroit/pkg/trust"
)

// A vouch says what of a workspace has a say: what its operator trusts, or all
// of it for one run.
type vouch struct {
	all    bool
	dir    string
	status trust.Status
}

// vouchFor looks at a workspace; all is --trust-project.
func (a *app) vouchFor(dir string, all bool) (vouch, error) {
	v := vouch{all: all, dir: dir}
	if all {
		return v, nil
	}
	s, err := a.trust()
	if err != nil {
		return v, nil // without a place to keep trust in there is none
	}
	origin, err := a.origin(dir)
	if err == nil {
		v.status, err = s.CheckAs(dir, origin)
	}
	return v, err
}

// origin is the work tree that the one of a job was made from, if dir is in one
// that we made: what the operator trusts there is trusted in it.
func (a *app) origin(dir string) (string, error) {
	data, err := a.dataDir()
	if err != nil {
		return "", err
	}
	if data, err = filepath.EvalSymlinks(data); err != nil {
		return "", nil // nothing was made yet
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(filepath.Join(data, "worktrees"), dir)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return "", nil
	}
	id, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	if id, name, ok := strings.Cut(id, "-"); ok { // of a sub-agent
		c, err := adroit.OpenTree(data, id, name)
		if err != nil || c == nil {
			return "", err
		}
		if c.Plain {
			from, err := a.origin(c.From)
			return cmp.Or(from, c.From), err
		}
		return c.Tree.Repo, nil
	}
	w, err := a.worktree(id)
	if err != nil || w == nil {
		return "", err
	}
	return w.Repo, nil
}

// trusted reports whether a file or a directory of the workspace has a say.
func (v vouch) trusted(path string) bool { return v.all || v.status.Trusted(path) }

// agents are the project's agents that have a say.
func (v vouch) agents() (agents.Layer, bool) {
	dir := filepath.Join(v.dir, filepath.FromSlash(projectAgents))
	if v.all {
		return layer("project", dir, false), true
	}
	if len(v.status.Files) == 0 {
		return agents.Layer{}, false
	}
	sub, err := fs.Sub(v.status.FS(), projectAgents)
	return agents.Layer{Name: "project", FS: sub, Dir: dir}, err == nil
}

func (a *app) trust() (*trust.Store, error) {
	dir, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	return trust.In(dir), nil
}

// note tells the operator something once.
func (a *app) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if slices.Contains(a.noted, text) {
		return
	}
	a.noted = append(a.noted, text)
	fmt.Fprintf(a.Stderr, "adroit: note: %s\n", render.Sanitize(text))
}

// welcome settles before a run what of the workspace has a say. At a terminal
// it asks about what nobody has looked at yet, once for each content; elsewhere
// it goes on without and says so.
func (a *app) welcome(ctx context.Context, q request) error {
	dir, err := directory(q.dir)
	if err != nil {
		return nil // the run itself says what is wrong with it
	}
	s, err := a.trust()
	if err != nil {
		return nil
	}
	st, err := s.Check(dir)
	if err != nil {
		return exit.Fail(err, "adroit trust --list shows what is trusted; remove the file to start anew")
	}
	for _, f := range st.Files {
		if f.Kind == trust.Config {
			a.note("%s is not read: %s", f.Path, f.Why)
		}
	}
	pending := st.Pending()
	switch {
	case q.trust || len(pending) == 0:
		return nil
	case !a.asks() || q.json || q.detach || q.dry:
		is := "is not used: nobody trusts it yet"
		if len(pending) > 1 {
			is = fmt.Sprintf("and %d more are not used: nobody trusts them yet", len(pending)-1)
		}
		a.note("%s %s; adroit trust shows and trusts what is there, --trust-project uses it this once", pending[0].Path, is)
		return nil
	}
	fmt.Fprintf(a.Stderr, "%s has files that would instruct agents, and nobody has trusted them:\n", a.home(render.SanitizeLine(st.Root)))
	a.present(a.Stderr, pending, 0)
	in := term.NewLineReader(ctx, a.Stdin)
	for {
		fmt.Fprint(a.Stderr, "     use them? [y]es, [n]o, [v]iew their first lines: ")
		word, err := in.ReadLine()
		if err != nil {
			fmt.Fprintln(a.Stderr)
			return nil
		}
		switch strings.ToLower(strings.TrimSpace(word)) {
		case "y", "yes":
			return s.Record(st, pending, true)
		case "n", "no":
			return s.Record(st, pending, false)
		case "v", "view":
			a.present(a.Stderr, pending, 8)
		}
	}
}
