package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/agentfile"
	"github.com/adroit-run/adroit/internal/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/e2e/tinymodel"
	"github.com/adroit-run/adroit/internal/executor/toolcall"
	"github.com/adroit-run/adroit/internal/llm/ollama"
	"github.com/adroit-run/adroit/internal/llm/openai"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
)

// The ways to call tools, as answers that call echo once.
var said = map[toolcall.Mode]string{
	toolcall.Constrained: `{"next":{"tool":"echo","arguments":{"text":"a"}}}`,
	toolcall.Text:        `<tool_call>{"name": "echo", "arguments": {"text": "a"}}</tool_call>`,
}

const lastWord = `{"next":{"answer":"done"}}`

// called runs jobs of two answers, one call and an end, and reports the
// tokens that a job reads and writes.
func called(b *testing.B, model llm.Model, way toolcall.Mode) {
	k := newKit(b, nil, true)
	k.model = model
	task, err := json.Marshal(executor.Task{Instructions: executor.Instructions{Model: "m-" + string(way), System: "You echo.", Prompt: "Go on."}, Work: executor.Work{Tools: agentfile.PinTools(k.tools)}, CallMode: way,
		Options: llm.Options{Window: 8192}})
	if err != nil {
		b.Fatal(err)
	}
	var used llm.Usage
	for b.Loop() {
		j := new(flow.Memory)
		s, err := state(agent.Run(flow.NewRun("J1", flow.NewLocal(context.Background(), j, k.mux(j), nil)), task))
		if err != nil || s.Called["echo"] != 1 {
			b.Fatalf("%v, %+v", err, s)
		}
		used = used.Add(s.Usage)
	}
	b.ReportMetric(float64(used.In)/float64(b.N), "tokens-in/job")
	b.ReportMetric(float64(used.Out)/float64(b.N), "tokens-out/job")
}

// BenchmarkCalling is what each way to call tools costs besides the model,
// and what it costs to find out that the first one does not work (auto).
func BenchmarkCalling(b *testing.B) {
	for _, way := range []toolcall.Mode{toolcall.Native, toolcall.Constrained, toolcall.Text, toolcall.Auto} {
		b.Run(string(way), func(b *testing.B) {
			product := "compatible"
			if way == toolcall.Auto {
				product = "vllm without a parser"
			}
			p := llmtest.NewProduct(b, product, func(a llmtest.Asked) llmtest.Turn {
				first, form := len(a.Messages) == 2, strings.Contains(string(a.Schema), `"next"`)
				switch {
				case !first && form:
					return llmtest.Turn{Text: lastWord}
				case !first:
					return llmtest.Turn{Text: "done"}
				case len(a.Tools) > 0:
					return llmtest.Turn{Calls: []llm.Call{{ID: "a", Name: "echo", Args: json.RawMessage(`{"text":"a"}`)}}}
				case form:
					return llmtest.Turn{Text: said[toolcall.Constrained]}
				}
				return llmtest.Turn{Text: said[toolcall.Text]}
			})
			m, err := openai.New(openai.Config{BaseURL: p.URL + "/v1", Dialect: "compatible"})
			if err != nil {
				b.Fatal(err)
			}
			called(b, m, way)
			if way == toolcall.Auto {
				b.ReportMetric(float64(len(p.Refused()))/float64(b.N), "refusals/job")
			}
		})
	}
}

// BenchmarkCallingOllama is the same at a real server, whose tokenizer counts
// bytes.
func BenchmarkCallingOllama(b *testing.B) {
	url := ollamatest.Start(b)
	for _, way := range []toolcall.Mode{toolcall.Native, toolcall.Constrained, toolcall.Text} {
		b.Run(string(way), func(b *testing.B) {
			say, end := said[way], "done"
			switch way {
			case toolcall.Native:
				say = said[toolcall.Text]
			case toolcall.Constrained:
				end = lastWord
			}
			name := fmt.Sprintf("m-%s", way)
			ollamatest.CreateModel(b, url, name, []tinymodel.Turn{{Say: say}, {Say: end}})
			m, err := ollama.New(ollama.Config{BaseURL: url})
			if err != nil {
				b.Fatal(err)
			}
			called(b, m, way)
		})
	}
}
