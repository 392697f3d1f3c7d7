package research

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

// call runs a tool of a configuration.
func call(t *testing.T, c Config, env *tools.Env, name string, in any) tools.Result {
	t.Helper()
	if c.Now == nil {
		c.Now = func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }
	}
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	args, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range Tools(c) {
		if tool.Name == name {
			r, err := tool.Run(t.Context(), env, args)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	t.Fatalf("no tool %s", name)
	return tools.Result{}
}

const entries = 400

// moment returns the time at which entry i was published: every third day, at another
// time of day, newest last, so that the tool has to sort.
func moment(i int) time.Time {
	return time.Date(2023, 9, 1, 6, 30, 0, 0, time.UTC).Add(time.Duration(i) * (71*time.Hour + 13*time.Minute))
}

func title(i int) string { return fmt.Sprintf("Entry %d: <Größe> & „Maß“ of 日本", i) }

func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a Buffer takes everything
	return b.String()
}

// feedsOfEntries are the same entries in each format, with times in several zones.
func feedsOfEntries() map[string]string {
	berlin := time.FixedZone("", 2*3600)
	var rss, atom strings.Builder
	type jsonItem map[string]any
	var list []jsonItem
	for i := range entries {
		at := moment(i)
		body := fmt.Sprintf("<p>Text <b>of</b> %d</p><script>alert(1)</script>", i)
		fmt.Fprintf(&rss, "<item><title>%s</title><link>/posts/%d</link><guid isPermaLink=\"false\">id-%d</guid><pubDate>%s</pubDate><description>%s</description><dc:creator>Ada</dc:creator><category>go</category></item>\n",
			escaped(title(i)), i, i, at.In(berlin).Format(time.RFC1123Z), escaped(body))
		fmt.Fprintf(&atom, "<entry><title type=\"html\">%s</title><link href=\"/posts/%d\"/><id>id-%d</id><published>%s</published><updated>%s</updated><author><name>Ada</name></author><content type=\"html\"><![CDATA[%s]]></content></entry>\n",
			escaped(escaped(title(i))), i, i, at.In(berlin).Format(time.RFC3339), at.Add(time.Hour).Format(time.RFC3339), body)
		list = append(list, jsonItem{"id": fmt.Sprintf("id-%d", i), "url": fmt.Sprintf("/posts/%d", i), "title": title(i), "content_html": body, "date_published": at.In(berlin).Format(time.RFC3339)})
	}
	// One that is there twice, as feeds with corrections have it.
	rss.WriteString(`<item><title>again</title><guid isPermaLink="false">id-7</guid></item>`)
	atom.WriteString(`<entry><title>again</title><id>id-7</id></entry>`)
	list = append(list, jsonItem{"id": "id-7", "title": "again", "content_text": "x"})
	j, _ := json.Marshal(map[string]any{"version": "https://jsonfeed.org/version/1.1", "title": "Our feed", "home_page_url": "https://example.org/", "items": list})
	return map[string]string{
		"/rss":  `<?xml version="1.0"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>Our feed</title><link>https://example.org/</link>` + rss.String() + `</channel></rss>`,
		"/atom": `<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Our feed</title><link href="https://example.org/"/>` + atom.String() + `</feed>`,
		"/json": string(j),
	}
}

func TestFeedsOfEachKind(t *testing.T) {
	feeds := feedsOfEntries()
	base, env := toolstest.Serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, feeds[r.URL.Path]) })
	for path := range feeds {
		t.Run(path[1:], func(t *testing.T) {
			r := call(t, Config{Feeds: map[string]string{"ours": base + path}}, env, "rss_feed", feedInput{Feed: "ours", Limit: 100})
			if r.Failed {
				t.Fatal(r.Text)
			}
			var got []item
			if err := json.Unmarshal(r.Artifacts["feed_items"], &got); err != nil {
				t.Fatal(err)
			}
			if len(got) != 100 || !strings.Contains(r.Text, "400 items") || !strings.Contains(r.Text, "1 more were repetitions") || !strings.Contains(r.Text, "300 more") {
				t.Fatalf("%d items: %.300s", len(got), r.Text)
			}
			for k, it := range got {
				i := entries - 1 - k // the newest first
				if it.Title != strings.Join(strings.Fields(title(i)), " ") && it.Title != strings.ReplaceAll(title(i), "<Größe> ", "") || !it.Time.Equal(moment(i)) || it.URL != fmt.Sprintf("%s/posts/%d", base, i) || it.Summary != fmt.Sprintf("Text of %d", i) {
					t.Fatalf("item %d is %+v", i, it)
				}
			}
			since := moment(390).Format(time.RFC3339)
			if r := call(t, Config{}, env, "rss_feed", feedInput{Feed: base + path, Since: since, Query: "entry maß 395"}); !strings.Contains(r.Text, "1 of them fit") || !strings.Contains(r.Text, "/posts/395") {
				t.Errorf("since and query: %s", r.Text)
			}
			if r := call(t, Config{}, env, "rss_feed", feedInput{Feed: base + path, Since: since}); strings.Count(r.Text, "/posts/") != 10 {
				t.Errorf("since: %s", r.Text)
			}
		})
	}
}

func TestFeedThatDidNotChangeIsNotSentAgain(t *testing.T) {
	feed := feedsOfEntries()["/atom"]
	var full, asked atomic.Int32
	base, env := toolstest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Last-Modified", "Sat, 21 Nov 2026 10:00:00 GMT")
		if r.Header.Get("If-None-Match") == `"v1"` && r.Header.Get("If-Modified-Since") != "" {
			asked.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		full.Add(1)
		fmt.Fprint(w, feed)
	})
	c := Config{Cache: t.TempDir()}
	first := call(t, c, env, "rss_feed", feedInput{Feed: base + "/f"})
	again := call(t, c, env, "rss_feed", feedInput{Feed: base + "/f"})
	if full.Load() != 1 || asked.Load() != 1 || !strings.Contains(again.Text, "not changed") {
		t.Errorf("sent %d times, asked %d times: %.200s", full.Load(), asked.Load(), again.Text)
	}
	if !bytes.Equal(first.Artifacts["feed_items"], again.Artifacts["feed_items"]) {
		t.Error("the kept feed is another")
	}
	call(t, Config{}, env, "rss_feed", feedInput{Feed: base + "/f"})
	if full.Load() != 2 {
		t.Error("without a cache something was kept")
	}
}

// Conformance 52.
func TestHostileFeeds(t *testing.T) {
	bomb := `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><rss><channel><title>&c;</title></channel></rss>`
	open := `<rss version="2.0"><channel><title>t</title><item><title>x`
	shut := `</title></item></channel></rss>`
	utf16, _ := base64.StdEncoding.DecodeString("//48AHIAcwBzAD4A")
	for _, c := range []struct {
		name, kind, want string
		body             func(w http.ResponseWriter)
	}{
		{"entity bomb", "", "declares entities", say(bomb)},
		{"external entity", "", "declares entities", say(`<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><channel><title>&x;</title></channel></rss>`)},
		{"100k nesting", "", "nests elements deeper", say(`<rss version="2.0"><channel>` + strings.Repeat("<a>", 100_000))},
		{"100k nesting in a namespace", "", "nests elements deeper", say(`<feed xmlns="http://www.w3.org/2005/Atom" xmlns:x="y"><entry>` + strings.Repeat("<x:a>", 100_000))},
		{"nested JSON", "", "broken feed", say(`{"version":"https://jsonfeed.org/version/1","items":` + strings.Repeat("[", 1_000_000))},
		{"50 MB item", "", "larger than", func(w http.ResponseWriter) {
			fmt.Fprint(w, open)
			for range 50 {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
					return
				}
			}
			fmt.Fprint(w, shut)
		}},
		{"endless", "", "larger than", func(w http.ResponseWriter) {
			fmt.Fprint(w, `<rss version="2.0"><channel>`)
			for {
				if _, err := fmt.Fprint(w, strings.Repeat("<item><title>a</title></item>", 1000)); err != nil {
					return
				}
			}
		}},
		{"an encoding there is not", "application/rss+xml; charset=klingon", "klingon", say(open + shut)},
		{"Latin-1 that says it is UTF-8", "application/rss+xml; charset=utf-8", "Gr\u00f6\u00dfe", say(strings.Replace(open, "x", "Gr\xf6\xdfe", 1) + shut)},
		{"Latin-1 by its declaration", "", "caf\u00e9", say(`<?xml version="1.0" encoding="ISO-8859-1"?>` + strings.Replace(open, ">x", ">caf\xe9", 1) + shut)},
		{"half of UTF-16", "", "broken feed", say(string(utf16))},
		{"binary", "", "it is not text", say("\x89PNG\r\n\x1a\n\x00\x00")},
		{"a page", "text/html", "not a feed", say("<!DOCTYPE html><html><body>hi</body></html>")},
		{"a page that names a feed", "text/html", "whose feed is http://127.0.0.1", say(`<!DOCTYPE html><html><head><link rel="me" href="/x"><LINK href="/news.atom" type="application/atom+xml; charset=utf-8" rel="Alternate home"><body>hi<br>`)},
		{"gzip without a header", "", "1 item", say(zipped(open + `<item><title>a</title></item>` + shut))},
		{"a bomb", "", "gzip that is broken or has more than 16 MB", say(zipped(strings.Repeat(" ", 64<<20)))},
		{"half of gzip", "", "gzip that is broken", say(zipped(open + shut)[:60])},
		{"nothing", "", "not a feed", say("")},
		{"cut off", "", "broken feed", say(open)},
		{"control characters", "", "1 item", say(open + "\x00\x1b[31m" + shut)},
		{"200000 items", "", "more than can be read", say(`<rss version="2.0"><channel>` + items(200_000) + `</channel></rss>`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, env := toolstest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.kind != "" {
					w.Header().Set("Content-Type", c.kind)
				}
				c.body(w)
			})
			begin := time.Now()
			r := call(t, Config{}, env, "rss_feed", feedInput{Feed: base + "/feed"})
			if !strings.Contains(r.Text, c.want) || strings.Contains(r.Text, "root:") || strings.ContainsAny(r.Text, "\x00\x1b") {
				t.Errorf("want %q in %.300q", c.want, r.Text)
			}
			if len(r.Text) > 20_000 {
				t.Errorf("%d bytes", len(r.Text))
			}
			t.Log(time.Since(begin))
		})
	}
}

func zipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, s); err != nil || z.Close() != nil {
		panic("a buffer takes all")
	}
	return b.String()
}

func say(s string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { fmt.Fprint(w, s) }
}

func items(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<item><guid>%d</guid></item>", i)
	}
	return b.String()
}

func TestFeedNames(t *testing.T) {
	_, env := toolstest.Serve(t, func(http.ResponseWriter, *http.Request) {})
	c := Config{Feeds: map[string]string{"golang": "https://go.dev/blog/feed.atom"}}
	for in, want := range map[string]string{"golan": `did you mean "golang"`, "file:///etc/passwd": "refused", "gopher://x/": "refused", "javascript:alert(1)": "refused", "data:text/xml,<rss/>": "refused", "ftp://example.org/f": "refused", "http://a:b@example.org/": "leave them out", "https:///x": "names no host"} {
		if r := call(t, c, env, "rss_feed", feedInput{Feed: in}); !r.Failed || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %s", in, r.Text)
		}
	}
}

func FuzzFeed(f *testing.F) {
	for _, s := range []string{
		`<?xml version="1.0" encoding="latin1"?><rss version="2.0"><channel><title>t</title><item><title>&lt;b&gt;</title><link>/a</link><pubDate>Mon, 02 Jan 2026 15:04:05 +0200</pubDate></item></channel></rss>`,
		`<feed xmlns="http://www.w3.org/2005/Atom"><title type="html"><![CDATA[x]]></title><entry><id>1</id><updated>2026-01-02T15:04:05Z</updated></entry></feed>`,
		`{"version":"https://jsonfeed.org/version/1.1","title":"t","items":[{"id":"1","url":"https://example.org","date_published":"2026-01-02T15:04:05Z"}]}`,
		`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><item><title>x</title></item></rdf:RDF>`,
	} {
		f.Add([]byte(s), "")
	}
	f.Fuzz(func(t *testing.T, b []byte, label string) {
		at, _ := url.Parse("https://example.org/feed")
		got, err := readFeed(b, label, at)
		if err != nil {
			return
		}
		for _, it := range got.items {
			if it.URL != "" && !strings.HasPrefix(it.URL, "http") || strings.ContainsAny(it.Title+it.Summary, "\n\x00\x1b") {
				t.Fatalf("%+v", it)
			}
		}
	})
}

// A title of RSS is HTML or not, as its author pleases: a tag is markup where its element is whole and one that titles have.
func TestTitles(t *testing.T) {
	at, _ := url.Parse("https://x.example/feed")
	for in, want := range map[string]string{
		"std::vector<T> & you":                "std::vector<T> & you",
		"The <dialog> element":                "The <dialog> element",
		"<input>, <b> and <a href>":           "<input>, <b> and <a href>",
		"Map<String, List<int>> in Dart":      "Map<String, List<int>> in Dart",
		"a <b>bold</b> <i class=x>word</i>":   "a bold word",
		"one<br/>two<BR>three":                "one two three",
		"</div> is closed, <my-tag></my-tag>": "</div> is closed, <my-tag></my-tag>",
		"5 < 6 &amp; 7 > 6":                   "5 < 6 & 7 > 6",
		"<script>alert(1)</script>x":          "x",
		"<Suspense fallback={x}> and on":      "<Suspense fallback={x}> and on",
	} {
		f, err := readFeed([]byte(`<rss version="2.0"><channel><title>t</title><item><title>`+html.EscapeString(in)+`</title><link>/a</link></item></channel></rss>`), "", at)
		if err != nil || f.items[0].Title != want {
			t.Errorf("%s: %+v, %v", in, f, err)
		}
	}
}

// A guid is a link exactly where RSS says so and the item has none.
func TestPermalinks(t *testing.T) {
	at, _ := url.Parse("https://x.example/feed")
	const guid = "https://x.example/?p=1"
	for item, want := range map[string]string{
		`<guid>` + guid + `</guid>`:                                                       guid,
		`<guid isPermaLink="true">` + guid + `</guid>`:                                    guid,
		`<guid isPermaLink="false">` + guid + `</guid>`:                                   "",
		`<guid isPermaLink="FALSE ">` + guid + `</guid>`:                                  "",
		`<guid>tag:1</guid>`:                                                              "",
		`<guid>javascript://x</guid>`:                                                     "",
		`<link>https://x.example/a</link><guid>` + guid + `</guid>`:                       "https://x.example/a",
		`<guid isPermaLink="false">` + guid + `</guid><link>https://x.example/a</link>`:   "https://x.example/a",
		`<link></link><guid isPermaLink="true"> ` + guid + ` </guid><title>again</title>`: guid,
	} {
		f, err := readFeed([]byte(`<rss version="2.0"><channel><title>t</title><item><title>a</title>`+item+`</item></channel></rss>`), "", at)
		if err != nil || len(f.items) != 1 || f.items[0].URL != want {
			t.Errorf("%s: %v %+v, want %q", item, err, f, want)
		}
	}
}
