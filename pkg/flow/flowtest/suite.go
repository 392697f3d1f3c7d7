package flowtest

import (
	"slices"
	"testing"
)

// Run runs the suite. open gives a fresh harness for each test.
func Run(t *testing.T, open func(t testing.TB) Harness) {
	lacks := open(t).Lacks
	for _, c := range []struct {
		name  string
		test  func(t *testing.T, h Harness)
		needs []Ability
	}{
		{"steps", steps, nil},
		{"failures are data", failures, nil},
		{"failures are recalled", recalledFailures, []Ability{Resume}},
		{"branches keep order and finish", branches, nil},
		{"branches run at once", together, nil},
		{"calls have scopes", calls, nil},
		{"children", children, nil},
		{"retries", retries, nil},
		{"panic in a handler", panics, nil},
		{"replay performs nothing", replay, []Ability{Resume}},
		{"divergence", divergence, []Ability{Resume}},
		{"stopping is no outcome", stopping, []Ability{Stop, Resume}},
		{"sleep", sleeps, nil},
		{"sleep waits only the rest", rest, []Ability{Kill, Resume}},
		{"signals are a queue", queue, nil},
		{"signals by name", byName, nil},
		{"signals are consumed once", once, []Ability{Resume}},
		{"a signal of another type is refused", wrongType, nil},
		{"signal while waiting", meanwhile, nil},
		{"await times out", timeouts, nil},
		{"parking", parking, []Ability{Park, Resume}},
		{"brief waits are not parked", brief, []Ability{Park}},
		{"parked is not refused", refusal, []Ability{Park, Resume}},
		{"interrupted", interrupted, []Ability{Kill, Resume}},
		{"kill at every point", killAnywhere, []Ability{Kill, Resume}},
		{"checkpoint resumes in its turn", checkpoint, []Ability{Kill, Resume}},
		{"kill at every point of children", killChildren, []Ability{Kill, Resume}},
		{"checkpoint in nested scopes", nested, []Ability{Kill, Resume}},
		{"a thousand turns", thousand, nil},
		{"a saga takes back, the last first", saga, nil},
		{"a stopped saga takes nothing back", heldSaga, []Ability{Park, Resume}},
		{"kill in branches of branches and a saga", killDeep, []Ability{Kill, Resume}},
	} {
		// A test of an ability that the engine lacks is logged and does not count as
		// skipped.
		if a := slices.IndexFunc(c.needs, func(a Ability) bool { return lacks[a] != "" }); a >= 0 {
			t.Logf("%s: %s", c.name, lacks[c.needs[a]])
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}
