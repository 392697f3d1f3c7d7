package publish

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An update keeps the way in which front matter is written: its format, its
// comments, its ends of lines, and that the post is a draft if that is not said.
func TestUpdateKeepsTheFormat(t *testing.T) {
	for name, c := range map[string]struct{ old, want string }{
		"YAML with comments": {"---\n# of ours\ntitle: Old # the first\ntags: # a list\n  - a\n# last\nweight: 7\n---\n\nText.\n",
			"---\n# of ours\ntitle: Old # the first\ntags: [\"b\"]\n# last\nweight: 7\n---\n\nBetter text.\n"},
		"TOML with comments": {"+++\n# of ours\ntitle = 'Old' # the first\ntags = [\n  'a', # one\n]\n[params] # more\nx = 1\n+++\n\nText.\n",
			"+++\n# of ours\ntitle = 'Old' # the first\ntags = [\"b\"]\n[params] # more\nx = 1\n+++\n\nBetter text.\n"},
		"JSON": {"{\n  \"title\": \"Old\",\n  \"tags\": [\"a\"],\n  \"weight\": 7\n}\n\nText.\n",
			"{\n  \"title\": \"Old\",\n  \"tags\": [\"b\"],\n  \"weight\": 7\n}\n\nBetter text.\n"},
		"Windows": {"---\r\ntitle: Old\r\ntags: [a]\r\n---\r\n\r\nText.\r\n", "---\r\ntitle: Old\r\ntags: [\"b\"]\r\n---\r\n\r\nBetter text.\r\n"},
	} {
		j := newJob(t, "Better text.")
		j.write("hugo.toml", "baseURL = 'https://x.example/'\n")
		j.write("content/posts/old.md", c.old)
		if _, err := j.files.ReadFile("content/posts/old.md"); err != nil {
			t.Fatal(err)
		}
		if r := j.call(tool(t, Config{}, "publish_markdown"), `{"update":"content/posts/old.md","tags":["b"]}`); r.Failed || j.read("content/posts/old.md") != c.want {
			t.Errorf("%s: %s\n%q, want\n%q", name, r.Text, j.read("content/posts/old.md"), c.want)
		}
	}
}

// Posts of one name in two folders are each refused as the place of a new one,
// and a folder of content that is a link is followed within the workspace only.
func TestNamesAndLinkedFolders(t *testing.T) {
	site := tool(t, Config{}, "publish_markdown")
	j := newJob(t, "# Same name\n\nText.")
	j.write("hugo.toml", "baseURL = 'https://x.example/'\n")
	j.write("content/posts/2024/same-name.md", "---\ntitle: One\ndate: 2024-01-01\n---\n\nOne.\n")
	j.write("content/posts/2025/same-name.md", "---\ntitle: Two\ndate: 2025-01-01\n---\n\nTwo.\n")
	if r := j.call(site, `{}`); !r.Failed || !strings.Contains(r.Text, "same-name.md is another post") {
		t.Errorf("two of its name: %s", r.Text)
	}
	for name, c := range map[string]struct{ to, fault string }{"inside": {"../shared", ""}, "outside": {t.TempDir(), "leads out"}} {
		j := newJob(t, "# A post\n\nText.")
		j.write("hugo.toml", "baseURL = 'https://x.example/'\n")
		j.write("shared/old.md", "---\ntitle: Old\ndate: 2024-01-01\nauthor: Ann\n---\n\nOld.\n")
		j.write("content/x.md", "")
		if err := os.Symlink(c.to, filepath.Join(j.files.Dir(), "content", "posts")); err != nil {
			t.Fatal(err)
		}
		r := j.call(site, `{}`)
		switch made, err := os.ReadFile(filepath.Join(j.files.Dir(), "content", "posts", "a-post.md")); {
		case c.fault == "" && (r.Failed || err != nil || !strings.Contains(string(made), "author: Ann")):
			t.Errorf("%s: %s\n%s %v", name, r.Text, made, err)
		case c.fault != "" && (!r.Failed || err == nil):
			t.Errorf("%s: written through the link: %s", name, r.Text)
		}
	}
}
