package book_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/host/book"
	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// keeper keeps facts beside a store of jobs that keeps none.
func keeper(t *testing.T) *book.Keeper {
	secrets := secret.NewRedactor(secret.Options{Known: []secret.Known{{Name: "TOKEN", Value: "hunter2-of-the-test"}}})
	store := new(jobs.Memory)
	return &book.Keeper{Jobs: func(context.Context) (jobs.Store, error) { return store, nil }, Data: t.TempDir(), Secrets: secrets, Warn: t.Errorf}
}

// A prompt gets the facts that match it, those whose evidence has changed last, and the taint of
// facts from others.
func TestForPrompt(t *testing.T) {
	k, dir := keeper(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte("fast:"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Keep(t.Context(), dir, memory.Addition{Fact: memory.Fact{ID: "a", Text: "the tests run with make fast", Evidence: memory.Evidence{File: "Makefile"}}}); err != nil {
		t.Fatal(err)
	}
	if added, refused, err := k.Import(t.Context(), dir, []memory.Fact{{Text: "the tests are slow", Kind: memory.Note, Scope: memory.Project, Created: time.Now()}, {Text: "hunter2-of-the-test"}}); err != nil || added != 1 || len(refused) != 1 {
		t.Fatalf("%d are new, %q are refused, %v", added, refused, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte("slow:"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines, taint := k.ForPrompt(t.Context(), dir)(string(memory.Project), "how are the tests run?")
	if len(lines) != 2 || !strings.Contains(lines[0], "the tests are slow") || !strings.Contains(lines[1], "STALE: Makefile has changed since") {
		t.Errorf("a prompt gets %q", lines)
	}
	if taint != tools.Untrusted {
		t.Errorf("its taint is %v", taint)
	}
}

// A fact that matches no word of the task is in its prompt only if it applies to any task.
func TestForPromptIsAboutTheTask(t *testing.T) {
	k, dir := keeper(t), t.TempDir()
	for text, kind := range map[string]memory.Kind{
		"the logo is green": memory.Note, "we chose Postgres": memory.Decision, "the printer jams": memory.Pitfall,
		"answer in Welsh": memory.Preference, "indent with tabs": memory.Convention, "run make fast": memory.Command, "the parser is slow": memory.Note,
	} {
		if _, err := k.Keep(t.Context(), dir, memory.Addition{Fact: memory.Fact{ID: memory.ID(text), Text: text, Kind: kind}}); err != nil {
			t.Fatal(err)
		}
	}
	lines, _ := k.ForPrompt(t.Context(), dir)(string(memory.Project), "Make the parser fast.")
	all := strings.Join(lines, "\n")
	for text, want := range map[string]bool{"logo": false, "Postgres": false, "printer": false, "Welsh": true, "tabs": true, "make fast": true, "the parser is slow": true} {
		if strings.Contains(all, text) != want {
			t.Errorf("%q in the prompt: want %v:\n%s", text, want, all)
		}
	}
}

// A job that ends leaves a summary, if it has a memory.
func TestSummary(t *testing.T) {
	k, dir := keeper(t), t.TempDir()
	for id, input := range map[string]string{"01A": `{"prompt":"Add a test.","memory":"project"}`, "01B": `{"prompt":"Add another.","memory":"off"}`} {
		all, err := k.Jobs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		j, err := all.Add(t.Context(), &jobs.Job{ID: id, Agent: "builder", Dir: dir, Input: []byte(input)})
		if err != nil {
			t.Fatal(err)
		}
		j.Status, j.Finished = jobs.Done, time.Now()
		k.Summarize(t.Context(), j)
	}
	store, err := k.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	facts, err := store.Facts(t.Context(), memory.Query{Kind: memory.Summary})
	if err != nil || len(facts) != 1 || facts[0].Text != `builder was asked "Add a test.": done` {
		t.Errorf("%+v, %v", facts, err)
	}
}
