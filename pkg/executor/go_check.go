package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/pkg/tools"
)

// runState is the artifact that a check over the state of a run is given.
const runState = "run_state"

// A RunSnapshot is a run as a check over its state sees it.
type RunSnapshot struct {
	Prompt    string                     `json:"prompt,omitempty"`
	Last      string                     `json:"last,omitempty"`   // the model's last answer, in words
	Claim     *Claim                     `json:"claim,omitempty"`  // the model's claim to be done; nil if it made none
	Turns     int                        `json:"turns"`            // answers of the model so far
	Calls     int                        `json:"calls"`            // tool calls, also failed ones
	Called    map[string]int             `json:"called,omitempty"` // successful calls by tool
	Artifacts map[string]json.RawMessage `json:"artifacts,omitempty"`
}

// NewCheck makes a check over the state of a run out of a Go function. It is a
// tool: put it into Options.Tools of pkg/adroit, or pass it to cli.Main, and
// name it in a definition of done, as in check: NAME.
//
//	var Cited = executor.NewCheck("cited", "Check that the answer names a source.", "the answer names a source",
//		func(_ context.Context, s executor.RunSnapshot) error {
//			if !strings.Contains(s.Last, "https://") {
//				return errors.New("name the source of what you say")
//			}
//			return nil
//		})
//
// The error is what the model reads, so it names what is missing. f must depend
// on the snapshot alone: it runs as a step of the job, whose first result is
// kept, and it may be called from several goroutines. proves states what
// holds if f returns nil.
func NewCheck(name, description, proves string, f func(ctx context.Context, s RunSnapshot) error) tools.Tool {
	return tools.New(tools.Metadata{
		Name: name, Description: description, Category: "utility", Optionality: tools.Optional,
		Effect: tools.Pure, Uses: []string{runState}, Proves: proves,
		Examples: []tools.Example{{Args: json.RawMessage(`{}`)}},
	}, func(ctx context.Context, env *tools.Env, _ struct{}) (string, error) {
		var s RunSnapshot
		raw := env.Artifacts.Value(runState)
		if raw == nil {
			return "", fmt.Errorf("%s looks at the state of a job, and this is none", name)
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", tools.Fatal(fmt.Errorf("the state of the run: %w", err))
		}
		if err := f(ctx, s); err != nil {
			return "", err
		}
		return proves, nil
	})
}

// addRunInputs adds to what a call is given what belongs to the task and the run alone:
// no tool, input or agent can put something else in its place.
func (t *Task) addRunInputs(s *State, tool *Tool, given map[string]json.RawMessage) {
	delete(given, tools.TestCommand)
	delete(given, runState)
	if t.Test != "" && slices.Contains(tool.Uses, tools.TestCommand) {
		given[tools.TestCommand], _ = json.Marshal(t.Test) // a string always can be
	}
	if !slices.Contains(tool.Uses, runState) {
		return
	}
	now := RunSnapshot{Prompt: t.Prompt, Last: s.Last, Claim: s.Claim, Turns: s.Turns, Calls: s.Calls, Called: s.Called, Artifacts: map[string]json.RawMessage{}}
	for _, name := range s.Names() {
		now.Artifacts[name] = s.Value(name)
	}
	raw, err := json.Marshal(now)
	if err != nil {
		panic(err) // texts, numbers and JSON that the journal has taken
	}
	given[runState] = raw
}
