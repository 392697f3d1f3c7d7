package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// inhabited reports whether a process of this machine has its working
// directory in dir. Commands are known by it: the numbers they see are theirs.
func inhabited(dir string) bool {
	want, err := os.Stat(dir)
	if err != nil {
		return false
	}
	found, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, cwd := range found {
		if got, err := os.Stat(cwd); err == nil && os.SameFile(want, got) {
			return true
		}
	}
	return false
}

// until polls a condition that the kernel does not report, yielding in between.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// A command that is over leaves nothing behind, however its children hid.
// Only a namespace can hold one that left session and environment.
func TestConfinedLeavesNothing(t *testing.T) {
	needSetsid(t)
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Bubblewrap} {
		t.Run(string(level), func(t *testing.T) {
			if r := sandbox.Choose(level); r.Err() != nil {
				t.Skip(r.Err())
			}
			r, dir := cellmate(t, SandboxOptions{Level: level})
			began := time.Now()
			did(t, r, `(setsid env -i sleep 300 >/dev/null 2>&1 &); sleep 300 & nohup setsid sh -c 'sleep 300' & echo hi`, 0, "hi")
			if d := time.Since(began); d > time.Minute {
				t.Errorf("it took %s to return", d)
			}
			until(t, "the children to die", func() bool { return !inhabited(dir) })
		})
	}
}

// TERM reaches the command, which has time to clean up; a command that ignores it is killed after
// the grace period.
func TestConfinedTermination(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		r, dir := cellmate(t, SandboxOptions{Level: level})
		start := func(script string) *Process {
			t.Helper()
			p, err := r.Start(t.Context(), Cmd{Shell: script})
			if err != nil {
				t.Fatal(err)
			}
			until(t, "the command to begin", func() bool { return strings.Contains(p.Output().Text, "begun") })
			return p
		}
		p := start(`trap 'echo cleaned >clean; exit 9' TERM; echo begun; while :; do sleep 0.05; done`)
		p.Kill()
		if o := p.Output(); o.Code != 9 || !rootfs.Exists(filepath.Join(dir, "clean")) || !o.Killed {
			t.Errorf("one that cleans up: %+v", o)
		}
		p = start(`trap '' TERM; echo begun; while :; do sleep 0.05; done`)
		began := time.Now()
		p.Kill()
		if d := time.Since(began); d > grace+time.Minute {
			t.Errorf("one that ignores TERM took %s to die", d)
		}
		if o := p.Output(); o.Code != 137 {
			t.Errorf("one that ignores TERM: %+v", o)
		}
		if level != sandbox.Landlock {
			until(t, "everything to be gone", func() bool { return !inhabited(dir) })
		}
	})
}

// A runner that is killed takes its confined commands along.
func TestConfinedDiesWithItsRunner(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("ADROIT_TEST_CONFINED_RUNNER"); dir != "" {
		r := New(dir, "", nil, WithSandbox(SandboxOptions{Level: sandbox.Level(os.Getenv("ADROIT_TEST_LEVEL")), Private: dir + ".private"}))
		_, err := r.Start(context.Background(), Cmd{Shell: `(setsid env -i sleep 300 &) ; echo x >begun; sleep 300`})
		fmt.Println(err)
		select {}
	}
	needSetsid(t)
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Bubblewrap} {
		t.Run(string(level), func(t *testing.T) {
			if r := sandbox.Choose(level); r.Err() != nil {
				t.Skip(r.Err())
			}
			dir := filepath.Join(t.TempDir(), "ws")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestConfinedDiesWithItsRunner$")
			cmd.Env = append(os.Environ(), "ADROIT_TEST_CONFINED_RUNNER="+dir, "ADROIT_TEST_LEVEL="+string(level))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "the command to begin", func() bool { return rootfs.Exists(filepath.Join(dir, "begun")) })
			if !inhabited(dir) {
				t.Error("the command cannot be seen: this test proves nothing")
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			until(t, "the command to die", func() bool { return !inhabited(dir) })
		})
	}
}

// Numbers, memory and files are limited, and the runner lives.
func TestConfinedLimits(t *testing.T) {
	if r := sandbox.Choose(sandbox.Full); r.Err() != nil {
		t.Skip(r.Err())
	}
	r, _ := cellmate(t, SandboxOptions{Level: sandbox.Full, Limits: sandbox.Limits{MemoryMB: 256, FileMB: 1, Processes: 50}})
	did(t, r, `bomb() { bomb | bomb & }; i=0; while [ $i -lt 200 ]; do sleep 5 & i=$((i+1)); done; wait`, 137, "more than the 50 processes")
	o, err := r.Run(t.Context(), Cmd{Shell: `x=$(head -c 1000000000 /dev/zero | tr '\0' a); echo ${#x}`, Timeout: time.Minute})
	if err != nil || !strings.Contains(o.Text, "more than the 256 MB") || o.Code == 0 {
		t.Errorf("a memory hog: %+v, %v", o, err)
	}
	did(t, r, `head -c 5000000 /dev/zero >big; stat -c %s big`, 0, "1048576")
	did(t, r, `echo still here`, 0, "still here")
}

// What makes programs outside run something cannot be changed, also where it
// did not exist, and git still works.
func TestConfinedRepository(t *testing.T) {
	levels(t, func(t *testing.T, level sandbox.Level) {
		r, dir := cellmate(t, SandboxOptions{Level: level})
		o := did(t, r, `git init -q . && git config user.name a && git config user.email a@b && echo x >f && git add f && git commit -qm one && git log --oneline`, 0, "one")
		if o.Note != "" {
			t.Errorf("git init is noted: %s", o.Note)
		}
		was, err := os.ReadFile(filepath.Join(dir, ".git/config"))
		if err != nil {
			t.Fatal(err)
		}
		o = did(t, r, `git config core.fsmonitor ./evil; echo evil >.git/hooks/pre-commit; mkdir .vscode && echo evil >.vscode/tasks.json; echo . >.git/commondir; mv .git .old && mv .old .git; true`, 0, "")
		if now, err := os.ReadFile(filepath.Join(dir, ".git/config")); err != nil || string(now) != string(was) {
			t.Errorf("the repository's settings are %q, %v", now, err)
		}
		for _, name := range []string{".vscode", ".git/hooks/pre-commit", ".git/commondir"} {
			if rootfs.Exists(filepath.Join(dir, name)) {
				t.Errorf("%s is there; note: %s", name, o.Note)
			}
		}
		if !strings.Contains(o.Note, ".vscode was made by the command and taken away") {
			t.Errorf("note: %q", o.Note)
		}
		did(t, r, `echo y >>f && git commit -qam two && git log --oneline && git status --short`, 0, "two")

		dirtest.Write(t, filepath.Join(dir, "deploy.pem"), "key\n")
		if level != sandbox.Landlock {
			did(t, r, "cat deploy.pem", 1, "")
		}
	})
}

// A level that is not available refuses commands and gives advice.
func TestRefusedCommand(t *testing.T) {
	r, _ := cellmate(t, SandboxOptions{Level: sandbox.Seatbelt})
	_, err := r.Run(t.Context(), Cmd{Args: []string{"true"}})
	if err == nil || !strings.Contains(err.Error(), "--sandbox off") {
		t.Errorf("err = %v", err)
	}
	if r.Sandbox() != "refused" {
		t.Errorf("Sandbox() = %q", r.Sandbox())
	}
}

// A command that failed without the network that it wanted has a line about that in its output,
// by the counters of the kernel, whatever it printed itself.
func TestNetworkWanted(t *testing.T) {
	if r := sandbox.Choose(sandbox.Full); r.Err() != nil {
		t.Skip(r.Err())
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	r, _ := cellmate(t, SandboxOptions{Level: sandbox.Full})
	const words = "tried to reach the network, which its sandbox does not have"
	for script, want := range map[string]bool{
		"bash -c 'exec 3<>/dev/tcp/192.0.2.1/80' 2>/dev/null":                  true,
		"bash -c 'exec 3<>/dev/tcp/2001:db8::1/80' 2>/dev/null":                true,
		"bash -c 'exec 3<>/dev/tcp/192.0.2.1/80'; true":                        false,
		"bash -c 'exec 3<>/dev/tcp/127.0.0.1/1'":                               false,
		"echo Network is unreachable; false":                                   false,
		"(bash -c 'exec 3<>/dev/tcp/192.0.2.1/80' & wait; exit 3) 2>/dev/null": true,
	} {
		o, err := r.Run(t.Context(), Cmd{Shell: script, Timeout: 2 * time.Minute})
		if err != nil || strings.Contains(o.Text, words) != want {
			t.Errorf("%s: code %d, %q, %v; want a line about the network: %v", script, o.Code, o.Text, err, want)
		}
	}
}
