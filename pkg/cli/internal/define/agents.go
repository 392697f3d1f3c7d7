// Package define has the commands for what is defined in files: adroit agents, pipelines,
// skills, tools and mcp.
package define

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/spf13/cobra"
)

var noun = Noun{Word: "agents", Dirs: configs.ClaudeAgents + " and " + configs.AgentsDir, Ext: ".md"}

// NewAgents is adroit agents.
func NewAgents(e *kit.Env) *cobra.Command {
	var all bool
	list := List(e, noun, adroit.Client.Agents, func(w io.Writer, list []adroit.AgentInfo) { listText(w, list, all) }, func(l *adroit.Listing[adroit.AgentInfo]) {
		if l.Problems.Err() != nil {
			fmt.Fprintln(e.Err, "some agents cannot be used; "+hint.Command("agents lint")+" says why")
		}
	})
	list.Flags().BoolVar(&all, "all", false, "also those that workflows and other agents call")
	lint := Lint(e, noun, adroit.Client.LintAgents, "Check agent files: all problems at once, with their places", "name agents or their files, or none for all")
	return kit.Lister("agents", "List, show, check and create agents", list, newShow(e), lint, newNew(e))
}

func listText(w io.Writer, list []adroit.AgentInfo, all bool) {
	var t kit.Table
	hidden := 0
	for _, a := range list {
		if a.Hidden && !all {
			hidden++
			continue
		}
		t.Row(a.Name, a.Layer, kit.FirstSentence(a.Description))
	}
	t.Write(w)
	if hidden > 0 {
		fmt.Fprintf(w, "\n%d more that workflows and other agents call: %s\n", hidden, hint.Command("agents list --all"))
	}
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
		show.ShortenedRows(&t, fmt.Sprintf("with a %s-token window, ", kit.Count(win.Tokens)), win.Tools)
	}
	t.Put("skills", strings.Join(a.Skills, ", "))
	if a.Grant != nil {
		t.Put("grant", a.Grant.String())
	}
	for _, f := range a.Inputs {
		t.Put("input", strings.TrimSpace(f.Name+" "+f.Description))
	}
	t.Put("done", show.Criterion(a.Done))
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

func newNew(e *kit.Env) *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:     "new NAME",
		Short:   "Create an agent file from a template, or from another agent",
		Example: "  adroit agents new translator\n  adroit agents new my-builder --from builder",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := config.Dir(e.Getenv)
			if dir == "" {
				return kit.Fail(errors.New("there is no home directory to keep agents in"), "set HOME")
			}
			text, err := agents.Skeleton(args[0])
			if err != nil {
				return kit.Usagef("for example: "+hint.Command("agents new changelog"), "%v", err)
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			if from != "" {
				if text, err = copied(cmd.Context(), c, adroit.Named{Scope: adroit.Scope{Dir: e.Here()}, Name: from}, args[0]); err != nil {
					return err
				}
			}
			// Asked before the file is there, which is what the name stands for then.
			old, err := c.ShowAgent(cmd.Context(), adroit.Named{Name: args[0]})
			hides := err == nil && old.Layer == "built in"
			if err := create(e, filepath.Join(dir, "agents"), args[0], text); err != nil {
				return err
			}
			if hides {
				e.Warn("from now on it is used instead of the built-in agent %s", args[0])
			}
			fmt.Fprintf(e.Err, "edit it, then: %s    %s\n", hint.Command("agents lint"), hint.Command("run %s PROMPT", args[0]))
			return nil
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "copy this agent instead of the template")
	return cmd
}

// ownName is the line of the front matter that names an agent.
var ownName = `(?m)^name:.*$`

// copied is the file of an agent under another name.
func copied(ctx context.Context, c adroit.Client, from adroit.Named, name string) (string, error) {
	a, err := c.ShowAgent(ctx, from)
	if err != nil {
		return "", err
	}
	text := strings.ReplaceAll(strings.TrimPrefix(a.Source, "\ufeff"), "\r\n", "\n") // as agents are read
	front, body, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---")
	if !ok {
		return "", kit.Fail(fmt.Errorf("%s has no file to copy: the program has made it", from.Name), hint.Command("agents new %s", name)+" begins with a template")
	}
	line := regexp.MustCompile(ownName)
	if line.MatchString(front) {
		front = line.ReplaceAllLiteralString(front, "name: "+name)
	} else {
		front = "name: " + name + "\n" + front
	}
	// A former name of the other is not one of this.
	front = regexp.MustCompile(`(?m)^aliases:.*\n?`).ReplaceAllLiteralString(front, "")
	return "---\n" + front + "\n---" + body, nil
}

// create writes the file of a new agent, and prints where it is.
func create(e *kit.Env, dir, name, text string) error {
	path := filepath.Join(dir, name+".md")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return kit.Fail(err, "make it writable, or keep agents elsewhere with XDG_CONFIG_HOME")
	}
	err := rootfs.CreateFile(path, 0o644, []byte(text))
	if errors.Is(err, fs.ErrExist) {
		return kit.Fail(fmt.Errorf("%s is there already", e.Home(path)), "edit it, or choose another name")
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(e.Out, path)
	return nil
}
