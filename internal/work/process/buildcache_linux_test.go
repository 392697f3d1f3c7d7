package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// full skips a test where namespaces cannot be had.
func full(t *testing.T) {
	t.Helper()
	if r := sandbox.Choose(sandbox.Full); r.Err() != nil {
		t.Skip(r.Err())
	}
}

// background starts a command and returns when its output shows that it has begun.
func background(t *testing.T, r *Runner, c Cmd) *Process {
	t.Helper()
	p, err := r.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the command to begin", func() bool { return strings.Contains(p.Output().Text, "begun") })
	return p
}

// Concurrent commands never write one build cache, the next one uses the output of the last one,
// and the user's own cache is below all of them.
func TestBuildCachesAtOnce(t *testing.T) {
	full(t)
	user := t.TempDir()
	t.Setenv("GOCACHE", user)
	dirtest.Write(t, filepath.Join(user, "users"), "")
	r, dir := cellmate(t, SandboxOptions{Level: sandbox.Full})
	const hold = `echo x >$GOCACHE/first; echo begun; until [ -e go ]; do sleep 0.02; done; ls $GOCACHE`
	first := background(t, r, Cmd{Shell: hold})
	did(t, r, "ls $GOCACHE; echo x >$GOCACHE/second", 0, "users\n")
	if o := did(t, r, "ls $GOCACHE", 0, "second\nusers\n"); strings.Contains(o.Text, "first") {
		t.Errorf("a command sees what one that still runs writes: %q", o.Text)
	}
	// A process that continues the job is as far away as another command.
	other := New(dir, "", nil, WithSandbox(SandboxOptions{Level: sandbox.Full, Private: r.sandbox.Private}))
	if o := did(t, other, "ls $GOCACHE", 0, "users\n"); strings.Contains(o.Text, "first") {
		t.Errorf("another process shares a cache in use: %q", o.Text)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	dirtest.Write(t, filepath.Join(dir, "go"), "")
	<-first.Done()
	if o := first.Output(); strings.Contains(o.Text, "second") || !strings.Contains(o.Text, "first") {
		t.Errorf("the first command saw %q", o.Text)
	}
	did(t, r, "ls $GOCACHE", 0, "first\nusers\n")

	// One that stays for long has no layer below that others could change.
	p := background(t, r, Cmd{Shell: `echo x >$GOCACHE/server; ls $GOCACHE; echo begun; cat`, Interactive: true})
	if text := p.Output().Text; strings.Contains(text, "users") || !strings.Contains(text, "server") {
		t.Errorf("a server's cache has %q", text)
	}
	p.Kill()
	if left, _ := os.ReadDir(user); len(left) != 1 {
		t.Errorf("the user's cache has %v", left)
	}
}

// What one job put into its build cache reaches no job of another workspace,
// and at full no other job at all.
func TestBuildCacheOfAnotherJob(t *testing.T) {
	t.Setenv("GOCACHE", t.TempDir())
	levels(t, func(t *testing.T, level sandbox.Level) {
		cache := t.TempDir()
		one, dir := cellmate(t, SandboxOptions{Level: level, Cache: cache})
		did(t, one, "echo x >$GOCACHE/poison", 0, "")
		did(t, one, "cat $GOCACHE/poison", 0, "x")
		two, _ := cellmate(t, SandboxOptions{Level: level, Cache: cache})
		did(t, two, "cat $GOCACHE/poison", 1, "")
		same := New(dir, "", nil, WithSandbox(SandboxOptions{Level: level, Cache: cache, Private: filepath.Join(t.TempDir(), "private")}))
		code := 0
		if level == sandbox.Full {
			code = 1
		}
		did(t, same, "cat $GOCACHE/poison", code, "")
		if err := same.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestSlots(t *testing.T) {
	dir := t.TempDir()
	var held []*slot
	for n := range warmSlots + 1 {
		s, err := takeSlot(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := filepath.Base(s.dir); got != string(rune('0'+n)) {
			t.Errorf("slot %d is %s", n, got)
		}
		dirtest.Write(t, filepath.Join(s.dir, "f"), strings.Repeat("x", 1000))
		held = append(held, s)
	}
	for n, s := range held {
		limit := int64(0)
		if n == 1 {
			limit = 999
		}
		s.free(limit)
		if kept, want := rootfs.Exists(filepath.Join(s.dir, "f")), n != 1 && n < warmSlots; kept != want {
			t.Errorf("slot %d is kept: %v, want %v", n, kept, want)
		}
	}
	s, err := takeSlot(dir)
	if err != nil || filepath.Base(s.dir) != "0" {
		t.Errorf("after all were free: %v, %v", s, err)
	}
	s.free(1 << 20)
	if !rootfs.Exists(filepath.Join(s.dir, "f")) {
		t.Error("a cache below its bound is gone")
	}
}

func TestTidyCaches(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	old := now.Add(-staleCache - time.Hour)
	for _, name := range []string{"go-build-a/00/f", "go-build-b/00/f", "go-build-c/00/f", "else/f"} {
		dirtest.Write(t, filepath.Join(dir, name), "")
	}
	for _, name := range []string{"go-build-a", "go-build-b", "else"} {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "go-build-a/00"), 0o500); err != nil {
		t.Fatal(err)
	}
	tidyCaches(dir, "go-build-b", now)
	for name, want := range map[string]bool{"go-build-a": false, "go-build-b": true, "go-build-c": true, "else": true} {
		if rootfs.Exists(filepath.Join(dir, name)) != want {
			t.Errorf("%s is there: %v", name, !want)
		}
	}
}
