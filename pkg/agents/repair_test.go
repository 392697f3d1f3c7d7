package agents_test

import (
	"slices"
	"testing"

	"github.com/adroit-run/adroit/pkg/agents"
)

// The example file of the design of the coordinator, as it stands there.
const customFixer = `---
name: custom-fixer
capabilities:
  - custom-logic
  - special-handling
problemTypes:
  - BUILD_FAILURE
priority: 75
---

# Custom Fixer Agent

This agent handles custom build issues specific to our codebase.

## Instructions

When you receive a task, analyze the error and:
1. Check for X
`

func TestCustomFixer(t *testing.T) {
	a, ps := agents.Parse("custom-fixer.md", []byte(customFixer))
	if a == nil || len(ps) > 0 {
		t.Fatalf("it does not load as it is: %v", ps)
	}
	if a.Description != "Custom Fixer Agent" || !slices.Equal(a.ProblemTypes, []string{"BUILD_FAILURE"}) || a.Priority != 75 || len(a.Capabilities) != 2 {
		t.Errorf("it was read as %+v", a)
	}
}

func TestUnknownProblemType(t *testing.T) {
	_, ps := agents.Parse("a.md", []byte("---\nname: a\ndescription: d\nproblem_types: [BUILT_FAILURE]\n---\nx\n"))
	if len(ps) != 1 || ps[0].Severity != agents.Error {
		t.Errorf("an unknown type is no fault: %v", ps)
	}
}
