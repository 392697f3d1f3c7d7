package executor

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
)

const fencedBody = "package cart\n\nfunc Total() int { return 1 }\n```\n"

func TestFenceNote(t *testing.T) {
	task := Task{Revision: 7}
	task.Tools = []Tool{{ToolSpec: llm.ToolSpec{Name: "write_file"}}}
	old := task
	old.Revision = 6
	for text, want := range map[string]string{
		"Here is it.\n\n**src/cart.go**:\n```go\n" + fencedBody:       "src/cart.go",
		"```go cart.go\n" + fencedBody:                                "cart.go",
		"```go title=\"cart.go\"\n" + fencedBody + "Done.":            "cart.go",
		"The file `cart.go`:\n\n```\n" + fencedBody:                   "cart.go",
		"I looked.\n```\na\nb\nc\n```\n# cart.go\n```\n" + fencedBody: "cart.go",
		"The tests pass now.\n```go\n" + fencedBody:                   "",
		"cart.go says:\n```go\nreturn 1\n```\n":                       "",
		"cart.go\n```go\npackage cart\n\nfunc Total() int {\n":        "",
		"I changed cart.go.":                                          "",
	} {
		got := task.fenceNote(&State{}, llm.Message{Text: text})
		if (got == "") != (want == "") || !strings.Contains(got, `"`+want+`"`) && want != "" {
			t.Errorf("%q: %q, want a sentence about %q", text, got, want)
		}
	}
	answer := llm.Message{Text: "```go cart.go\n" + fencedBody}
	for what, other := range map[string]Task{"an old job": old, "without the tool": {Revision: 7}} {
		if got := other.fenceNote(&State{}, answer); got != "" {
			t.Errorf("%s: %q", what, got)
		}
	}
}

// A message that narrows the mode counts, also where the task was begun before messages had modes.
func TestModeNarrowsWithoutWork(t *testing.T) {
	var task Task
	var s State
	task.Mode, task.Done.Signal = ModeAuto, "DONE"
	said, err := s.setMode(nil, &task, ModePlan)
	if err != nil || !strings.Contains(said, "now plan") || task.Mode != ModePlan || !task.PlanOnly || task.Done.Signal != "" {
		t.Errorf("%q, %v: %+v", said, err, task)
	}
}
