package blog

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
)

// analyzeInput is the input of analyze_prompt.
type analyzeInput struct {
	Prompt string `json:"prompt" jsonschema:"minLength=1,description=The request as the user made it"`
}

//go:embed analyze_prompt.md
var analyzeProse string

// Analyze is the tool analyze_prompt.
var Analyze = tools.New(tools.Metadata{
	Name: "analyze_prompt", Category: "content", Needs: tools.Think, Optionality: tools.Optional, Produces: []string{"analysis"},
	Examples: []tools.Example{{Note: "a long request", Args: json.RawMessage(`{"prompt":"A newsletter on our release, the meetup in May and three links on durable execution"}`)}},
}.Prose(analyzeProse), func(ctx context.Context, env *tools.Env, in analyzeInput) (tools.Result, error) {
	if strings.TrimSpace(in.Prompt) == "" {
		return tools.Result{}, errors.New("prompt is empty: pass the user's request")
	}
	a, err := typed[styleAnalysis](ctx, env, "analyze", map[string]any{"Prompt": quoted(in.Prompt)}, nil)
	if err != nil {
		return tools.Result{}, err
	}
	text := fmt.Sprintf("Topic: %s\nAudience: %s\nTone: %s\nAbout %d words", a.Topic, a.Audience, a.Tone, a.Words)
	for _, s := range a.Sections {
		text += "\n- cover: " + s
	}
	for _, q := range a.Questions {
		text += "\n- look up: " + q
	}
	return result(text, "analysis", a)
})
