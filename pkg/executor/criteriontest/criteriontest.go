// Package criteriontest has a criterion for each field of executor.Criterion, found by
// reflection, for the tests of everything that is made of criteria:
//
//	for field, c := range criteriontest.Samples(t) {
//
// A field that is added to the struct and forgotten in JSON, in words, in a verdict, in
// agent files, in lint or in the schema fails the test of the one that lacks it.
package criteriontest

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/adroit-run/adroit/pkg/executor"
)

// beside has, for the fields that go with others, a criterion that they go with.
var beside = map[string]executor.Criterion{
	"Where":     {Artifact: "words"},
	"With":      {Check: "run_check"},
	"IfMissing": {Check: "run_check"},
	"When":      {Signal: "DONE"},
}

// values are values for the fields that do not accept any value.
var values = map[string]any{
	"Check": "run_tests", "Signal": "DONE", "Artifact": "words", "Tool": "finish",
	"With": json.RawMessage(`{"check":"lint"}`),
}

// Samples returns, by the name of each field of Criterion, a criterion in which it is set.
func Samples(t testing.TB) map[string]executor.Criterion {
	t.Helper()
	out := map[string]executor.Criterion{}
	of := reflect.TypeFor[executor.Criterion]()
	for i := range of.NumField() {
		name := of.Field(i).Name
		c := beside[name]
		v := reflect.ValueOf(&c).Elem().Field(i)
		if given, ok := values[name]; ok {
			v.Set(reflect.ValueOf(given))
			out[name] = c
			continue
		}
		switch v.Interface().(type) {
		case string:
			v.SetString("words")
		case int:
			v.SetInt(3)
		case json.RawMessage:
			v.Set(reflect.ValueOf(json.RawMessage(`{"minLength":1}`)))
		case *executor.Criterion:
			v.Set(reflect.ValueOf(&executor.Criterion{Artifact: "diff"}))
		case []executor.Criterion:
			v.Set(reflect.ValueOf([]executor.Criterion{{Artifact: "words"}, {Signal: "DONE"}}))
		default:
			t.Fatalf("Criterion.%s has the type %s: give criteriontest a value of it", name, v.Type())
		}
		out[name] = c
	}
	return out
}
