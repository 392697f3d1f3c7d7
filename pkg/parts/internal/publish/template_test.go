package publish

import (
	"strings"
	"testing"
)

// New posts look like the last ones, or like the archetype.
func TestTemplate(t *testing.T) {
	for _, c := range []struct {
		name, args, at, want string
		files                map[string]string
	}{
		{"Astro", `{"description":"x","cover":"/a.png"}`, "src/content/blog/hello.md",
			"---\ntitle: \"Hello\"\ndescription: \"x\"\npubDate: 2026-11-21\nheroImage: \"/a.png\"\nlang: en\n---\n\nText.\n",
			map[string]string{"astro.config.mjs": "", "public/a.png": string(pixel),
				"src/content/blog/a.md": "---\ntitle: A\ndescription: d\npubDate: 2026-01-01\nheroImage: /b.png\nlang: en\nid: 1\n---\n",
				"src/content/blog/b.md": "---\ntitle: B\npubDate: 2025-01-01\nlang: en\nid: 1\nother: 3\n---\n"}},
		{"TOML and times", `{}`, "content/posts/hello.md",
			"+++\ntitle = \"Hello\"\ndate = 2026-11-21T12:00:00Z\ndraft = false\n+++\n\nText.\n",
			map[string]string{"hugo.toml": "", "content/posts/a.md": "+++\ntitle = 'A'\ndate = 2026-01-01T10:00:00Z\ndraft = false\n[params]\nx = 1\n+++\n"}},
		{"an archetype", `{"author":"Ann"}`, "content/posts/hello.md",
			"---\ntitle: \"Hello\"\ndate: 2026-11-21\nShowToc: true\ndraft: false\nauthor: \"Ann\"\n---\n\nText.\n",
			map[string]string{"hugo.toml": "", "archetypes/default.md": "---\ntitle: '{{ replace .Name \"-\" \" \" }}'\ndate: {{ .Date }}\nShowToc: true\nweight: 1\ndraft: true\n---\n"}},
		{"folders by year", `{}`, "content/posts/2026/hello/index.md",
			"---\ntitle: \"Hello\"\ndate: 2026-11-21\ndraft: false\n---\n\nText.\n",
			map[string]string{"hugo.toml": "", "content/posts/2025/a/index.md": "---\ntitle: A\ndate: 2025-01-01\n---\n"}},
		{"Eleventy", `{"author":"Ann","tags":["x"]}`, "src/posts/hello.md",
			"---\ntitle: \"Hello\"\ndate: 2026-11-21\ntags: [\"x\"]\nauthor: [\"Ann\"]\nlayout: post.njk\n---\n\nText.\n",
			map[string]string{".eleventy.js": "", "src/posts/a.md": "---\ntitle: A\ndate: 2025-01-01\ntags: [y]\nauthor: [Ben]\nlayout: post.njk\n---\n"}},
	} {
		j := newJob(t, "# Hello\n\nText.")
		for name, text := range c.files {
			j.write(name, text)
		}
		r := j.call(tool(t, Config{}, "publish_markdown"), c.args)
		if r.Failed || !strings.Contains(r.Text, c.at) {
			t.Errorf("%s: %s", c.name, r.Text)
			continue
		}
		if got := j.read(c.at); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		// Published again, as after a kill, it finds what it wrote.
		later := tool(t, Config{Now: j.tomorrow}, "publish_markdown")
		if r := j.call(later, c.args); r.Failed || !strings.Contains(r.Text, "already") {
			t.Errorf("%s, the next day: %s", c.name, r.Text)
		}
	}
}

// pixel is a GIF of one pixel; what an image is shows in its content.
var pixel = []byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;")

// What the model learns of a site is bounded, and of the site as it is.
func TestReadSite(t *testing.T) {
	j := newJob(t, "")
	read := tool(t, Config{}, "read_site")
	if r := j.call(read, `{}`); r.Failed || !strings.Contains(r.Text, "There is no static site here") {
		t.Errorf("%s", r.Text)
	}
	j.write("_config.yml", "url: https://x.example\ntitle: T\nauthor: Ann\n")
	j.write("_posts/2026-01-02-a.md", "---\ntitle: A\ntags: [x, y]\n---\n\n"+strings.Repeat("long ", 2000))
	j.write("_posts/2026-01-03-b.md", "---\ntitle: B\ntags: x\nhuge: "+strings.Repeat("h", 5000)+"\n---\n\nShort.")
	r := j.call(read, `{}`)
	for _, want := range []string{"jekyll, 2 posts in _posts\n", "address: https://x.example\n", "author: Ann\n", "tags: x (2), y (1)\n", `_posts/2026-01-03-b.md: "B", 2026-01-03, https://x.example/2026/01/03/b.html, 1 word` + "\nShort.\n", "long long"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is missing in\n%s", want, r.Text)
		}
	}
	if len(r.Text) > 4000 {
		t.Errorf("%d bytes", len(r.Text))
	}
	if r := j.call(read, `{"posts":1}`); strings.Contains(r.Text, "long long") {
		t.Errorf("more than one post:\n%s", r.Text)
	}
}
