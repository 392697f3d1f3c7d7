package agentfile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/agentfile"
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
	task, err := agentfile.Resolve(agents.Input{Spec: a, Prompt: "Go.", Model: "script:x", Inputs: map[string]json.RawMessage{
		"long": json.RawMessage(`"a long text"`), "file": json.RawMessage(`"a.mp3"`),
	}}, nil, set, agentfile.Env{})
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
