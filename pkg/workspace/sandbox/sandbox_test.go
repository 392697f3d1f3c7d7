package sandbox

import "testing"

func TestSurvey(t *testing.T) {
	for _, f := range Survey() {
		t.Logf("%+v", f)
	}
}
