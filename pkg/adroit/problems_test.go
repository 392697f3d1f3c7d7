package adroit_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/workflows"
)

// A program registers a detector in Go and files with a strategy; a job of the
// coordinator decides by both.
func TestDetectorsInGo(t *testing.T) {
	model, err := script.Parse("turns", []byte("turns: [{text: nobody asks}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	rt, err := adroit.Open(context.Background(), adroit.Options{
		Models: map[string]llm.Model{"script": model}, Model: "script/x", Tools: parts.Tools(), Workspace: adroit.Workspace{Dir: t.TempDir()},
		Definitions: adroit.Definitions{Workflows: workflows.All(), Agents: []agents.Layer{{Name: "built in", FS: configs.Agents()}}},
		Coordination: adroit.Coordination{
			Problems: []agents.Layer{{Name: "program", FS: fstest.MapFS{"license.yaml": {Data: []byte("strategy:\n  - {retry: 1, wait: 1ms}\n  - escalate: Buy one.\n")}}}},
			Detectors: []adroit.Detector{{Name: "no-license", Type: "license", Match: func(command, output string, exitCode int) bool {
				asked++
				return exitCode == 9 && strings.Contains(output, "LIC-") && command == "echo LIC-7; exit 9"
			}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	s, err := adroit.Run(context.Background(), rt, adroit.Request{Target: "coordinator", Input: agents.Input{Inputs: map[string]json.RawMessage{
		"command": json.RawMessage(`"echo LIC-7; exit 9"`), "escalate": json.RawMessage(`"report"`)}}})
	if s == nil {
		t.Fatal(err)
	}
	var fix struct {
		Status, Hint string
		Attempts     []struct{ Type, Outcome string }
	}
	if err := json.Unmarshal(s.Artifacts["fix"].Value, &fix); err != nil {
		t.Fatal(err)
	}
	if fix.Status != "escalated" || fix.Hint != "Buy one." || len(fix.Attempts) != 2 || fix.Attempts[0].Type != "license" || asked != 2 {
		t.Errorf("asked %d times: %+v", asked, fix)
	}
}
