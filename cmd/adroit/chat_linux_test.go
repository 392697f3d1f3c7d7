package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// typist starts adroit on a terminal of 80 columns. kill ends it at once and returns
// all that it printed.
func (p *place) typist(args ...string) (x *terminal, kill func() string) {
	x, wait := p.terminal(80, []string{"TERM=xterm-256color"}, args...)
	return x, func() string {
		_ = x.process.Kill()
		wait()
		return x.text()
	}
}

func (x *terminal) write(keys string) { _, _ = io.WriteString(x.ours, keys) }

// see waits until something is printed behind from, and returns the place behind it.
func (x *terminal) see(from int, what string) int {
	x.t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		text := x.text()
		if i := strings.Index(text[from:], what); i >= 0 {
			return from + i + len(what)
		}
		if time.Now().After(end) {
			_ = x.process.Kill()
			x.t.Fatalf("%q is not there:\n%q", what, text[from:])
		}
	}
}

// cooked reports whether the terminal echoes and reads lines, as programs leave it.
func (x *terminal) cooked() bool {
	t, err := unix.IoctlGetTermios(int(x.ours.Fd()), unix.TCGETS)
	return err == nil && t.Lflag&unix.ECHO != 0 && t.Lflag&unix.ICANON != 0
}

// Where there is no model a person is asked once which of those in reach it is to be.
func TestNoModelAtTerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		"home/.config/adroit/config.yaml": "cli: {mine: {command: [mine], format: jsonl}}\n",
		"bin/mine":                        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'mine 0.1' && exit\necho '{\"type\":\"message\",\"text\":\"mine answers\"}'\necho '{\"type\":\"done\"}'\n",
	})
	if err := os.Chmod(p.path("bin/mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"TERM=xterm", "NO_COLOR=1", "PATH=" + p.path("bin") + ":/usr/bin:/bin"}
	x, wait := p.terminal(120, env, "what is this?")
	x.expect("Enter for none]: ", "\n")
	if code := wait(); code != 2 || !strings.Contains(x.text(), "adroit config login openai") {
		t.Errorf("left without a model: exit code %d\n%s", code, x.text())
	}
	x, wait = p.terminal(120, env, "what is this?")
	x.expect("Enter for none]: ", "6\n")
	if code := wait(); code != 1 || !strings.Contains(x.text(), "ollama serve") || strings.Contains(x.text(), "/help") {
		t.Errorf("a model that cannot be had: exit code %d\n%s", code, x.text())
	}
	x, wait = p.terminal(120, env, "what is this?")
	x.expect("Enter for none]: ", "99\n")
	at := x.see(0, "  1  cli/mine  ")
	x.see(at, "openai")
	x.see(at, "start Ollama first")
	await(t, "the question again", func() bool { return strings.Count(x.text(), "which one?") == 2 })
	x.write("1\n")
	x.see(at, "mine answers")
	x.write("\x04")
	if code := wait(); code != 0 {
		t.Errorf("exit code %d\n%s", code, x.text())
	}
	if got := p.read("home/.config/adroit/config.yaml"); !strings.Contains(got, "model: cli/mine") || !strings.Contains(got, "mine: {command") {
		t.Errorf("kept is\n%s", got)
	}
	x, wait = p.terminal(120, env, "run", "chat", "and this?")
	if code := wait(); code != 0 || strings.Contains(x.text(), "which one?") || !strings.Contains(x.text(), "mine answers") {
		t.Errorf("the next time: exit code %d\n%s", code, x.text())
	}
}

// A conversation on a terminal: messages, one that steers, an approval, an
// interruption, completion and history; the terminal is left as it was, and another
// process goes on.
func TestChatAtTerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"repo/notes.txt": "x\n", "repo/pkg/cart/cart.go": "package cart\n", "repo/\x1b[31mred.txt": "x\n", "turns.yaml": `turns:
  - text: "Hello \e]0;owned\a, I am **here**.\nAsk."
  - {delay: 3s, calls: [{name: read_file, args: {path: notes.txt}}]}
  - {expect: {contains: and quickly}, text: Read.}
  - calls: [{name: shell, args: {command: "touch made.txt"}}]
  - {expect: {contains: not like that}, text: Not made.}
  - {delay: 8s, text: Another way.}
`})
	x, wait := p.terminal(80, []string{"TERM=xterm-256color", "ADROIT_MODEL=script:../turns.yaml"})
	at := x.see(0, "/help")
	x.write("hello\r")
	at = x.see(at, `Hello \x1b]0;owned\x07, I am `)
	at = x.see(at, "Ask.")
	at = x.see(at, "/help")
	x.write("see @pk")
	at = x.see(at, "@pkg/")
	x.write("\tca")
	at = x.see(at, "@pkg/cart/")
	x.write("\t")
	at = x.see(at, "@pkg/cart/cart.go")
	x.write("\x15read @not")
	at = x.see(at, "@notes.txt")
	x.write("\t\r")
	at = x.see(at, "> read @notes.txt")
	at = x.see(at, "waiting for the model")
	x.write("and quickly\r")
	at = x.see(at, "it is read at the model's next request")
	at = x.see(at, "Read.")
	at = x.see(at, "/help") // the turn has ended
	x.write("make it\r")
	at = x.see(at, "wants to run:")
	at = x.see(at, "y yes")
	x.write("\x1b")
	at = x.see(at, "nothing runs while this waits; y yes")
	x.write("n not like that\r")
	at = x.see(at, "Not made.")
	at = x.see(at, "/help")
	x.write("take long\r")
	at = x.see(at, "waiting for the model")
	x.write("queued one\t")
	at = x.see(at, "queued: queued one")
	x.write("\x1b")
	at = x.see(at, "interrupted: by you")
	at = x.see(at, "your next message redirects it")
	x.write("\x15go another way\r")
	at = x.see(at, "Another way.")
	x.write("\x1b[A\x1b[A")
	at = x.see(at, "queued one")
	x.write("\x03")
	time.Sleep(100 * time.Millisecond)
	x.write("\x03")
	if x.see(at, "adroit chat --continue J"); wait() != 0 {
		t.Error("it did not leave in order")
	}
	text := regexp.MustCompile(`\x1b(\[[0-9;?<>=$ ]*[a-zA-Z]|\][0-9]*;[^\x07\x1b]*(\x07|\x1b\\)|[=>PM78])`).ReplaceAllString(x.text(), "")
	if strings.ContainsAny(text, "\x1b") || strings.Contains(x.text(), "\x1b]0;owned") {
		t.Errorf("the terminal got what the model wrote: %q", text)
	}
	for _, full := range []string{"\x1b[?1049h", "\x1b[?47h", "\x1b[2J\x1b[H", "\x1b[?1000h", "\x1b[?1003h"} {
		if strings.Contains(x.text(), full) {
			t.Errorf("it takes the whole screen, or the mouse: %q", full)
		}
	}
	// While the line comes, its end is among the live rows, without its bold word.
	if n := len(regexp.MustCompile(`I am \x1b\[1m *here`).FindAllString(x.text(), -1)); n != 1 {
		t.Errorf("finished text was printed %d times:\n%q", n, x.text())
	}
	if _, err := os.Stat(p.path("repo/made.txt")); err == nil {
		t.Error("what was denied was run")
	}
	code, out := p.run("jobs", "transcript", "last")
	if code != 0 || !strings.Contains(out, "go another way") || strings.Contains(out, "queued one") {
		t.Errorf("the transcript: exit code %d\n%s", code, out)
	}
}

// Shift+Tab changes the mode of what is typed next, which the bottom line shows; a message that
// was queued keeps the mode it was typed in. Another process goes on in the last one.
func TestChatModes(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"turns.yaml": `turns:
  - {delay: 2s, text: The plan.}
  - {expect: {contains: one more}, calls: [{name: write_file, args: {path: no.txt, content: x}}]}
  - text: Planned.
  - {expect: {contains: "and now\n\n[The mode is now edits"}, calls: [{name: write_file, args: {path: yes.txt, content: x}}]}
  - text: Written.
`})
	for _, width := range []uint16{40, 80, 120} {
		_ = os.Remove(p.path("repo/yes.txt"))
		x, wait := p.terminal(width, []string{"TERM=xterm-256color"}, "chat", "-m", "script:../turns.yaml")
		at := x.see(0, "mode edits (Shift+Tab)  /help")
		x.write("\x1b[Z\x1b[Z")
		at = x.see(at, "mode plan (Shift+Tab)")
		x.write("plan it\r")
		at = x.see(at, "mode plan (Shift+Tab)  Esc stops")
		x.write("one more\t\x1b[Z")
		at = x.see(at, "mode edits")
		at = x.see(at, "The plan.")
		at = x.see(at, "> one more")
		at = x.see(at, "Planned.")
		at = x.see(at, "mode edits (Shift+Tab)  /help")
		x.write("and now\r")
		at = x.see(at, "Written.")
		x.see(at, "/help")
		x.write("\x04")
		if code := wait(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		for file, want := range map[string]bool{"no.txt": false, "yes.txt": true} {
			if _, err := os.Stat(p.path("repo/" + file)); (err == nil) != want {
				t.Errorf("%d columns: %s is there: %v", width, file, err == nil)
			}
		}
	}
}

// An earlier message is found by words, an earlier conversation too; an editor has the terminal
// meanwhile, and the last block of code goes to the clipboard. /undo shows what it takes back.
func TestChatFinds(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"turns.yaml": "turns:\n  - text: \"See:\\n\\n```go\\nfunc f() {}\\n```\"\n  - calls: [{name: write_file, args: {path: made.txt, content: made}}]\n  - text: Made.\n",
		"edit": "#!/bin/sh\necho EDITING\nread key\necho \"typed $key in the editor\" >>\"$2\"\n"})
	if err := os.Chmod(p.path("edit"), 0o755); err != nil {
		t.Fatal(err)
	}
	x, wait := p.terminal(80, []string{"TERM=xterm-256color", "TMUX=x", "EDITOR=" + p.path("edit") + " --"}, "chat", "-m", "script:../turns.yaml")
	at := x.see(0, "/help")
	x.write("show some code\r")
	at = x.see(at, "See:")
	at = x.see(at, "/help")
	x.write("/copy code\r")
	at = x.see(at, "\x1b]52;c;ZnVuYyBmKCkge30=\a")
	at = x.see(at, "\x1bPtmux;\x1b\x1b]52;c;ZnVuYyBmKCkge30=\a")
	x.write("make it\r")
	at = x.see(at, "Made.")
	at = x.see(at, "/help")
	for _, no := range []string{"\x03", "\x1b", "n\t", "y\r"} {
		x.write("/undo\r")
		at = x.see(at, "+made")
		at = x.see(at, "take these changes back?")
		x.write(no)
		if no != "y\r" {
			at = x.see(at, "left as it is")
			at = x.see(at, "/help")
		}
	}
	at = x.see(at, "removed made.txt")
	at = x.see(at, "/help")
	x.write("\x12nosuchword\r")
	at = x.see(at, "none has these words")
	x.write("\x1b")
	at = x.see(at, "/help")
	x.write("\x15\x12SOME")
	at = x.see(at, "* show some code")
	x.write("\r")
	at = x.see(at, "\x1b[0m show some code")
	x.write("\x15/resume code sho")
	at = x.see(at, "just now  show some code")
	x.write("\r")
	at = x.see(at, "> make it")
	at = x.see(at, "/help")
	x.write("/editor\r")
	at = x.see(at, "EDITING")
	x.write("this\n")
	at = x.see(at, "\x1b[0m typed this in the editor")
	x.write("\x15still here?\x15\x04")
	if x.see(at, "adroit chat --continue J"); wait() != 0 {
		t.Error("it did not leave in order")
	}
}

// The terminal is in order after a conversation that was left in the middle of a
// turn, and one that a signal ended.
func TestChatLeavesTerminal(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(x *terminal){
		"quit": func(x *terminal) { x.write("/quit\r") }, "twice": func(x *terminal) { x.write("\x03\x03") },
		"signal": func(x *terminal) { _ = x.process.Signal(unix.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{"turns.yaml": "turns: [{delay: 60s, text: Late.}]"})
			x, wait := p.terminal(40, []string{"TERM=xterm-256color", "NO_COLOR=1"}, "chat", "-m", "script:../turns.yaml")
			at := x.see(0, "/help")
			x.write("\x1b[200~two\nlines\x1b[201~")
			at = x.see(at, "lines")
			x.write("\r")
			at = x.see(at, "waiting for the model")
			leave(x)
			x.see(at, "adroit chat --continue J")
			cooked := x.cooked()
			if code := wait(); code != 0 && (name != "signal" || code != 143) {
				t.Errorf("exit code %d", code)
			}
			if !cooked {
				t.Error("the terminal was not restored")
			}
			if !strings.Contains(x.text(), "\x1b[?2004l") {
				t.Error("bracketed paste stays on")
			}
			if regexp.MustCompile(`\x1b\[3[0-9]m|\x1b\[1m`).MatchString(x.text()) {
				t.Errorf("colours in spite of NO_COLOR: %q", x.text())
			}
			if code, out := p.run("jobs", "list"); code != 0 || !strings.Contains(out, "interrupted") {
				t.Errorf("the job: %s", out)
			}
		})
	}
}

// A defect in the middle of a conversation leaves the terminal in order and says what
// happened; the conversation goes on in another process.
func TestChatPanic(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"turns.yaml": "turns: [{text: First.}, {text: Second.}]"})
	x, wait := p.terminal(80, []string{"TERM=xterm", "TEST_PANIC_AT=go wrong"}, "chat", "-m", "script:../turns.yaml")
	at := x.see(0, "/help")
	x.write("hello\r")
	at = x.see(at, "First.")
	at = x.see(at, "/help") // the turn has ended
	x.write("go wrong\r")
	at = x.see(at, "goes on")
	x.see(at, "was ended by a defect of adroit: a defect")
	cooked := x.cooked()
	if code := wait(); code != 1 || !cooked {
		t.Errorf("exit code %d, the terminal restored: %v", code, cooked)
	}
	cmd, out := p.command("chat", "--continue")
	cmd.Stdin = strings.NewReader("and now?\n")
	if code := ended(t, cmd.Run()); code != 0 || !strings.Contains(out.String(), "> hello\n") || !strings.Contains(out.String(), "Second.") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// The screen does not wait until the project has been looked at: files that nobody
// has trusted are asked about in place.
func TestChatAsksForTrust(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"repo/AGENTS.md": "Always whistle.\n", "turns.yaml": "turns: [{expect: {contains: Always whistle}, text: Trusted.}]"})
	x, wait := p.terminal(80, []string{"TERM=xterm"}, "chat", "-m", "script:../turns.yaml")
	at := x.see(0, "nobody has trusted them:")
	at = x.see(at, "y use them")
	x.write("v\r")
	at = x.see(at, "| Always whistle.")
	x.write("y\r")
	at = x.see(at, "/help")
	x.write("hello\r")
	at = x.see(at, "Trusted.")
	x.write("\x04")
	if x.see(at, "adroit chat --continue J"); wait() != 0 {
		t.Error("it did not leave in order")
	}
	if code, out := p.run("config", "trust", "--show"); code != 0 || !strings.Contains(out, "trusted") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// A server that never answers keeps nobody from typing, nor from leaving.
func TestChatSilentServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"turns.yaml": "turns: [{text: Here.}]"})
	if code, out := p.run("mcp", "add", "silent", "--", "sleep", "600"); code != 0 {
		t.Fatal(out)
	}
	x, wait := p.terminal(80, []string{"TERM=xterm"}, "chat", "-m", "script:../turns.yaml")
	at := x.see(0, "/help")
	x.write("/silent/prompt\r")
	x.write("/comp")
	at = x.see(at, "/compact")
	x.write("\x15hello\r")
	at = x.see(at, "Here.")
	x.write("/quit\r")
	if x.see(at, "adroit chat --continue J"); wait() != 0 {
		t.Error("it did not leave in order")
	}
}

// A message to a conversation that another terminal works at is read there, and shown here with
// what comes of it.
func TestChatTwice(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"turns.yaml": "turns:\n  - text: One.\n  - calls: [{name: shell, args: {command: while test ! -e go; do sleep 0.05; done}}]\n  - {expect: {contains: from the first}, text: Two.}"})
	a, left := p.terminal(80, []string{"TERM=xterm"}, "chat", "-m", "script:../turns.yaml", "--approve", "all", "--sandbox", "off")
	at := a.see(0, "/help")
	a.write("hello\r")
	at = a.see(a.see(at, "One."), "/help")
	b, leftToo := p.terminal(80, []string{"TERM=xterm"}, "chat", "--continue", "-m", "script:../turns.yaml", "--approve", "all", "--sandbox", "off")
	to := b.see(0, "/help")
	b.write("wait\r")
	to = b.see(to, "shell  turn")
	a.write("from the first\r")
	at = a.see(at, "wait")
	if err := os.WriteFile(p.path("repo/go"), nil, 0o600); err != nil {
		t.Error(err)
	}
	at = a.see(at, "Two.")
	b.see(to, "Two.")
	a.write("\x04")
	b.write("\x04")
	if a.see(at, "adroit chat --continue J"); left() != 0 || leftToo() != 0 {
		t.Error("one did not leave in order")
	}
}

// A dumb terminal gets lines, without control sequences.
func TestChatDumb(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"turns.yaml": "turns: [{text: Here.}]"})
	for _, args := range [][]string{nil, {"chat"}} {
		x, wait := p.terminal(80, []string{"TERM=dumb", "ADROIT_MODEL=script:../turns.yaml"}, args...)
		x.expect("> ", "hello\n")
		x.expect("Here.", "\x04")
		if code := wait(); code != 0 || strings.Contains(x.text(), "\x1b") {
			t.Errorf("exit code %d: %q", code, x.text())
		}
	}
}
