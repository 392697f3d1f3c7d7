package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/host/catalog"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// anyModel takes every reference to a model.
type anyModel struct{}

func (anyModel) Check(string) error { return nil }
func (anyModel) Unset(string) bool  { return false }

func agent(name, tools, more string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: It is %s.\ntools: [%s]\n%s---\nWork.\n", name, name, tools, more)
}

func run(step string) string { return "steps: [{id: a, " + step + "}]\n" }

func tool(name string, needs tools.Caps) tools.Tool {
	return tools.New(tools.Metadata{Name: name, Description: "It is " + name + ".", Category: "code", Needs: needs},
		func(context.Context, *tools.Env, struct{}) (string, error) { return "", nil })
}

// program returns a catalog of the agents reader and both and the pipelines both and asked, with
// the files of its agents and its warnings.
func program(t *testing.T) (c *catalog.Catalog, files fstest.MapFS, warned *[]string) {
	t.Helper()
	warned, files = new([]string), fstest.MapFS{
		"reader.md": {Data: []byte(agent("reader", "look", "aliases: [viewer]\n"))},
		"both.md":   {Data: []byte(agent("both", "look", ""))},
	}
	pipelines := fstest.MapFS{"both.yaml": {Data: []byte(run("tool: look"))}, "asked.yaml": {Data: []byte(run(`agent: reader, input: "{{input}}"`))}}
	return catalog.New(catalog.Options{
		Agents: []agents.Layer{{Name: "built in", FS: files}}, Pipelines: []agents.Layer{{Name: "built in", FS: pipelines}},
		Tools: func() (*tools.Set, error) {
			return tools.NewSet(tool("look", tools.Read), tool("change", tools.Read|tools.Write))
		},
		Warn: func(format string, args ...any) { *warned = append(*warned, fmt.Sprintf(format, args...)) },
	}), files, warned
}

// trusting trusts all of a new directory with files.
func trusting(t *testing.T, files map[string]string) (dir string, d catalog.Decision) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		dirtest.Write(t, filepath.Join(dir, name), text)
	}
	d, err := catalog.Decide(nil, "", dir, true)
	dirtest.Must(t, err)
	return dir, d
}

// A name means an agent or a pipeline if it is unambiguous; else the error lists the candidates.
func TestTarget(t *testing.T) {
	c, _, warned := program(t)
	dir, _ := trusting(t, map[string]string{".adroit/agents/theirs.md": agent("theirs", "look", ""), ".adroit/pipelines/flow.yaml": run("tool: look")})
	for _, tc := range []struct {
		name, prompt, agent, pipeline string
		fault, hint                   string
	}{
		{name: "reader", agent: "reader"},
		{name: "viewer", agent: "reader"}, // its former name
		{name: "agent:both", agent: "both"},
		{name: "pipeline:both", agent: "both", pipeline: "both"},
		{name: "asked", prompt: "Do it.", agent: "asked", pipeline: "asked"},
		{name: "both", fault: `an agent and a pipeline "both"`, hint: "pipeline:both"},
		{name: "asked", fault: "there is no prompt", hint: "adroit run asked"},
		{name: "raeder", fault: `unknown agent "raeder"`, hint: "did you mean reader?"},
		{name: "askd", fault: `unknown agent "askd"`, hint: "the pipeline asked?"},
		{name: "pipeline:askd", fault: `unknown pipeline "askd"`, hint: "did you mean asked?"},
		{name: "theirs", fault: `unknown agent "theirs"`, hint: "adroit config trust"},
		{name: "flow", fault: `a pipeline "flow", and nobody trusts it`, hint: "adroit config trust"},
		{name: "../agents/theirs", fault: "unknown agent", hint: "adroit agents list"},
		{name: "", fault: "no agent is named", hint: "adroit run AGENT"},
	} {
		in := agents.Input{Prompt: tc.prompt, Dir: dir}
		_, err := c.Target(tc.name, catalog.Decision{}, anyModel{}, &in)
		if tc.fault == "" && (err != nil || in.Agent != tc.agent || in.Pipeline != tc.pipeline) {
			t.Errorf("%q is agent %q, pipeline %q: %v", tc.name, in.Agent, in.Pipeline, err)
		}
		if tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault) || !strings.Contains(problem.Hint(err), tc.hint)) {
			t.Errorf("%q: %v (hint %q), want %q with %q", tc.name, err, problem.Hint(err), tc.fault, tc.hint)
		}
	}
	if want := "the agent viewer is called reader now"; !slices.Contains(*warned, want) {
		t.Errorf("warned of %q, not that %s", *warned, want)
	}
}

// A project's agent or pipeline takes the place of one of the program only if it can do
// no more than that one; the program's stays then, and the reason is given.
func TestProjectGetsNoMore(t *testing.T) {
	for name, tc := range map[string]struct {
		file, text string
		used       bool
	}{
		"same agent":        {".adroit/agents/reader.md", agent("reader", "look", ""), true},
		"more tools":        {".adroit/agents/reader.md", agent("reader", "look, change", ""), false},
		"wildcard":          {".adroit/agents/reader.md", agent("reader", "'*'", ""), false},
		"more, not granted": {".adroit/agents/reader.md", agent("reader", "look, change", "grant: [read]\n"), true},
		"a server":          {".adroit/agents/reader.md", agent("reader", "look", "mcp_servers: [files]\n"), false},
		"another name":      {".adroit/agents/writer.md", agent("writer", "change", ""), true},
		"same pipeline":     {".adroit/pipelines/both.yaml", run("tool: look"), true},
		"more in a step":    {".adroit/pipelines/both.yaml", run("tool: change"), false},
		"more in an agent":  {".adroit/pipelines/both.yaml", "steps: [{id: a, agent: {prompt: Work., tools: [change]}}]\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, warned := program(t)
			_, d := trusting(t, map[string]string{tc.file: tc.text})
			cat, all := c.Agents(d), c.Pipelines(d)
			if err := errors.Join(cat.Problems().Err(), all.Problems().Err()); err != nil {
				t.Fatal(err)
			}
			layer := ""
			if base := strings.TrimSuffix(filepath.Base(tc.file), ".md"); base != filepath.Base(tc.file) {
				a, err := cat.Lookup(base)
				dirtest.Must(t, err)
				layer = a.Source.Layer
			} else {
				p, err := all.Lookup("both")
				dirtest.Must(t, err)
				layer = p.Source.Layer
			}
			if used := layer == "project"; used != tc.used {
				t.Errorf("the one of the layer %q is used", layer)
			}
			if warns := len(*warned) > 0; warns == tc.used {
				t.Errorf("warned of %q", *warned)
			}
		})
	}
}

// A file that is written while a program runs is used by the next request.
func TestRenewed(t *testing.T) {
	c, files, _ := program(t)
	dirtest.Must(t, c.Check())
	files["late.md"] = &fstest.MapFile{Data: []byte(agent("late", "look", ""))}
	delete(files, "both.md")
	if got := strings.Join(c.Agents(catalog.Decision{}).Names(), " "); got != "late reader" {
		t.Errorf("the agents are %s", got)
	}
	files["reader.md"] = &fstest.MapFile{Data: []byte("---\nname: reader\n"), ModTime: time.Unix(1, 0)}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "reader.md") {
		t.Errorf("an agent that was broken meanwhile: %v", err)
	}
}

// The workflow of an agent is one that the program has.
func TestWorkflowOf(t *testing.T) {
	own := flow.Workflow{Name: "own"}
	c := catalog.New(catalog.Options{Workflows: []flow.Workflow{own}})
	if n := len(c.Workflows()); n != 3 {
		t.Errorf("%d workflows: those of agents and pipelines and own, each once", n)
	}
	for _, list := range [][]flow.Workflow{{own, agents.Workflow}, {own, own}, {{}}} {
		if catalog.CheckWorkflows(list) == nil {
			t.Errorf("%v are taken", list)
		}
	}
	for _, tc := range []struct {
		agent    agents.DynamicAgent
		pipeline string
		want     string
	}{{agents.DynamicAgent{}, "", agents.Workflow.Name}, {agents.DynamicAgent{Workflow: "own"}, "", "own"}, {agents.DynamicAgent{}, "p", pipeline.Workflow.Name}} {
		if got, err := c.WorkflowOf(&tc.agent, agents.Input{Pipeline: tc.pipeline}); err != nil || got != tc.want {
			t.Errorf("%q, pipeline %q: %q, %v", tc.agent.Workflow, tc.pipeline, got, err)
		}
	}
	if _, err := c.WorkflowOf(&agents.DynamicAgent{Workflow: "owm"}, agents.Input{Agent: "a"}); err == nil || !strings.Contains(problem.Hint(err), "workflow: own?") {
		t.Errorf("a workflow that is not there: %v (%s)", err, problem.Hint(err))
	}
}
