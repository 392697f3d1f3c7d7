package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
	"github.com/adroit-run/adroit/pkg/trust"
)

func (a *app) trustCommand() *cobra.Command {
	var list, revoke, show, asJSON bool
	cmd := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Review and trust a project's agents, skills and AGENTS.md",
		Long: "Before you trust a project, nothing in it is configuration or instruction: its agents, its\n" +
			"skills, its validation stages, its AGENTS.md and CLAUDE.md are files like others. This command shows those files\n" +
			"and trusts them as they are now; at a terminal it asks first. One that changes is asked about\n" +
			"again. Environment files are never read, and a project never sets approvals, the sandbox,\n" +
			"addresses or trust.",
		Example: "  adroit trust ~/src/shop\n  adroit trust --list\n  adroit trust --revoke ~/src/shop",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			s, err := a.trustStore()
			if err != nil {
				return err
			}
			switch {
			case list:
				if len(args) > 0 {
					return exit.Usagef("leave the directory out", "--list lists all projects")
				}
				return a.trustList(s, asJSON)
			case revoke:
				return a.trustRevoke(s, dir)
			}
			return a.trustDir(cmd, s, dir, show, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&list, "list", false, "list projects with a trust decision")
	f.BoolVar(&revoke, "revoke", false, "remove the trust decision for the project")
	f.BoolVar(&show, "show", false, "show the files and trust nothing")
	f.BoolVar(&asJSON, "json", false, "as JSON")
	cmd.MarkFlagsMutuallyExclusive("list", "revoke", "show")
	return cmd
}

func (a *app) trustStore() (*trust.Store, error) {
	dir, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	return trust.In(dir), nil
}

func (a *app) trustDir(cmd *cobra.Command, s *trust.Store, dir string, show, asJSON bool) error {
	dir, err := env.Directory(dir)
	if err != nil {
		return err
	}
	st, err := s.Check(dir)
	if err != nil {
		return err
	}
	var open []trust.File
	for _, f := range st.Files {
		if f.State != trust.Trusted && f.State != trust.Never {
			open = append(open, f)
		}
	}
	if !asJSON {
		render.TrustFiles(a.Stdout, st.Files, 3, a.redactor())
		for _, p := range st.Removed {
			fmt.Fprintf(a.Stdout, "removed  %s\n", render.SanitizeLine(p))
		}
		if st.Partial {
			fmt.Fprintln(a.Stderr, "adroit: note: the project has too many directories to look into all; what was not seen is not trusted")
		}
	}
	if !show && (len(open) > 0 || len(st.Removed) > 0) {
		if a.asks() && len(open) > 0 {
			fmt.Fprintf(a.Stderr, "trust %s of %s as they are now? [y]es, [n]o: ", render.Plural(len(open), "file"), a.home(render.SanitizeLine(st.Root)))
			in := term.NewLineReader(cmd.Context(), a.Stdin)
			word, err := in.ReadLine()
			if w := strings.ToLower(strings.TrimSpace(word)); err != nil || w != "y" && w != "yes" {
				return exit.Fail(errors.New("nothing was changed"), "")
			}
		}
		if err := s.Record(st, open, true); err != nil {
			return err
		}
		if st, err = s.Check(dir); err != nil {
			return err
		}
	}
	if asJSON {
		return a.json(st)
	}
	if len(st.Files) == 0 {
		fmt.Fprintln(a.Stdout, "nothing here would instruct agents: there are no agents, no skills, no AGENTS.md, no CLAUDE.md")
	} else if !show {
		fmt.Fprintf(a.Stdout, "%s trusted in %s    adroit trust --revoke %s\n", render.Plural(len(open), "more file"), a.home(render.SanitizeLine(st.Root)), a.home(render.SanitizeLine(st.Root)))
	}
	return nil
}

func (a *app) trustList(s *trust.Store, asJSON bool) error {
	places, err := s.List()
	if err != nil {
		return err
	}
	if asJSON {
		if places == nil {
			places = []trust.Place{}
		}
		return a.json(places)
	}
	var t render.Table
	for _, p := range places {
		t.Row(a.home(render.SanitizeLine(p.Root)), render.Plural(len(p.Trusted), "file")+" trusted", fmt.Sprintf("%d refused", len(p.Refused)), p.Since.Local().Format("2006-01-02"))
	}
	t.Write(a.Stdout)
	return nil
}

func (a *app) trustRevoke(s *trust.Store, dir string) error {
	had, err := s.Revoke(dir)
	if err != nil {
		return err
	}
	if !had {
		return exit.Fail(fmt.Errorf("%s has no trust decision", render.SanitizeLine(dir)), "adroit trust --list lists the projects")
	}
	fmt.Fprintf(a.Stdout, "nothing in %s is trusted any more\n", render.SanitizeLine(dir))
	return nil
}
