package show

import (
	"testing"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/executor/criteriontest"
)

// No condition is shown as if there were none, and none like another.
func TestCriterionWords(t *testing.T) {
	seen := map[string]string{Criterion(executor.Criterion{}): "none"}
	for field, c := range criteriontest.Samples(t) {
		words := Criterion(c)
		if other, ok := seen[words]; ok {
			t.Errorf("%s and %s are both shown as %q", field, other, words)
		}
		seen[words] = field
	}
}
