package site

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func tree(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// Each generator is known by its files, and a post gets the address that it
// would give it.
func TestAddress(t *testing.T) {
	const post = "---\ntitle: My post\ndate: 2026-11-05\n---\n\nText.\n"
	for _, c := range []struct {
		name, style, at, want string
		files                 map[string]string
	}{
		{"hugo", Hugo, "content/posts/my-post.md", "https://x.example/posts/my-post/", map[string]string{"hugo.toml": "baseURL = 'https://x.example/'"}},
		{"hugo below a path", Hugo, "content/blog/my-post/index.md", "https://x.example/sub/blog/my-post/", map[string]string{"config.yaml": "baseURL: https://x.example/sub/\n", "content/blog/_index.md": ""}},
		{"hugo permalinks", Hugo, "content/posts/my-post.md", "https://x.example/2026/11/my-post/", map[string]string{"hugo.yaml": "baseurl: https://x.example\npermalinks: {posts: '/:year/:month/:slug/'}"}},
		{"hugo, a token that is not known", Hugo, "content/posts/my-post.md", "", map[string]string{"hugo.yaml": "baseURL: https://x.example\npermalinks: {posts: '/:weird/'}"}},
		{"hugo without an address", Hugo, "content/posts/my-post.md", "", map[string]string{"hugo.toml": "baseURL = '/'"}},
		{"jekyll", Jekyll, "_posts/2026-11-05-my-post.md", "https://x.example/b/2026/11/05/my-post.html", map[string]string{"_config.yml": "url: https://x.example\nbaseurl: /b\n"}},
		{"jekyll pretty", Jekyll, "_posts/2026-11-05-my-post.md", "https://x.example/2026/11/05/my-post/", map[string]string{"_config.yml": "url: https://x.example\npermalink: pretty\n"}},
		{"astro", Astro, "src/content/blog/my-post.md", "https://x.example/blog/my-post/", map[string]string{"astro.config.mjs": "export default defineConfig({\n  site: 'https://x.example',\n});", "src/pages/blog/[...slug].astro": "", "src/content/blog/a.md": post}},
		{"astro in a line", Astro, "src/content/blog/my-post.md", "https://x.example/sub/blog/my-post", map[string]string{"astro.config.mjs": "/* site: 'https://no.example' */ export default defineConfig({ integrations: [a({ site: 'https://no.example', base: '/no' })], \"site\": 'https://x.example/', base: \"/sub\", trailingSlash: 'never' }) // base: '/no'", "src/pages/blog/[...slug].astro": "", "src/content/blog/a.md": post}},
		{"astro without a page", Astro, "src/content/blog/my-post.md", "", map[string]string{"astro.config.mjs": "export default {\n  site: 'https://x.example',\n}", "src/content/blog/a.md": post}},
		{"eleventy", Eleventy, "posts/my-post.md", "https://x.example/posts/my-post/", map[string]string{"eleventy.config.js": "", "_data/metadata.json": `{"url":"https://x.example/","title":"T","author":{"name":"Ann"}}`}},
		{"a broken configuration", Hugo, "content/posts/my-post.md", "", map[string]string{"hugo.toml": "baseURL = ["}},
	} {
		s := Open(tree(c.files), Settings{})
		m, body := Split(post)
		if got := s.Address(Post{Path: c.at, Matter: m, Body: body, Date: m.Date()}); s.Style != c.style || got != c.want {
			t.Errorf("%s: %s, %q, want %q", c.name, s.Style, got, c.want)
		}
		if dir := s.Posts; !strings.HasPrefix(c.at, dir+"/") {
			t.Errorf("%s: posts are in %s", c.name, dir)
		}
	}
	if s := Open(tree(map[string]string{"config.yaml": "a: 1"}), Settings{}); s.Found {
		t.Errorf("a file of that name makes a site: %+v", s)
	}
	if s := Open(tree(nil), Settings{URL: "https://y.example/"}); s.Found || s.Style != Hugo || s.URL != "https://y.example" {
		t.Errorf("no site: %+v", s)
	}
}

// What is not set stays as it was, to the byte.
func TestMatter(t *testing.T) {
	for _, text := range []string{
		"---\ntitle: A # comment\n# more\ntags:\n  - a\n  - b\ncover:\n  image: x.png\n---\n\nBody\n---\nmore",
		"+++\ntitle = 'A'\ndate = 2026-01-02T03:04:05Z\n\n[params]\na = 1\n[[params.list]]\nb = 2\n+++\n\nBody",
		"---\n- not a map\n---\n\nBody",
		"---\nbroken: [\n---\n\nBody",
		"{\n  \"title\": \"A\",\n\t\"tags\" : [\"a\", \"b\"],\"n\":{\"x\": 1}\n }\n\nBody\n{\n}",
	} {
		m, body := Split(text)
		if got := m.String() + "\n" + body; got != text {
			t.Errorf("got\n%s\nwant\n%s", got, text)
		}
	}
	for _, text := range []string{"", "Body", "{}", "{{< figure >}}", "{\"a\": 1} is JSON", "{\"a\": 1", "---", "---\nno end", "--- \nx"} {
		if m, _ := Split(text); !m.Empty() {
			t.Errorf("%q has front matter %s", text, m)
		}
	}
	m, _ := Split("+++\r\ntitle = 'A'\r\n[params]\r\nx = 1\r\n+++\r\nBody\r\n")
	m.Set("tags", []string{"a\"b"})
	m.Set("cover", map[string]string{"image": "x.png", "alt": "X"})
	if want := "+++\ntitle = 'A'\ntags = [\"a\\\"b\"]\ncover = {alt = \"X\", image = \"x.png\"}\n[params]\nx = 1\n+++\n"; m.String() != want {
		t.Errorf("got\n%s", m)
	}
	object, _ := Split("{\n  \"title\": \"A\"\n}\n\nBody\n")
	object.Set("title", "B")
	object.Set("date", Date("2026-01-02"))
	if want := "{\n  \"title\": \"B\",\n  \"date\": \"2026-01-02\"\n}\n"; object.String() != want {
		t.Errorf("got\n%s", object)
	}
	inside, _ := Split("---\ntags:\n# mine\n  - a\n# other\nb: 1\n---\n")
	if inside.Set("tags", []string{"c"}); inside.String() != "---\ntags: [\"c\"]\n# other\nb: 1\n---\n" {
		t.Errorf("a comment within a value:\n%s", inside)
	}
	if again, _ := Split(m.String() + "\nBody\n"); again.List("tags")[0] != "a\"b" {
		t.Errorf("TOML reads %v", again.Values)
	}
}

func TestNewDate(t *testing.T) {
	for in, want := range map[string]Date{
		"2026-01-02": "2026-01-02", "2026-01-02 15:04": "2026-01-02T15:04:00", "2026-01-02T15:04": "2026-01-02T15:04:00", "2026-01-02 15:04:05 +0100": "2026-01-02T15:04:05+01:00",
		" 2026-01-02T15:04:05Z": "2026-01-02T15:04:05Z", "2026-01-02T09:00:00+01:00": "2026-01-02T09:00:00+01:00",
	} {
		if got := NewDate(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// A link leads to what is served, to a page, or nowhere.
func TestFile(t *testing.T) {
	s := Open(tree(map[string]string{"hugo.toml": "baseURL = 'https://x.example/sub/'", "static/i/a b.png": "", "content/posts/2026-01-02-one.md": "", "content/about/index.md": "", "secret.txt": ""}), Settings{})
	for link, want := range map[string]bool{
		"/sub/i/a%20b.png": true, "/i/a%20b.png": true, "/about/": true, "../about/": true, "2026-01-02-one.md": true, "/sub/posts/2026-01-02-one/": true, "/sub/2026/01/one/": false, "/nowhere/": false,
		"/../secret.txt": false, "../../secret.txt": false, "/secret.txt": false, "https://x.example/about/": false, "": false, "%zz": false, "/": false,
	} {
		if at, got := s.File(link); got != want {
			t.Errorf("%q leads to %q", link, at)
		}
	}
}

// Where the address of posts is set, a link must have it.
func TestPermalink(t *testing.T) {
	s := Open(tree(map[string]string{"hugo.toml": "baseURL = 'https://x.example/'\n[permalinks]\nposts = '/:year/:slug/'", "content/posts/one.md": "---\ntitle: One\ndate: 2026-01-02\n---\n"}), Settings{})
	for link, want := range map[string]bool{"/2026/one/": true, "/2025/one/": false, "/posts/one/": false, "one.md": true} {
		if at, got := s.File(link); got != want {
			t.Errorf("%q leads to %q", link, at)
		}
	}
}

// FuzzSplit holds that front matter is written as it was read.
func FuzzSplit(f *testing.F) {
	f.Add("---\na: 1\nb:\n  - c\n---\nx")
	f.Add("+++\na = 1\n[t]\nb = 2\n+++\nx")
	f.Add("---\n---\n")
	f.Add("{\"a\": 1, \"b\": [2]}\nx")
	f.Add("---\n0000\n\n\n---")
	f.Fuzz(func(t *testing.T, text string) {
		m, body := Split(text)
		if m.Empty() {
			return
		}
		again, same := Split(m.String() + "\n" + body + "\n")
		if again.String() != m.String() || same != body {
			t.Errorf("%q became %q and %q, before %q", text, again.String(), same, body)
		}
		m.Set("added", "x")
		if !m.Has("added") {
			t.Errorf("%q does not take a key", text)
		}
	})
}

func TestRecent(t *testing.T) {
	s := Open(tree(map[string]string{"_config.yml": "", "_posts/2026-01-02-a.md": "---\ntitle: a\n---\n", "_posts/2026-03-02-b.md": "---\ntitle: b\n---\n", "_drafts/c.md": "No front matter", "_posts/x.txt": ""}), Settings{})
	list, all, err := s.Recent(2)
	if err != nil || all != 3 || len(list) != 2 || list[0].Path != "_posts/2026-03-02-b.md" || !list[0].Date.Equal(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%v of %d: %v", list, all, err)
	}
	if list, _ := s.Named("A"); len(list) != 1 {
		t.Errorf("named a: %v", list)
	}
}

// Front matter is found whichever way its fences are written, and keeps them.
func TestFences(t *testing.T) {
	for in, out := range map[string]string{
		"---\ntitle: A\n...\nBody": "---\ntitle: A\n...\n", "---\ntitle: A\n--- \nBody": "---\ntitle: A\n---\n", "---yaml\ntitle: A\n---\nBody": "---yaml\ntitle: A\n---\n",
		"---toml\ntitle = \"A\"\n---\nBody": "---toml\ntitle = \"A\"\n---\n", "+++ \r\ntitle = 'A'\r\n+++\t\r\nBody": "+++\ntitle = 'A'\n+++\n", "---\ntitle: B\ntitle: A\n---\nBody": "---\ntitle: B\ntitle: A\n---\n",
	} {
		if m, body := Split(in); m.Text("title") != "A" || body != "Body" || m.String() != out {
			t.Errorf("%q: %q, %q, %q", in, m.Text("title"), body, m)
		}
	}
}

// Dates are read in each form that YAML and generators know.
func TestDateForms(t *testing.T) {
	for in, want := range map[string]string{"2026-1-5": "2026-01-05", "2026-11-05 09:00:00 +01:00": "2026-11-05T09:00:00+01:00", "2026-11-05T09:00:00+0100": "2026-11-05T09:00:00+01:00", "2026-11-05 09:00 +0100": "2026-11-05T09:00:00+01:00",
		"2026-11-05T09:00+01:00": "2026-11-05T09:00:00+01:00", "2026-11-05 09:00:00 Z": "2026-11-05T09:00:00Z", "2026-11-05t09:00:00z": "2026-11-05T09:00:00Z", "2026-11-05T09:00": "2026-11-05T09:00:00", "2026-11-05": "2026-11-05"} {
		if got := NewDate(in); string(got) != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// Dates as front matter of each generator has them. One that could be two days is none.
func TestDatesOfMatter(t *testing.T) {
	for text, want := range map[string]string{
		"---\ndate: 2024-1-2\n---\n": "2024-01-02T00:00:00Z", "---\ndate: 2024-01-02T03:04\n---\n": "2024-01-02T03:04:00Z", "---\ndate: 2024-01-02 03:04:05 +0200\n---\n": "2024-01-02T01:04:05Z",
		"---\ndate: 2024-01-02 03:04:05 UTC\n---\n": "2024-01-02T03:04:05Z", "---\ndate: 'Tue, 02 Jan 2024 03:04:05 GMT'\n---\n": "2024-01-02T03:04:05Z", "---\ndate: 2024-01-02T03:04:05.000Z\n---\n": "2024-01-02T03:04:05Z",
		"---\ndate: January 2, 2024 3:04 PM EST\n---\n": "2024-01-02T20:04:00Z", "+++\ndate = 2024-01-02 03:04:05\n+++\n": "2024-01-02T03:04:05Z", "{\"date\": \"2024-01-02\"}\n": "2024-01-02T00:00:00Z",
		"---\ndate: 02/01/2024\n---\n": "0001-01-01T00:00:00Z", "---\ndate:\n---\n": "0001-01-01T00:00:00Z",
	} {
		m, _ := Split(text)
		if got := m.Date().UTC().Format("2006-01-02T15:04:05Z"); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
