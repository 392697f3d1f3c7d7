// Package define has the commands for what is defined in files: adroit agents, pipelines,
// skills, tools and mcp.
package define

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	render "github.com/adroit-run/adroit/pkg/cli/internal/show"
)

var noun = Noun{Word: "agents", Dirs: configs.ClaudeAgents + " and " + configs.AgentsDir, Ext: ".md"}

// New is adroit agents.
func New(e *kit.Env) *cobra.Command {
	list := List(e, noun, adroit.Client.Agents, listText, func(l *adroit.Listing[adroit.AgentInfo]) {
		if l.Problems.Err() != nil {
			fmt.Fprintln(e.Err, "some agents cannot be used; "+hint.Command("agents lint")+" says why")
		}
	})
	lint := Lint(e, noun, adroit.Client.LintAgents, "Check agent files: all problems at once, with their places", "name agents or their files, or none for all")
	return kit.Lister("agents", "List, show, check and create agents", list, newShow(e), lint, newNew(e))
}

func listText(w io.Writer, list []adroit.AgentInfo) {
	var t kit.Table
	for _, a := range list {
		t.Row(a.Name, a.Layer, kit.FirstSentence(a.Description))
	}
	t.Write(w)
}

func newShow(e *kit.Env) *cobra.Command {
	var asJSON, source bool
	cmd := Show(e, noun, "show", "Show an agent: tools, definition of done, limits, prompt", adroit.Client.ShowAgent, func(w io.Writer, a *adroit.AgentInfo) error {
		switch {
		case source && a.Source == "":
			return kit.Fail(fmt.Errorf("%s has no file: the program has made it", a.Name), "")
		case source:
			_, err := io.WriteString(w, kit.Sanitize(a.Source))
			return err
		case asJSON:
			return kit.JSON(w, a.DynamicAgent)
		}
		showText(w, a, e.Home)
		return nil
	})
	kit.JSONFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&source, "source", false, "print the agent's file as it is")
	cmd.MarkFlagsMutuallyExclusive("json", "source")
	cmd.Example = "  adroit agents show builder --source"
	return cmd
}

// showText describes an agent; home shortens a path.
func showText(w io.Writer, a *adroit.AgentInfo, home func(string) string) {
	var t kit.Table
	t.Put("agent", a.Name)
	t.Put("description", a.Description)
	t.Put("from", strings.TrimSpace(a.Layer+" "+home(a.File)))
	t.Put("model", a.Model)
	t.Put("workflow", a.Workflow)
	t.Put("tools", strings.Join(a.Tools, ", "))
	for _, win := range a.Windows {
		render.ShortenedRows(&t, fmt.Sprintf("with a %s-token window, ", kit.Count(win.Tokens)), win.Tools)
	}
	t.Put("skills", strings.Join(a.Skills, ", "))
	if a.Grant != nil {
		t.Put("grant", a.Grant.String())
	}
	for _, f := range a.Inputs {
		t.Put("input", strings.TrimSpace(f.Name+" "+f.Description))
	}
	t.Put("done", render.Criterion(a.Done))
	if a.Expose {
		t.Put("exposed", "as a tool, by "+hint.Command("mcp serve"))
	}
	if l := a.Limits; l.Turns > 0 {
		t.Put("turns", fmt.Sprint(l.Turns))
	}
	if l := a.Limits; l.Tokens > 0 {
		t.Put("tokens", kit.Count(l.Tokens))
	}
	if l := a.Limits; l.Time > 0 {
		t.Put("time", l.Time.String())
	}
	if l := a.Limits; l.CostUSD > 0 {
		t.Put("cost", fmt.Sprintf("%.2f USD", l.CostUSD))
	}
	t.Write(w)
	fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(kit.Sanitize(a.Prompt)))
}
