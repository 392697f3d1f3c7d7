package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// Mermaid itself reads what is drawn as nodes, boxes and edges, as many
// whatever things are called, and finds nothing that does something.
func TestMermaidReadsGraphs(t *testing.T) {
	testenv.NeedsVariable(t, "MERMAID", "install.sh mermaid")
	draw := func(words string) string {
		l := &logbook{}
		l.step("1.0", "model", "m", words, map[string]any{"calls": []string{words}})
		for i := range 3 {
			l.add(event.Event{Kind: event.AgentStarted, Path: fmt.Sprintf("1.1.%d.0", i), Name: words}, nil)
		}
		for i := range 3 {
			l.step(fmt.Sprintf("1.1.%d.0.1.0", i), "tool", words, words, map[string]any{"failed": true})
		}
		l.add(event.Event{Kind: event.AgentFinished, Path: "1.1.1.1", Name: words}, map[string]any{"status": "failed", "reason": words})
		l.step("1.2", words, words, words, nil)
		return l.draw(jobs.Running).Mermaid()
	}
	readAlike(t, draw, " 3 7 0")
	readAlike(t, func(words string) string {
		name, _ := json.Marshal(words)
		var p pipeline.Pipeline
		if err := json.Unmarshal(bytes.ReplaceAll([]byte(`{"name": NAME, "onFailure": "recovery", "recovery": {"agent": NAME}, "steps": [
			{"id": "a", "run": NAME, "until": {"var": "n", "is": NAME}},
			{"id": "both", "name": NAME, "parallel": [{"id": "b", "tool": NAME}, {"id": "c", "name": NAME, "agent": NAME}]}
		]}`), []byte("NAME"), name), &p); err != nil {
			t.Fatal(err)
		}
		return p.Mermaid()
	}, "")
}

// readAlike has Mermaid read what is drawn of plain and of hostile words; each line that
// it prints must be the first one's.
func readAlike(t *testing.T, draw func(words string) string, end string) {
	t.Helper()
	work := t.TempDir()
	args := []string{"../../../../internal/dev/e2e/mermaid/read.mjs"}
	for i, words := range append([]string{"plain"}, hostile...) {
		file := filepath.Join(work, fmt.Sprintf("%d.mmd", i))
		if err := os.WriteFile(file, []byte(draw(words)), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	out, err := exec.CommandContext(t.Context(), "node", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(got) != len(hostile)+1 || !strings.HasSuffix(got[0], end) {
		t.Fatalf("read as\n%s\n%s", out, draw("plain"))
	}
	for i, words := range hostile {
		if got[i+1] != got[0] {
			t.Errorf("%q is read as %s, want %s\n%s", words, got[i+1], got[0], draw(words))
		}
	}
}
