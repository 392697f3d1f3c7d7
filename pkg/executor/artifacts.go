package executor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
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
			return name != tools.TestCommand && name != memory.JobTaint && !slices.Contains(tool.Produces, name)
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
		return turn.Thousands(len(v)) + " bytes"
	}
	switch x := x.(type) {
	case string:
		return fmt.Sprintf("text, %s bytes", turn.Thousands(len(x)))
	case []any:
		return fmt.Sprintf("list of %s", turn.Thousands(len(x)))
	case map[string]any:
		keys := slices.Sorted(maps.Keys(x))
		if len(keys) > 8 {
			keys = append(keys[:8], "…")
		}
		return fmt.Sprintf("object with %s", strings.Join(keys, ", "))
	}
	return turn.OneLine(string(v), 40)
}

// value gives an artifact that the run has produced or was given.
func (t *Task) value(s *State, name string) json.RawMessage {
	if v := s.Value(name); v != nil {
		return v
	}
	return t.Artifacts[name]
}

// has reports whether there is the artifact that name stands for, or one of
// its family.
func (t *Task) has(s *State, name string) bool {
	if !tools.IsFamily(name) {
		return t.value(s, name) != nil
	}
	matches := func(artifact string) bool { return tools.Matches(name, artifact) }
	return slices.ContainsFunc(s.Names(), matches) || slices.ContainsFunc(slices.Collect(maps.Keys(t.Artifacts)), matches)
}

// missing lists the artifacts that the tool consumes and nobody has produced.
func (t *Task) missing(tool *Tool, s *State) []string {
	var out []string
	for _, name := range tool.Consumes {
		if !t.has(s, name) {
			out = append(out, name)
		}
	}
	return out
}

// missingInputs lists the artifacts that a tool consumes and that no call has produced,
// those before it in the same answer included.
func (t *Task) missingInputs(tool *Tool, s *State, now callContext) []string {
	return slices.DeleteFunc(t.missing(tool, s), func(name string) bool {
		for artifact := range now.artifacts {
			if tools.Matches(name, artifact) {
				return true
			}
		}
		return false
	})
}

// toolInputs returns the artifacts that a call of tool consumes or uses, as the calls
// before it in the same answer have left them.
func (t *Task) toolInputs(s *State, now callContext, tool *Tool) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	take := func(values map[string]json.RawMessage, name string) {
		for artifact, v := range values {
			if v != nil && tools.Matches(name, artifact) {
				out[artifact] = v
			}
		}
	}
	for _, name := range slices.Concat(tool.Consumes, tool.Uses) {
		take(t.Artifacts, name)
		for _, artifact := range s.Names() {
			take(map[string]json.RawMessage{artifact: s.Value(artifact)}, name)
		}
		take(now.artifacts, name)
		if _, ok := out[name]; !ok && !tools.IsFamily(name) && slices.Contains(tool.Consumes, name) {
			out[name] = nil // a check runs without, and reports that itself
		}
	}
	t.addRunInputs(s, tool, out)
	if delete(out, memory.JobTaint); slices.Contains(tool.Uses, memory.JobTaint) {
		out[memory.JobTaint], _ = json.Marshal(now.taint | s.Taint) // a list of names
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// withArtifacts adds what a call has produced to what the next is given.
func withArtifacts(before map[string]json.RawMessage, r ToolResult) map[string]json.RawMessage {
	if len(r.Artifacts) == 0 {
		return before
	}
	after := maps.Clone(before)
	if after == nil {
		after = map[string]json.RawMessage{}
	}
	maps.Copy(after, r.Artifacts)
	return after
}
