package agents_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/tools"
)

// An input that is declared as an artifact is there for tools and not in the
// prompt, unless the template places it.
func TestInputAsArtifact(t *testing.T) {
	a := parse(t, "---\nname: x\ndescription: d\ninputs:\n  long: {description: l, artifact: source}\n  file: {description: f, artifact: path}\n  none: {description: n, optional: true, artifact: nothing}\n---\nRead {{.Inputs.file}}.")
	set, err := tools.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	task, err := agents.Resolve(agents.Input{Spec: a, Prompt: "Go.", Model: "script:x", Inputs: map[string]json.RawMessage{
		"long": json.RawMessage(`"a long text"`), "file": json.RawMessage(`"a.mp3"`),
	}}, nil, set, agents.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if string(task.Artifacts["source"]) != `"a long text"` || string(task.Artifacts["path"]) != `"a.mp3"` {
		t.Errorf("given: %s", task.Artifacts)
	}
	if _, ok := task.Artifacts["nothing"]; ok {
		t.Error("an input that was left out became an artifact")
	}
	if strings.Contains(task.Prompt, "long") || !strings.Contains(task.System, "Read a.mp3.") {
		t.Errorf("prompt %q, system %q", task.Prompt, task.System)
	}
}

// A list or a mapping in a prompt is JSON: as it was given where it stands alone, and
// where a template goes into it, too.
func TestInputPrintsAsJSON(t *testing.T) {
	set, err := tools.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	a := parse(t, "---\nname: x\ndescription: d\ninputs:\n  data: d\n  list: l\n  n: n\n---\n"+
		"{{.Inputs.data}} {{if .Inputs.data}}{{.Inputs.data.tags}} {{.Inputs.data.id}} {{index .Inputs.data.tags 0}}{{end}} {{range .Inputs.list}}{{.}};{{end}} {{join \"+\" .Inputs.list}} {{.Inputs.n}} {{printf \"%v\" .Inputs.data}}")
	task, err := agents.Resolve(agents.Input{Spec: a, Prompt: "Go.", Model: "script:x", Inputs: map[string]json.RawMessage{
		"data": json.RawMessage(`{"tags": ["a b", "<c>"], "id": 7, "none": null}`), "list": json.RawMessage(`[1.10, {"k": null}]`), "n": json.RawMessage(`null`),
	}}, nil, set, agents.Env{})
	want := `{"tags": ["a b", "<c>"], "id": 7, "none": null} ["a b","<c>"] 7 a b 1.10;{"k":null}; 1.10+{"k":null} null {"id":7,"none":null,"tags":["a b","<c>"]}`
	if err != nil || !strings.HasPrefix(task.System, want) {
		t.Errorf("the prompt is\n%s\n%v, want\n%s", task.System, err, want)
	}
	if task.Prompt != "Go." {
		t.Errorf("placed inputs are repeated: %q", task.Prompt)
	}
}
