package main

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// everywhere publishes beside the file, to what cannot be taken back.
const everywhere = `  - calls: [{name: publish_notion, args: {tags: [durability]}}]
  - calls: [{name: publish_webhook, args: {}}]
`

// TestKillBlog kills a job that researches, writes and publishes a post at each
// of its points (a sample of them: see points). Resumed, it ends with the same sources and the same post,
// published once to each place.
func TestKillBlog(t *testing.T) {
	testenv.Long(t, "starts some hundred processes")
	t.Parallel()
	bin := program(t)
	run := []string{"run", "blog", "Write", "-m", "script:../turns.yaml", "--approve", "all"}
	w := newWorld(t)
	want, jobs := "", 0
	kill := func(n int) bool {
		p := w.place(t, article(toSite+everywhere), nil)
		p.bin = bin
		killed, out := p.kill(n, 0, run...)
		if killed {
			out = p.ok(0, "continue", "last")
		}
		jobs++
		tree := p.tree()
		text := ""
		for name, content := range tree {
			if strings.HasSuffix(name, ".md") {
				if text != "" || name != "content/posts/journals.md" {
					t.Errorf("point %d: published as %s, too", n, name)
				}
				_, text, _ = strings.Cut(content, "date: ")
			}
		}
		for _, tool := range targets {
			if got := w.sent(tool); got != jobs {
				t.Fatalf("point %d: %s published %d posts in all, want one in each of %d jobs\n%s", n, tool, got, jobs, out)
			}
		}
		if n == 0 {
			want = text
		}
		if text == "" || text != want {
			t.Errorf("point %d: got\n%s\nwant\n%s", n, text, want)
		}
		if code, out := p.run("jobs", "artifacts", "last", "citations"); code != 0 || strings.Count(out, `"number"`) != 2 {
			t.Errorf("point %d: cited\n%s", n, out)
		}
		return killed
	}
	kill(0) // that is none: how it ends
	if last, _ := points(t, 17, kill); last < 40 {
		t.Errorf("only %d points; the job cannot have been killed everywhere", last)
	}
}
