package executor

import (
	"reflect"
	"testing"
)

// Each field of Limits is defaulted, and each number that is used up ends a run, is raised,
// shared and said: one that is missing in quantities would bound nothing.
func TestLimitFields(t *testing.T) {
	for i := range reflect.TypeFor[Limits]().NumField() {
		var l Limits
		v, name := reflect.ValueOf(&l).Elem().Field(i), reflect.TypeFor[Limits]().Field(i).Name
		switch v.Kind() {
		case reflect.Map:
			v.Set(reflect.ValueOf(map[string]int{"shell": 8}))
		case reflect.Float64:
			v.SetFloat(8)
		default:
			v.SetInt(8)
		}
		if got := (Limits{}).Or(l); !reflect.DeepEqual(got, l) {
			t.Errorf("%s: Or makes %+v of %+v", name, got, l)
		}
		if name == "Calls" || name == "Rejects" { // counted apart
			continue
		}
		end := l.exceeded(l)
		if end == nil || l.String() == "" {
			t.Fatalf("%s ends no run, or is not said (%q): add it to quantities", name, l)
		}
		s := &State{}
		s.resetLimits(Limits{}, l)
		o := &reopener{more: l, job: s}
		if s.Raised.String() == "" || !o.raises(s, end.Limit) {
			t.Errorf("%s is not raised: %+v", name, s.Raised)
		}
		if got := l.share(2); name == "Tokens" && got.Tokens != 4 || name == "CostUSD" && got.CostUSD != 4 || name == "Time" && got.Time != 8 {
			t.Errorf("one of two has %+v of %+v", got, l)
		}
	}
}
