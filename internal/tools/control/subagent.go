package control

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"

	"github.com/adroit-run/adroit/pkg/tools"
)

// input of spawn_agent.
type subagentInput struct {
	Agent string `json:"agent" jsonschema:"minLength=1,description=Its name"`
	Task  string `json:"task" jsonschema:"minLength=1,description=What to do and what to report"`
}

//go:embed spawn_agent.md
var subagentProse string

// Spawn is the tool spawn_agent.
var Spawn = tools.New(tools.Metadata{
	Name: "spawn_agent", Category: "utility", Needs: tools.Think, Optionality: tools.Optional,
	Examples: []tools.Example{{Note: "look something up", Args: json.RawMessage(`{"agent":"researcher","task":"Find out which versions of Go have the package iter. Report the first one, with the address of the page that says so."}`)}},
}.Prose(subagentProse), func(context.Context, *tools.Env, subagentInput) (tools.Result, error) {
	return tools.Result{}, errors.New("no agent may be spawned here; it takes a job of an agent whose file says under spawn which ones")
})
