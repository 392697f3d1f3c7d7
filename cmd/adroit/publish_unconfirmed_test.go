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
				code, text = p.run("continue", "last")
			}
			if code != 4 || !strings.Contains(text, "an earlier publication may have happened") {
				t.Errorf("exit code %d\n%s", code, text)
			}
			if n := w.sent("publish_webhook"); n != 1 {
				t.Errorf("published %d times", n)
			}
			if code, text := p.run("answer", "signal", "last", "deny"); code != 0 {
				t.Errorf("deny: exit code %d\n%s", code, text)
			}
			if code, text := p.run("continue", "last"); code != 0 || w.sent("publish_webhook") != 1 {
				t.Errorf("published %d times, exit code %d\n%s", w.sent("publish_webhook"), code, text)
			}
		})
	}
}

// TestUnconfirmedInPipelines has a receiver take the post of a pipeline's step without an
// answer, by a dropped connection and by a kill of the runner. A person is asked each time
// that the job is resumed, and an approval covers one post.
func TestUnconfirmedInPipelines(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"dropped", "killed"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			p := w.place(t, "turns: [{text: none}]\n", map[string]string{"repo/post.md": "# Journals\n\nThey go on where they stopped.\n",
				"home/.config/adroit/pipelines/p.yaml": "steps:\n  - {id: post, tool: publish_webhook, args: {from: post.md}}\n"})
			config, _, _ := strings.Cut(p.read("home/.config/adroit/config.yaml"), ", lookup:")
			put(t, p.path("home/.config/adroit/config.yaml"), config+"}\n")
			cmd, out := p.command("run", "p", "-m", "script:../turns.yaml", "--approve", "all")
			started, dead, want := make(chan struct{}), make(chan struct{}), 1
			w.whenPosted(func() { panic(http.ErrAbortHandler) })
			if how == "killed" {
				want = -int(syscall.SIGKILL)
				w.whenPosted(func() {
					<-started
					_ = cmd.Process.Kill()
					<-dead
				})
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			close(started)
			code := ended(t, cmd.Wait())
			close(dead)
			if code != want {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			for i := range 3 {
				code, text := p.run("continue", "last")
				if code != 4 || !strings.Contains(text, "to publish again may publish twice") || !strings.Contains(text, "adroit answer approve J") || w.sent("publish_webhook") != 1 {
					t.Errorf("resume %d: published %d times, exit code %d\n%s", i+1, w.sent("publish_webhook"), code, text)
				}
			}
			if code, text := p.run("answer", "deny", "last"); code == 0 || w.sent("publish_webhook") != 1 {
				t.Errorf("deny: published %d times, exit code %d\n%s", w.sent("publish_webhook"), code, text)
			}
			if code, text := p.run("continue", "last"); code != 4 || w.sent("publish_webhook") != 1 {
				t.Errorf("resumed after a no: published %d times, exit code %d\n%s", w.sent("publish_webhook"), code, text)
			}
			if code, text := p.run("answer", "approve", "last"); code != 0 || w.sent("publish_webhook") != 2 {
				t.Errorf("approve: published %d times, exit code %d\n%s", w.sent("publish_webhook"), code, text)
			}
		})
	}
}

// TestNothingIsPublishedUnchecked has a model publish a post with a dead link, from what
// it wrote and from a file, and a person do so without a job: nothing is sent before the
// links work.
func TestNothingIsPublishedUnchecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dead, good := "See [this]("+w.url+"/gone). "+strings.Repeat("It goes on. ", 50), "See [this]("+w.url+"/page#why). "+strings.Repeat("It goes on. ", 50)
	turns := "turns:\n" +
		"  - calls: [{name: write_content, args: {title: Journals, text: \"" + dead + "\"}}]\n" +
		"  - calls: [{name: publish_webhook, args: {}}]\n" +
		"  - expect: {contains: publish_webhook was not run}\n    calls: [{name: publish_webhook, args: {from: dead.md}}]\n" +
		"  - expect: {contains: the check link_check must pass first}\n    calls: [{name: write_content, args: {title: Journals, text: \"" + good + "\"}}]\n" +
		"  - calls: [{name: publish_webhook, args: {}}]\n" +
		"  - {text: \"Published.\\nCONTENT_COMPLETE\"}\n"
	p := w.place(t, turns, map[string]string{"repo/dead.md": "# Journals\n\n" + dead + "\n", "repo/good.md": "# Journals\n\n" + good + "\n"})
	code, text := p.run("tools", "call", "publish_webhook", `{"from":"dead.md"}`)
	if code == 0 || !strings.Contains(text, "the check link_check must pass first") || w.sent("publish_webhook") != 0 {
		t.Errorf("exit code %d, sent %d\n%s", code, w.sent("publish_webhook"), text)
	}
	if code, text := p.run("run", "blog", "Publish it", "-m", "script:../turns.yaml", "--approve", "all"); code != 0 || w.sent("publish_webhook") != 1 {
		t.Errorf("exit code %d, sent %d\n%s", code, w.sent("publish_webhook"), text)
	}
	if code, text := p.run("tools", "call", "publish_webhook", `{"from":"good.md"}`); code != 0 || w.sent("publish_webhook") != 2 {
		t.Errorf("exit code %d, sent %d\n%s", code, w.sent("publish_webhook"), text)
	}
}
