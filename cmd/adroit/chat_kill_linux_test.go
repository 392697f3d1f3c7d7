package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
)

// chatty answers each message, some after a command.
const chatty = `turns:
  - text: "Answer.\nWith two lines."
  - calls: [{name: shell, args: {command: "echo x >>log"}}]
  - {delay: 20ms, text: Answer.}
loop: true
`

// A chatEnd is the moment at which a conversation is killed: after this time since it
// began, or since the first message was shown as sent.
type chatEnd struct {
	after  time.Duration
	early  bool
	screen bool // on a terminal, where messages also reach a turn in progress
}

// TestChatKilled kills conversations at 50 moments that follow from a seed (a sample
// of them: see points), and resumes each: all that was shown as sent is there, once and in order, and nothing
// runs that was not asked for.
func TestChatKilled(t *testing.T) {
	testenv.Long(t, "starts some 70 processes")
	t.Parallel()
	moments := rand.New(rand.NewPCG(18, 12))
	var ends []chatEnd
	for i := range 50 {
		ends = append(ends, chatEnd{after: time.Duration(moments.IntN(500)) * time.Millisecond, early: i%5 == 0, screen: i%2 == 1})
	}
	first, step := sample(t, 3)
	for i := first; i < len(ends); i += step {
		if n := killChat(t, i, ends[i]); n == 0 && !ends[i].early {
			t.Errorf("%d: %v: no message was shown as sent", i, ends[i])
		}
	}
}

// A message that comes while the last answer is written is read before the checkpoint of
// its turn, and the next one behind it. Both are printed again, also where the process dies
// as the second is received, before the log has that.
func TestMessagesAroundCheckpoint(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"", "1 finished message"} {
		begun, release := make(chan struct{}), make(chan struct{})
		var asked atomic.Int64
		server := llmtest.NewProduct(t, "compatible", func(llmtest.Asked) llmtest.Turn {
			if asked.Add(1) == 1 {
				close(begun)
				<-release
			}
			return llmtest.Turn{Text: "Answer."}
		})
		p := newPlace(t, map[string]string{"home/.config/adroit/config.yaml": fmt.Sprintf("endpoints:\n  lab: {base_url: %q}\n", server.URL+"/v1")})
		p.bin = program(t)
		env := p.env
		killed := func(at, text string, args ...string) (*exec.Cmd, func()) {
			p.env = append(env[:len(env):len(env)], "ADROIT_KILL_AT="+at)
			cmd, out := p.command(args...)
			p.env = env
			cmd.Stdin = strings.NewReader(text)
			return cmd, func() {
				if code := ended(t, cmd.Wait()); code != -int(syscall.SIGKILL) {
					t.Fatalf("it was not killed at %q: exit code %d\n%s", at, code, out)
				}
			}
		}
		chat, dies := killed("1 saved ", "first\n", "chat", "-m", "lab/m")
		if err := chat.Start(); err != nil {
			t.Fatal(err)
		}
		<-begun
		p.ok(0, "continue", "last", "second", "--detach")
		close(release)
		dies()
		if at == "" {
			p.typed("third\n", "chat", "--continue")
		} else {
			chat, dies := killed(at, "third\n", "chat", "--continue")
			if err := chat.Start(); err != nil {
				t.Fatal(err)
			}
			dies()
			p.typed("\n", "chat", "--continue")
		}
		_, out := p.typed("", "chat", "--continue")
		if got := regexp.MustCompile(`(?m)^> .*$`).FindAllString(out, -1); !slices.Equal(got, []string{"> first", "> second", "> third"}) {
			t.Errorf("killed at %q: printed again: %q\n%s", at, got, out)
		}
	}
}

// killChat kills a conversation and resumes it. It returns how many messages were
// shown as sent.
func killChat(t *testing.T, n int, end chatEnd) int {
	p := newPlace(t, map[string]string{"turns.yaml": chatty})
	var messages []string
	for i := range 8 {
		messages = append(messages, fmt.Sprintf("message %d of %d", i+1, n))
	}
	var out string
	sent := regexp.MustCompile(`(?m)^> (message .*)$`)
	if !end.screen {
		out = p.linesUntil(end, messages)
	} else {
		out = p.screenUntil(end, messages)
		sent = regexp.MustCompile(`\x1b\[1m> (message [^\x1b]*)\x1b\[0m`)
	}
	var shown []string
	for _, m := range sent.FindAllStringSubmatch(out, -1) {
		if m := strings.TrimSpace(m[1]); !slices.Contains(shown, m) { // a terminal may be sent rows again
			shown = append(shown, m)
		}
	}
	before := p.read("repo/log")
	cmd, resumed := p.command("chat", "--continue")
	cmd.Stdin = strings.NewReader("")
	if code := ended(t, cmd.Run()); code != 0 && len(shown) > 0 {
		t.Errorf("%d: %v: resume: exit code %d\n%s\nbefore:\n%s", n, end, code, resumed, out)
		return len(shown)
	}
	if now := p.read("repo/log"); now != before {
		t.Errorf("%d: %v: resume ran a command that nobody asked for", n, end)
	}
	if len(shown) == 0 {
		return 0
	}
	cmd, resumed = p.command("chat", "--continue")
	cmd.Stdin = strings.NewReader("\nand now?\n")
	if code := ended(t, cmd.Run()); code != 0 {
		t.Errorf("%d: %v: going on: exit code %d\n%s\nbefore:\n%s", n, end, code, resumed, out)
	}
	_, transcript := p.run("jobs", "transcript", "last")
	var got []string
	for _, m := range regexp.MustCompile(`message \d+ of \d+`).FindAllString(transcript, -1) {
		if !slices.Contains(got, m) || slices.Contains(shown, m) {
			got = append(got, m)
		}
	}
	if len(got) < len(shown) || !slices.Equal(got[:len(shown)], shown) {
		t.Errorf("%d: %v: shown as sent: %q, the model has %q\nresumed:\n%s\nbefore:\n%s", n, end, shown, got, resumed, out)
	}
	for _, m := range append(shown, "and now?") {
		if strings.Count(resumed.String(), "> "+m+"\n") != 1 {
			t.Errorf("%d: %v: %q is not there once:\n%s\nbefore:\n%s", n, end, m, resumed, out)
		}
	}
	return len(shown)
}

// linesUntil sends messages as lines, and kills the conversation. It returns what was
// printed.
func (p *place) linesUntil(end chatEnd, messages []string) string {
	cmd, _ := p.command("chat", "-m", "script:../turns.yaml", "--approve", "all")
	printed, err := os.Create(p.path("printed"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer printed.Close()
	cmd.Stdout = printed
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	_, _ = io.WriteString(in, strings.Join(messages, "\n")+"\n") // a pipe holds them
	if !end.early {
		await(p.t, "the first message", func() bool { return strings.Contains(p.read("printed"), "> message") })
	}
	time.Sleep(end.after)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return p.read("printed")
}

// screenUntil types messages on a terminal, one each 40 ms, and kills the
// conversation. It returns what was printed.
func (p *place) screenUntil(end chatEnd, messages []string) string {
	x, kill := p.typist("chat", "-m", "script:../turns.yaml", "--approve", "all")
	x.see(0, "/help")
	until := time.Now().Add(end.after)
	for i, m := range messages {
		if time.Now().After(until) {
			break
		}
		if x.write(m + "\r"); i == 0 && !end.early {
			x.see(0, "\x1b[1m> message")
			until = time.Now().Add(end.after)
		}
		time.Sleep(40 * time.Millisecond)
	}
	time.Sleep(time.Until(until))
	return kill()
}
