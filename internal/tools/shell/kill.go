package shell

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/pkg/tools"
)

// killInput is the input of shell_kill.
type killInput struct {
	ID string `json:"id" jsonschema:"description=As shell gave it; like c3"`
}

//go:embed shell_kill.md
var killProse string

// Kill is the tool shell_kill. It returns when the command is gone.
var Kill = tools.New(tools.Metadata{
	Name: "shell_kill", Category: "build", Optionality: tools.Optional, Needs: tools.Exec, Effect: tools.Idempotent,
	Examples: []tools.Example{{Args: json.RawMessage(`{"id":"c3"}`)}},
}.Prose(killProse), kill)

func kill(_ context.Context, env *tools.Env, in killInput) (tools.Result, error) {
	p, ok := env.Exec.Process(in.ID)
	if !ok {
		return tools.Result{}, fmt.Errorf("no command %s is running: it ended long ago, or the id is not one that shell gave", in.ID)
	}
	select {
	case <-p.Done():
		return tools.Result{Text: in.ID + " had ended already.", Summary: in.ID + " had ended"}, nil
	default:
	}
	p.Kill()
	r := show(p.Output())
	r.Failed = false
	return r, nil
}
