package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// post is a job that thinks, makes artifacts and publishes.
const post = `turns:
  - calls: [{name: generate_outline, args: {topic: Jobs}}]
  - calls: [{name: expand_section, args: {section: One}}, {name: expand_section, args: {section: Two}}]
  - calls: [{name: assemble_content, args: {plain: true}}]
  - calls: [{name: publish_markdown, args: {}}]
  - text: "Done.\nCONTENT_COMPLETE"
asides:
  - {expect: {contains: Outline a blog post}, text: '{"title":"Jobs","sections":[{"title":"One","points":[]},{"title":"Two","points":[]}]}'}
  - {expect: {contains: 'Write the section "One"'}, text: "%[1]s"}
  - {expect: {contains: 'Write the section "Two"'}, text: "%[1]s"}
`

// TestKillBlog kills a job that writes a post and publishes it at each of its
// points. Resumed, it ends with the same post, published once.
func TestKillBlog(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a hundred processes; run it without -short")
	}
	bin := filepath.Join(t.TempDir(), "adroit")
	if out, err := exec.Command("go", "build", "-tags", "failpoints", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	run := []string{"run", "blog", "Write", "-m", "script:../turns.yaml", "--approve", "all"}
	want := ""
	for n := 0; ; n++ {
		p := newPlace(t, map[string]string{"turns.yaml": fmt.Sprintf(post, strings.Repeat("It goes on where it stopped. ", 12)), "repo/hugo.toml": "title = \"x\"\n"})
		p.bin = bin
		if n > 0 {
			p.env = append(p.env, fmt.Sprintf("ADROIT_KILL_AT=%d", n))
		}
		code, out := p.run(run...)
		killed := code == -int(syscall.SIGKILL)
		if killed {
			p.env = p.env[:len(p.env)-1]
			code, out = p.run("jobs", "resume", "last")
		}
		if code != 0 {
			t.Fatalf("point %d: exit code %d\n%s", n, code, out)
		}
		tree := p.tree()
		text := ""
		for name, content := range tree {
			if strings.HasSuffix(name, ".md") {
				if text != "" || name != "content/posts/jobs.md" {
					t.Errorf("point %d: published as %s, too", n, name)
				}
				_, text, _ = strings.Cut(content, "adroit_sum: ")
			}
		}
		if n == 0 {
			want = text
		}
		if text == "" || text != want {
			t.Errorf("point %d: got\n%s\nwant\n%s", n, text, want)
		}
		if n > 0 && !killed {
			if n < 10 {
				t.Errorf("there were only %d points", n-1)
			}
			return
		}
	}
}
