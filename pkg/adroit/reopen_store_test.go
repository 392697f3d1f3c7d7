package adroit_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/parts"
)

// A database that could only be read when a runtime first opened it is opened again for what
// changes something.
func TestReadOnlyStoreIsOpenedAgain(t *testing.T) {
	data := t.TempDir()
	path := filepath.Join(data, "adroit.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	model := llm.Func(func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
		return &llm.Response{Message: llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "1", Name: "finish", Args: []byte(`{"summary":"Done."}`)}}}, Stop: llm.StopCalls}, nil
	})
	rt, err := adroit.Open(t.Context(), adroit.Options{
		Tools: parts.Tools(), Models: map[string]llm.Model{"m": model}, Workspace: adroit.Workspace{Dir: t.TempDir()},
		Storage: adroit.Storage{Data: data, Store: func(ctx context.Context) (jobs.Store, error) {
			if exhaustion.Changes(ctx) {
				return sqlite.Open(ctx, path, sqlite.Options{})
			}
			return sqlite.OpenReadOnly(ctx, path)
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := rt.Manager(t.Context()); err != nil { // as a list of jobs does
		t.Fatal(err)
	}
	a := rt.Agent(agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p", Model: "m/x", Tools: []string{"finish"}, Done: executor.Criterion{Signal: "DONE"}})
	job, err := a.Execute(t.Context(), agents.Input{Prompt: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}
