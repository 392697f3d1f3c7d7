package edit

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// ReplayInput is the input of replay_fix.
type ReplayInput struct {
	Diff string `json:"diff" jsonschema:"description=Unified diff"`
}

//go:embed replay_fix.md
var replayProse string

// Replay is the tool replay_fix. Unlike apply_patch it takes no place for the one
// that is meant unless all lines of it are there as in the diff.
var Replay = touching(tools.New(tools.Metadata{
	Name: "replay_fix", Category: "code", Needs: tools.Read | tools.Write, Effect: tools.Unsafe,
	Examples: []tools.Example{{Args: json.RawMessage(`{"diff":"--- a/cart.go\n+++ b/cart.go\n@@ -1,2 +1,2 @@\n package cart\n-var a = c\n+var a = b\n"}`)}},
}.Prose(replayProse), replay), replayNames)

func replayNames(args json.RawMessage) []string {
	var in ReplayInput
	if json.Unmarshal(args, &in) != nil {
		return nil
	}
	b, err := json.Marshal(PatchInput{Patch: in.Diff})
	if err != nil {
		return nil
	}
	return patchNames(b)
}

func replay(_ context.Context, env *tools.Env, in ReplayInput) (tools.Result, error) {
	p, err := exactly(env.Files, in.Diff)
	if err != nil {
		return tools.Result{}, fmt.Errorf("the change cannot be made as it was recorded, so nothing of it was made: %w", err)
	}
	if err := p.commit(); err != nil {
		return tools.Result{}, err
	}
	return p.result(), nil
}

// Fits is why replay_fix would refuse a diff, nil if it would not. It changes nothing.
func Fits(files *workspace.Files, diff string) error {
	p, err := exactly(files, diff)
	if err != nil {
		return err
	}
	return p.check()
}

// exactly plans a diff all of whose lines are where it says.
func exactly(files *workspace.Files, diff string) (*plan, error) {
	secs, err := parsePatch(diff)
	if err != nil {
		return nil, err
	}
	if len(secs) == 0 {
		return nil, errors.New("there is nothing to do in it")
	}
	p := newPlan(files)
	for _, s := range secs {
		if err := p.section(s); err != nil {
			return nil, err
		}
	}
	for _, d := range p.order {
		if len(d.how) > 0 {
			return nil, fmt.Errorf("%s: the lines are there %s only", d.name, d.how[0])
		}
	}
	return p, nil
}
