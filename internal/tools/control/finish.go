// Package control has the tools with which a model steers its own run: it reports that it
// is done, keeps a list of tasks, remembers facts for later jobs, reads what it was shown
// in part, skills and the full descriptions of tools, and has other agents work.
//
//	set, err := tools.NewSet(control.Finish, control.Todo, control.ReadResult)
//
// What they read is pinned with the job as artifacts, so that a file edited during a run
// changes nothing; without the artifact a tool is not offered.
package control

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
)

// input of finish.
type input struct {
	Summary  string `json:"summary,omitempty" jsonschema:"description=What was done and found"`
	Outcome  string `json:"outcome,omitempty" jsonschema:"enum=done,enum=not_needed,enum=cannot_be_done,description=not_needed: nothing has to be changed"`
	Evidence string `json:"evidence,omitempty" jsonschema:"deprecated,description=What shows that it works"`
}

//go:embed finish.md
var prose string

// Tool is the tool finish.
var Finish = tools.New(tools.Metadata{
	Name: "finish", Category: "utility", Effect: tools.Pure,
	Examples: []tools.Example{{Note: "after the tests passed", Args: json.RawMessage(`{"summary":"Totals are rounded once per cart; 14 tests pass."}`)}},
}.Prose(prose), finish)

func finish(_ context.Context, _ *tools.Env, in input) (tools.Result, error) {
	sum := strings.TrimSpace(in.Summary)
	if sum == "" { // the text of the answer has it, if anything does
		sum = "finished"
	}
	text := sum
	if ev := strings.TrimSpace(in.Evidence); ev != "" {
		text += "\nEvidence: " + ev
	}
	return tools.Result{Text: text, Summary: sum}, nil
}
