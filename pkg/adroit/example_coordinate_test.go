package adroit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing/fstest"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/parts"
)

// stubTurns are what a model would do to repair stubs.
const stubTurns = `scenes:
  - when: You repair stubs
    turns:
      - calls: [{name: write_file, args: {path: stubs.txt, content: "new\n"}}]
      - calls: [{name: finish, args: {summary: The stubs are new.}}]`

// A program adds what coordinators know to a pipeline: a type of problem that code
// recognises, a strategy for it, and the agent that repairs it.
func Example_coordinate() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "project-"))
	defer os.RemoveAll(dir)
	file := func(name, text string) fstest.MapFS { return fstest.MapFS{name: {Data: []byte(text)}} }
	rt := must(adroit.Open(ctx, adroit.Options{
		Models: map[string]llm.Model{"script": must(script.Parse("turns", []byte(stubTurns)))}, Model: "script/turns",
		Tools: parts.Tools(), Workspace: adroit.Workspace{Servers: []adroit.LanguageServer{}, Dir: dir},
		Definitions: adroit.Definitions{
			Agents: []agents.Layer{{Name: "built in", FS: configs.Agents()}, {Name: "program", FS: file("stub-fix.md",
				"---\nname: stub-fix\ndescription: Repairs stubs.\ntools: [read_file, write_file, finish]\nproblem_types: [stubs]\n---\nYou repair stubs.\n")}},
			Pipelines: []agents.Layer{{Name: "program", FS: file("check.yaml",
				"name: check\ndescription: Checks the stubs.\nonFailure: {coordinate: {escalate: report}}\nsteps:\n  - {id: stubs, run: test -s stubs.txt || exit 9}\n")}},
		},
		Coordination: adroit.Coordination{
			Problems: []agents.Layer{{Name: "program", FS: file("stubs.yaml", "strategy:\n  - {retry: 1, wait: 1ms}\n  - {agent: stub-fix}\n")}},
			Detectors: []adroit.Detector{{Name: "old-stubs", Type: "stubs", Match: func(command, _ string, exitCode int) bool {
				return exitCode == 9 && strings.Contains(command, "stubs.txt")
			}}},
		},
	}))
	defer rt.Close()
	state := must(adroit.Run(ctx, rt, adroit.Request{Target: "check", Input: agents.Input{Approve: executor.ApproveAll}}))
	var result struct {
		Steps []struct {
			ID, Status string
			Decisions  []struct {
				Type, Outcome string
				Action        struct{ Decision, By, Agent string }
			}
		}
	}
	must(result, json.Unmarshal(state.Artifacts["pipeline"].Value, &result))
	for _, s := range result.Steps {
		for _, d := range s.Decisions {
			fmt.Println(strings.TrimSpace(fmt.Sprintf("%s: %s %s %s", d.Type, d.Action.Decision, d.Outcome, d.Action.Agent)))
		}
		fmt.Println(s.ID, s.Status)
	}
	// Output:
	// stubs: RETRY same
	// stubs: DELEGATE works stub-fix
	// stubs done
}
