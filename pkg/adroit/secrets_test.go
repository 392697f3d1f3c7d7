package adroit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/sqlite"
	"github.com/adroit-run/adroit/internal/tools/shell"
	"github.com/adroit-run/adroit/internal/workspace/process"
	"github.com/adroit-run/adroit/internal/workspace/sandbox"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// What a program reads of the workspace's environment files and prints is kept
// nowhere, as on the command line.
func TestEnvironmentFiles(t *testing.T) {
	const value = "hunter2-of-the-workspace"
	dir, data := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".env.local"), []byte("export DB_PASSWORD='"+value+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	turns := "turns:\n  - calls: [{name: shell, args: {command: \"cat .env.local | tr -d x\"}}]\n  - text: Done.\n    expect: {last: 'DB_PASSWORD=.*secret: DB_PASSWORD'}"
	rt := open(t, adroit.Options{Tools: []tools.Tool{shell.Run}, Models: scripted(t, turns), Defaults: agents.Defaults{Approve: executor.ApproveAll},
		Workspace: adroit.Workspace{Dir: dir, Sandbox: process.SandboxOptions{Level: sandbox.Off}}, Storage: adroit.Storage{Data: data, Store: sqlite.Store(data)}})
	agent := agents.DynamicAgent{Name: "worker", Description: "Work.", Prompt: "You work.", Tools: []string{"shell"}}
	job, err := rt.Agent(agent).Execute(t.Context(), agents.Input{Prompt: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(data, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), value) {
			t.Errorf("%s holds the value", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files were kept, %v", files, err)
	}
}
