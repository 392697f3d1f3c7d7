package executor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/artifactname"
	"github.com/adroit-run/adroit/internal/executor/compaction"
	"github.com/adroit-run/adroit/internal/memory"
)

// newArtifacts lists for the model, with the result that brought them, artifacts that
// the run did not have. They are named once: what is repeated every turn costs
// every turn.
func (s *State) newArtifacts(t *Task, r ToolResult) string {
	if t.Budget == nil || t.Revision > 0 && !t.takesArtifacts() {
		return ""
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Artifacts)) {
		if _, known := s.Artifacts[name]; !known {
			fmt.Fprintf(&b, "\n[artifact %q is there now: %s]", name, describeArtifact(r.Artifacts[name]))
		}
	}
	return b.String()
}

// takesArtifacts reports whether a tool of the model reads what others have
// produced: to all other models artifacts are nothing.
func (t *Task) takesArtifacts() bool {
	return slices.ContainsFunc(t.Tools, func(tool Tool) bool {
		return len(tool.Consumes) > 0 || slices.ContainsFunc(tool.Uses, func(name string) bool {
			return name != artifactname.TestCommand && name != memory.JobTaint && !slices.Contains(tool.Produces, name)
		})
	})
}

// listArtifacts lists the artifacts with what they hold, for a conversation that
// begins anew.
func (s *State) listArtifacts(t *Task) string {
	if len(s.Artifacts) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Artifacts of this run:")
	for _, name := range s.Names() {
		a := s.Artifacts[name]
		held := describeArtifact(a.Value)
		if name == "todo" {
			held = string(a.Value) // the model goes on with its list
		}
		fmt.Fprintf(&b, "\n- %s: %s", name, held)
		if a.Tool != "" {
			fmt.Fprintf(&b, ", of %s", a.Tool)
		}
	}
	return b.String()
}

// describeArtifact describes an artifact in a few words.
func describeArtifact(v json.RawMessage) string {
	var x any
	if json.Unmarshal(v, &x) != nil {
		return compaction.Thousands(len(v)) + " bytes"
	}
	switch x := x.(type) {
	case string:
		return fmt.Sprintf("text, %s bytes", compaction.Thousands(len(x)))
	case []any:
		return fmt.Sprintf("list of %s", compaction.Thousands(len(x)))
	case map[string]any:
		keys := slices.Sorted(maps.Keys(x))
		if len(keys) > 8 {
			keys = append(keys[:8], "…")
		}
		return fmt.Sprintf("object with %s", strings.Join(keys, ", "))
	}
	return compaction.OneLine(string(v), 40)
}
