package research

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

var prosePara = "<p>" + strings.Repeat("A sentence that is long enough to count, with a comma or two, so that it is taken for the main text. ", 6) + "</p>"

var article = `<!doctype html><html lang="en"><head><title>Reading calendars</title><meta charset="utf-8"></head><body>
<nav><a href="/">Home</a> <a href="/about">About us</a></nav>
<article><h1>Reading calendars</h1>` + prosePara + `
<p>See <a href="../spec#rules">the rules</a> and <a href="javascript:alert(1)">this</a> one.</p>
<pre><code class="language-go">func main() {
	fmt.Println("&lt;hi>")
}</code></pre>` + prosePara + `
<div class="highlight highlight-source-shell"><pre>echo one | wc -c</pre></div>
<table><tr><th>Zone</th><th>Offset</th></tr><tr><td>Berlin</td><td>+01:00 | +02:00</td></tr></table>` + prosePara + `
<img src="pic.png" alt="a picture"></article>
<footer>Copyright and cookies</footer><script>alert(1)</script></body></html>`

func TestPage(t *testing.T) {
	base, env := toolstest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/blog/posts/one", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, article)
	})
	r := call(t, Config{}, env, "web_fetch", pageInput{URL: base + "/old"})
	for _, want := range []string{"# Reading calendars", base + "/blog/posts/one", "```go\nfunc main() {\n\tfmt.Println(\"<hi>\")\n}\n```", "```shell\necho one | wc -c\n```",
		"(" + base + "/blog/spec#rules)", "| Zone ", "and this one", `\|`, base + "/blog/posts/pic.png"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("no %q in\n%s", want, r.Text)
		}
	}
	for _, no := range []string{"javascript:", "About us", "cookies", "alert"} {
		if strings.Contains(r.Text, no) {
			t.Errorf("%q in\n%s", no, r.Text)
		}
	}
	if r := call(t, Config{}, env, "web_fetch", pageInput{URL: base + "/x", Whole: true}); !strings.Contains(r.Text, "About us") || strings.Contains(r.Text, "alert(1)") {
		t.Errorf("whole: %s", r.Text)
	}
}

func TestPageKinds(t *testing.T) {
	kinds := map[string][2]string{
		"/pdf":      {"application/pdf", "%PDF-1.7 …"},
		"/liar":     {"text/html", "%PDF-1.7 …"},
		"/png":      {"text/html", "\x89PNG\r\n\x1a\n0000"},
		"/zip":      {"application/zip", "PK\x03\x04"},
		"/json":     {"application/json; charset=utf-8", `{"a": "` + "```" + `"}`},
		"/md":       {"text/markdown", "# Title\n\ntext"},
		"/plain":    {"text/plain; charset=iso-8859-1", "caf\xe9"},
		"/latin":    {"text/html; charset=ISO-8859-1", "<p>caf\xe9 au lait</p>"},
		"/meta":     {"text/html", `<head><meta charset="windows-1251"></head><p>` + "\xcf\xf0\xe8\xe2\xe5\xf2</p>"},
		"/sjis":     {"text/html; charset=Shift_JIS", "<p>\x93\xfa\x96{</p>"},
		"/feed":     {"application/rss+xml", "<rss/>"},
		"/ics":      {"text/calendar", "BEGIN:VCALENDAR"},
		"/empty":    {"text/html", ""},
		"/deep":     {"text/html", strings.Repeat("<div>", 100_000) + "x"},
		"/script":   {"text/html", "<title>only</title><script>document.write('x')</script>"},
		"/gone":     {"text/html", ""},
		"/big":      {"text/html", strings.Repeat("<p>word</p>", 700_000)},
		"/many":     {"text/html", strings.Repeat("<b>w</b>", 300_000)},
		"/attrs":    {"text/html", "<p " + strings.Repeat("a=b ", 200_000) + ">end</p>"},
		"/unclosed": {"text/html", strings.Repeat("<table><tr><td>", 400) + "x"},
	}
	base, env := toolstest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kinds[r.URL.Path][0])
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusGone)
		}
		fmt.Fprint(w, kinds[r.URL.Path][1])
	})
	for path, want := range map[string]string{
		"/pdf": "PDF", "/liar": "PDF", "/png": "image/png", "/zip": "application/zip", "/json": "````json\n", "/md": "# Title", "/plain": "café", "/latin": "café au lait",
		"/meta": "Привет", "/sjis": "日本", "/feed": "rss_feed", "/ics": "calendar", "/empty": "no text", "/deep": "cannot be read", "/script": "no text", "/gone": "410 Gone",
		"/big": "more than can be read", "/many": "more elements", "/attrs": "end", "/unclosed": "x",
	} {
		begin := time.Now()
		r := call(t, Config{}, env, "web_fetch", pageInput{URL: base + path})
		if !strings.Contains(r.Text, want) || len(r.Text) > 2*pageSize {
			t.Errorf("%s: want %q in %.300q", path, want, r.Text)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Logf("%s: %s", path, took)
		}
	}
}

func TestPagesOfALongPage(t *testing.T) {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "<h2>Part %d</h2>%s", i, prosePara)
	}
	b.WriteString("<pre><code class=\"language-go\">" + strings.Repeat("line of code\n", 2000) + "</code></pre><p>The end.</p>")
	base, env := toolstest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<article>"+b.String()+"</article>")
	})
	all, n := "", 0
	for page := 1; page == 1 || page <= n; page++ {
		r := call(t, Config{}, env, "web_fetch", pageInput{URL: base, Page: page})
		var got struct {
			Pages int
			Text  string
		}
		if err := json.Unmarshal(r.Artifacts["page"], &got); err != nil || r.Failed {
			t.Fatal(r.Text)
		}
		if n = got.Pages; strings.Count(got.Text, "```")%2 != 0 || len(got.Text) > pageSize+100 {
			t.Errorf("page %d has %d bytes and a block that is not closed", page, len(got.Text))
		}
		all += got.Text + "\n"
	}
	if n < 4 || strings.Count(all, "line of code") != 2000 || !strings.Contains(all, "Part 59") || !strings.Contains(all, "The end.") {
		t.Errorf("%d pages, %d lines", n, strings.Count(all, "line of code"))
	}
	if r := call(t, Config{}, env, "web_fetch", pageInput{URL: base, Page: n + 1}); !r.Failed || !strings.Contains(r.Text, "pages only") {
		t.Errorf("beyond the end: %s", r.Text)
	}
}

func TestLinks(t *testing.T) {
	var heads, gets atomic.Int32
	base, env := toolstest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			heads.Add(1)
		} else {
			gets.Add(1)
		}
		switch r.URL.Path {
		case "/ok":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<h2 id="here">x</h2><a name="there">y</a>`)
		case "/nohead":
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
		case "/moved":
			http.Redirect(w, r, "/ok", http.StatusMovedPermanently)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/inside":
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})
	text := strings.ReplaceAll("[a](B/ok) and [b](<B/moved> \"title\"), [c](B/ok#here), [d](B/ok#nowhere).\n\nSee B/nohead, or (B/missing). `[no](B/code)`\n\n```\n[no](B/code)\n```\n[ref]: B/loop\n<a href='B/inside'>x</a> [file](other.md#the-heading) [file](other.md#none) [gone](gone.md) [mail](mailto:a@b.c)\n", "B", base)
	for name, s := range map[string]string{"docs/a.md": text, "docs/other.md": "# The heading\n"} {
		if err := os.MkdirAll(filepath.Join(env.Files.Dir(), "docs"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(env.Files.Dir(), name), []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := call(t, Config{}, env, "link_check", checkInput{File: "docs/a.md"})
	var got []verdict
	if err := json.Unmarshal(r.Artifacts["link_report"], &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{base + "/ok": true, base + "/moved": true, base + "/ok#here": true, base + "/ok#nowhere": false, base + "/nohead": true, base + "/missing": false,
		base + "/loop": false, base + "/inside": false, "other.md#the-heading": true, "other.md#none": false, "gone.md": false, "mailto:a@b.c": true}
	if len(got) != len(want) || !r.Failed {
		t.Errorf("%d links, failed %v:\n%s", len(got), r.Failed, r.Text)
	}
	for _, v := range got {
		if ok, known := want[v.URL]; !known || ok != v.OK {
			t.Errorf("%+v", v)
		}
		if v.URL == base+"/moved" && v.Final != base+"/ok" {
			t.Errorf("%+v", v)
		}
	}
	if !strings.Contains(r.Text, "no anchor #nowhere") || !strings.Contains(r.Text, "404 Not Found") || !strings.Contains(r.Text, "link-local") || strings.Contains(r.Text, "code") {
		t.Error(r.Text)
	}
	if heads.Load() == 0 || gets.Load() == 0 {
		t.Errorf("%d HEAD, %d GET", heads.Load(), gets.Load())
	}
	env.Artifacts = given{"content": json.RawMessage(`{"body":"[a](` + base + `/ok)"}`)}
	if r := call(t, Config{}, env, "link_check", checkInput{Artifact: "content", URLs: []string{base + "/moved"}}); r.Failed || !strings.Contains(r.Text, "2 links checked: 2 good") {
		t.Errorf("an artifact: %s", r.Text)
	}
	if r := call(t, Config{}, env, "link_check", checkInput{Artifact: "contents"}); !strings.Contains(r.Text, `did you mean "content"`) {
		t.Error(r.Text)
	}
}

type given map[string]json.RawMessage

func (g given) Value(name string) json.RawMessage { return g[name] }
func (g given) Names() []string                   { return slices.Sorted(maps.Keys(g)) }

func TestCite(t *testing.T) {
	_, env := toolstest.Serve(t, func(http.ResponseWriter, *http.Request) {})
	have := given{}
	env.Artifacts = have
	for i, c := range []struct {
		in   citeInput
		want string
	}{
		{citeInput{URL: "https://go.dev/a", Title: "A [b] *c*", Quote: "said"}, "cited as [1]"},
		{citeInput{URL: "https://go.dev/b", Title: "B"}, "cited as [2]"},
		{citeInput{URL: "https://go.dev/a", Title: "A", Quote: "said"}, "already cited as [1]"},
		{citeInput{URL: "https://go.dev/a", Title: "A", Quote: "said otherwise"}, "cited as [3]"},
		{citeInput{URL: "notes.txt", Title: "A"}, "has no scheme"},
		{citeInput{URL: "https://go.dev/a", Title: " "}, "title is empty"},
	} {
		r := call(t, Config{}, env, "cite", c.in)
		if !strings.Contains(r.Text, c.want) {
			t.Errorf("%d: %s", i, r.Text)
		}
		if v := r.Artifacts["citations"]; v != nil {
			have["citations"] = v
		}
	}
	var list []citation
	if err := json.Unmarshal(have["citations"], &list); err != nil || len(list) != 3 || list[2].Quote != "said otherwise" || list[0].Accessed != "2026-11-21" {
		t.Errorf("%+v, %v", list, err)
	}
	if md := references(list); !strings.HasPrefix(md, "1. [A \\[b\\] \\*c\\*](<https://go.dev/a>), accessed 2026-11-21\n2. ") {
		t.Error(md)
	}
	have["citations"] = json.RawMessage(`"other"`)
	if r := call(t, Config{}, env, "cite", citeInput{URL: "https://go.dev/c", Title: "C"}); !r.Failed || r.Artifacts["citations"] != nil {
		t.Errorf("over what is no list: %+v", r)
	}
}

func TestSearch(t *testing.T) {
	var got atomic.Pointer[http.Request]
	base, env := toolstest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		got.Store(r)
		switch {
		case r.URL.Path == "/html/search":
			fmt.Fprint(w, "<html>no json</html>")
		case r.URL.Path == "/limit/search":
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		case r.URL.Path == "/search":
			fmt.Fprint(w, `{"results":[{"title":"<b>One</b>","url":"https://a.example/1","content":"x","publishedDate":"2026-01-02T00:00:00"},{"title":"again","url":"https://a.example/1"},{"title":"bad","url":"javascript:alert(1)"},{"title":"","url":"https://b.example/"}]}`)
		default:
			fmt.Fprint(w, `{"web":{"results":[{"title":"Two","url":"https://b.example/2","description":"<strong>d</strong>"}]}}`)
		}
	})
	env2 := Config{Getenv: func(k string) string { return map[string]string{"KEY": "s3cret"}[k] }}
	with := func(s Search) Config { c := env2; c.Search = s; return c }
	in := searchInput{Query: "a & b"}
	if r := call(t, Config{}, env, "web_search", in); !r.Failed || !strings.Contains(r.Text, "research.search") {
		t.Error(r.Text)
	}
	if r := call(t, with(Search{Engine: "brave", KeyEnv: "OTHER"}), env, "web_search", in); !r.Failed || !strings.Contains(r.Text, "OTHER is not set") {
		t.Error(r.Text)
	}
	r := call(t, with(Search{Engine: "searxng", URL: base + "/"}), env, "web_search", in)
	if r.Failed || !strings.Contains(r.Text, "1. One (2026-01-02)\n   https://a.example/1\n   x") || strings.Contains(r.Text, "javascript") || !strings.HasPrefix(r.Text, "2 results") {
		t.Error(r.Text)
	}
	if q := got.Load().URL.Query(); q.Get("q") != "a & b" || q.Get("format") != "json" {
		t.Error(got.Load().URL)
	}
	r = call(t, with(Search{Engine: "brave", URL: base + "/brave", KeyEnv: "KEY"}), env, "web_search", searchInput{Query: "q", Limit: 3})
	if r.Failed || !strings.Contains(r.Text, "1. Two\n   https://b.example/2\n   d") || got.Load().Header.Get("X-Subscription-Token") != "s3cret" || got.Load().URL.Query().Get("count") != "3" {
		t.Error(r.Text)
	}
	for path, want := range map[string]string{"/html": "search.formats", "/limit": "slow down (try again after 30)"} {
		if r := call(t, with(Search{Engine: "searxng", URL: base + path}), env, "web_search", in); !r.Failed || !strings.Contains(r.Text, want) {
			t.Error(r.Text)
		}
	}
}

func TestStaticLinks(t *testing.T) {
	_, env := toolstest.Serve(t, func(http.ResponseWriter, *http.Request) {})
	c := Config{Links: map[string]string{"docs": "https://go.dev/doc/", "blog": "https://go.dev/blog/"}}
	env.Artifacts = given{"links": json.RawMessage(`[{"name":"spec","url":"https://go.dev/ref/spec"},{"name":"bad","url":"file:///x"}]`)}
	if r := call(t, c, env, "static_links", linksInput{}); r.Text != "- blog: https://go.dev/blog/\n- docs: https://go.dev/doc/\n- spec: https://go.dev/ref/spec\n" {
		t.Error(r.Text)
	}
	if r := call(t, c, env, "static_links", linksInput{Query: "doc"}); r.Text != "- docs: https://go.dev/doc/\n" || len(r.Artifacts) != 0 {
		t.Errorf("%+v", r)
	}
	env.Artifacts = nil
	if r := call(t, Config{}, env, "static_links", linksInput{}); !r.Failed || !strings.Contains(r.Text, "research.links") {
		t.Error(r.Text)
	}
}

func FuzzPage(f *testing.F) {
	f.Add(article, false)
	f.Add("<table><tr><td><pre class=brush:js>x</pre><base href=//y><a href=z>", true)
	at, _ := url.Parse("https://example.org/a/b")
	f.Fuzz(func(t *testing.T, s string, whole bool) {
		_, text, err := readPage(s, at, whole)
		if err != nil {
			return
		}
		for _, p := range pages(text, 200) {
			if len(p) > 200*2+len(text)/4+200 {
				t.Fatalf("a page of %d bytes", len(p))
			}
		}
	})
}
