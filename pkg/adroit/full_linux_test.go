package adroit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools/std"
)

// A full disk is not the model's business: it ends the run, and the job goes on
// with the same call once there is room.
func TestFullDiskEndsTheRun(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a line of text\\n", 20_000)
	rt := open(t, adroit.Options{Tools: std.All(), Workspace: adroit.Workspace{Dir: dir}, Models: scripted(t, `turns:
  - calls: [{name: read_file, args: {path: a.txt}}]
  - calls: [{name: edit_file, args: {path: a.txt, old: "old", new: "`+long+`"}}]
  - {expect: {contains: "a.txt"}, calls: [{name: finish, args: {summary: Done.}}]}
`)})
	editor := rt.Agent(agents.DynamicAgent{Name: "editor", Description: "Edits.", Tools: []string{"read_file", "edit_file", "finish"},
		Done: executor.Criterion{Signal: "DONE"}, Prompt: "You edit."})
	j, err := editor.Execute(t.Context(), agents.Input{Prompt: "Edit.", Approve: executor.ApproveAll})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = j.Wait(t.Context()) // the job says it all
	job, err := jobs.Find(t.Context(), manager(t, rt).Store, j.ID())
	if err != nil || job.Status != jobs.Interrupted || !strings.Contains(job.Reason, "no space") {
		t.Fatalf("on a full disk the job is %s: %s, %v", job.Status, job.Reason, err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	if j, err = rt.Resume(t.Context(), j.ID()); err != nil {
		t.Fatal(err)
	}
	if s, err := j.Wait(t.Context()); err != nil || s.Turns != 3 {
		t.Errorf("resumed: %+v, %v", s, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || len(b) < 200_000 {
		t.Errorf("a.txt has %d bytes, %v", len(b), err)
	}
}
