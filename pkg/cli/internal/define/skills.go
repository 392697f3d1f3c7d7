package define

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"

	"github.com/spf13/cobra"
)

var skillsNoun = Noun{Word: "skills", Dirs: strings.Join(configs.Skills, " and ")}

// New is adroit skills.
func NewSkills(e *kit.Env) *cobra.Command {
	return kit.Lister("skills", "List and show skills: instructions that agents read when they need them", newList(e), skillsNewShow(e))
}

func newList(e *kit.Env) *cobra.Command {
	return List(e, skillsNoun, skills(e), skillsListText, func(l *adroit.Listing[adroit.SkillInfo]) {
		if len(l.Items) == 0 {
			fmt.Fprintln(e.Err, "no skills; one is a folder with a SKILL.md in "+e.Home(filepath.Join(config.Dir(e.Getenv), "skills")))
		}
	})
}

// skills lists the skills, and prints what is wrong with others.
func skills(e *kit.Env) func(adroit.Client, context.Context, adroit.Scope) (*adroit.Listing[adroit.SkillInfo], error) {
	return func(c adroit.Client, ctx context.Context, in adroit.Scope) (_ *adroit.Listing[adroit.SkillInfo], err error) {
		if in.Dir, err = filepath.Abs(in.Dir); err != nil {
			return nil, err
		}
		l, err := c.Skills(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, p := range l.Problems {
			fmt.Fprintln(e.Err, kit.Sanitize(p.String()))
		}
		return l, nil
	}
}

func skillsListText(w io.Writer, list []adroit.SkillInfo) {
	var t kit.Table
	for _, s := range list {
		t.Row(s.Name, s.Layer, kit.FirstSentence(s.Description))
	}
	t.Write(w)
}

func skillsNewShow(e *kit.Env) *cobra.Command {
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
	cmd := Show(e, skillsNoun, "show", "Show a skill as an agent reads it", show, func(w io.Writer, s *adroit.SkillDetail) error {
		if asJSON {
			return kit.JSON(w, s.Skill)
		}
		skillsShowText(w, s, e.Home)
		return nil
	})
	kit.JSONFlag(cmd, &asJSON)
	cmd.Example = "  adroit skills show release-notes"
	return cmd
}

// showText describes a skill; home shortens a path.
func skillsShowText(w io.Writer, s *adroit.SkillDetail, home func(string) string) {
	var t kit.Table
	t.Row("skill", s.Name)
	t.Row("description", s.Description)
	t.Row("from", s.Layer+" "+home(s.File))
	t.Put("files", strings.Join(slices.Sorted(maps.Keys(s.Files)), ", "))
	t.Row("size", fmt.Sprintf("about %s when read whole", kit.Plural(kit.Tokens(s.Size()), "token")))
	t.Write(w)
	fmt.Fprintf(w, "\n%s\n", kit.Sanitize(s.Body))
}
