package executor

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// jsonKeys lists the keys of a struct in the order in which they are encoded.
func jsonKeys(t reflect.Type) (out []string) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" && len(f.Index) <= 3 {
			out = append(out, name)
		}
	}
	return out
}

// TestJSONOrder holds the keys of tasks and states and their order: a task is
// the input of a step, whose digest a journal keeps.
func TestJSONOrder(t *testing.T) {
	task := "agent model system prompt tools checks done limits plan_only mode rules approve patience options budget price prices fallbacks hedge_ns think output" +
		" given project test lacking taint images history conversation problems memory recalled fitted calling spawning dir at home force revision modes"
	state := "head new read asked early cut_prompt calls_before artifacts called turns calls usage cost_usd reported_usd used fell spent_ns last claim rejects empty asked_back earlier recent nudged landing offered tried" +
		" failing warned told taint rules mode modes unknown context notes shown compacted refused outcome ended below raised model change_failed slips setbacks misread must mended unapplied"
	if got := strings.Join(jsonKeys(reflect.TypeFor[Task]()), " "); got != task {
		t.Errorf("a task has the keys\n%s, want\n%s", got, task)
	}
	if got := strings.Join(jsonKeys(reflect.TypeFor[State]()), " "); got != state {
		t.Errorf("a state has the keys\n%s, want\n%s", got, state)
	}
	b, err := json.Marshal(Task{})
	if want := `{"model":"","prompt":""}`; err != nil || string(b) != want {
		t.Errorf("an empty task is %s, %v, want %s", b, err, want)
	}
	b, err = json.Marshal(State{})
	if want := `{"turns":0,"calls":0,"usage":{"in":0,"out":0},"spent_ns":0}`; err != nil || string(b) != want {
		t.Errorf("an empty state is %s, %v, want %s", b, err, want)
	}
}
