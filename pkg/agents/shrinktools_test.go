package agents_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/dev/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

// shipped resolves a request to an agent that ships, in a window.
func shipped(t *testing.T, name, prompt string, window int, edit func(*agents.DynamicAgent)) executor.Task {
	t.Helper()
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	cat := agents.Load(agents.Layer{Name: "built in", FS: configs.Agents()})
	found, err := cat.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	a := *found
	if edit != nil {
		edit(&a)
	}
	in := agents.Input{Spec: &a, Prompt: prompt, Model: "ollama/m", Options: llm.Options{Window: window}}
	task, err := agents.Resolve(in, cat, set, agents.Env{Host: func(string) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	again, err := agents.Resolve(in, cat, set, agents.Env{Host: func(string) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	x, _ := json.Marshal(task)
	if y, _ := json.Marshal(again); string(x) != string(y) {
		t.Errorf("the same request was pinned in two ways:\n%s\n%s", x, y)
	}
	return task
}

func pinned(t executor.Task) (all, short, out []string) {
	for _, x := range t.Tools {
		all = append(all, x.Name)
		if x.Brief {
			short = append(short, x.Name)
		}
	}
	for _, f := range t.ShortenedTools {
		if f.Removed {
			out = append(out, f.Tool)
		}
	}
	return all, short, out
}

// TestFit takes agents that ship to small windows and large ones.
func TestFit(t *testing.T) {
	const tiny, small, usual = 4096, 8192, 32768
	for _, c := range []struct {
		agent, prompt string
		window        int
		short         bool   // some have short descriptions
		out, in       string // that are left out, or not
	}{
		{"builder", "make the tests pass", usual, false, "", "write_file list_files"},
		{"builder", "make the tests pass", small, false, "", "write_file list_files"},
		{"builder", "make the tests pass", tiny, true, "", "write_file list_files edit_file run_tests finish"},
		{"builder", "make the tests pass", 0, false, "", "write_file"}, // nobody knows the window
		{"blog", "Explain journals", usual, false, "", "publish_notion rss_feed"},
		{"blog", "Explain journals", small, true, "publish_notion", "rss_feed"},
		{"blog", "Explain journals", tiny, true, "publish_notion publish_webhook publish_markdown", "write_content read_result"},
		{"blog", "Explain journals and publish it to our static site", tiny, true, "publish_webhook", "publish_markdown"},
		{"blog", "Explain journals. Read them with rss_feed first.", tiny, true, "publish_webhook", "rss_feed"},
		{"blog_phases", "Explain journals", tiny, false, "", "publish_notion"}, // code calls them
	} {
		task := shipped(t, c.agent, c.prompt, c.window, nil)
		all, short, out := pinned(task)
		if (len(short) > 0) != c.short {
			t.Errorf("%s in %d: short descriptions: %v", c.agent, c.window, short)
		}
		for _, name := range strings.Fields(c.out) {
			if !slices.Contains(out, name) || slices.Contains(all, name) {
				t.Errorf("%s in %d for %q: %s is there; left out are %v", c.agent, c.window, c.prompt, name, out)
			}
		}
		for _, name := range strings.Fields(c.in) {
			if !slices.Contains(all, name) {
				t.Errorf("%s in %d for %q: %s is missing of %v", c.agent, c.window, c.prompt, name, all)
			}
		}
		n := 0
		for i := range task.Tools {
			n += turn.WeighTool(&task.Tools[i].ToolSpec)
		}
		if n = turn.Tokens(n, turn.FirstRate); c.window > 0 && n > c.window/4 && c.agent == "builder" {
			t.Errorf("%s in %d: the tools take %d tokens", c.agent, c.window, n)
		}
		var full map[string]string
		if c.short {
			if err := json.Unmarshal(task.Artifacts[control.DescriptionsArtifact], &full); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range short {
			if !strings.HasPrefix(full[name], "### "+name+"\n") || !strings.Contains(full[name], "Parameters:") {
				t.Errorf("%s in %d: more of %s is %q", c.agent, c.window, name, full[name])
			}
		}
		if slices.Contains(all, control.Describe.Name) != c.short || len(full) != len(short) {
			t.Errorf("%s in %d: describe_tool describes %d tools, short are %v", c.agent, c.window, len(full), short)
		}
	}
}

// TestFitKeeps wants what the definition of done needs to stay, and an agent
// that denies describe_tool to do without.
func TestFitKeeps(t *testing.T) {
	task := shipped(t, "blog", "Explain journals", 2048, func(a *agents.DynamicAgent) {
		a.Done = executor.Criterion{All: []executor.Criterion{{Artifact: "social"}, {Tool: "rss_feed"}}}
		a.Deny = append(a.Deny, control.Describe.Name)
	})
	all, short, out := pinned(task)
	for _, name := range []string{"generate_social_posts", "rss_feed"} {
		if !slices.Contains(all, name) {
			t.Errorf("%s is needed and was left out; there are %v", name, all)
		}
	}
	switch {
	case len(short) == 0:
		t.Errorf("len(short) is 0: short %v, left out %v, of %v, with %s", short, out, all, task.Artifacts[control.DescriptionsArtifact])
	case len(out) == 0:
		t.Errorf("len(out) is 0: short %v, left out %v, of %v, with %s", short, out, all, task.Artifacts[control.DescriptionsArtifact])
	case slices.Contains(all, control.Describe.Name):
		t.Errorf("all contains describe.Tool.Name: short %v, left out %v, of %v, with %s", short, out, all, task.Artifacts[control.DescriptionsArtifact])
	case task.Artifacts[control.DescriptionsArtifact] != nil:
		t.Errorf("task.Artifacts[describe.Artifact] is %v: short %v, left out %v, of %v, with %s", task.Artifacts[control.DescriptionsArtifact], short, out, all, task.Artifacts[control.DescriptionsArtifact])
	}
}

// TestRealFit has a model with a real window of 4096 tokens ask about a tool
// whose description would have taken most of it, and call it, in each way.
func TestRealFit(t *testing.T) {
	url := ollamatest.Start(t)
	type input struct {
		Year int `json:"year" jsonschema:"minimum=1,description=The year"`
	}
	about := "Read the annals of a year. " + strings.Repeat("They were kept by many hands, and each has told of other things. ", 80)
	set, err := tools.NewSet(control.Finish, control.Describe,
		tools.New(tools.Metadata{Name: "annals", Description: about, UsageHint: "Years are counted as in the annals.", Optionality: tools.Optional, Effect: tools.Pure},
			func(_ context.Context, _ *tools.Env, in input) (string, error) {
				return "In this year nothing happened.", nil
			}))
	if err != nil {
		t.Fatal(err)
	}
	call := func(way turn.Mode, name, args string) tinymodel.Turn {
		if way == turn.Constrained {
			return tinymodel.Turn{Say: `{"next":[{"tool":"` + name + `","arguments":` + args + `}]}`}
		}
		return tinymodel.Turn{Say: `<tool_call>{"name": "` + name + `", "arguments": ` + args + `}</tool_call>`}
	}
	a := parse(t, "---\nname: reader\ndescription: Reads.\ntools: [annals, finish]\n---\nRead what is asked for.")
	for _, way := range []turn.Mode{turn.Native, turn.Constrained, turn.Text} {
		t.Run(string(way), func(t *testing.T) {
			name := "reader-" + string(way)
			template, err := tinymodel.Template([]tinymodel.Turn{call(way, "describe_tool", `{"name":"annals"}`), call(way, "annals", `{"year":876}`), call(way, "finish", `{"summary":"Nothing happened."}`)})
			if err != nil {
				t.Fatal(err)
			}
			ollamatest.Create(t, url, name, tinymodel.Tape(4096), template)
			model, err := ollama.New(ollama.Config{BaseURL: url})
			if err != nil {
				t.Fatal(err)
			}
			task, err := agents.Resolve(agents.Input{Spec: a, Prompt: "What happened in 876?", Model: "ollama/" + name, Calling: way, Options: llm.Options{Window: 4096, MaxTokens: 256}}, nil, set, agents.Env{})
			if err != nil {
				t.Fatal(err)
			}
			if _, short, _ := pinned(task); !slices.Equal(short, []string{"annals"}) {
				t.Fatalf("short descriptions: %v", short)
			}
			in, err := json.Marshal(task)
			if err != nil {
				t.Fatal(err)
			}
			j, results := new(flow.Memory), map[string]string{}
			mux := host.Serve(host.Host{Tools: set, Blobs: j, Models: func(context.Context, string) (llm.Model, string, error) { return model, name, nil },
				Env: func(context.Context, string, string) (*tools.Env, error) { return new(tools.Env), nil }})
			out, err := flow.Define("loop", executor.Loop).Run(flow.NewRun("J1", flow.NewLocal(t.Context(), j, mux, func(ev event.Event) {
				if ev.Kind == event.StepFinished && ev.Step == "tool" {
					var data struct{ Text string }
					json.Unmarshal(ev.Data, &data)
					results[ev.Name] = data.Text
				}
			})), in)
			var s executor.State
			switch uerr := json.Unmarshal(out, &s); {
			case err != nil:
				t.Fatalf("unexpected error: %v %v %v %v", err, uerr, s.Outcome, results)
			case uerr != nil:
				t.Fatalf("uerr is %v: %v %v %v %v", uerr, err, uerr, s.Outcome, results)
			case s.Outcome == nil:
				t.Fatalf("s.Outcome is nil: %v %v %v %v", err, uerr, s.Outcome, results)
			case s.Outcome.Status != executor.Done:
				t.Fatalf("s.Outcome.Status is %v, want %v: %v %v %v %v", s.Outcome.Status, executor.Done, err, uerr, s.Outcome, results)
			}
			if !strings.HasPrefix(results["describe_tool"], "### annals\nRead the annals of a year.") || results["annals"] != "In this year nothing happened." || s.Turns != 3 {
				t.Errorf("in %d turns, results are %q", s.Turns, results)
			}
		})
	}
}

// TestConstrainedSize holds the first request of the builder held to a form, prompt, tools and
// form together, to 1.3 times what it is with native calls.
func TestConstrainedSize(t *testing.T) {
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	task := shipped(t, "builder", "Round totals once.", 0, nil)
	var specs []llm.ToolSpec
	native := len(task.System)
	for _, tool := range task.Tools {
		spec := llm.ToolSpec{Name: tool.Name, Description: tool.Description, Input: tool.Input}
		specs = append(specs, spec)
		sent, err := schema.Common.Down(tool.Input)
		if err != nil {
			t.Fatal(err)
		}
		native += len(tool.Name) + len(tool.Description) + len(sent) + len(`{"type":"function","function":{"name":"","description":"","parameters":}},`)
	}
	section, err := turn.PromptSection(set, specs, turn.Constrained, 0)
	if err != nil {
		t.Fatal(err)
	}
	form, err := turn.AnswerSchema(specs, nil, false)
	if err == nil {
		form, err = schema.Grammar.Down(form)
	}
	if err != nil {
		t.Fatal(err)
	}
	constrained := len(task.System) + len(section) + len(form)
	t.Logf("native %d bytes, constrained %d: %.2f", native, constrained, float64(constrained)/float64(native))
	if 10*constrained > 13*native {
		t.Errorf("constrained takes %d bytes, native %d: more than 1.3 times", constrained, native)
	}
}
