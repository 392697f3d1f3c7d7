package flowtest

import (
	"bytes"
	"encoding/json"
	"os"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/pkg/flow"
)

// A Golden is a finished run as it is kept in testdata/journals. Replaying an
// old one shows whether today's workflow still asks for the same steps.
type Golden struct {
	Workflow string          `json:"workflow"`
	Job      string          `json:"job"`
	Input    json.RawMessage `json:"input,omitempty"`
	Output   json.RawMessage `json:"output,omitempty"`
	Error    string          `json:"error,omitempty"`
	Records  []flow.Record   `json:"records"`
}

// Record runs wf for the first time, with signals queued, and writes its
// golden journal to file.
func Record(t testing.TB, file string, wf flow.Workflow, input json.RawMessage, mux flow.Mux, signals ...flow.Signal) {
	t.Helper()
	j := &flow.Memory{KeepAll: true}
	g := Golden{Workflow: wf.Name, Job: "golden", Input: input}
	for _, sig := range signals {
		if err := j.Send(t.Context(), g.Job, sig); err != nil {
			t.Fatal(err)
		}
	}
	out, err := Local(j, Request{Ctx: t.Context(), Workflow: wf, Job: g.Job, Input: input, Mux: mux})
	if err != nil {
		g.Error = err.Error()
	}
	g.Output, g.Records = out, j.Records(g.Job)
	b, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Replay runs wf on the golden journal in file. It fails if the workflow asks
// for a step that the journal does not have, or has another for, leaves one
// out, or ends otherwise.
func Replay(t testing.TB, file string, wf flow.Workflow) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var g Golden
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if g.Workflow != wf.Name {
		t.Fatalf("%s is a journal of %s, not of %s", file, g.Workflow, wf.Name)
	}
	j := &flow.Memory{KeepAll: true}
	var mu sync.Mutex
	left := map[string]bool{}
	for _, rec := range g.Records {
		rec.Output = squeeze(rec.Output)
		left[rec.Path] = true
		if err := j.Finish(t.Context(), &rec); err != nil {
			t.Fatal(err)
		}
	}
	out, err := Local(j, Request{Ctx: t.Context(), Workflow: wf, Job: g.Job, Input: squeeze(g.Input), Hook: func(point string, s flow.Step) {
		mu.Lock()
		defer mu.Unlock()
		if point == "begun" && !left[s.Path] {
			t.Errorf("%s: the workflow asks for step %s (%s %s), which the journal does not have", file, s.Path, s.Kind, s.Name)
		}
		if point == "begun" {
			delete(left, s.Path)
		}
	}})
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said != g.Error {
		t.Errorf("%s: ended with error %q, the journal with %q", file, said, g.Error)
	}
	equal(t, file, string(squeeze(out)), string(squeeze(g.Output)))
	for _, rec := range g.Records {
		if left[rec.Path] {
			t.Errorf("%s: the workflow does not ask for step %s (%s %s) any more", file, rec.Path, rec.Kind, rec.Name)
		}
	}
}

// squeeze undoes the indenting of the file: inputs are compared by digest.
func squeeze(b json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return b
	}
	return out.Bytes()
}
