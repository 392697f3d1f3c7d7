package main

import (
	"bytes"
	"image"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// hugoSite is a blog of Hugo with three posts, whose theme has covers as maps.
var hugoSite = map[string]string{
	"repo/hugo.toml":              "baseURL = \"https://blog.example/\"\ntitle = \"Ann's notes\"\n[permalinks.page]\nposts = \"/:year/:month/:slug/\"\n",
	"repo/content/posts/one.md":   "---\ntitle: \"One\"\ndate: 2026-01-05\ntags: [durability, go]\nauthor: Ann Lee\nShowToc: true\ncover: {image: /images/one.png, alt: One}\ndraft: false\n---\n\nI like short sentences. They work.\n",
	"repo/content/posts/two.md":   "---\ntitle: \"Two\"\ndate: 2026-02-05\ntags: [durability]\nauthor: Ann Lee\nShowToc: true\ncover: {image: /images/one.png, alt: Two}\ndraft: false\n---\n\nI killed it. It came back.\n",
	"repo/content/posts/three.md": "---\ntitle: \"Three\"\ndate: 2025-02-05\nlastmod: 2025-02-06\ntags: [go]\nauthor: Ann Lee\nShowToc: true\ndraft: false\n---\n\nWe try three times, at once. If a server is down, it is down three times.\n\nThere is nothing more to it.\n",
}

// firstPost is researched, has a broken link at first, and is published.
const firstPost = `turns:
  - calls: [{name: read_site, args: {}}]
  - expect: {contains: "tags: durability (2), go (2)"}
    calls: [{name: read_file, args: {path: content/posts/two.md}}, {name: rss_feed, args: {feed: news}}, {name: web_search, args: {query: what a journal is}}]
  - expect: {contains: "It came back."}
    calls: [{name: web_fetch, args: {url: URL/page}}]
  - expect: {contains: "for whoever comes after the crash"}
    calls: [{name: cite, args: {url: URL/page, title: About journals, quote: for whoever comes after the crash}}]
  - calls: [{name: write_content, args: {text: DRAFT}}]
  - expect: {contains: "No source backs these figures: 155 (no source beside it); 20 (no source"}
    calls: [{name: generate_social_posts, args: {networks: [mastodon, x]}}]
  - text: "Here it is.\nCONTENT_COMPLETE"
  - expect: {contains: "broken: URL/gone: 404 Not Found"}
    calls: [{name: write_content, args: {text: FINAL, own_figures: ["155"]}}]
  - calls: [{name: publish_markdown, args: {description: What a journal is for., tags: [durability], cover: /images/journal.png, cover_alt: A journal on a table, series: Journals}}]
  - text: "Published.\nCONTENT_COMPLETE"
  - expect: {contains: "the user wants the files in out/journals: call save_post"}
    calls: [{name: save_post, args: {dir: out/journals}}]
  - text: "Published and saved.\nCONTENT_COMPLETE"
asides:
  - {expect: {contains: Announce the blog post}, text: '{"posts":[{"network":"mastodon","text":"Jobs get killed. What a journal does about it, and how often we tried."},{"network":"x","text":"Jobs get killed. What a journal does about it."}]}'}
`

// secondPost improves a post that is there.
const secondPost = `turns:
  - calls: [{name: read_site, args: {posts: 1}}, {name: read_file, args: {path: content/posts/three.md}}]
  - expect: {contains: "If a server is down, it is down three times."}
    calls: [{name: write_content, args: {text: FINAL}}]
  - calls: [{name: publish_markdown, args: {update: content/posts/three.md, tags: [go, durability]}}]
  - text: "Improved.\nCONTENT_COMPLETE"
`

// thirdPost is a short announcement that is to appear later.
const thirdPost = `turns:
  - calls: [{name: write_content, args: {title: We move, text: "On the second of January our office moves to the harbour.", short: true}}]
  - calls: [{name: publish_markdown, args: {date: "2099-01-02", tags: [office]}}]
  - expect: {contains: "It is dated 2099-01-02: builds before that leave it out"}
    calls: [{name: generate_social_posts, args: {networks: [bluesky]}}]
  - calls: [{name: save_post, args: {dir: out/move}}]
  - text: "Scheduled.\nCONTENT_COMPLETE"
asides:
  - {expect: {contains: "Every post carries the link https://acme.example/news/2099/01/02/we-move.html"}, text: '{"posts":[{"network":"bluesky","text":"We move. https://acme.example/news/2099/01/02/we-move.html"}]}'}
`

// journalPost is the text of the first post. Its draft has a link more.
const journalPost = `# Why journals

A job that runs for an hour will be killed some day. The laptop sleeps. The kernel runs out of memory. Somebody presses Ctrl-C. What then?

## What is lost

Everything that was only in memory. The worst is the call that was under way, for nobody knows whether it happened. Repeat it, and a customer gets the mail twice. Skip it, and there may be no mail at all.

## What a journal keeps

A journal says what was begun and what was finished, for whoever comes after the crash [1]. The next process reads it. It recalls what is done, repeats what may be repeated, and asks about the rest.

![A journal on a table](/images/journal.png)

## Does it hold?

We killed a job 155 times, at each point that we could find. It went on each time. With a real mail server we tried it 20 times.

How the first version failed is in [Two](/2026/02/two/). Kill yours today, before the kernel does.`

// retryPost is the improved text of the post that is there. It keeps its title.
const retryPost = `We try again, but not at once. If a server is down, it is down three times in the same second, and the third attempt learns nothing that the first did not know.

So we wait, each time twice as long as before, and a little more or less than that. Without the little, all clients come back in the same moment, and the server that has just got up falls again.

And we do not try what cannot work. A wrong password stays wrong. A page that is gone stays gone. Only what may be different next time is worth the wait: a busy server, a cut connection, a lock that somebody else holds.

That is all there is to it. It took us a year to write it down.`

// TestBlogPosts makes three posts for two sites by the command line, from
// research to announcement; testdata/posts has them as they were published.
func TestBlogPosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	filled := func(script, text string) string {
		draft := text + " There is [more](" + w.url + "/gone)."
		return strings.NewReplacer("URL", w.url, "DRAFT", strconv.Quote(draft), "FINAL", strconv.Quote(text)).Replace(script)
	}
	files := map[string]string{"two.yaml": filled(secondPost, retryPost), "three.yaml": strings.NewReplacer(`date: "2099-01-02"`, `date: "2099-01-02 09:30"`, "It is dated 2099-01-02:", "It is dated 2099-01-02T09:30:00:", "https://acme.example/news/2099/01/02/we-move.html", "https://blog.example/2099/01/we-move/").Replace(thirdPost)}
	maps.Copy(files, hugoSite)
	var img bytes.Buffer
	if err := png.Encode(&img, image.NewGray(image.Rect(0, 0, 64, 36))); err != nil {
		t.Fatal(err)
	}
	files["repo/static/images/journal.png"] = img.String()
	p := w.place(t, filled(firstPost, journalPost), files)
	run := func(want int, args ...string) string {
		t.Helper()
		code, out := p.run(args...)
		if code != want {
			t.Fatalf("%q: exit code %d, want %d\n%s", args, code, want, out)
		}
		return out
	}
	out := run(0, "run", "blog", "A post on journals, published", "-i", "folder=out/journals", "-m", "script:../turns.yaml", "--approve", "all")
	if !regexp.MustCompile(`"Why journals", \d+ words; out/journals/post.md; out/journals/social.md; published: https://blog.example/20\d\d/\d\d/why-journals/; no source backs 20 \(no source beside it\)`).MatchString(out) {
		t.Errorf("what was made is not shown at the end:\n%s", out)
	}
	golden(t, p, w, "repo/content/posts/why-journals.md", "journals.md")
	golden(t, p, w, "repo/out/journals/social.md", "journals-social.md")
	if strings.Contains(p.read("repo/out/journals/post.md"), "---\n") {
		t.Error("the kept post has front matter")
	}

	run(4, "run", "blog", "Improve content/posts/three.md", "-m", "script:../two.yaml")
	for _, want := range []string{"-We try three times, at once.", "+We try again, but not at once.", "+tags: [\"go\",\"durability\"]"} {
		if out := run(0, "jobs", "show", "last"); !strings.Contains(out, want) {
			t.Errorf("%q is not shown for approval:\n%s", want, out)
		}
	}
	if p.read("repo/content/posts/three.md") != hugoSite["repo/content/posts/three.md"] {
		t.Error("changed before the approval")
	}
	run(0, "answer", "signal", "last", "approve")
	run(0, "continue", "last")
	golden(t, p, w, "repo/content/posts/three.md", "three.md")
	renderedPosts(t, p)
	scheduledPost(t, p)

	p = newPlace(t, map[string]string{"turns.yaml": thirdPost, "repo/_config.yml": "url: https://acme.example\nbaseurl: /news\n"})
	run(0, "run", "blog", "Announce our move, on the second of January 2099", "-m", "script:../turns.yaml", "--approve", "all")
	golden(t, p, w, "repo/_posts/2099-01-02-we-move.md", "move.md")
	golden(t, p, w, "repo/out/move/social.md", "move-social.md")
}

// golden compares a file of the workspace with one in testdata/posts, but for
// the days of the test and the addresses of its servers.
func golden(t *testing.T, p *place, w *world, name, want string) {
	t.Helper()
	got := strings.ReplaceAll(p.read(name), w.url, "http://127.0.0.1")
	got = regexp.MustCompile(`((?:date|lastmod): |accessed |blog.example/)(?:20[0-8]\d-\d\d-\d\d|20[0-8]\d/\d\d)`).ReplaceAllString(got, "${1}TODAY")
	file := filepath.Join("testdata", "posts", want)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil || got != string(b) {
		t.Errorf("%s is not %s (%v):\n%s", name, file, err, got)
	}
}
