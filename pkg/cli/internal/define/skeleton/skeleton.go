// Package skeleton is a tool for agents.
package skeleton

import (
	"context"
	"fmt"

	"github.com/adroit-run/adroit/pkg/tools"
)

// Input are the arguments that a model gives.
type Input struct {
	Path string `json:"path" jsonschema:"description=A file in the workspace."`
}

// Tool counts the bytes of a file; have it do your own work.
var Tool = tools.New(tools.Metadata{
	Name:        "skeleton",
	Description: "Count the bytes of a file.",
	Category:    "utility",
	UsageHint:   "Say when to use it, and when another tool is better.",
	Needs:       tools.Read, // all that Env holds; a tool that writes needs tools.Write
}, func(_ context.Context, env *tools.Env, in Input) (int, error) {
	text, err := env.Files.ReadFile(in.Path)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", in.Path, err)
	}
	return len(text), nil
})
