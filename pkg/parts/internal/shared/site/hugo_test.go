package site

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// TestAddressesOfHugo compares the addresses of posts with those that a real
// Hugo gives them.
func TestAddressesOfHugo(t *testing.T) {
	hugo := testenv.NeedsVariable(t, "HUGO_BIN", "build.sh hugo")
	for name, config := range map[string]string{
		"files":    "baseURL = 'https://x.example/sub/'\n",
		"slugs":    "baseURL = 'https://x.example/'\ntimeZone = 'Pacific/Auckland'\n[permalinks.page]\nposts = '/:year/:month/:day/:slug/'\n",
		"titles":   "baseURL = 'https://x.example/'\n[permalinks]\nposts = '/:sections/:title'\n",
		"names":    "baseURL = 'https://x.example/'\n[permalinks]\nposts = '/p/:yearday/:slugorfilename/'\n",
		"ugly":     "baseURL = 'https://x.example/'\nuglyURLs = true\n",
		"patterns": "baseURL = 'https://x.example/'\nuglyURLs = true\n[permalinks.page]\nposts = '/:year/:contentbasename/'\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareAddresses(t, hugo, hugoPosts(t, config))
		})
	}
}

// hugoPosts makes a site with posts whose names, titles and slugs have what
// addresses do not take.
func hugoPosts(t *testing.T, config string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"hugo.toml":                          config,
		"content/posts/bundle/index.md":      "---\ntitle: Bundle\ndate: 2026-01-05\n---\n",
		"content/posts/2026/deep.md":         "---\ntitle: Deep\ndate: 2026-01-05\n---\n",
		"content/posts/2026-01-09-dated.md":  "---\ntitle: Dated\ndate: 2026-01-09\n---\n",
		"content/posts/url.md":               "---\ntitle: U\nurl: /else/where.html\ndate: 2026-01-05\n---\n",
		"content/posts/url-without-end.md":   "---\ntitle: U\nurl: else/where\npermalink: /no/\ndate: 2026-01-05\n---\n",
		"content/posts/evening.md":           "---\ntitle: Evening\ndate: 2026-01-31T22:30:00-05:00\n---\n",
		"content/posts/time.md":              "+++\ntitle = 'Time'\ndate = 2026-02-28T23:30:00\n+++\n",
		"content/posts/json.md":              "{\n  \"title\": \"JSON  two   spaces\",\n  \"date\": \"2026-01-31T22:00:00Z\"\n}\n\nx\n",
		"content/posts/windows.md":           "---\r\ntitle: Ends of lines\r\ndate: 2026-01-05\r\n---\r\nx\r\n",
		"content/posts/comments.md":          "---\n# of ours\ntitle: Comments # really\ndate: 2026-01-05 # a Monday\n---\n",
		"content/posts/comments-in-toml.md":  "+++\n# of ours\ntitle = 'Comments' # really\ndate = 2026-01-05 # a Monday\n+++\n",
		"content/posts/Straße über 日本.md":    "---\ntitle: Straße\ndate: 2026-01-05\n---\n",
		"content/posts/e\u0301 combining.md": "---\ntitle: e\u0301\ndate: 2026-01-05\n---\n",
	}
	for i, text := range []string{"C++", "C# now", "at@home", "x~y", "50% off", "v1.2.3", "a_b", "A: b", "it(s)", "it’s 5 o'clock", "a & b", "a&b", "em — dash", "dash - dash", "emoji 🎉 x", "½ price", "What? No!", "日本語 の 題", "نص عربي", "  lead", "End."} {
		if !strings.ContainsAny(text, "?:") && strings.TrimSpace(text) == text { // names that all systems take
			files["content/posts/"+text+".md"] = "---\ntitle: By its name\ndate: 2026-01-05\n---\n"
		}
		files[fmt.Sprintf("content/posts/title%d.md", i)] = fmt.Sprintf("---\ntitle: %q\ndate: 2026-01-05\n---\n", text)
		files[fmt.Sprintf("content/posts/slug%d.md", i)] = fmt.Sprintf("---\ntitle: By its slug\nslug: %q\ndate: 2026-01-05\n---\n", text)
	}
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func compareAddresses(t *testing.T, hugo, dir string) {
	cmd := exec.Command(hugo, "list", "all")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rows, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
	if err != nil || len(rows) < 50 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	s := Open(os.DirFS(dir), Settings{})
	column := func(name string) int {
		for i, c := range rows[0] {
			if c == name {
				return i
			}
		}
		t.Fatalf("no column %s in %q", name, rows[0])
		return 0
	}
	at, permalink := column("path"), column("permalink")
	for _, row := range rows[1:] {
		if got := s.Address(s.Load(row[at])); got != row[permalink] {
			t.Errorf("%s: %q, Hugo has %q", row[at], got, row[permalink])
		}
	}
}
