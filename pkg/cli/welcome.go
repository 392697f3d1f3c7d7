package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
	"github.com/adroit-run/adroit/pkg/trust"
)

func (a *app) trust() (*trust.Store, error) {
	dir, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	return trust.In(dir), nil
}

// note prints a message once.
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
	dir, err := env.Directory(q.dir)
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
