package flowtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/flow/flowtest"
)

var update = flag.Bool("update", false, "record the golden journals anew")

var review = flow.Define("review", func(r *flow.Run, files []string) (string, error) {
	found, err := flow.Map(r, files, func(r *flow.Run, file string) (string, error) {
		return flow.Do[string](r, "look", file, nil)
	})
	if _, failed := errors.AsType[*flow.StepError](err); err != nil && !failed {
		return "", err
	}
	answer, err := flow.Await[string](r, "verdict", 0)
	if err != nil {
		return "", err
	}
	if err := flow.Save(r, answer); err != nil {
		return "", err
	}
	sum, err := flow.Call(r, "sum", func(r *flow.Run, in []string) (string, error) {
		return flow.Do[string](r, "join", "all", in)
	}, found)
	return answer + ": " + sum, err
})

var mux = flow.Mux{
	"look": {Handler: func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
		if s.Name == "gone.go" {
			return nil, &flow.Failure{Code: "not_found", Message: "no gone.go"}
		}
		return json.Marshal("seen " + s.Name)
	}},
	"join": {Handler: func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
		var in []string
		if err := json.Unmarshal(s.Input, &in); err != nil {
			return nil, err
		}
		return json.Marshal(strings.Join(in, ", "))
	}},
}

func TestGolden(t *testing.T) {
	const file = "testdata/journals/review.json"
	if *update {
		flowtest.Record(t, file, review, json.RawMessage(`["a.go","gone.go","b.go"]`), mux,
			flow.Signal{Name: "verdict", Value: json.RawMessage(`"fine"`)})
	}
	flowtest.Replay(t, file, review)
}

// drift lets Replay complain to someone who listens.
type drift struct {
	testing.TB
	said []string
}

func (d *drift) Helper() {}
func (d *drift) Errorf(format string, args ...any) {
	d.said = append(d.said, format)
}

// TestGoldenDrift shows that Replay can fail: a journal with a step less and
// another with a step more than the workflow asks for.
func TestGoldenDrift(t *testing.T) {
	b, err := os.ReadFile("testdata/journals/review.json")
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*flowtest.Golden){
		"step missing": func(g *flowtest.Golden) { g.Records = g.Records[:len(g.Records)-1] },
		"step left over": func(g *flowtest.Golden) {
			g.Records = append(g.Records, flow.Record{Job: g.Job, Path: "9", Done: true})
		},
		"other output": func(g *flowtest.Golden) { g.Output = json.RawMessage(`"x"`) },
		"other input":  func(g *flowtest.Golden) { g.Records[0].Sum = "0" },
	} {
		var g flowtest.Golden
		if err := json.Unmarshal(b, &g); err != nil {
			t.Fatal(err)
		}
		change(&g)
		c, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "g.json")
		if err := os.WriteFile(file, c, 0o600); err != nil {
			t.Fatal(err)
		}
		d := &drift{TB: t}
		flowtest.Replay(d, file, review)
		if len(d.said) == 0 {
			t.Errorf("%s: not noticed", what)
		}
	}
}
