package agents_test

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/llm"
)

func TestEffort(t *testing.T) {
	for _, c := range []struct {
		value string
		want  llm.Effort
		says  string
	}{
		{"low", llm.EffortLow, ""},
		{"high", llm.EffortHigh, ""},
		{"max", llm.EffortHigh, "note: effort max is taken as high"}, // Claude Code's
		{"huge", "", `error: effort is "huge"; it is one of low, medium, high`},
		{`""`, "", `error: effort is ""`},
	} {
		a, ps := agents.Parse("x.md", []byte("---\nname: x\ndescription: d\neffort: "+c.value+"\n---\nDo."))
		if got := lines(ps); a.Options.Effort != c.want || (c.says == "") != (got == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, with %q", c.value, a.Options.Effort, got)
		}
	}
	// The request goes before the agent; what nobody knows is refused.
	a := parse(t, "---\nname: x\ndescription: d\neffort: low\n---\nDo.")
	for effort, want := range map[llm.Effort]llm.Effort{"": llm.EffortLow, llm.EffortHigh: llm.EffortHigh} {
		task, err := agents.Resolve(agents.Input{Spec: a, Prompt: "p", Model: "m/x", Options: llm.Options{Effort: effort}}, nil, testSet(t), agents.Env{})
		if err != nil || task.Options.Effort != want {
			t.Errorf("asked %q: %q, %v", effort, task.Options.Effort, err)
		}
	}
	if _, err := agents.Resolve(agents.Input{Spec: a, Prompt: "p", Model: "m/x", Options: llm.Options{Effort: "huge"}}, nil, testSet(t), agents.Env{}); err == nil || !strings.Contains(err.Error(), "low medium high") {
		t.Errorf("%v", err)
	}
}
