package cli

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
)

func (a *app) skillsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skills",
		Short: "List and show skills: instructions that agents read when they need them",
		Args:  cobra.ArbitraryArgs,
		RunE:  env.Group,
	}
	cmd.AddCommand(a.skillsList(), a.skillsShow())
	return cmd
}

// trustSkills adds the flag that makes a command read the directory's skills.
func trustSkills(cmd *cobra.Command, on *bool) {
	cmd.Flags().BoolVar(on, "trust-project", false, "also read the skills in "+strings.Join(adroit.ProjectSkills, " and ")+" here")
}

// loaded returns the skills found here, and prints what is wrong with others.
func (a *app) loaded(trusted bool) ([]agents.Skill, error) {
	dir, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	rt, err := a.runtime()
	if err != nil {
		return nil, err
	}
	list, problems, err := rt.SkillList(dir, trusted)
	for _, p := range problems {
		fmt.Fprintln(a.Stderr, render.Sanitize(p.String()))
	}
	return list, err
}

func (a *app) skillsList() *cobra.Command {
	var asJSON, trusted bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the skills",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := a.loaded(trusted)
			if err != nil {
				return err
			}
			type entry struct {
				Name        string   `json:"name"`
				Description string   `json:"description"`
				Files       []string `json:"files"`
				Layer       string   `json:"layer"`
				File        string   `json:"file"`
			}
			entries := []entry{}
			var t render.Table
			for _, s := range list {
				files := slices.AppendSeq([]string{}, maps.Keys(s.Files))
				slices.Sort(files)
				entries = append(entries, entry{s.Name, s.Description, files, s.Source.Layer, s.Source.File})
				t.Row(s.Name, s.Source.Layer, render.FirstSentence(s.Description))
			}
			if asJSON {
				return a.json(entries)
			}
			t.Write(a.Stdout)
			if len(list) == 0 {
				fmt.Fprintln(a.Stderr, "no skills; one is a folder with a SKILL.md in "+a.home(filepath.Join(a.configDir(), "skills")))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	trustSkills(cmd, &trusted)
	return cmd
}

func (a *app) skillsShow() *cobra.Command {
	var asJSON, trusted bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a skill as an agent reads it",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := a.loaded(trusted)
			if err != nil {
				return err
			}
			var names []string
			for _, s := range list {
				names = append(names, s.Name)
			}
			i := slices.Index(names, args[0])
			if i < 0 {
				hint := "adroit skills list lists the skills"
				if near := spelling.Nearest(args[0], names); near != "" {
					hint = "did you mean " + near + "?"
				}
				return exit.Usagef(hint, "unknown skill %q", args[0])
			}
			s := list[i]
			if asJSON {
				return a.json(s)
			}
			var t render.Table
			t.Row("skill", s.Name)
			t.Row("description", s.Description)
			t.Row("from", s.Source.Layer+" "+a.home(s.Source.File))
			if len(s.Files) > 0 {
				t.Row("files", strings.Join(slices.Sorted(maps.Keys(s.Files)), ", "))
			}
			t.Row("size", fmt.Sprintf("about %s when read whole", render.Plural(tokens(s.Size()), "token")))
			t.Write(a.Stdout)
			fmt.Fprintf(a.Stdout, "\n%s\n", render.Sanitize(s.Body))
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	trustSkills(cmd, &trusted)
	return cmd
}
