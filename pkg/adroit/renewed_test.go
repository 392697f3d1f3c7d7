package adroit_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A runtime that lives longer sees agents that were written, changed and removed, also
// in a directory that was not there when it was opened.
func TestAgentsAreRenewed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "agents")
	rt, err := adroit.Open(t.Context(), adroit.Options{Models: map[string]llm.Model{"x": nil}, Definitions: adroit.Definitions{Agents: []agents.Layer{{Name: "user", FS: os.DirFS(dir), Dir: dir}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	described := func() string {
		t.Helper()
		l, err := rt.Agents(t.Context(), adroit.Scope{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, a := range l.Items {
			got += a.Name + ": " + a.Description + "\n"
		}
		return got
	}
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "hand.md"), []byte("---\nname: hand\ndescription: "+text+"\nmodel: x\n---\nYou work.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := described()
	write("Works.")
	if got := described(); got != before+"hand: Works.\n" {
		t.Errorf("written: %q", got)
	}
	write("Works better.")
	if got := described(); got != before+"hand: Works better.\n" {
		t.Errorf("changed: %q", got)
	}
	if err := os.Remove(filepath.Join(dir, "hand.md")); err != nil {
		t.Fatal(err)
	}
	if got := described(); got != before {
		t.Errorf("removed: %q", got)
	}
}
