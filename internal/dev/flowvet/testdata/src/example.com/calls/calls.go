package calls

import (
	"slices"
	"time"

	"example.com/helper"
	"github.com/adroit-run/adroit/pkg/flow"
)

var (
	count   int
	level   = 1
	words   = map[string]string{"a": "b"}
	filled  = map[string]string{}
	clock   = func() time.Time { return time.Now() } // want `time.Now in workflow code \(Workflow uses clock\): a replay`
	started = time.Now()                             // want `time.Now in workflow code \(Workflow uses started\)`
	table   = map[string]func(){"a": inTable}
	never   = time.Now()
	turns   int
	turn    = func() { turns++ }
	private = func() time.Time { return time.Now() }
)

func init() { level = 2 }

func Workflow(r *flow.Run, in string) string {
	count++ // want `the package variable count in workflow code: it is written while the program runs`
	_ = level
	_ = words[in]
	_ = filled[in] // want `the package variable filled in workflow code`
	_ = clock()
	middle()
	_ = generic[int](1)
	t := &T{}
	t.method()
	slices.SortFunc([]string{}, compare)
	_ = helper.Stamp() // want `helper.Stamp, which uses time.Now \(helper.go:19\), in workflow code: a replay reads another time`
	helper.T{}.Nap()   // want `helper.T.Nap, which uses time.Sleep`
	_ = helper.Cached("x")
	_ = helper.Any(nil) // want `helper.Any, which uses a range over a map`
	_ = helper.Excused()
	_ = helper.Limit // want `the package variable Limit in workflow code`
	_ = helper.Names
	_ = helper.Began // want `helper.Began, which uses time.Now`
	_ = started
	_ = turns // want `the package variable turns in workflow code`
	table[in]()
	other(r)
	return ""
}

func middle() { leaf() }

func leaf() {
	_ = time.Now() // want `time.Now in workflow code \(Workflow calls middle calls leaf\): a replay`
	middle()
}

func generic[T any](x T) T {
	time.Sleep(1) // want `time.Sleep in workflow code \(Workflow calls generic\)`
	return x
}

func inTable() {
	_ = time.Now() // want `time.Now in workflow code \(Workflow uses table calls inTable\)`
}

type T struct{}

func (t *T) method() {
	_ = helper.Stamp() // want `helper.Stamp, which uses time.Now .* in workflow code \(Workflow calls T.method\)`
}

func compare(a, b string) int {
	return time.Now().Second() // want `time.Now in workflow code \(Workflow calls compare\)`
}

func other(r *flow.Run) {
	_ = time.Now() // want `time.Now in workflow code: a replay`
}

func Far() string { return helper.Stamp() } // want Far:"time.Now"

func fill(k string) { filled[k] = k; _ = private(); _ = never }
