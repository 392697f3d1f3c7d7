package tools

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/invopop/jsonschema"
)

// watched counts how often its schema is asked for.
type watched struct {
	A counter `json:"a"`
}

type counter string

var asked atomic.Int64

func (counter) JSONSchema() *jsonschema.Schema {
	asked.Add(1)
	return &jsonschema.Schema{Type: "string"}
}

// Tools are package variables: those that a program links and does not use
// must not cost it anything before main.
func TestSchemaIsInferredAtFirstUse(t *testing.T) {
	asked.Store(0)
	tool := New(Metadata{Name: "watched", Description: "Do it."}, func(context.Context, *Env, watched) (string, error) { return "ok", nil })
	if n := asked.Load(); n != 0 {
		t.Fatalf("New asked for the schema %d times", n)
	}
	copied := tool
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if faults := copied.Input.Validate(json.RawMessage(`{"a":"x"}`)); faults != nil {
				t.Errorf("refused: %v", faults)
			}
			if copied.Input.Validate(json.RawMessage(`{"a":1}`)) == nil {
				t.Error("accepted a number for a string")
			}
			if len(tool.Input.JSON()) == 0 {
				t.Error("no JSON")
			}
		})
	}
	wg.Wait()
	if _, err := NewSet(tool); err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the schema was inferred %d times, want once", n)
	}
}

func TestNewAllocatesLittle(t *testing.T) {
	f := func(context.Context, *Env, watched) (string, error) { return "ok", nil }
	if n := testing.AllocsPerRun(10, func() { New(Metadata{Name: "watched"}, f) }); n > 6 {
		t.Errorf("New makes %g allocations", n)
	}
}

func TestFaultySchema(t *testing.T) {
	raw := json.RawMessage(`{"type":"string"}`)
	tool := Func(Metadata{Name: "a", Description: "Do it."}, raw, func(context.Context, *Env, json.RawMessage) (Result, error) { return Result{}, nil })
	if got := tool.Input.JSON(); got != nil {
		t.Errorf("JSON of a faulty schema is %s", got)
	}
	if _, err := json.Marshal(tool.Input); err == nil {
		t.Error("a faulty schema was marshaled")
	}
	if tool.Input.Sample() != nil || tool.Input.Params() != nil || tool.Input.Validate(json.RawMessage(`{}`)) == nil {
		t.Error("a faulty schema has a sample, parameters, or accepts arguments")
	}
	_, err := tool.Run(t.Context(), &Env{}, json.RawMessage(`{}`))
	_, again := NewSet(tool)
	if err == nil || again == nil {
		t.Errorf("a tool with a faulty schema was run (%v) or put into a set (%v)", err, again)
	}
	good := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	tool = Func(tool.Metadata, good, tool.Call)
	copy(good, `[[[[[[[[[`)
	if _, err := NewSet(tool); err != nil {
		t.Errorf("the schema was read after Func returned: %v", err)
	}
}
