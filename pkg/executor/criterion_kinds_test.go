package executor_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/executor/criteriontest"
)

// Each field of a criterion is kept in JSON, said in words and never met by a run in
// which nothing has happened: what is forgotten would be a job that is done unchecked.
func TestCriterionKinds(t *testing.T) {
	for field, c := range criteriontest.Samples(t) {
		b, err := json.Marshal(c)
		if err != nil {
			t.Errorf("%s: %v", field, err)
			continue
		}
		var back executor.Criterion
		if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, c) {
			t.Errorf("%s is lost in JSON: %s is read as %+v, %v", field, b, back, err)
		}
		if n := len(c.Kinds()); n != 1 || c.Zero() {
			t.Errorf("%s: it is %d kinds of condition, %v", field, n, c.Kinds())
		}
		if words := c.Describe(); len(words) == 0 || strings.Contains(words[0], "does not know") {
			t.Errorf("%s is described by %q", field, words)
		}
		failing := func(executor.Criterion) error { return context.Canceled }
		got := c.Unmet(&executor.State{}, failing)
		switch {
		case field == "When": // it narrows: the change that it asks for was not made
			if got != nil {
				t.Errorf("%s: %v", field, got)
			}
		case got == nil:
			t.Errorf("%s holds although nothing has happened", field)
		case strings.Contains(got.Error(), "cannot judge"):
			t.Errorf("%s: %v", field, got)
		}
	}
}

// A condition that is there in part, or is two, holds never, is written as it is or not at
// all, and says why.
func TestCriterionInPart(t *testing.T) {
	for _, c := range []executor.Criterion{
		{Where: json.RawMessage(`{}`)},
		{With: json.RawMessage(`{}`)},
		{IfMissing: &executor.Criterion{Signal: "DONE"}},
		{All: []executor.Criterion{{Where: json.RawMessage(`{}`)}}},
		{Signal: "DONE", Artifact: "never"},
		{Any: []executor.Criterion{{Signal: "DONE", Check: "run_tests"}}},
		{Signal: "DONE", With: json.RawMessage(`{}`)},
		{Check: "run_tests", Run: "make"},
	} {
		var back executor.Criterion
		if b, err := json.Marshal(c); err == nil && (json.Unmarshal(b, &back) != nil || !reflect.DeepEqual(back, c)) {
			t.Errorf("%+v is written as %s", c, b)
		}
		if err := c.Unmet(&executor.State{}, func(executor.Criterion) error { return nil }); err == nil || !strings.Contains(err.Error(), "lacks what must hold") && !strings.Contains(err.Error(), "one condition holds") && !strings.Contains(err.Error(), "either tool or run") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
