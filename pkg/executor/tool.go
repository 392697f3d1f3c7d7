package executor

import (
	"fmt"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// finish is the tool whose successful call is the completion signal.
const finish = "finish"

// spawnAgent is the tool that the loop performs itself: it runs an agent as
// part of the job.
const spawnAgent = "spawn_agent"

// A Tool is what a pinned task knows of a tool: what the model is shown and
// what decides about order, offers and approval. The body stays where the
// work is done.
type Tool struct {
	llm.ToolSpec
	Needs    tools.Caps   `json:"needs,omitempty"`
	Effect   tools.Effect `json:"effect,omitempty"` // as declared; "" follows from Needs
	Consumes []string     `json:"consumes,omitempty"`
	Uses     []string     `json:"uses,omitempty"`
	Produces []string     `json:"produces,omitempty"`

	Proves     string   `json:"proves,omitempty"` // see tools.Metadata
	ProvesWith []string `json:"proves_with,omitempty"`
}

// changesFiles reports whether changing files is all that the tool does.
func (t Tool) changesFiles() bool { return t.Needs&^tools.Read == tools.Write }

// Short is the tool described in a line and by a schema without words, or as it is
// if that is no longer.
func (t Tool) Short(line string) (Tool, error) {
	input, err := schema.Bare(t.Input)
	if err != nil {
		return t, fmt.Errorf("tool %s: shortening its schema: %w", t.Name, err)
	}
	if len(line)+len(input) >= len(t.Description)+len(t.Input) {
		return t, nil
	}
	t.Description, t.Input, t.Brief = line, input, true
	return t, nil
}

// A ShortenedTool is a tool that a task describes in short, or not at all,
// because its window is small.
type ShortenedTool struct {
	Tool    string `json:"tool"`
	Removed bool   `json:"out,omitempty"`
	Why     string `json:"why"`
}
