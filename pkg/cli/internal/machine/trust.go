package machine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/guard/trust"
)

// NewTrust returns the command adroit config trust.
func NewTrust(e *kit.Env) *cobra.Command {
	var all, forget, show, asJSON bool
	cmd := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Review and trust a project's agents, skills and AGENTS.md",
		Long: "Before you trust a project, nothing in it is configuration or instruction: its agents, its\n" +
			"skills, its validation stages, its AGENTS.md and CLAUDE.md are files like others. This command shows first\n" +
			"what those files would have done, then their text, in PAGER or less at a terminal, and trusts\n" +
			"them as they are now; at a terminal it asks first. One that changes is asked about again. Environment files are never read, and a project never sets approvals, the sandbox,\n" +
			"addresses or trust.",
		Example: "  adroit config trust ~/src/shop\n  adroit config trust --list\n  adroit config trust --revoke ~/src/shop",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			switch {
			case all:
				if len(args) > 0 {
					return kit.Usagef("leave the directory out", "--list lists all projects")
				}
				return trustList(cmd.Context(), e, c, asJSON)
			case forget:
				return revoke(cmd.Context(), e, c, dir)
			}
			return review(cmd.Context(), e, c, dir, show, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&all, "list", false, "list projects with a trust decision")
	f.BoolVar(&forget, "revoke", false, "remove the trust decision for the project")
	f.BoolVar(&show, "show", false, "show the files and trust nothing")
	f.BoolVar(&asJSON, "json", false, "as JSON")
	cmd.MarkFlagsMutuallyExclusive("list", "revoke", "show")
	return cmd
}

// review shows the files of a project, and trusts them as they were shown.
func review(ctx context.Context, e *kit.Env, c adroit.Client, dir string, show, asJSON bool) error {
	dir, err := kit.Directory(dir)
	if err != nil {
		return err
	}
	st, err := c.Trust(ctx, dir)
	if err != nil {
		return err
	}
	open, unshown := st.Open(), len(slices.DeleteFunc(slices.Clone(st.Files), func(f trust.File) bool { return !f.Unshown }))
	if !asJSON {
		request.ShowTrust(ctx, e, e.Out, st.Files)
		for _, p := range st.Removed {
			fmt.Fprintf(e.Out, "removed  %s\n", kit.Path(p))
		}
		if st.Partial {
			fmt.Fprintln(e.Err, hint.Program()+": note: the project has too many directories to look into all; what was not seen is not trusted")
		}
	}
	if !show && (len(open) > 0 || len(st.Removed) > 0) {
		if e.Interactive() && len(open) > 0 {
			fmt.Fprintf(e.Err, "trust %s of %s as they are now? [y]es, [n]o: ", kit.Plural(len(open), "file"), e.Home(kit.SanitizeLine(st.Root)))
			in := kit.NewLineReader(ctx, e.In)
			word, err := in.ReadLine()
			if w := strings.ToLower(strings.TrimSpace(word)); err != nil || w != "y" && w != "yes" {
				return kit.Fail(errors.New("nothing was changed"), "")
			}
		}
		if st, err = c.SetTrust(ctx, adroit.TrustChange{Dir: dir, Files: open, Trust: true}); err != nil {
			return err
		}
	}
	if asJSON {
		for i := range st.Files {
			st.Files[i].Text = "" // the file has it
		}
		return kit.JSON(e.Out, st)
	}
	if len(st.Files) == 0 {
		fmt.Fprintln(e.Out, "nothing here would instruct agents: there are no agents, no skills, no AGENTS.md, no CLAUDE.md")
	} else if !show {
		what := kit.Plural(len(open), "more file") + " trusted"
		if len(open) == 0 {
			what = "everything was trusted already"
		}
		fmt.Fprintf(e.Out, "%s in %s    %s\n", what, e.Home(kit.SanitizeLine(st.Root)), hint.Command("config trust --revoke %s", st.Root))
	}
	if unshown > 0 && !show {
		fmt.Fprintf(e.Out, "%s not trusted, since the text is too much for once: run this again to see what is next\n", kit.Plural(unshown, "file"))
	}
	return nil
}

func trustList(ctx context.Context, e *kit.Env, c adroit.Client, asJSON bool) error {
	places, err := c.Trusts(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return kit.JSON(e.Out, places)
	}
	var t kit.Table
	for _, p := range places {
		t.Row(e.Home(kit.SanitizeLine(p.Root)), kit.Plural(len(p.Trusted), "file")+" trusted", fmt.Sprintf("%d refused", len(p.Refused)), p.Since.Local().Format("2006-01-02"))
		for _, r := range p.Allowed {
			t.Row("", "always", kit.SanitizeLine(r.String()))
		}
	}
	t.Write(e.Out)
	return nil
}

func revoke(ctx context.Context, e *kit.Env, c adroit.Client, dir string) error {
	abs, err := filepath.Abs(dir) // which need not exist any more
	if err != nil {
		return err
	}
	if _, err := c.SetTrust(ctx, adroit.TrustChange{Dir: abs, Revoke: true}); err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "nothing in %s is trusted any more\n", kit.SanitizeLine(dir))
	return nil
}
