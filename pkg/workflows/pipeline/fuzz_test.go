package pipeline_test

import (
	"encoding/json"
	"io/fs"
	"testing"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// FuzzParse wants the reader, the linter and the drawings to survive anything,
// every problem to have a place and words, and what is read to survive JSON.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"feature.yaml", "review.yaml"} {
		src, err := fs.ReadFile(configs.Pipelines(), name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	for _, src := range []string{full, all, inner, "", "steps: [", "steps:\n  - {id: a, run: x}\n  - &a *a\n", "steps: {a: b}",
		"steps:\n  - {id: a, agent: {prompt: '{{.X}}', tools: '*'}, input: '{{a.b.0}} {{\"x\"}} {{'}\n",
		"recovery: x\nonFailure: recovery\nsteps:\n  - {id: a, parallel: [{id: a, parallel: []}], when: {all: [{any: []}]}, until: {step: a, where: {}}}\n"} {
		f.Add([]byte(src))
	}
	set, err := tools.NewSet(sh)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, problems := pipeline.Parse("p.yaml", src)
		for _, x := range problems {
			if x.Message == "" || x.Line < 1 || x.Col < 1 {
				t.Errorf("a problem without words or place: %+v", x)
			}
		}
		if p == nil {
			return
		}
		k := pipeline.Known{Tools: set, Agents: (*agents.Catalog)(nil), Pipelines: (*pipeline.Catalog)(nil).With(p)}
		if pipeline.Lint(p, k).Err() != nil || problems.Err() != nil {
			return
		}
		if p.Text() == "" || p.Mermaid() == "" {
			t.Error("it cannot be drawn")
		}
		pin, err := pipeline.Pin(p, k)
		if err != nil {
			t.Fatalf("lint finds nothing, but it cannot be pinned: %v", err)
		}
		b, err := json.Marshal(pin)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, new(pipeline.Pipeline)); err != nil {
			t.Errorf("it does not survive JSON: %v", err)
		}
	})
}
