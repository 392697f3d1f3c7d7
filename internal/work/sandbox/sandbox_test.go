package sandbox

import "testing"

// A level that is not available has a reason and advice, and auto is the first available one.
func TestSurvey(t *testing.T) {
	best := Level("")
	for _, f := range Survey() {
		t.Logf("%+v", f)
		if !f.OK && (f.Why == "" || f.Help == "") {
			t.Errorf("%s cannot be had, because %q; help: %q", f.Level, f.Why, f.Help)
		}
		if f.OK && best == "" {
			best = f.Level
		}
	}
	if r := Choose(Auto); r.Level != best || (r.Err() == nil) != (best != "") {
		t.Errorf("auto is %q, the best that can be had %q, err %v", r.Level, best, r.Err())
	}
}
