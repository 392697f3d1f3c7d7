package research

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

// A text passes when all of its links were looked at: however many and long they are.
func TestAllLinks(t *testing.T) {
	base, env := toolstest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			http.NotFound(w, r)
		}
	})
	links := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "[a](%s/%d)\n", base, i)
		}
		return b.String()
	}
	for text, want := range map[string]string{
		links(400) + "[z](" + base + "/gone)": "401 links checked: 400 good, 1 broken",
		links(400):                            "400 links checked: 400 good, 0 broken\n",
		"[long](" + base + "/gone?q=" + strings.Repeat("x", 3000) + ")":   "1 link checked: 0 good, 1 broken",
		strings.Repeat("[a]("+base+"/ok) ", 30000):                        "the text has 30000 links, and up to 20000 are read",
		"![dot](data:image/png;base64," + strings.Repeat("A", 2000) + ")": "1 link checked: 1 good, 0 broken\n",
		links(mostLinks + 1): "1 more were not checked",
	} {
		if err := env.Files.WriteFile("a.md", []byte(text)); err != nil {
			t.Fatal(err)
		}
		r := call(t, Config{}, env, "link_check", checkInput{File: "a.md"})
		if !strings.Contains(r.Text, want) || r.Failed == strings.HasSuffix(want, "\n") {
			t.Errorf("%.40q: failed %v, %.200s", text, r.Failed, r.Text)
		}
	}
}

// Links within a site lead to its files, its pages, or to what is online.
func TestSiteLinks(t *testing.T) {
	base, env := toolstest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/online/":
		case "/members":
			w.WriteHeader(http.StatusForbidden)
		default:
			http.NotFound(w, r)
		}
	})
	for name, text := range map[string]string{
		"hugo.toml": "baseURL = '" + base + "/'\n", "static/a.png": "x", "content/posts/one.md": "x",
		"content/posts/two.md": "[a](/a.png) [b](/posts/one/) [c](/online/) [d](/gone/) [e](" + base + "/members) [f](one.md) [g](" + base + "/posts/one/)",
	} {
		if err := env.Files.WriteFile(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	r := call(t, Config{}, env, "link_check", checkInput{File: "content/posts/two.md"})
	if !r.Failed || !strings.Contains(r.Text, "7 links checked: 6 good, 1 broken") || !strings.Contains(r.Text, "broken: /gone/: 404 Not Found") || !strings.Contains(r.Text, "not checked: "+base+"/members: the server refuses programs (403)") {
		t.Errorf("%s", r.Text)
	}
}
