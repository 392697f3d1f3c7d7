package main

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// hugoLayouts are a theme that shows all that front matter has.
var hugoLayouts = map[string]string{
	"layouts/_default/single.html": `<!doctype html><html lang="en"><head><title>{{ .Title }}</title><meta name="description" content="{{ .Description }}">
<link rel="canonical" href="{{ with .Params.canonicalURL }}{{ . }}{{ else }}{{ .Permalink }}{{ end }}">{{ with .Params.cover }}<meta property="og:image" content="{{ .image | absURL }}">{{ end }}</head>
<body><time datetime="{{ .Date.Format "2006-01-02" }}" class="{{ .Params.author }}"></time>{{ range .GetTerms "tags" }}<a rel="tag" href="{{ .RelPermalink }}">{{ .LinkTitle }}</a>{{ end }}{{ range .Params.series }}<i>{{ . }}</i>{{ end }}
{{ with .Params.cover }}<img src="{{ .image }}" alt="{{ .alt }}">{{ end }}{{ .Content }}</body></html>`,
	"layouts/_default/list.html": `<!doctype html><title>{{ .Title }}</title>{{ range .Pages }}<a href="{{ .RelPermalink }}">{{ .Title }}</a>{{ end }}`,
}

// hugoBuild has a real Hugo build the site of a place and returns where the
// pages are, "" without a Hugo.
func hugoBuild(t *testing.T, p *place, args ...string) string {
	t.Helper()
	hugo := os.Getenv("HUGO_BIN")
	if hugo == "" && os.Getenv("CI") != "" {
		t.Fatal("HUGO_BIN is not set; it names a Hugo: internal/dev/e2e/build.sh hugo builds one")
	}
	if hugo == "" {
		t.Log("no Hugo to render with; set HUGO_BIN=$(internal/dev/e2e/build.sh hugo)")
		return ""
	}
	theme, out := t.TempDir(), t.TempDir()
	for name, text := range hugoLayouts {
		at := filepath.Join(theme, "shown", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(hugo, append([]string{"--quiet", "--noBuildLock", "--panicOnWarning", "--themesDir", theme, "--theme", "shown", "--destination", out, "--cacheDir", t.TempDir()}, args...)...)
	cmd.Dir = p.path("repo")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("hugo: %v\n%s", err, text)
	}
	return out
}

// A shownPage has the parts of a page that a reader's browser finds.
type shownPage struct {
	title, description, canonical, date, author, image string
	tags, series                                       []string
	links, images, alts                                []string
	text                                               string
}

func readPage(t *testing.T, name string) shownPage {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := html.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	var p shownPage
	for n := range doc.Descendants() {
		at := func(key string) string {
			for _, a := range n.Attr {
				if a.Key == key {
					return a.Val
				}
			}
			return ""
		}
		inner := ""
		if n.FirstChild != nil {
			inner = n.FirstChild.Data
		}
		switch {
		case n.Type == html.TextNode:
			p.text += n.Data
		case n.Data == "title":
			p.title = inner
		case n.Data == "meta" && at("name") == "description":
			p.description = at("content")
		case n.Data == "meta" && at("property") == "og:image":
			p.image = at("content")
		case n.Data == "link" && at("rel") == "canonical":
			p.canonical = at("href")
		case n.Data == "time":
			p.date, p.author = at("datetime"), at("class")
		case n.Data == "img":
			p.images, p.alts = append(p.images, at("src")), append(p.alts, at("alt"))
		case n.Data == "a":
			p.links = append(p.links, at("href"))
			if at("rel") == "tag" {
				p.tags = append(p.tags, inner)
			}
		case n.Data == "i":
			p.series = append(p.series, inner)
		}
	}
	return p
}

// reachable fails for links and images of a page that lead nowhere: within the
// pages that were built, or on the servers of the test.
func (p shownPage) reachable(t *testing.T, built string) {
	t.Helper()
	for _, link := range slices.Concat(p.links, p.images) {
		u, err := url.Parse(link)
		if err != nil {
			t.Errorf("%q: %v", link, err)
			continue
		}
		if u.Host != "" && u.Host != "blog.example" {
			resp, err := http.Get(link)
			if err != nil {
				t.Errorf("%s: %v", link, err)
				continue
			}
			if resp.Body.Close(); resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", link, resp.Status)
			}
			continue
		}
		if u.Path == "" { // within the page
			continue
		}
		at := filepath.Join(built, filepath.FromSlash(u.Path))
		if path.Ext(u.Path) == "" {
			at = filepath.Join(at, "index.html")
		}
		if _, err := os.Stat(at); err != nil {
			t.Errorf("%s leads nowhere: %v", link, err)
		}
	}
}

// renderedPosts reads the posts of the first site as Hugo shows them.
func renderedPosts(t *testing.T, p *place) {
	built := hugoBuild(t, p)
	if built == "" {
		return
	}
	at, err := filepath.Glob(filepath.Join(built, "20??", "??", "why-journals", "index.html"))
	if err != nil || len(at) != 1 {
		t.Fatalf("the post is not where its announcements say: %q %v", at, err)
	}
	got := readPage(t, at[0])
	rel, err := filepath.Rel(built, filepath.Dir(at[0]))
	if err != nil {
		t.Fatal(err)
	}
	address := "https://blog.example/" + filepath.ToSlash(rel) + "/"
	if social := p.read("repo/out/journals/social.md"); got.canonical != address || !strings.Contains(social, address) {
		t.Errorf("the post is at %s, Hugo says %s, announced is\n%s", address, got.canonical, social)
	}
	if got.title != "Why journals" || got.description != "What a journal is for." || got.author != "Ann Lee" || !slices.Equal(got.tags, []string{"Durability"}) || !slices.Equal(got.series, []string{"Journals"}) ||
		!strings.HasPrefix(got.date, "20") || !strings.Contains(p.read("repo/content/posts/why-journals.md"), "date: "+got.date) {
		t.Errorf("the page shows %+v", got)
	}
	if got.image != "https://blog.example/images/journal.png" || !slices.Equal(got.images, []string{"/images/journal.png", "/images/journal.png"}) || !slices.Equal(got.alts, []string{"A journal on a table", "A journal on a table"}) {
		t.Errorf("the page shows the images %q %q, %q", got.images, got.alts, got.image)
	}
	if !strings.Contains(got.text, "Sources") || strings.Contains(got.text, "adroit") {
		t.Errorf("the page reads\n%s", got.text)
	}
	got.reachable(t, built)

	improved := readPage(t, filepath.Join(built, "2025", "02", "three", "index.html"))
	if improved.title != "Three" || improved.date != "2025-02-05" || !slices.Equal(improved.tags, []string{"Go", "Durability"}) || !strings.Contains(improved.text, "We try again, but not at once.") {
		t.Errorf("the improved post shows %+v", improved)
	}
}

// scheduledPost is left out by Hugo until its date.
func scheduledPost(t *testing.T, p *place) {
	if code, out := p.run("run", "blog", "Announce our move, on the second of January 2099, at half past nine", "-m", "script:../three.yaml", "--approve", "all"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if text := p.read("repo/content/posts/we-move.md"); !strings.Contains(text, "date: 2099-01-02T09:30:00\n") {
		t.Errorf("the scheduled post is\n%s", text)
	}
	for _, args := range [][]string{nil, {"--buildFuture"}} {
		built := hugoBuild(t, p, args...)
		if built == "" {
			return
		}
		_, err := os.Stat(filepath.Join(built, "2099", "01", "we-move", "index.html"))
		if (err == nil) != (args != nil) {
			t.Errorf("hugo %q: %v", args, err)
		}
	}
}
