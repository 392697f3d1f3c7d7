package llm

import "encoding/json"

// A ToolSpec describes a tool to a model.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"` // JSON Schema 2020-12, free of $ref
	// Brief says that the description and the schema are shorter than the
	// tool's own. It is for whoever writes prompts; adapters do not send it.
	Brief bool `json:"brief,omitempty"`
}
