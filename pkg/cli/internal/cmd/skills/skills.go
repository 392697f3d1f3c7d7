// Package skills holds the commands of adroit skills.
package skills

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/config"
	"github.com/adroit-run/adroit/internal/projectdir"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/catalog"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/format"
	"github.com/spf13/cobra"
)

var noun = catalog.Noun{Word: "skills", Dirs: strings.Join(projectdir.Skills, " and ")}

// New is adroit skills.
func New(e *env.Env) *cobra.Command {
	return env.Lister("skills", "List and show skills: instructions that agents read when they need them", newList(e), newShow(e))
}

func newList(e *env.Env) *cobra.Command {
	return catalog.List(e, noun, skills(e), listText, func(l *adroit.Listing[adroit.SkillInfo]) {
		if len(l.Items) == 0 {
			fmt.Fprintln(e.Err, "no skills; one is a folder with a SKILL.md in "+e.Home(filepath.Join(config.Dir(e.Getenv), "skills")))
		}
	})
}

// skills lists the skills, and prints what is wrong with others.
func skills(e *env.Env) func(adroit.Client, context.Context, adroit.Scope) (*adroit.Listing[adroit.SkillInfo], error) {
	return func(c adroit.Client, ctx context.Context, in adroit.Scope) (_ *adroit.Listing[adroit.SkillInfo], err error) {
		if in.Dir, err = filepath.Abs(in.Dir); err != nil {
			return nil, err
		}
		l, err := c.Skills(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, p := range l.Problems {
			fmt.Fprintln(e.Err, format.Sanitize(p.String()))
		}
		return l, nil
	}
}

func listText(w io.Writer, list []adroit.SkillInfo) {
	var t format.Table
	for _, s := range list {
		t.Row(s.Name, s.Layer, format.FirstSentence(s.Description))
	}
	t.Write(w)
}

func newShow(e *env.Env) *cobra.Command {
	var asJSON bool
	show := func(c adroit.Client, ctx context.Context, n adroit.Named) (_ *adroit.SkillDetail, err error) {
		if _, err := skills(e)(c, ctx, n.Scope); err != nil {
			return nil, err
		}
		if n.Dir, err = filepath.Abs(n.Dir); err != nil {
			return nil, err
		}
		return c.ShowSkill(ctx, n)
	}
	cmd := catalog.Show(e, noun, "show", "Show a skill as an agent reads it", show, func(w io.Writer, s *adroit.SkillDetail) error {
		if asJSON {
			return format.JSON(w, s.Skill)
		}
		showText(w, s, e.Home)
		return nil
	})
	env.JSONFlag(cmd, &asJSON)
	cmd.Example = "  adroit skills show release-notes"
	return cmd
}

// showText describes a skill; home shortens a path.
func showText(w io.Writer, s *adroit.SkillDetail, home func(string) string) {
	var t format.Table
	t.Row("skill", s.Name)
	t.Row("description", s.Description)
	t.Row("from", s.Layer+" "+home(s.File))
	t.Put("files", strings.Join(slices.Sorted(maps.Keys(s.Files)), ", "))
	t.Row("size", fmt.Sprintf("about %s when read whole", format.Plural(format.Tokens(s.Size()), "token")))
	t.Write(w)
	fmt.Fprintf(w, "\n%s\n", format.Sanitize(s.Body))
}
