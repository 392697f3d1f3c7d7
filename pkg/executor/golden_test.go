package executor_test

import (
	"encoding/json"
	"flag"
	"testing"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/flow/flowtest"
	"github.com/adroit-run/adroit/pkg/llm"
)

var update = flag.Bool("update", false, "record the golden journals anew")

// TestGoldenJournals replays runs of the loop as they were journaled when the
// files were made. If one diverges, jobs in flight would too: the changed loop
// needs a new workflow name, not a new golden file.
func TestGoldenJournals(t *testing.T) {
	for name, c := range map[string]struct {
		turns   []llm.Message
		edit    func(*executor.Task)
		signals []flow.Signal
	}{
		"done": {[]llm.Message{
			say("TASK_COMPLETE"),
			calls(call("peek", `{}`), call("peek", `{}`), call("add", `{"n":2}`), call("nope", `{}`)),
			calls(call("report", `{}`)),
			calls(call("finish", `{"summary":"added two"}`)),
		}, func(t *executor.Task) {
			t.Done = executor.Criterion{All: []executor.Criterion{{Signal: "TASK_COMPLETE"}, {Artifact: "sum"}, {Check: "peek"}}}
		}, nil},
		"limit": {[]llm.Message{calls(call("add", `{"n":1}`))}, func(t *executor.Task) { t.Limits.Turns = 2 }, nil},
		"asked": {[]llm.Message{calls(call("sh", `{}`)), calls(call("sh", `{}`)), say("ok")}, nil,
			[]flow.Signal{{Name: "approve@2"}, {Name: "deny@6", Value: json.RawMessage(`"too risky"`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			file := "testdata/journals/" + name + ".json"
			if *update {
				w := newWorld(t, c.turns...)
				old := func(t *executor.Task) {
					if t.Revision = 0; c.edit != nil {
						c.edit(t)
					}
				}
				flowtest.Record(t, file, loop, w.task(old), w.mux(new(flow.Memory)), c.signals...)
			}
			flowtest.Replay(t, file, loop)
		})
	}
}
