package adroit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/parts"
)

func repository(t *testing.T) string {
	t.Helper()
	testenv.NeedsProgram(t, "git")
	t.Setenv("HOME", t.TempDir()) // nobody's own settings
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "A"}, {"config", "user.email", "a@example.org"}, {"add", "."}, {"commit", "-qm", "start"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// Two jobs write the same repository at once, each in a worktree; one merges,
// the other is thrown away.
func TestWorktrees(t *testing.T) {
	dir := repository(t)
	data := t.TempDir()
	rt := open(t, adroit.Options{Tools: parts.Tools(), Workspace: adroit.Workspace{Dir: dir}, Storage: adroit.Storage{Data: data, Store: sqlite.Store(data)}, Models: scripted(t, `turns:
  - calls: [{name: write_file, args: {path: new.txt, content: "new\n"}}]
  - calls: [{name: finish, args: {summary: Written.}}]
`)})
	writer := rt.Agent(agents.DynamicAgent{Name: "writer", Description: "Writes.", Tools: []string{"write_file", "finish"},
		Done: executor.Criterion{All: []executor.Criterion{{Signal: "DONE"}, {Artifact: "diff"}}}, Prompt: "You write."})
	var running []*adroit.Job
	for range 2 {
		j, err := writer.Execute(t.Context(), agents.Input{Prompt: "Write.", Worktree: true, Approve: executor.ApproveAll})
		if err != nil {
			t.Fatal(err)
		}
		running = append(running, j)
	}
	for _, j := range running {
		s, err := j.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(s.Value("diff")), "+new") {
			t.Errorf("the artifact diff is %s", s.Value("diff"))
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "new.txt")); err == nil {
		t.Error("a job wrote into the repository itself")
	}
	if m, err := rt.Merge(t.Context(), running[0].ID(), "Write"); err != nil || len(m.Paths) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "new.txt")); err != nil || string(b) != "new\n" {
		t.Errorf("%q, %v", b, err)
	}
	for i, force := range []bool{false, true} {
		if _, err := rt.Remove(t.Context(), running[i].ID(), adroit.RemoveOptions{Force: force}); err != nil {
			t.Error(err)
		}
	}
	out, err := exec.Command("git", "-C", dir, "branch").Output()
	if err != nil || strings.TrimSpace(string(out)) != "* main" {
		t.Errorf("branches: %s, %v", out, err)
	}
	if left, _ := os.ReadDir(filepath.Join(data, "worktrees")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}
