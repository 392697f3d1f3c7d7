package adroit_test

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Calls between the start of a job and what it is about. They may only fall:
// each is one more place where a reader has to look.
const (
	maxModelFrames = 18
	maxToolFrames  = 22
)

// frames lists the calls of this module above its caller, the innermost first.
func frames() (out []string) {
	pcs := make([]uintptr, 100)
	all := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := all.Next()
		if name, ours := strings.CutPrefix(f.Function, "github.com/adroit-run/adroit/"); ours {
			out = append(out, name)
		}
		if !more {
			return out
		}
	}
}

// TestFrames counts the calls on the way from a job to its model and to the
// body of a tool.
func TestFrames(t *testing.T) {
	var toModel, toTool []string
	turns := 0
	model := llm.Func(func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
		toModel = frames()
		if turns++; turns == 1 {
			return &llm.Response{Stop: llm.StopCalls, Message: llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "c", Name: "probe", Args: json.RawMessage(`{}`)}}}}, nil
		}
		return &llm.Response{Stop: llm.StopEnd, Message: llm.Message{Role: llm.Assistant, Text: "Done."}}, nil
	})
	probe := tools.New(tools.Metadata{Name: "probe", Description: "Probe.", Category: "utility"},
		func(context.Context, *tools.Env, struct{}) (string, error) {
			toTool = frames()
			return "probed", nil
		})
	rt, err := adroit.Open(t.Context(), adroit.Options{Tools: []tools.Tool{probe}, Models: map[string]llm.Model{"m": model}, Model: "m/x"})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	job, err := rt.Agent(agents.DynamicAgent{Name: "prober", Description: "Probe.", Prompt: "Probe.", Tools: []string{"probe"}}).Execute(t.Context(), agents.Input{Prompt: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		to    string
		chain []string
		most  int
	}{{"the model", toModel, maxModelFrames}, {"the tool", toTool, maxToolFrames}} {
		t.Logf("%d calls to %s", len(c.chain), c.to)
		if n := len(c.chain); n == 0 || n > c.most {
			t.Errorf("%d calls lead to %s, want 1 to %d:\n%s", n, c.to, c.most, strings.Join(c.chain, "\n"))
		}
	}
}
