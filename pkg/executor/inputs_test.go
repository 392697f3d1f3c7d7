package executor

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/adroit-run/adroit/pkg/tools"
)

func TestFeed(t *testing.T) {
	join := &Tool{Consumes: []string{"section/*"}, Uses: []string{"outline", "notes"}}
	task := &Task{Inputs: Inputs{Artifacts: map[string]json.RawMessage{"notes": []byte(`"n"`), "other": []byte(`1`)}}}
	s := &State{}
	if got := task.missingInputs(join, s, callContext{}); !slices.Equal(got, []string{"section/*"}) {
		t.Errorf("it lacks %v", got)
	}
	s.bind("expand", map[string]json.RawMessage{"section/a": []byte(`1`), "outline": []byte(`"old"`)})
	var now callContext
	now.artifacts = withArtifacts(now.artifacts, ToolResult{Result: tools.Result{Artifacts: map[string]json.RawMessage{"section/b": []byte(`2`)}}})
	was := now
	now.artifacts = withArtifacts(now.artifacts, ToolResult{Result: tools.Result{Artifacts: map[string]json.RawMessage{"outline": []byte(`"new"`)}}})
	got := task.toolInputs(s, now, join)
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"notes", "outline", "section/a", "section/b"}) {
		t.Errorf("it is given %v", names)
	}
	if string(got["outline"]) != `"new"` {
		t.Errorf("the outline is %s, not that of the call before", got["outline"])
	}
	if string(task.toolInputs(s, was, join)["outline"]) != `"old"` {
		t.Error("what a later call made reached an earlier one")
	}
	if got := task.missingInputs(join, &State{}, was); len(got) > 0 {
		t.Errorf("it lacks %v, which the call before made", got)
	}
	check := &Tool{Consumes: []string{"diff"}}
	if got, ok := task.toolInputs(s, now, check)["diff"]; !ok || got != nil {
		t.Errorf("a check without its artifact is given %s, %v", got, ok)
	}
}

// A conversation that begins anew has the model's list of tasks, whole.
func TestTodoStays(t *testing.T) {
	s := &State{}
	s.bind("todo", map[string]json.RawMessage{"todo": []byte(`[{"content":"Find it","status":"in_progress"}]`)})
	s.bind("search", map[string]json.RawMessage{"hits": []byte(`[1,2]`)})
	want := "Artifacts of this run:\n- hits: list of 2, of search\n- todo: [{\"content\":\"Find it\",\"status\":\"in_progress\"}], of todo"
	if got := s.listArtifacts(&Task{}); got != want {
		t.Errorf("%s", got)
	}
}
