package executor

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/adroit-run/adroit/internal/artifactname"
	"github.com/adroit-run/adroit/internal/memory"
)

// has reports whether there is the artifact that name stands for, or one of
// its family.
func (t *Task) has(s *State, name string) bool {
	if !artifactname.IsFamily(name) {
		return t.value(s, name) != nil
	}
	matches := func(artifact string) bool { return artifactname.Matches(name, artifact) }
	return slices.ContainsFunc(s.Names(), matches) || slices.ContainsFunc(slices.Collect(maps.Keys(t.Artifacts)), matches)
}

// toolInputs is what a call of tool is given: what it consumes and what it uses, as
// the calls before it in the same answer have left it.
func (t *Task) toolInputs(s *State, now callContext, tool *Tool) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	take := func(values map[string]json.RawMessage, name string) {
		for artifact, v := range values {
			if v != nil && artifactname.Matches(name, artifact) {
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
		if _, ok := out[name]; !ok && !artifactname.IsFamily(name) && slices.Contains(tool.Consumes, name) {
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

// missingInputs is what a tool consumes and nobody has produced, in this answer
// neither.
func (t *Task) missingInputs(tool *Tool, s *State, now callContext) []string {
	return slices.DeleteFunc(t.missing(tool, s), func(name string) bool {
		for artifact := range now.artifacts {
			if artifactname.Matches(name, artifact) {
				return true
			}
		}
		return false
	})
}
