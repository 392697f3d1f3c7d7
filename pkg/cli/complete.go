package cli

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// completionTime bounds the time for which a shell waits for completions.
const completionTime = 2 * time.Second

// A source lists the names that an argument or a flag may have, each perhaps with a
// tab and what it is; args are the arguments before it.
type source func(ctx context.Context, c adroit.Client, args []string) ([]string, error)

// completions gives the commands of a tree what shells complete: by what their usage
// calls the arguments, and by the names of flags.
func completions(e *kit.Env, cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		completions(e, c)
	}
	if sources := argumentSources(cmd); sources != nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			i := min(len(args), len(sources)-1)
			if len(args) >= len(sources) && !strings.HasSuffix(cmd.Use, "...") {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return complete(cmd.Context(), e, sources[i], args, word)
		}
	}
	forOwnFlags(cmd, func(f *pflag.Flag) {
		if from := flagSources[f.Name]; from != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
				return complete(cmd.Context(), e, from, args, word)
			}) // fails for a flag that has one
		}
	})
}

// complete asks a source. What goes wrong is not worth a word in a command line
// that somebody is typing.
func complete(ctx context.Context, e *kit.Env, from source, args []string, word string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	c, err := e.Client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names, err := from(ctx, c, args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	found := slices.DeleteFunc(names, func(s string) bool { return !strings.HasPrefix(strings.ToLower(s), strings.ToLower(word)) })
	for i := range found {
		name, about, _ := strings.Cut(found[i], "\t")
		found[i] = strings.TrimSuffix(kit.SanitizeLine(name)+"\t"+kit.Cut(kit.SanitizeLine(about), 60), "\t")
	}
	if len(found) == 0 {
		return nil, cobra.ShellCompDirectiveDefault // perhaps it is a file
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// argumentSources are the sources of a command's arguments, by its usage.
func argumentSources(cmd *cobra.Command) []source {
	_, args, _ := strings.Cut(cmd.Use, " ")
	noun := ""
	if cmd.HasParent() {
		noun = cmd.Parent().Name()
	}
	switch first, _, _ := strings.Cut(args, " "); {
	case args == "ID [NAME]":
		return []source{jobIDs, artifactNames}
	case first == "ID", first == "ID...", first == "[JOB]":
		return []source{jobIDs}
	case strings.Contains(first, "AGENT|PIPELINE"):
		return []source{targets}
	case cmd.Name() == "compare":
		return []source{targets, targets}
	case first == "[MODEL]":
		return []source{modelNames}
	case slices.Contains([]string{"show", "graph", "call"}, cmd.Name()):
		switch noun {
		case "agents":
			return []source{agentNames}
		case "pipelines":
			return []source{pipelineNames}
		case "skills":
			return []source{skillNames}
		case "tools":
			return []source{toolNames}
		}
	}
	return nil
}

// flagSources are the sources of flags, by name.
var flagSources = map[string]source{
	"agent":   agentNames,
	"model":   modelNames,
	"step":    stepNames,
	"from":    stepNames,
	"status":  jobStatuses,
	"mode":    words("plan", "edits", "auto"),
	"approve": words("ask", "edits", "all", "none"),
	"sandbox": words("auto", "full", "bubblewrap", "landlock", "off"),
	"calling": words("auto", "native", "constrained", "text"),
	"effort":  words("low", "medium", "high"),
	"format":  words(show.Text, show.Mermaid),
}

func jobStatuses(context.Context, adroit.Client, []string) (names []string, err error) {
	for _, s := range jobs.Statuses {
		names = append(names, string(s))
	}
	return names, nil
}

func words(list ...string) source {
	return func(context.Context, adroit.Client, []string) ([]string, error) { return slices.Clone(list), nil }
}

// completedJobs bounds the number of jobs that completion offers, newest first.
const completedJobs = 50

func jobIDs(ctx context.Context, c adroit.Client, args []string) ([]string, error) {
	list, err := c.Jobs(ctx, adroit.ListOptions{Limit: completedJobs})
	names := []string{"last\tthe newest job of this directory"}
	for _, j := range list {
		if !slices.Contains(args, j.ID) {
			names = append(names, j.ID+"\t"+j.Agent+" "+string(j.Status)+": "+j.Title)
		}
	}
	return names, err
}

func artifactNames(ctx context.Context, c adroit.Client, args []string) ([]string, error) {
	id, err := kit.Job(ctx, c, args[0], "")
	if err != nil {
		return nil, err
	}
	list, err := c.Artifacts(ctx, id)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(list.Artifacts)), nil
}

func stepNames(ctx context.Context, c adroit.Client, args []string) (names []string, err error) {
	if len(args) == 0 {
		return nil, nil
	}
	id, err := kit.Job(ctx, c, args[0], "")
	if err != nil {
		return nil, err
	}
	list, err := c.Steps(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, s := range list.Steps {
		names = append(names, s.Step+"\t"+s.Name)
	}
	return names, nil
}

// currentScope returns the scope of the current directory for completion. It grants no
// trust to the project.
func currentScope() adroit.Scope {
	dir, err := filepath.Abs(".") // a server has another
	if err != nil {
		dir = "."
	}
	return adroit.Scope{Dir: dir}
}

func agentNames(ctx context.Context, c adroit.Client, _ []string) ([]string, error) {
	list, err := c.Agents(ctx, currentScope())
	return listed(list, err, func(a adroit.AgentInfo) string { return a.Name + "\t" + a.Description })
}

func pipelineNames(ctx context.Context, c adroit.Client, _ []string) ([]string, error) {
	list, err := c.Pipelines(ctx, currentScope())
	return listed(list, err, func(p adroit.PipelineInfo) string { return p.Name + "\t" + p.Description })
}

func skillNames(ctx context.Context, c adroit.Client, _ []string) ([]string, error) {
	list, err := c.Skills(ctx, currentScope())
	return listed(list, err, func(s adroit.SkillInfo) string { return s.Name + "\t" + s.Description })
}

func toolNames(ctx context.Context, c adroit.Client, _ []string) ([]string, error) {
	list, err := c.Tools(ctx)
	return listed(list, err, func(t adroit.ToolInfo) string { return t.Name + "\t" + t.Description })
}

func modelNames(ctx context.Context, c adroit.Client, _ []string) (names []string, err error) {
	list, err := c.Models(ctx)
	for _, m := range list {
		if m.Lacks == "" || m.Lacks == adroit.LacksName {
			names = append(names, m.Model)
		}
	}
	return names, err
}

// targets lists the names that run accepts: agents and pipelines.
func targets(ctx context.Context, c adroit.Client, args []string) ([]string, error) {
	names, err := agentNames(ctx, c, args)
	if err != nil {
		return nil, err
	}
	more, err := pipelineNames(ctx, c, args)
	return append(names, more...), err
}

func listed[T any](l *adroit.Listing[T], err error, name func(T) string) (names []string, _ error) {
	if err != nil {
		return nil, err
	}
	for _, item := range l.Items {
		names = append(names, name(item))
	}
	return names, nil
}

// newCompletion is adroit completion.
func newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell",
		Short:     "Print a completion script for a shell",
		Example:   "  source <(adroit completion bash)",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return root.GenPowerShellCompletionWithDesc(out)
		},
	}
}
