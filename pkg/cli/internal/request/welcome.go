package request

import (
	"context"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/trust"
)

// AskTrust settles before a run what of the workspace has a say. If it may ask,
// it asks about what nobody has looked at yet, once for each content; else the
// run goes on without, and a note says so.
func AskTrust(ctx context.Context, e *env.Env, f *Flags, ask bool) error {
	dir, err := env.Directory(f.Workspace)
	if err != nil {
		return nil // the run itself reports what is wrong with it
	}
	c, err := e.Client()
	if err != nil {
		return err
	}
	st, err := c.Trust(ctx, dir)
	if err != nil {
		return err
	}
	for _, f := range st.Files {
		if f.Kind == trust.Configuration {
			e.Warn("%s is not read: %s", f.Path, f.Why)
		}
	}
	pending := st.Pending()
	switch {
	case f.Trust || len(pending) == 0:
		return nil
	case !ask || !e.Interactive():
		is := "is not used: nobody trusts it yet"
		if len(pending) > 1 {
			is = fmt.Sprintf("and %d more are not used: nobody trusts them yet", len(pending)-1)
		}
		e.Warn("%s %s; adroit trust shows and trusts what is there, --trust-project uses it this once", pending[0].Path, is)
		return nil
	}
	yes, answered := askTrust(ctx, e, st.Root, pending)
	if !answered {
		return nil
	}
	_, err = c.SetTrust(ctx, adroit.TrustChange{Dir: dir, Files: pending, Trust: yes})
	return err
}

// askTrust asks at the terminal whether files may instruct agents.
func askTrust(ctx context.Context, e *env.Env, root string, pending []trust.File) (yes, answered bool) {
	c, _ := e.Config() // nil if it cannot be read
	hide := config.Redactor(c, e.Getenv)
	fmt.Fprintf(e.Err, "%s has files that would instruct agents, and nobody has trusted them:\n", e.Home(render.SanitizeLine(root)))
	render.TrustFiles(e.Err, pending, 0, hide)
	in := term.NewLineReader(ctx, e.In)
	for {
		fmt.Fprint(e.Err, "     use them? [y]es, [n]o, [v]iew their first lines: ")
		word, err := in.ReadLine()
		if err != nil {
			fmt.Fprintln(e.Err)
			return false, false
		}
		switch strings.ToLower(strings.TrimSpace(word)) {
		case "y", "yes":
			return true, true
		case "n", "no":
			return false, true
		case "v", "view":
			render.TrustFiles(e.Err, pending, 8, hide)
		}
	}
}
