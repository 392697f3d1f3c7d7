package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

// The ways to call tools, as answers that call echo once.
var said = map[turn.Mode]string{
	turn.Constrained: `{"next":[{"tool":"echo","arguments":{"text":"a"}}]}`,
	turn.Text:        `<tool_call>{"name": "echo", "arguments": {"text": "a"}}</tool_call>`,
}

const lastWord = `{"next":[{"answer":"done"}]}`

// called runs jobs of two answers, one call and an end, and reports the
// tokens that a job reads and writes.
func called(b *testing.B, model llm.Model, way turn.Mode) {
	k := newKit(b, nil, true)
	k.model = model
	task, err := json.Marshal(executor.Task{Instructions: executor.Instructions{Model: "m-" + string(way), System: "You echo.", Prompt: "Go on."}, Work: executor.Work{Tools: agents.PinTools(k.tools)}, CallMode: way,
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

// BenchmarkCalling measures the cost of each way to call tools besides the model, and the cost of
// finding out that the first one does not work (auto).
func BenchmarkCalling(b *testing.B) {
	for _, way := range []turn.Mode{turn.Native, turn.Constrained, turn.Text, turn.Auto} {
		b.Run(string(way), func(b *testing.B) {
			product := "compatible"
			if way == turn.Auto {
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
					return llmtest.Turn{Text: said[turn.Constrained]}
				}
				return llmtest.Turn{Text: said[turn.Text]}
			})
			m, err := openai.New(openai.Config{BaseURL: p.URL + "/v1", Dialect: "compatible"})
			if err != nil {
				b.Fatal(err)
			}
			called(b, m, way)
			if way == turn.Auto {
				b.ReportMetric(float64(len(p.Refused()))/float64(b.N), "refusals/job")
			}
		})
	}
}

// BenchmarkCallingOllama does the same with a real server, whose tokenizer counts bytes.
func BenchmarkCallingOllama(b *testing.B) {
	url := ollamatest.Start(b)
	for _, way := range []turn.Mode{turn.Native, turn.Constrained, turn.Text} {
		b.Run(string(way), func(b *testing.B) {
			say, end := said[way], "done"
			switch way {
			case turn.Native:
				say = said[turn.Text]
			case turn.Constrained:
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
