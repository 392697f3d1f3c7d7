package adroit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/parts"
)

// A full disk is not the model's business: the step waits and says so once, a job that
// is stopped meanwhile can be resumed, and the same call goes on once there is room.
func TestFullDiskIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a line of text\\n", 20_000)
	waits := make(chan string, 100)
	rt := open(t, adroit.Options{Tools: parts.Tools(), Workspace: adroit.Workspace{Dir: dir}, Models: scripted(t, `turns:
  - calls: [{name: read_file, args: {path: a.txt}}]
  - calls: [{name: edit_file, args: {path: a.txt, old: "old", new: "`+long+`"}}]
  - {expect: {contains: "a.txt"}, calls: [{name: finish, args: {summary: Done.}}]}
`), Callbacks: adroit.Callbacks{Emit: func(ev event.Event) {
		if ev.Kind == event.StepRetried {
			waits <- ev.Name + " " + string(ev.Data)
		}
	}}})
	editor := rt.Agent(agents.DynamicAgent{Name: "editor", Description: "Edits.", Tools: []string{"read_file", "edit_file", "finish"},
		Done: executor.Criterion{Signal: "DONE"}, Prompt: "You edit."})
	j, err := editor.Execute(t.Context(), agents.Input{Prompt: "Edit.", Approve: executor.ApproveAll})
	if err != nil {
		t.Fatal(err)
	}
	const want = `edit_file {"waiting":"disk_space"}`
	if got := <-waits; got != want {
		t.Errorf("waits: %s", got)
	}
	if err := j.Stop(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if job, err := jobs.Find(t.Context(), manager(t, rt).Store, j.ID()); err != nil || job.Status != jobs.Interrupted {
		t.Fatalf("stopped while it waits, the job is %s: %s, %v", job.Status, job.Reason, err)
	}
	if j, err = resume(t, rt, j.ID()); err != nil {
		t.Fatal(err)
	}
	if got := <-waits; got != want {
		t.Errorf("resumed, it waits: %s", got)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	if s, err := j.Wait(t.Context()); err != nil || s.Turns != 3 {
		t.Errorf("with room again: %+v, %v", s, err)
	}
	if more := len(waits); more > 0 {
		t.Errorf("the same wait was reported %d times more", more)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || len(b) < 200_000 {
		t.Errorf("a.txt has %d bytes, %v", len(b), err)
	}
}
