package define

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
	"github.com/spf13/cobra"
)

// A Noun is a kind of definition that can be listed, shown or checked.
type Noun struct {
	Word string // in the plural
	Path string // of its command, if that is not Word
	Dirs string // where a project has its own
	Ext  string // of its files, as in .md
}

// isFile reports whether an argument is the path of a file by its form.
func (n Noun) isFile(arg string) bool {
	return strings.Contains(arg, "/") || strings.HasSuffix(arg, n.Ext)
}

func (n Noun) one() string { return strings.TrimSuffix(n.Word, "s") }

// trust adds the flag that makes a command read the directory's own.
func (n Noun) trust(cmd *cobra.Command, in *adroit.Scope) {
	cmd.Flags().BoolVar(&in.Trust, "trust-project", false, "also read the "+n.Word+" in "+n.Dirs+" here")
}

// List makes adroit NOUN list. after, which may be nil, sees what was listed for
// people.
func List[T any](e *kit.Env, n Noun, list func(adroit.Client, context.Context, adroit.Scope) (*adroit.Listing[T], error), text func(w io.Writer, items []T), after func(l *adroit.Listing[T])) *cobra.Command {
	var asJSON bool
	in := adroit.Scope{}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the " + n.Word,
		Example: "  adroit " + cmp.Or(n.Path, n.Word) + " list --json",
		Args:    cobra.NoArgs,
		RunE: e.With(func(ctx context.Context, c adroit.Client, _ []string) error {
			in.Dir = e.Here()
			found, err := list(c, ctx, in)
			if err != nil {
				return err
			}
			err = kit.Print[[]T](e.OutScreen(), asJSON, found.Items, text)
			if err == nil && !asJSON && after != nil {
				after(found)
			}
			return err
		}),
	}
	kit.JSONFlag(cmd, &asJSON)
	n.trust(cmd, &in)
	return cmd
}

// Show makes a command about one by its name, which write prints.
func Show[T any](e *kit.Env, n Noun, use, short string, show func(adroit.Client, context.Context, adroit.Named) (T, error), write func(io.Writer, T) error) *cobra.Command {
	in := adroit.Named{}
	cmd := &cobra.Command{
		Use:   use + " NAME",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			in.Name, in.Dir = args[0], e.Here()
			v, err := show(c, ctx, in)
			if err != nil {
				return err
			}
			return write(e.Out, v)
		}),
	}
	n.trust(cmd, &in.Scope)
	return cmd
}

// Lint makes adroit NOUN lint.
func Lint(e *kit.Env, n Noun, lint func(adroit.Client, context.Context, adroit.LintRequest) (*adroit.LintReport, error), short, hint string) *cobra.Command {
	var asJSON bool
	in := adroit.LintRequest{}
	cmd := &cobra.Command{
		Use:     "lint [FILE|NAME...]",
		Short:   short,
		Example: "  adroit " + n.Word + " lint\n  adroit " + n.Word + " lint ./mine" + n.Ext,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Dir = e.Here()
			for _, name := range args {
				b, ok, err := n.ReadFile(name)
				if !ok {
					in.Names = append(in.Names, name)
					continue
				}
				if err != nil {
					return kit.Usagef(hint, "%v", err)
				}
				in.Files = append(in.Files, adroit.LintFile{Name: name, Text: b})
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			r, err := lint(c, cmd.Context(), in)
			if err != nil {
				return err
			}
			if asJSON {
				if err := kit.JSON(e.Out, r.Problems); err != nil {
					return err
				}
			} else {
				for _, p := range r.Problems {
					fmt.Fprintln(e.Out, kit.Sanitize(p.String()))
				}
				wrong := 0 // a note is no problem
				for _, p := range r.Problems {
					if p.Severity != agents.Note {
						wrong++
					}
				}
				fmt.Fprintf(e.Err, "%s, %s\n", kit.Plural(r.Checked, n.one()), kit.Plural(wrong, "problem"))
			}
			if r.Problems.Err() != nil {
				return kit.With(kit.Failed)
			}
			return nil
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	n.trust(cmd, &in.Scope)
	return cmd
}

// ReadFile reads the file that an argument names, if it is one by its form or there
// is one.
func (n Noun) ReadFile(arg string) (text []byte, ok bool, err error) {
	text, err = readBounded(arg)
	if errors.Is(err, fs.ErrNotExist) && !n.isFile(arg) {
		return nil, false, nil
	}
	return text, true, err
}

// readBounded reads a file as far as an agent or a pipeline may be long, and a
// byte more.
func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<20+1))
}

var pipelinesNoun = Noun{Word: "pipelines", Dirs: configs.PipelinesDir, Ext: ".yaml"}

// NewPipelines returns the command adroit pipelines.
func NewPipelines(e *kit.Env) *cobra.Command {
	list := List(e, pipelinesNoun, adroit.Client.Pipelines, pipelinesListText, func(l *adroit.Listing[adroit.PipelineInfo]) {
		if l.Problems.Err() != nil {
			fmt.Fprintln(e.Err, "some pipelines cannot be used; "+hint.Command("pipelines lint")+" says why")
		}
	})
	lint := Lint(e, pipelinesNoun, adroit.Client.LintPipelines, "Check pipelines: all problems at once, with their places", "name pipelines or their files, or none for all")
	return kit.Lister("pipelines", "List, show, check and draw pipelines", list, pipelinesNewShow(e), lint, newGraph(e), newSchema(e))
}

func pipelinesListText(w io.Writer, list []adroit.PipelineInfo) {
	var t kit.Table
	for _, p := range list {
		t.Row(p.Name, p.Layer, kit.Plural(p.Steps, "step"), kit.FirstSentence(p.Description))
	}
	t.Write(w)
}

func pipelinesNewShow(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := Show(e, pipelinesNoun, "show", "Show a pipeline: its steps, where they lead, what they need", adroit.Client.ShowPipeline, func(w io.Writer, p *adroit.PipelineDetail) error {
		if asJSON {
			return kit.JSON(w, p.Pipeline)
		}
		pipelinesShowText(w, p, e.Home)
		return nil
	})
	kit.JSONFlag(cmd, &asJSON)
	cmd.Example = "  adroit pipelines show feature"
	return cmd
}

// pipelinesShowText describes a pipeline; home shortens a path.
func pipelinesShowText(w io.Writer, p *adroit.PipelineDetail, home func(string) string) {
	var t kit.Table
	t.Put("pipeline", p.Name)
	t.Put("description", p.Description)
	t.Put("from", strings.TrimSpace(p.Layer+" "+home(p.File)))
	for _, f := range p.Inputs {
		t.Put("input", strings.TrimSpace(f.Name+" "+f.Description))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		t.Put("variable", name+" = "+show.Readable(p.Variables[name]))
	}
	t.Put("model", p.Defaults.Model)
	t.Put("on failure", string(p.OnFailure))
	t.Write(w)
	fmt.Fprintf(w, "\n%s\n", kit.Sanitize(p.Text()))
}

// showPipeline finds a pipeline by its name, or reads its file.
func showPipeline(c adroit.Client, ctx context.Context, n adroit.Named) (*adroit.PipelineDetail, error) {
	text, ok, err := pipelinesNoun.ReadFile(n.Name)
	if !ok {
		return c.ShowPipeline(ctx, n)
	}
	if err != nil {
		return nil, kit.Usagef("name a pipeline or its file", "%v", err)
	}
	p, problems := pipeline.Parse(n.Name, text)
	if err := problems.Err(); err != nil {
		return nil, kit.Fail(err, hint.Command("pipelines lint %s", n.Name))
	}
	return &adroit.PipelineDetail{Pipeline: p, File: n.Name}, nil
}

func newGraph(e *kit.Env) *cobra.Command {
	var how string
	cmd := Show(e, pipelinesNoun, "graph", "Draw a pipeline, as text or in Mermaid's language", showPipeline, func(w io.Writer, p *adroit.PipelineDetail) error {
		switch how {
		case "text":
			fmt.Fprintln(w, kit.Sanitize(p.Text()))
		case "mermaid":
			fmt.Fprintln(w, kit.Sanitize(p.Mermaid()))
		default:
			return kit.Usagef("it is one of text, mermaid", "--format is %q", how)
		}
		return nil
	})
	cmd.Use = "graph NAME|FILE"
	cmd.Example = "  adroit pipelines graph feature --format mermaid\n  adroit pipelines graph ./mine.yaml"
	cmd.Flags().StringVar(&how, "format", "text", "text or mermaid")
	return cmd
}

func newSchema(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of a pipeline's file",
		Example: "  adroit pipelines schema > pipeline.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := e.Out.Write(configs.PipelineSchema())
			return err
		},
	}
}

var skillsNoun = Noun{Word: "skills", Path: "agents skills", Dirs: strings.Join(configs.Skills, " and ")}

// NewSkills returns the command adroit agents skills.
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
	cmd.Example = "  adroit agents skills show release-notes"
	return cmd
}

// skillsShowText describes a skill; home shortens a path.
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
