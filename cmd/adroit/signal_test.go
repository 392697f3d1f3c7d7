package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A place is a home, a data directory and a workspace of one test.
type place struct {
	t   *testing.T
	bin string
	dir string
	env []string
}

// newPlace makes a place whose program is this test binary under the name
// adroit.
func newPlace(t *testing.T, files map[string]string) *place { return newPlaceIn(t, t.TempDir(), files) }

func newPlaceIn(t *testing.T, dir string, files map[string]string) *place {
	p := &place{t: t, dir: dir}
	var err error
	if p.bin, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.path("home"), "ADROIT_HOME=" + p.path("data"),
		"OLLAMA_HOST=127.0.0.1:9", "GOCACHE=" + goCache(t), "GOGC=" + seldom, "TMPDIR=" + os.TempDir(), "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "GORACE=" + os.Getenv("GORACE")}
	for _, name := range []string{"home", "repo"} {
		if err := os.MkdirAll(p.path(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.path(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *place) read(name string) string {
	b, err := os.ReadFile(p.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	return string(b)
}

// command is adroit with args, in the workspace.
func (p *place) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	var out bytes.Buffer
	cmd := &exec.Cmd{Path: p.bin, Args: append([]string{"adroit"}, args...), Dir: p.path("repo"), Env: p.env, Stdout: &out, Stderr: &out}
	return cmd, &out
}

// run runs adroit to its end and gives exit code and output.
func (p *place) run(args ...string) (int, string) {
	p.t.Helper()
	cmd, out := p.command(args...)
	return ended(p.t, cmd.Run()), out.String()
}

// ended is the exit code in err; minus the signal of a killed process.
func ended(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return -int(ws.Signal())
		}
		return exit.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// await polls for a condition that another process brings about. It gives up
// only on what hangs: where many tests share few processors, a program may need
// tens of seconds to come to its first command.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for {
		start := time.Now()
		if ok() {
			return
		}
		select {
		case <-time.After(min(max(5*time.Millisecond, 4*time.Since(start)), 250*time.Millisecond)): // ok may start a program
		case <-ctx.Done():
			t.Fatalf("waited too long for %q", what)
		}
	}
}

const hand = `---
name: hand
description: Follows instructions.
tools: [write_file, shell, finish]
done: {signal: DONE}
---
You do what you are told.
`

// sleeper writes a file, then runs a command that does not end by itself
// unless it is run a second time.
const sleeper = `turns:
  - calls: [{name: write_file, args: {path: one.txt, content: "1\n"}}]
  - calls: [{name: shell, args: {command: "echo $$ >>pid; exec sleep 300"}}]
  - calls: [{name: write_file, args: {path: two.txt, content: "2\n"}}]
  - calls: [{name: finish, args: {summary: All written.}}]
`

// sleeping reports whether the command still runs. It is known by the directory
// it runs in: in a sandbox it has a number that means nothing out here.
func (p *place) sleeping() bool {
	repo, err := os.Stat(filepath.Join(p.dir, "repo"))
	if err != nil {
		return false
	}
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, proc := range procs {
		name, _ := os.ReadFile(filepath.Join(proc, "comm"))
		cwd, err := os.Stat(filepath.Join(proc, "cwd"))
		if err == nil && string(name) == "sleep\n" && os.SameFile(repo, cwd) {
			return true
		}
	}
	return false
}

// A signal stops the job at a step, leaves no process behind, and the job
// goes on from there.
func TestSignals(t *testing.T) {
	t.Parallel()
	// Under nohup SIGHUP comes ignored, and children would inherit that.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hup) })
	for _, tc := range []struct {
		sig  syscall.Signal
		want int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGHUP, 143}} {
		t.Run(tc.sig.String(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": hand, "turns.yaml": sleeper})
			cmd, out := p.command("run", "hand", "write", "-m", "script:../turns.yaml", "--approve", "all", "--sandbox", "landlock")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, "the command", func() bool { return strings.HasSuffix(p.read("repo/pid"), "\n") })
			if err := cmd.Process.Signal(tc.sig); err != nil {
				t.Fatal(err)
			}
			if got := ended(t, cmd.Wait()); got != tc.want {
				t.Errorf("exit code %d, want %d\n%s", got, tc.want, out)
			}
			if p.sleeping() {
				t.Error("the command is still there")
			}
			if !strings.Contains(out.String(), "adroit continue J") {
				t.Errorf("it does not say how to go on:\n%s", out)
			}
			if _, list := p.run("jobs"); !strings.Contains(list, "  interrupted  ") || !strings.Contains(list, "  at step 2 of turn 2: ") {
				t.Errorf("jobs: %s", list)
			}
			code, text := p.run("continue", "last")
			if code != 0 {
				t.Errorf("resume: exit code %d\n%s", code, text)
			}
			for _, line := range []string{"step 1 recalled, no model calls", "  2  shell         interrupted: it may or may not have happened; reported to the model"} {
				if !strings.Contains(text, line) {
					t.Errorf("resume does not print %q\n%s", line, text)
				}
			}
			for name, want := range map[string]string{"one.txt": "1\n", "two.txt": "2\n"} {
				if got := p.read("repo/" + name); got != want {
					t.Errorf("%s holds %q, want %q", name, got, want)
				}
			}
			if n := strings.Count(p.read("repo/pid"), "\n"); n != 1 {
				t.Errorf("the command ran %d times", n)
			}
		})
	}
}

// The second Ctrl-C does not wait for anything; the runner's processes die
// with it, and the job can still be resumed.
func TestInterruptTwice(t *testing.T) {
	t.Parallel()
	stubborn := strings.Replace(sleeper, "echo $$ >>pid; exec sleep 300", "trap '' TERM; echo $$ >>pid; while :; do sleep 1; done", 1)
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": hand, "turns.yaml": stubborn})
	cmd, out := p.command("run", "hand", "write", "-m", "script:../turns.yaml", "--approve", "all", "--sandbox", "landlock")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the command", func() bool { return strings.HasSuffix(p.read("repo/pid"), "\n") })
	for range 2 {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		// Two signals sent at once may arrive as one.
		await(t, "the first signal to arrive", func() bool { return !pendingSignal(cmd.Process.Pid) })
	}
	if got := ended(t, cmd.Wait()); got != 130 {
		t.Errorf("exit code %d, want 130\n%s", got, out)
	}
	await(t, "the command to die with its runner", func() bool { return !p.sleeping() })
	if code, text := p.run("continue", "last"); code != 0 {
		t.Errorf("resume: exit code %d\n%s", code, text)
	}
}

// pendingSignal reports whether SIGINT was sent to a process and has not been
// taken yet.
func pendingSignal(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	for l := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(l, "ShdPnd:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(v), 16, 64)
			return err == nil && n&(1<<(syscall.SIGINT-1)) != 0
		}
	}
	return false
}

// A runner that was killed leaves nothing running, and its job can be taken
// over at once.
func TestKilledRunner(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": hand, "turns.yaml": sleeper})
	cmd, _ := p.command("run", "hand", "write", "-m", "script:../turns.yaml", "--approve", "all", "--sandbox", "landlock")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the command", func() bool { return strings.HasSuffix(p.read("repo/pid"), "\n") })
	// Events may wait 20 ms for the next commit.
	await(t, "the event of its start", func() bool {
		_, log := p.run("jobs", "logs", "last", "--json")
		return strings.Count(log, `"kind":"step.started","step":"tool"`) == 2
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := ended(t, cmd.Wait()); got != -int(syscall.SIGKILL) {
		t.Fatalf("ended with %d", got)
	}
	await(t, "the command to die with its runner", func() bool { return !p.sleeping() })
	if _, list := p.run("jobs"); !strings.Contains(list, "  interrupted  ") || !strings.Contains(list, "  at step 2 of turn 2: ") {
		t.Errorf("jobs: %s", list)
	}
	if code, text := p.run("continue", "last"); code != 0 || p.read("repo/two.txt") != "2\n" {
		t.Errorf("resume: exit code %d\n%s", code, text)
	}
}
