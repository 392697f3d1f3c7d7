package adroit

import (
	"encoding/json"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// A Scope is a workspace, and whether all that it brings is used. Files are
// named relative to Dir as it is given.
type Scope struct {
	Dir   string `json:"dir,omitempty"` // empty: none
	Trust bool   `json:"trust_project,omitempty"`
}

// A Named is an agent, a pipeline or a skill by name.
type Named struct {
	Scope
	Name string `json:"name"`
}

// A Listing is what was found, and what is wrong with the rest.
type Listing[T any] struct {
	Items    []T             `json:"items"`
	Problems agents.Problems `json:"problems,omitempty"`
}

// Info on what requests may name.
type (
	AgentInfo struct {
		*agents.DynamicAgent
		Layer string `json:"layer"`
		File  string `json:"file"`
		// Of one that is shown: how small windows shorten its tools, and its file as it is,
		// "" for an agent that a program has made.
		Windows []SmallWindow `json:"windows,omitempty"`
		Source  string        `json:"source,omitempty"`
	}
	PipelineInfo struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Steps       int    `json:"steps"`
		Layer       string `json:"layer"`
		File        string `json:"file"`
	}
	SkillInfo struct {
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Files       []string `json:"files"`
		Layer       string   `json:"layer"`
		File        string   `json:"file"`
	}
	ToolInfo struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Needs       string          `json:"needs,omitempty"` // capabilities
		Effect      tools.Effect    `json:"effect"`          // of performing a call twice
		Input       json.RawMessage `json:"input"`           // JSON Schema
	}
)

// Details of what requests may name.
type (
	PipelineDetail struct {
		*pipeline.Pipeline
		Layer string `json:"layer"`
		File  string `json:"file"`
	}
	SkillDetail struct {
		agents.Skill
		Layer string `json:"layer"`
		File  string `json:"file"`
	}
)

// A SmallWindow is a context window in which tools are shortened or left out.
type SmallWindow struct {
	Tokens int                      `json:"tokens"`
	Tools  []executor.ShortenedTool `json:"tools,omitempty"`
}

// A LintRequest names what is checked: all that a scope has, or some files.
type LintRequest struct {
	Scope
	Files []LintFile `json:"files,omitempty"`
	Names []string   `json:"names,omitempty"` // of those that there are, beside the files
}

// A LintFile is a file by name.
type LintFile struct {
	Name string `json:"name"`
	Text []byte `json:"text"`
}

// A LintReport is what is wrong with what was checked.
type LintReport struct {
	Checked  int             `json:"checked"`
	Problems agents.Problems `json:"problems"`
}
