package adroit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/parts"
)

// What becomes the program's own while a runtime is open, as in adroit serve, is guarded
// from the next job on: a folder of agents, a link of skills, a hook.
func TestOwnFilesLater(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	config := filepath.Join(home, "adroit")
	for _, d := range []string{config, filepath.Join(dir, "agents"), filepath.Join(dir, "skills"), filepath.Join(dir, "bin")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var hooks []string
	rt, err := adroit.Open(t.Context(), adroit.Options{
		Model: "test/obedient", Models: map[string]llm.Model{"test": obedient{}}, Tools: parts.Tools(),
		Definitions: adroit.Definitions{Agents: []agents.Layer{{Name: "user", FS: fstest.MapFS{"worker.md": {Data: []byte(worker)}}}}},
		Workspace: adroit.Workspace{Dir: dir, ConfigFile: filepath.Join(config, "config.yaml"), OwnFiles: func() []string {
			return append([]string{config}, hooks...)
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	names := []string{"agents/w.md", "skills/s/SKILL.md", "bin/hook", "plain.txt"}
	write := func(text string) {
		t.Helper()
		var lines []string
		for _, n := range names {
			lines = append(lines, fmt.Sprintf(`write_file {"path": %q, "content": %q}`, n, text))
		}
		j, err := adroit.Start(t.Context(), rt, adroit.Request{Input: agents.Input{Agent: "worker", Prompt: strings.Join(lines, "\n"), Approve: executor.ApproveAll}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	for link, to := range map[string]string{"agents": "agents", "skills": "skills"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(config, link)); err != nil {
			t.Fatal(err)
		}
	}
	hooks = []string{filepath.Join(dir, "bin/hook")}
	write("second")
	for _, n := range names {
		b, err := os.ReadFile(filepath.Join(dir, n))
		if want := map[bool]string{true: "second", false: "first"}[n == "plain.txt"]; err != nil || string(b) != want {
			t.Errorf("%s is %q, want %q; %v", n, b, want, err)
		}
	}
}
