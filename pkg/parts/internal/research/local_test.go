package research

import (
	"net/http"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

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
