package publish

import (
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
	for _, want := range []string{"---\ntitle: \"A \\\"quoted\\\" title: yes\"\ndate: 2026-11-21\n", "tags: [\"a: b\"]\n", "draft: true\n", "adroit_key: \"J1-", "---\n\nText.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	// Again, as after a kill: nothing changes, whatever the day.
	later := tool(t, Config{Now: j.tomorrow}, "publish_markdown")
	if r := j.call(later, `{"tags":["a: b"],"description":"d","draft":true}`); r.Failed || !strings.Contains(r.Text, "already") || j.read(at) != got {
		t.Errorf("a second time: %s", r.Text)
	}
	// Another text under the same slug: only this job, and only with replace.
	j.content += " More."
	if r := j.call(site, `{"draft":true}`); !r.Failed || !strings.Contains(r.Text, "pass replace") || j.read(at) != got {
		t.Errorf("overwriting: %s", r.Text)
	}
	if r := j.call(site, `{"draft":true,"replace":true}`); r.Failed || !strings.Contains(j.read(at), "Text. More.") {
		t.Errorf("replacing: %s", r.Text)
	}
	j.id = "J2"
	j.content += " Of another job."
	if r := j.call(site, `{"draft":true,"replace":true}`); !r.Failed || strings.Contains(j.read(at), "another job") {
		t.Errorf("another job replaced it: %s", r.Text)
	}
	j.id = "J1"
	j.write(at, j.read(at)+"\nA person wrote this.\n")
	if r := j.call(site, `{"draft":true,"replace":true}`); !r.Failed || !strings.Contains(r.Text, "was changed since") {
		t.Errorf("a person's words were replaced: %s", r.Text)
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
	if r := j.call(site, `{"title":"Release notes","date":"2026-12-25"}`); !r.Failed || !strings.Contains(r.Text, "keep its date") && !strings.Contains(r.Text, "pass replace") {
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
