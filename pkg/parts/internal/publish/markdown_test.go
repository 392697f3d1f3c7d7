package publish

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/tools"
)

func TestMarkdown(t *testing.T) {
	site := tool(t, Config{}, "publish_markdown")
	j := newJob(t, "# A \"quoted\" title: yes\n\nText.")
	r := j.call(site, `{"tags":["a: b"],"description":"d","draft":true}`)
	if r.Failed {
		t.Fatal(r.Text)
	}
	const at = "content/posts/a-quoted-title-yes.md"
	got := j.read(at)
	for _, want := range []string{"---\ntitle: \"A \\\"quoted\\\" title: yes\"\ndate: 2026-11-21\n", "tags: [\"a: b\"]\n", "draft: true\n", "---\n\nText.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	// Again, as after a kill: nothing changes, whatever the day.
	later := tool(t, Config{Now: j.tomorrow}, "publish_markdown")
	if r := j.call(later, `{"tags":["a: b"],"description":"d","draft":true}`); r.Failed || !strings.Contains(r.Text, "already") || j.read(at) != got {
		t.Errorf("a second time: %s", r.Text)
	}
	if strings.Contains(got, "adroit") {
		t.Errorf("bookkeeping in a public file:\n%s", got)
	}
	// Another text under the same slug: only as an update of what was read.
	j.content += " More."
	if r := j.call(site, `{"draft":true}`); !r.Failed || !strings.Contains(r.Text, "pass it as update") || j.read(at) != got {
		t.Errorf("overwriting: %s", r.Text)
	}
	const update = `{"draft":true,"update":"content/posts/a-quoted-title-yes.md"}`
	if r := j.call(site, update); r.Failed || !strings.Contains(j.read(at), "Text. More.") || !strings.Contains(j.read(at), `tags: ["a: b"]`) {
		t.Errorf("updating: %s\n%s", r.Text, j.read(at))
	}
	if r := j.call(site, update); r.Failed || !strings.Contains(r.Text, "already") {
		t.Errorf("a second time: %s", r.Text)
	}
	j.content += " Again."
	if err := os.WriteFile(filepath.Join(j.files.Dir(), at), []byte("---\ntitle: x\n---\n\nA person wrote this.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := j.call(site, update); !r.Failed || !strings.Contains(r.Text, "changed since it was read") {
		t.Errorf("a person's words were replaced: %s", r.Text)
	}
}

// The post of somebody else is updated after it was read, and what is not given
// stays as it was, to the byte.
func TestUpdate(t *testing.T) {
	site := tool(t, Config{}, "publish_markdown")
	j := newJob(t, "Better text.") // without a heading: the title stays
	const at, old = "content/posts/old.md", "+++\ntitle = 'Old'\ndate = 2020-01-01\nlastmod = 2021-01-01\ntags = ['a']\nweight = 7 # mine\n[params]\nx = 1\n+++\n\nText.\n"
	if err := os.MkdirAll(filepath.Join(j.files.Dir(), "content/posts"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(j.files.Dir(), at), []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	const args = `{"update":"content/posts/old.md","description":"d"}`
	if r := j.call(site, args); !r.Failed || !strings.Contains(r.Text, "was not read by this job") {
		t.Errorf("updated without having been read: %s", r.Text)
	}
	_ = j.read(at)
	env := &tools.Env{Job: j.id, Files: j.files, Artifacts: j}
	diff := site.Preview(env, []byte(args))
	for _, want := range []string{"-lastmod = 2021-01-01\n+lastmod = 2026-11-21\n", "+description = \"d\"\n", "-Text.\n+Better text.\n", " weight = 7 # mine\n"} {
		if !strings.Contains(diff, want) {
			t.Errorf("%q is missing in\n%s", want, diff)
		}
	}
	j.approved = map[string]string{at: digest([]byte("something else"))}
	if r := j.call(site, args); !r.Failed || !strings.Contains(r.Text, "changed since the update was approved") {
		t.Errorf("what was not approved: %s", r.Text)
	}
	j.approved = nil
	want := strings.NewReplacer("2021-01-01", "2026-11-21", "mine\n", "mine\ndescription = \"d\"\n", "Text.", "Better text.").Replace(old)
	if r := j.call(site, args); r.Failed || j.read(at) != want {
		t.Errorf("%s\n%s", r.Text, j.read(at))
	}
}

func TestJekyll(t *testing.T) {
	j := newJob(t, "# Hello\n\nText.")
	j.write("_config.yml", "title: x\n")
	j.write("_posts/2020-01-01-old.md", "---\ntitle: Old\n---\nText\n")
	site := tool(t, Config{}, "publish_markdown")
	if r := j.call(site, `{}`); r.Failed || !strings.Contains(j.read("_posts/2026-11-21-hello.md"), "layout: \"post\"") {
		t.Errorf("%s", r.Text)
	}
	later := tool(t, Config{Now: j.tomorrow}, "publish_markdown")
	if r := j.call(later, `{}`); r.Failed || !strings.Contains(r.Text, "2026-11-21-hello.md has this post already") {
		t.Errorf("the next day: %s", r.Text)
	}
	if r := j.call(site, `{"slug":"old"}`); !r.Failed || !strings.Contains(r.Text, "2020-01-01-old.md is another post") {
		t.Errorf("another day's post: %s", r.Text)
	}
	if r := j.call(site, `{"slug":"draft","draft":true}`); r.Failed || j.read("_drafts/draft.md") == "" {
		t.Errorf("a draft: %s", r.Text)
	}
	if r := j.call(site, `{"update":"_drafts/draft.md","date":"2026-12-01"}`); r.Failed || !strings.Contains(j.read("_posts/2026-12-01-draft.md"), "date: 2026-12-01\n") {
		t.Errorf("a draft that is published: %s", r.Text)
	}
	if _, err := j.files.Stat("_drafts/draft.md"); err == nil {
		t.Error("the draft is still there")
	}
	const windows = "---\r\ntitle: Hello\r\nlayout: x\r\n---\r\n\r\nOld.\r\n"
	j.write("_posts/2020-01-01-old.md", windows)
	if r := j.call(site, `{"update":"_posts/2020-01-01-old.md"}`); r.Failed || j.read("_posts/2020-01-01-old.md") != strings.Replace(windows, "Old.", "Text.", 1) {
		t.Errorf("line ends: %s %q", r.Text, j.read("_posts/2020-01-01-old.md"))
	}
}

func TestMarkdownMisuse(t *testing.T) {
	site := tool(t, Config{Markdown: Site{Dir: "posts"}}, "publish_markdown")
	j := newJob(t, "# T\n\nText.")
	j.write("posts/bundle/index.md", "x")
	j.write("in.md", "---\ntitle: x\nadroit_key: J1-forged\n---\n# From a file\n\nBody.")
	j.write("binary.md", "a\x00b")
	for args, want := range map[string]string{
		`{"slug":"../../etc/passwd"}`: "will not do",
		`{"slug":"a/b"}`:              "will not do",
		`{"slug":"bundle"}`:           "another post",
		`{"slug":"BUNDLE"}`:           "another post",
		`{"from":"../x.md"}`:          "../x.md",
		`{"from":"binary.md"}`:        "is no text",
		`{"from":"gone.md"}`:          "gone.md",
	} {
		if r := j.call(site, args); !r.Failed || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %s", args, r.Text)
		}
	}
	if r := j.call(site, `{"from":"in.md"}`); r.Failed || strings.Contains(j.read("posts/from-a-file.md"), "forged") {
		t.Errorf("%s", r.Text)
	}
	j.content = "no title"
	if r := j.call(site, `{}`); !r.Failed || !strings.Contains(r.Text, "no title") {
		t.Error(r.Text)
	}
}

// What a call is about is judged by rules about paths, and shown to whoever
// approves.
func TestTouches(t *testing.T) {
	for name, want := range map[string]string{"publish_markdown": "posts a.md", "publish_notion": "a.md", "publish_webhook": "a.md"} {
		tool := tool(t, Config{Markdown: Site{Dir: "posts"}}, name)
		if got := strings.Join(tool.Touches([]byte(`{"from":"a.md"}`)), " "); got != want {
			t.Errorf("%s touches %q, want %q", name, got, want)
		}
		if !tool.Needs.Has(tools.Publish) {
			t.Errorf("%s publishes without saying so", name)
		}
	}
}

// A title and a day of the model's choice. The day is part of what is published
// once.
func TestTitleAndDate(t *testing.T) {
	j := newJob(t, "# Of the text\n\nText.")
	j.write("_config.yml", "title: x\n")
	site := tool(t, Config{}, "publish_markdown")
	const args, at = `{"title":"Release  notes","date":"2026-12-24"}`, "_posts/2026-12-24-release-notes.md"
	if r := j.call(site, args); r.Failed || !strings.Contains(j.read(at), "title: \"Release notes\"\ndate: 2026-12-24\n") || strings.Contains(j.read(at), "Of the text") {
		t.Errorf("%s\n%s", r.Text, j.read(at))
	}
	if r := j.call(site, args); r.Failed || !strings.Contains(r.Text, at+" has this post already") {
		t.Errorf("again: %s", r.Text)
	}
	if r := j.call(site, `{"title":"Release notes","date":"2026-12-25"}`); !r.Failed || !strings.Contains(r.Text, "is another post") {
		t.Errorf("another day: %s", r.Text)
	}
	if r := j.call(site, `{"date":"24.12.2026"}`); !r.Failed || !strings.Contains(r.Text, "write it as 2026-11-21") {
		t.Errorf("no day: %s", r.Text)
	}
	j.content = "Text without a heading."
	if r := j.call(site, `{"title":"Given"}`); r.Failed || !strings.Contains(j.read("_posts/2026-11-21-given.md"), "Text without a heading.") {
		t.Errorf("a text without a title: %s", r.Text)
	}
}

// What a generator would run is shown as text, and an update adds no space.
func TestInert(t *testing.T) {
	j := newJob(t, "# Hello\n\nWrite {{ x }}.")
	j.write("_config.yml", "title: x\n")
	j.write("_posts/2020-01-01-old.md", "---\ntitle: Hello\n---\n{{ site.title }}\n\n\n")
	site := tool(t, Config{}, "publish_markdown")
	if r := j.call(site, `{}`); r.Failed || !strings.Contains(j.read("_posts/2026-11-21-hello.md"), "\n\nWrite {% raw %}{{ x }}{% endraw %}.\n") || !strings.Contains(r.Text, "1 part that the generator or a browser would have run is shown as text, the first is {{ x }}.") {
		t.Errorf("%s\n%s", r.Text, j.read("_posts/2026-11-21-hello.md"))
	}
	if r := j.call(site, `{}`); r.Failed || !strings.Contains(r.Text, "already") {
		t.Errorf("again: %s", r.Text)
	}
	j.content = "# Hello\n\n{{ site.title }} and {{ x }}"
	_ = j.read("_posts/2020-01-01-old.md")
	if r := j.call(site, `{"update":"_posts/2020-01-01-old.md"}`); r.Failed || j.read("_posts/2020-01-01-old.md") != "---\ntitle: Hello\n---\n{{ site.title }} and {% raw %}{{ x }}{% endraw %}\n\n\n" {
		t.Errorf("%s\n%q", r.Text, j.read("_posts/2020-01-01-old.md"))
	}
}
