package executor_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// toucher has a tool that takes anything that might be a path.
func toucher(t *testing.T) *tools.Set {
	type edit struct {
		Path string `json:"path" jsonschema:"description=A path."`
	}
	type in struct {
		Path  string   `json:"path,omitempty" jsonschema:"description=A path."`
		Dir   string   `json:"dir,omitempty" jsonschema:"description=A path."`
		Paths []string `json:"paths,omitempty" jsonschema:"description=Paths."`
		Edits []edit   `json:"edits,omitempty" jsonschema:"description=Edits."`
		Text  string   `json:"text,omitempty" jsonschema:"description=No path."`
	}
	set, err := tools.NewSet(tools.New(tools.Metadata{Name: "touch", Description: "Touch.", Needs: tools.Write},
		func(_ context.Context, _ *tools.Env, in in) (tools.Result, error) {
			return tools.Result{Text: "touched", Failed: strings.Contains(in.Path, "gone")}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestNearby has a model touch paths, one call a turn, and checks the project
// texts that come with each result.
func TestNearby(t *testing.T) {
	says := []turn.DirText{{Dir: "a", Text: "WORDS-A"}, {Dir: "c", Text: "WORDS-C"}, {Dir: "a/b", Text: "WORDS-AB"}}
	for _, c := range []struct {
		name string
		args []string
		want []string // what each result says, by words
	}{
		{"elsewhere", []string{`{"path":"x.txt"}`, `{"path":"ab/x"}`, `{"text":"a/x"}`}, []string{"", "", ""}},
		{"once", []string{`{"path":"a/x"}`, `{"path":"a/y"}`}, []string{"A", ""}},
		{"outer first", []string{`{"path":"a/b/x"}`}, []string{"A AB"}},
		{"the directory itself", []string{`{"dir":"c/"}`}, []string{"C"}},
		{"lists and nesting", []string{`{"edits":[{"path":"c/x"}],"paths":["./a/x"]}`}, []string{"A C"}},
		{"absolute", []string{`{"path":"/w/c/x"}`, `{"path":"/other/a/x"}`}, []string{"C", ""}},
		{"dots", []string{`{"path":"x/../c/y"}`}, []string{"C"}},
		{"what failed", []string{`{"path":"a/gone"}`, `{"path":"a/x"}`}, []string{"", "A"}},
		{"refused", []string{`{"path":["a/x"]}`}, []string{""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := toucher(t)
			files, err := workspace.Open(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close()
			env := func(context.Context, string, string) (*tools.Env, error) { return &tools.Env{Files: files}, nil }
			var last []llm.Message
			answers := 0
			model := llm.Func(func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
				last = req.Messages
				if answers == len(c.args) {
					return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: "done"}}, nil
				}
				answers++
				return &llm.Response{Message: llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "x", Name: "touch", Args: json.RawMessage(c.args[answers-1])}}}}, nil
			})
			mem := new(flow.Memory)
			mux := host.Serve(host.Host{Tools: set, Env: env, Blobs: mem,
				Models: func(context.Context, string) (llm.Model, string, error) { return model, "m", nil }})
			task := executor.Task{Instructions: executor.Instructions{Model: "m/m", Prompt: "go"}, Work: executor.Work{Tools: agents.PinTools(set)}}
			task.Project = &turn.Project{Dir: "/w", Texts: says}
			in, err := json.Marshal(task)
			if err != nil {
				t.Fatal(err)
			}
			out, err := loop.Run(flow.NewRun("J1", flow.NewLocal(t.Context(), mem, mux, nil)), in)
			if err != nil {
				t.Fatal(err)
			}
			var s executor.State
			if err := json.Unmarshal(out, &s); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range last {
				if m.Role == llm.Tool {
					_, words, _ := strings.Cut(m.Text, "touched")
					got = append(got, strings.Join(strings.Fields(strings.ReplaceAll(words, "WORDS-", "")), " "))
				}
			}
			if strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("got %q, want %q (state %v)", got, c.want, s.ShownDirs)
			}
		})
	}
}
