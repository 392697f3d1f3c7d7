package control

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
)

// Artifact has the full descriptions, by name.
const DescriptionsArtifact = "tool_descriptions"

// input of describe_tool.
type describeInput struct {
	Name string `json:"name" jsonschema:"minLength=1,description=The tool"`
}

//go:embed describe_tool.md
var describeProse string

// Tool is the tool describe_tool.
var Describe = tools.New(tools.Metadata{
	Name: "describe_tool", Category: "utility", Effect: tools.Pure, Optionality: tools.Optional, Consumes: []string{DescriptionsArtifact},
	Examples: []tools.Example{{Note: "how to call it", Args: json.RawMessage(`{"name":"git_blame"}`)}},
}.Prose(describeProse), tell)

func tell(_ context.Context, env *tools.Env, in describeInput) (tools.Result, error) {
	raw := env.Artifacts.Value(DescriptionsArtifact)
	if raw == nil {
		return tools.Result{}, fmt.Errorf("every tool here is described in full already; go on without")
	}
	var all map[string]string
	if err := json.Unmarshal(raw, &all); err != nil {
		return tools.Result{}, tools.Fatal(fmt.Errorf("the descriptions of this job's tools cannot be read: %w", err))
	}
	text, ok := all[in.Name]
	if !ok {
		return tools.Result{}, fmt.Errorf("there is nothing more to tell of %q; more is known of: %s", in.Name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	return tools.Result{Text: text, Summary: in.Name}, nil
}
