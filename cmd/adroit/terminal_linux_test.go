package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A terminal is a pseudo terminal with adroit on its other side.
type terminal struct {
	t       *testing.T
	ours    *os.File
	process *os.Process
	mu      sync.Mutex
	seen    bytes.Buffer
	done    chan struct{}
}

// terminal starts adroit on a terminal of so many columns.
func (p *place) terminal(cols uint16, env []string, args ...string) (*terminal, func() int) {
	t := p.t
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: cols}); err != nil {
		t.Fatal(err)
	}
	cmd, _ := p.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.Env = append(cmd.Env, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	term := &terminal{t: t, ours: ours, process: cmd.Process, done: make(chan struct{})}
	go func() {
		defer close(term.done)
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf)
			term.mu.Lock()
			term.seen.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return term, func() int {
		code := ended(t, cmd.Wait())
		<-term.done // the other side is closed, so reading ends
		ours.Close()
		return code
	}
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen.String()
}

// expect waits until something is on the screen and types an answer. Once the program has ended,
// nothing more comes.
func (x *terminal) expect(what, answer string) {
	x.t.Helper()
	defer func() {
		if x.t.Failed() {
			x.t.Logf("screen:\n%q", x.text())
		}
	}()
	ended := false
	await(x.t, what, func() bool {
		select {
		case <-x.done:
			ended = true
		default:
		}
		return ended || strings.Contains(x.text(), what)
	})
	if !strings.Contains(x.text(), what) {
		x.t.Fatalf("the program ended without %q", what)
	}
	if _, err := io.WriteString(x.ours, answer); err != nil {
		x.t.Fatal(err)
	}
}

// At a terminal the person is asked, may see all of it, and what they see can
// do nothing to the terminal.
func TestApproveAtTerminal(t *testing.T) {
	t.Parallel()
	long := "echo hi >made.txt; : " + strings.Repeat("long ", 80) + "the-end"
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": hand, "turns.json": `{"turns": [
  {"calls": [{"name": "shell", "args": {"command": "` + long + `"}}]},
  {"calls": [{"name": "shell", "args": {"command": "printf owned # \u001b[2J\u202e"}}]},
  {"calls": [{"name": "finish", "args": {"summary": "Made \u001b]52;c;aGk=\u0007 it."}}]}
]}`})
	x, wait := p.terminal(100, []string{"TERM=xterm", "NO_COLOR=1"}, "run", "hand", "make it", "-m", "script:../turns.json")
	x.expect("[v]iew all of it: ", "v\n")
	x.expect("the-end", "y\n")
	await(t, "the second question", func() bool { return strings.Count(x.text(), "wants to run") >= 3 })
	x.expect(`# \x1b[2J\u202e`, "n\n")
	x.expect("why? the model reads it", "not that\n")
	if code := wait(); code != 0 {
		t.Errorf("exit code %d\n%s", code, x.text())
	}
	if p.read("repo/made.txt") != "hi\n" {
		t.Error("what was approved did not run")
	}
	text := strings.ReplaceAll(x.text(), "\r\x1b[K", "")
	for _, bad := range []string{"\x1b", "\x07", "\u202e"} {
		if strings.Contains(text, bad) {
			t.Errorf("the terminal got %q:\n%q", bad, text)
		}
	}
	if !strings.Contains(text, "answer: deny") || !strings.Contains(text, "done in 3 turns") {
		t.Errorf("screen:\n%s", text)
	}
}

// The live line fits into the terminal and is gone at the end; a dumb terminal
// gets none.
func TestLiveLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		cols uint16
		env  []string
		live bool
	}{{"narrow", 20, []string{"TERM=xterm", "NO_COLOR=1"}, true}, {"dumb", 80, []string{"TERM=dumb"}, false}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": hand, "turns.yaml": `turns:
  - calls: [{name: write_file, args: {path: a_rather_long_name_of_a_file.txt, content: x}}]
  - calls: [{name: shell, args: {command: "sleep 0.6"}}]
  - calls: [{name: finish, args: {summary: Done.}}]
`})
			x, wait := p.terminal(tc.cols, tc.env, "run", "hand", "go", "-m", "script:../turns.yaml", "--approve", "all")
			if code := wait(); code != 0 {
				t.Errorf("exit code %d\n%s", code, x.text())
			}
			if got := strings.Contains(x.text(), "\x1b[K"); got != tc.live {
				t.Errorf("a live line: %v, want %v\n%q", got, tc.live, x.text())
			}
			if !tc.live && strings.Contains(x.text(), "\x1b") {
				t.Errorf("a dumb terminal got control sequences: %q", x.text())
			}
			last := x.text()[strings.LastIndex(x.text(), "turn ")+1:]
			if tc.live && !strings.Contains(last, "\r\x1b[K") {
				t.Errorf("the live line was not cleared: %q", x.text())
			}
			for l := range strings.SplitSeq(strings.ReplaceAll(x.text(), "\r\n", "\n"), "\n") {
				for part := range strings.SplitSeq(l, "\r\x1b[K") {
					if strings.HasPrefix(part, "  ") && len([]rune(part)) > int(tc.cols) {
						t.Errorf("wider than the terminal: %q", part)
					}
				}
			}
		})
	}
}

// A command that is always allowed in a project is asked about once, in all its jobs and in none of
// another one's.
func TestAlwaysInTheProject(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": hand, "repo/.git/HEAD": "ref: refs/heads/main\n", "other/a.txt": "", "turns.yaml": `turns:
  - calls: [{name: shell, args: {command: "touch made.txt"}}]
  - calls: [{name: finish, args: {summary: Made it.}}]
`})
	env := []string{"TERM=xterm", "NO_COLOR=1"}
	x, wait := p.terminal(100, env, "run", "hand", "make it", "-m", "script:../turns.yaml")
	x.expect("always in this [p]roject", "x\n")
	x.expect("p likewise, and in later jobs of this project, too", "p\n")
	if code := wait(); code != 0 || p.read("data/trust.json") == "" {
		t.Fatalf("exit code %d\n%s", code, x.text())
	}
	for range 2 {
		if code, out := p.run("run", "hand", "make it", "-m", "script:../turns.yaml"); code != 0 {
			t.Errorf("asked again: %d\n%s", code, out)
		}
	}
	if code, out := p.run("run", "hand", "make it", "-m", "script:../turns.yaml", "-C", "../other"); code != 4 {
		t.Errorf("in another project: %d\n%s", code, out)
	}
	if code, out := p.run("run", "hand", "make it", "-m", "script:../turns.yaml", "--sandbox", "off"); code != 4 {
		t.Errorf("without the sandbox that it was answered for: %d\n%s", code, out)
	}
	conf := p.path("home/.config/adroit/config.yaml")
	if err := os.WriteFile(conf, []byte("sandbox: {net: open}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := p.run("run", "hand", "make it", "-m", "script:../turns.yaml"); code != 4 {
		t.Errorf("with the network: %d\n%s", code, out)
	}
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
	if _, out := p.run("config", "trust", "--list"); !regexp.MustCompile(`always +allow shell .touch made.txt`).MatchString(out) {
		t.Errorf("listed is\n%s", out)
	}
	if code, out := p.run("config", "trust", "--revoke", "."); code != 0 {
		t.Error(out)
	}
	if code, out := p.run("run", "hand", "make it", "-m", "script:../turns.yaml"); code != 4 {
		t.Errorf("after it was revoked: %d\n%s", code, out)
	}
}

// TestContinueAsksInPlace: on a terminal, a step of any kind that may have happened before its
// process was killed is asked about where the job is continued; without one that is exit 4. What a
// model asked for is reported to the model, and what publishes asked about where the model makes it
// again.
func TestContinueAsksInPlace(t *testing.T) {
	t.Parallel()
	kinds := map[string]effect{}
	for _, e := range effects() {
		kinds[e.name] = e
	}
	again := kinds["agent, shell"]
	again.files = maps.Clone(again.files)
	again.files["repo/release.sh"] = mark
	again.files["turns.yaml"] = `turns:
  - calls: [{name: shell, args: {command: sh release.sh}}]
  - {expect: {contains: may or may not have happened}, calls: [{name: shell, args: {command: sh release.sh}}]}
  - text: "Released, or not.\nDONE"
`
	again.asks = true
	kinds["agent, publishes again"] = again
	for _, c := range []struct {
		kind  string
		yes   bool
		code  int
		times int
	}{
		{"agent, shell", true, 0, 1},
		{"agent, publishes again", true, 0, 2},
		{"agent, publishes again", false, 0, 1},
		{"pipeline, run", true, 0, 2},
		{"pipeline, run", false, 1, 1},
		{"pipeline, parallel", true, 0, 2},
		{"fix, command", true, 0, 2},
		{"fix, command", false, 1, 1},
		{"fix, phase that publishes", true, 0, 2},
		{"validate, a repair", true, 0, 2},
		{"validate, a repair", false, 0, 1}, // its stage passes, for the effect is there
		{"workflow, until tests pass", true, 0, 1},
	} {
		t.Run(fmt.Sprintf("%s, %v", c.kind, c.yes), func(t *testing.T) {
			t.Parallel()
			e, ok := kinds[c.kind]
			if !ok {
				t.Fatal("there is no such kind of effect")
			}
			p := newPlace(t, e.files)
			p.bin = program(t)
			e.kill(p)
			if e.asks {
				if code, out := p.run("continue", "last"); code != 4 {
					t.Errorf("without a terminal: exit code %d\n%s", code, out)
				}
			}
			x, wait := p.terminal(120, []string{"TERM=xterm", "NO_COLOR=1"}, "continue", "last")
			if e.asks {
				x.expect("may have happened, and nobody can tell", "")
				if c.yes {
					x.expect("[y]es", "y\n")
				} else {
					x.expect("[y]es", "n\n")
					x.expect("why", "not again\n")
				}
				if !c.yes && strings.HasPrefix(c.kind, "fix") {
					x.expect("[a]bort gives up", "a\n") // the coordinator asks what becomes of the command
				}
			}
			if code := wait(); code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, x.text())
			}
			p.effects(x.text(), c.times, c.times)
		})
	}
}
