package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
)

// A compareCommand is adroit run compare with its flags.
type compareCommand struct {
	request.Flags
	artifact string
	without  string // what the second side is to do without: memory
	json     bool
}

// NewCompare returns the command adroit run compare.
func NewCompare(e *kit.Env) *cobra.Command {
	var q compareCommand
	cmd := &cobra.Command{
		Use:   "compare A B [PROMPT|-]",
		Short: "Run two agents, models or pipelines on one request and compare",
		Long: "Runs the same request twice, as ordinary jobs one after the other, and prints side by side what\n" +
			"each took and made. A and B are each an agent, one that runs a workflow, or a pipeline, with\n" +
			"@MODEL after it for a model of its own. Both work in the same directory, the second on what the\n" +
			"first has left; with --worktree each has its own. With --memory off the first has a memory and\n" +
			"the second has none: so you see whether it helps.\n\n" +
			"The exit code is 0 if both were done, else that of the first that was not.",
		Example: "  adroit run compare blog blog_phases \"why jobs should survive a kill\" -m ollama/qwen3:8b\n" +
			"  adroit run compare builder@ollama/qwen3:8b builder@openai/gpt-5 \"add CSV export\" --worktree\n" +
			"  adroit run compare builder pipeline:feature \"add CSV export\" --worktree",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return kit.Usagef(hint.Command("agents list")+" and "+hint.Command("pipelines list")+" say which there are", "compare needs two agents or pipelines")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.ReadPrompt(e, args[2:]); err != nil {
				return err
			}
			return q.run(cmd.Context(), e, args[:2])
		},
	}
	f := cmd.Flags()
	f.StringVarP(&q.Model, "model", "m", "", "provider/model of the sides that name none, or script:FILE (or ADROIT_MODEL)")
	f.StringVarP(&q.Workspace, "dir", "C", ".", "work in this directory")
	f.StringArrayVarP(&q.Pairs, "input", "i", nil, "an input of both, key=value; value may be JSON, or @FILE")
	f.StringVar((*string)(&q.Approve), "approve", "none", "what to do where a person is to approve: none (denies), all (approves everything)")
	request.Limits(f, &q.Limits, request.LimitText{Turns: "stop each after this many model calls", Tokens: "stop each after this many tokens, in and out",
		Cost: "stop each after this many USD; needs the model's price in the config", Time: "stop each after this much active time, for example 30m"})
	f.BoolVar(&q.Worktree, "worktree", false, "give each a git worktree of the last commit")
	f.BoolVar(&q.Trust, "trust-project", false, "load this project's agents, skills and AGENTS.md for this run")
	f.StringVar(&q.without, "memory", "", "off: the first recalls what earlier jobs noted, the second nothing")
	f.StringVar(&q.artifact, "artifact", "", "also show how the two differ in this artifact, for example content")
	f.BoolVar(&q.json, "json", false, "print the comparison as JSON")
	return cmd
}

func (q *compareCommand) run(ctx context.Context, e *kit.Env, asked []string) error {
	if q.Approve != "none" && q.Approve != "all" {
		return kit.Usagef("it is none or all: a comparison waits for nobody", "--approve is %q", q.Approve)
	}
	if q.without != "" && q.without != memory.Off {
		return kit.Usagef("it is off", "--memory is %q", q.without)
	}
	if err := q.Read(e); err != nil {
		return err
	}
	c, err := e.Client()
	if err != nil {
		return err
	}
	// What is wrong with the second is reported before the first has run.
	for i, name := range asked {
		if _, err := request.Resolve(ctx, e, c, q.side(i, name)); err != nil {
			return err
		}
	}
	var sides []*Side
	worst := kit.Done
	for i, name := range asked {
		s, err := Run(ctx, e, c, name, q.side(i, name), q.json)
		if err != nil {
			return err
		}
		sides = append(sides, s)
		if worst == kit.Done {
			worst = kit.OfJob(ctx, s.Status)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(sides) < 2 {
		return kit.With(worst)
	}
	return errors.Join(q.print(e, sides), kit.With(worst))
}

// side is the request of one side.
func (q *compareCommand) side(n int, asked string) adroit.Request {
	r := q.Request
	if q.without != "" {
		r.Memory = []string{"project", memory.Off}[n]
	}
	agent, model, ok := strings.Cut(asked, "@")
	if r.Target = agent; ok {
		r.Model, r.ForAll = request.Script(model), model != ""
	}
	return r
}

func (q *compareCommand) print(e *kit.Env, sides []*Side) error {
	if _, changed := sides[0].Artifacts["diff"]; changed && !q.Worktree {
		e.Warn("%s changed files, and %s began with these changes; --worktree keeps them apart", sides[0].Asked, sides[1].Asked)
	}
	diff, err := q.diff(sides)
	switch {
	case err != nil:
		return err
	case q.json:
		out := map[string]any{"prompt": q.Prompt, "sides": sides}
		if q.artifact != "" {
			out["diff"] = diff
		}
		return kit.JSON(e.Out, out)
	}
	Print(e.Out, sides)
	if q.artifact != "" {
		fmt.Fprintln(e.Out)
		if diff == "" {
			fmt.Fprintf(e.Out, "both made the same %s\n", q.artifact)
		}
		show.Diff(kit.NewScreen(e.Out, e.Getenv), diff)
	}
	return nil
}

// diff renders the difference of the sides in the named artifact.
func (q *compareCommand) diff(sides []*Side) (string, error) {
	name := q.artifact
	if name == "" {
		return "", nil
	}
	for _, s := range sides {
		if _, ok := s.Texts[name]; !ok {
			have := strings.Join(slices.Sorted(maps.Keys(s.Texts)), ", ")
			have = cmp.Or(have, "none")
			return "", kit.Usagef("leave out --artifact, or name one that both have", "%s has made no %s; its artifacts: %s", s.Asked, name, have)
		}
	}
	text := func(s *Side) string { return strings.TrimRight(s.Texts[name], "\n") + "\n" }
	return udiff.Unified(sides[0].Asked+"/"+name, sides[1].Asked+"/"+name, text(sides[0]), text(sides[1])), nil
}
