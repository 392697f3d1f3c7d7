package agents_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor/criteriontest"
)

// Whatever a criterion may hold can be written in an agent file, is known to lint and
// stands in the schema.
func TestCriterionInFiles(t *testing.T) {
	var schema struct {
		Defs map[string]struct{ Properties map[string]json.RawMessage } `json:"$defs"`
	}
	text, err := os.ReadFile("../../configs/schemas/agent.schema.json")
	if err != nil || json.Unmarshal(text, &schema) != nil {
		t.Fatalf("the schema of agent files cannot be read: %v", err)
	}
	set := testSet(t)
	for field, c := range criteriontest.Samples(t) {
		done, err := json.Marshal(c)
		if err != nil {
			t.Fatalf("%s: %v", field, err)
		}
		a, ps := agents.Parse("x.md", fmt.Appendf(nil, "---\ndescription: d\ntools: [word_count, finish]\ndone: %s\n---\nCount.", done))
		if err := ps.Err(); err != nil || !reflect.DeepEqual(a.Done, c) {
			t.Errorf("%s: %s is read from a file as %+v, %v", field, done, a.Done, err)
			continue
		}
		if err := agents.Lint(a, set).Err(); err != nil && strings.Contains(err.Error(), "is empty") {
			t.Errorf("%s: lint does not know %s: %v", field, done, err)
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(done, &keys); err != nil {
			t.Fatal(err)
		}
		for key := range keys {
			if schema.Defs["criterion"].Properties[key] == nil {
				t.Errorf("%s: the schema lacks %s", field, key)
			}
		}
	}
}
