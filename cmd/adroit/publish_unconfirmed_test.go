package main

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestUnconfirmedIsNotPublishedAgain has a receiver take a post without an
// answer, by a dropped connection and by a kill of the runner, and a model that
// publishes again: not without a person, even where all was approved beforehand.
func TestUnconfirmedIsNotPublishedAgain(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"dropped", "killed"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			p := w.place(t, publishTurns(publishing(""), "publish_webhook"), nil)
			config, _, _ := strings.Cut(p.read("home/.config/adroit/config.yaml"), ", lookup:")
			if err := os.WriteFile(p.path("home/.config/adroit/config.yaml"), []byte(config+"}\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			var code int
			var text string
			if how == "dropped" {
				w.whenPosted(func() { panic(http.ErrAbortHandler) })
				code, text = p.run("run", "blog", "Publish it", "-m", "script:../turns.yaml", "--approve", "all")
			} else {
				cmd, out := p.command("run", "blog", "Publish it", "-m", "script:../turns.yaml", "--approve", "all")
				started, dead := make(chan struct{}), make(chan struct{})
				w.whenPosted(func() {
					<-started
					_ = cmd.Process.Kill()
					<-dead
				})
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				close(started)
				code = ended(t, cmd.Wait())
				close(dead)
				if code != -int(syscall.SIGKILL) {
					t.Fatalf("exit code %d\n%s", code, out)
				}
				code, text = p.run("jobs", "resume", "last")
			}
			if code != 4 || !strings.Contains(text, "an earlier publication may have happened") {
				t.Errorf("exit code %d\n%s", code, text)
			}
			if n := w.sent("publish_webhook"); n != 1 {
				t.Errorf("published %d times", n)
			}
			if code, text := p.run("signal", "last", "deny"); code != 0 {
				t.Errorf("deny: exit code %d\n%s", code, text)
			}
			if code, text := p.run("jobs", "resume", "last"); code != 0 || w.sent("publish_webhook") != 1 {
				t.Errorf("published %d times, exit code %d\n%s", w.sent("publish_webhook"), code, text)
			}
		})
	}
}
