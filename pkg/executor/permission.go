package executor

import (
	"encoding/json"

	"github.com/adroit-run/adroit/pkg/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Question is what a person is asked before a tool runs: exactly what will
// run. Digest stands for all of it; an approval carries it, and holds for
// nothing else.
type Question struct {
	Tool    string            `json:"tool"`
	Args    json.RawMessage   `json:"args"`
	Needs   tools.Caps        `json:"needs"`
	Why     string            `json:"why,omitempty"`
	Dir     string            `json:"dir,omitempty"`     // where it runs
	Paths   []string          `json:"paths,omitempty"`   // what it is about, as far as its arguments tell
	Sandbox string            `json:"sandbox,omitempty"` // around a command
	Network string            `json:"network,omitempty"` // that it reaches
	Files   map[string]string `json:"files,omitempty"`   // digests of the files and artifacts that it publishes
	Preview string            `json:"preview,omitempty"` // what it changes, as the tool shows it
	Always  *permit.Rule      `json:"always,omitempty"`  // what an answer of always adds for this job
	Changed bool              `json:"changed,omitempty"` // the tool is not as it was when it was accepted
	Digest  string            `json:"digest"`
}
