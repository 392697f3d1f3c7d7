package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
)

func (a *app) agentsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List, show, check and create agents",
		Args:  cobra.ArbitraryArgs,
		RunE:  env.Group,
	}
	cmd.AddCommand(a.agentsList(), a.agentsShow(), a.agentsLint(), a.agentsNew())
	return cmd
}

// trustFlag adds the flag that makes a command read the directory's own agents.
func trustFlag(cmd *cobra.Command, on *bool) {
	cmd.Flags().BoolVar(on, "trust-project", false, "also read the agents in "+adroit.ProjectAgents+" here")
}

func (a *app) agentsList() *cobra.Command {
	var asJSON, trusted bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the agents",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			rt, err := a.runtime()
			if err != nil {
				return err
			}
			cat, problems := rt.AgentCatalog(".", trusted)
			type entry struct {
				*agents.DynamicAgent
				Layer string `json:"layer"`
				File  string `json:"file"`
			}
			list := []entry{}
			var t render.Table
			for _, ag := range cat.List() {
				list = append(list, entry{ag, ag.Source.Layer, ag.Source.File})
				t.Row(ag.Name, ag.Source.Layer, render.FirstSentence(ag.Description))
			}
			if asJSON {
				return a.json(list)
			}
			t.Write(a.Stdout)
			if problems.Err() != nil {
				fmt.Fprintln(a.Stderr, "some agents cannot be used; adroit agents lint says why")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	trustFlag(cmd, &trusted)
	return cmd
}

func (a *app) agentsShow() *cobra.Command {
	var asJSON, trusted bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show an agent: tools, definition of done, limits, prompt",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			rt, err := a.runtime()
			if err != nil {
				return err
			}
			cat, _ := rt.AgentCatalog(".", trusted)
			ag, err := rt.FindAgent(cat, args[0], ".")
			if err != nil {
				return err
			}
			if asJSON {
				return a.json(ag)
			}
			done, err := json.Marshal(ag.Done)
			if err != nil {
				return err
			}
			set, err := a.tools()
			if err != nil {
				return err
			}
			var t render.Table
			put := func(label, value string) {
				if value != "" {
					t.Row(label, value)
				}
			}
			put("agent", ag.Name)
			put("description", ag.Description)
			put("from", strings.TrimSpace(ag.Source.Layer+" "+a.home(ag.Source.File)))
			put("model", ag.Model)
			put("workflow", ag.Workflow)
			put("tools", strings.Join(ag.Tools, ", "))
			for _, tokens := range render.SmallWindows {
				fitted, err := ag.ShortenedTools(set, tokens)
				if err != nil {
					break // its tools are not part of this program, which lint says
				}
				render.ShortenedRows(&t, fmt.Sprintf("with a %s-token window, ", render.Count(tokens)), fitted)
			}
			put("skills", strings.Join(ag.Skills, ", "))
			if ag.Grant != nil {
				put("grant", ag.Grant.String())
			}
			for _, f := range ag.Inputs {
				put("input", strings.TrimSpace(f.Name+" "+f.Description))
			}
			put("done", string(done))
			if l := ag.Limits; l.Turns > 0 {
				put("turns", fmt.Sprint(l.Turns))
			}
			if l := ag.Limits; l.Tokens > 0 {
				put("tokens", render.Count(l.Tokens))
			}
			if l := ag.Limits; l.Time > 0 {
				put("time", l.Time.String())
			}
			if l := ag.Limits; l.CostUSD > 0 {
				put("cost", fmt.Sprintf("%.2f USD", l.CostUSD))
			}
			t.Write(a.Stdout)
			fmt.Fprintf(a.Stdout, "\n%s\n", strings.TrimSpace(render.Sanitize(ag.Prompt)))
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	trustFlag(cmd, &trusted)
	return cmd
}

func (a *app) agentsLint() *cobra.Command {
	var asJSON, trusted bool
	cmd := &cobra.Command{
		Use:   "lint [FILE...]",
		Short: "Check agent files: all problems at once, with their places",
		RunE: func(_ *cobra.Command, args []string) error {
			set, err := a.tools()
			if err != nil {
				return err
			}
			var found agents.Problems
			checked := len(args)
			if len(args) == 0 {
				rt, err := a.runtime()
				if err != nil {
					return err
				}
				cat, _ := rt.AgentCatalog(".", trusted)
				found, checked = cat.Lint(set), len(cat.Names())
			}
			for _, file := range args {
				b, err := os.ReadFile(file)
				if err != nil {
					return exit.Usagef("name agent files, or none for all", "%v", err)
				}
				ag, problems := agents.Parse(file, b)
				found = append(found, problems...)
				if ag != nil {
					found = append(found, agents.Lint(ag, set)...)
				}
			}
			if asJSON {
				if found == nil {
					found = agents.Problems{}
				}
				if err := a.json(found); err != nil {
					return err
				}
			} else {
				for _, p := range found {
					fmt.Fprintln(a.Stdout, render.Sanitize(p.String()))
				}
				fmt.Fprintf(a.Stderr, "%s, %s\n", render.Plural(checked, "agent"), render.Plural(len(found), "problem"))
			}
			if found.Err() != nil {
				return exit.With(exit.Failed)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	trustFlag(cmd, &trusted)
	return cmd
}

func (a *app) agentsNew() *cobra.Command {
	return &cobra.Command{
		Use:   "new NAME",
		Short: "Create an agent file from a template",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			dir := a.configDir()
			if dir == "" {
				return exit.Fail(fmt.Errorf("there is no home directory to keep agents in"), "set HOME")
			}
			text, err := agents.Skeleton(name)
			if err != nil {
				return exit.Usagef("for example: adroit agents new changelog", "%v", err)
			}
			path := filepath.Join(dir, "agents", name+".md")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return exit.Fail(err, "make it writable, or keep agents elsewhere with XDG_CONFIG_HOME")
			}
			f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if err != nil {
				if os.IsExist(err) {
					return exit.Fail(fmt.Errorf("%s is there already", a.home(path)), "edit it, or choose another name")
				}
				return err
			}
			if _, err := f.WriteString(text); err != nil {
				f.Close()
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
			fmt.Fprintln(a.Stdout, path)
			fmt.Fprintf(a.Stderr, "edit it, then: adroit agents lint    adroit run %s PROMPT\n", name)
			return nil
		},
	}
}
