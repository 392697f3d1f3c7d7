package main

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A runner that is stopped longer than its lease lasts keeps the job: nobody
// else takes it over, and once continued it ends the job as if nothing had
// happened. One that is killed instead is taken over.
func TestStoppedRunner(t *testing.T) {
	cases := []*stopped{{name: "continued", end: syscall.SIGCONT}, {name: "killed", end: syscall.SIGKILL}}
	for _, c := range cases {
		c.stop(t)
	}
	t.Parallel() // the leases end while other tests run
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, cmd, out := c.place, c.cmd, c.out
			p.t = t
			await(t, "the end of the lease", func() bool {
				_, list := p.run("jobs")
				return strings.Contains(list, "interrupted")
			})
			code, text := p.run("continue", "last")
			if code != 1 || !strings.Contains(text, "has the job and is stopped") || !strings.Contains(text, "kill -CONT") {
				t.Fatalf("resume of a job whose runner is stopped: exit %d\n%s", code, text)
			}
			if err := cmd.Process.Signal(c.end); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			if c.end == syscall.SIGCONT {
				if code := ended(t, err); code != 0 {
					t.Errorf("the continued runner: exit %d\n%s", code, out)
				}
			} else if code, text := p.run("continue", "last"); code != 0 {
				t.Errorf("resume after the kill: exit %d\n%s", code, text)
			}
			for _, name := range []string{"a", "b", "c"} {
				if got := p.read("repo/" + name + ".txt"); got != name+"\n" {
					t.Errorf("%s.txt holds %q", name, got)
				}
			}
		})
	}
}

// A stopped runner has a job that has written the first of three files.
type stopped struct {
	name  string
	end   syscall.Signal // at last
	place *place
	cmd   *exec.Cmd
	out   *bytes.Buffer
}

func (c *stopped) stop(t *testing.T) {
	t.Helper()
	p := newPlace(t, map[string]string{
		"home/.config/adroit/agents/hand.md": hand,
		"turns.yaml": `turns:
  - calls: [{name: write_file, args: {path: a.txt, content: "a\n"}}]
  - {delay: 2s, calls: [{name: write_file, args: {path: b.txt, content: "b\n"}}]}
  - calls: [{name: write_file, args: {path: c.txt, content: "c\n"}}]
  - calls: [{name: finish, args: {summary: All written.}}]
`})
	c.place = p
	c.cmd, c.out = p.command("run", "hand", "write", "-m", "script:"+p.path("turns.yaml"))
	// In a session of its own: the system continues those who are stopped in a process
	// group when whoever started the tests in the background ends.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() }) // it has ended unless the test fails
	await(t, "the first file", func() bool { return p.read("repo/a.txt") != "" })
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}
