package agents_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/internal/dev/partstest"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// An agent that names edit_file is offered, in its tools and its prompt, the
// tool of the model's form, within what it is granted.
func TestToolSubstitutes(t *testing.T) {
	set, err := tools.NewSet(partstest.Tool("read_file"), partstest.Tool("write_file"), edit.File, edit.Blocks, edit.Patch, edit.Long, control.Finish)
	if err != nil {
		t.Fatal(err)
	}
	forms := edit.Instead(map[string]edit.Format{"lab/*": edit.BlockFormat, "lab/plain": edit.Edit})
	read := tools.Read
	for _, c := range []struct {
		model, want string
		agent       agents.DynamicAgent
		set         *tools.Set
	}{
		{"ollama/qwen3:8b", "edit_file read_file", agents.DynamicAgent{}, set},
		{"openai/gpt-5", "apply_patch read_file", agents.DynamicAgent{}, set},
		{"ollama/qwen2.5-coder:32b", "edit_long_file read_file write_file", agents.DynamicAgent{}, set},
		{"lab/x", "edit_blocks read_file", agents.DynamicAgent{}, set},
		{"lab/plain", "edit_file read_file", agents.DynamicAgent{}, set},
		{"openai/gpt-5", "edit_file read_file", agents.DynamicAgent{Deny: []string{"apply_patch"}}, set},
		{"openai/gpt-5", "edit_file read_file", agents.DynamicAgent{Done: executor.Criterion{Tool: "edit_file"}}, set},
		{"openai/gpt-5", "edit_file read_file", agents.DynamicAgent{}, set.Without("apply_patch")},
		{"openai/gpt-5", "read_file", agents.DynamicAgent{Tools: []string{"read_file"}, Grant: &read}, set},
	} {
		a := c.agent
		a.Name, a.Description, a.Prompt = "x", "d", "{{range .Tools}}[{{.Name}}]{{end}}"
		if a.Tools == nil {
			a.Tools = []string{"read_file", "edit_file"}
		}
		task, err := agents.Resolve(agents.Input{Spec: &a, Prompt: "go", Model: c.model}, nil, c.set, agents.Env{Defaults: agents.Defaults{Substitutes: forms}})
		if err != nil {
			t.Fatalf("%s: %v", c.model, err)
		}
		var names []string
		for _, p := range task.Tools {
			names = append(names, p.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s is offered %s, want %s", c.model, got, c.want)
		}
		want := "[" + strings.Join(names, "][") + "]"
		if !strings.Contains(task.System, want) {
			t.Errorf("%s has the prompt %q, want %s", c.model, task.System, want)
		}
	}
}
