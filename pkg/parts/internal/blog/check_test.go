package blog

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"maps"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/parts/internal/shared/site"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A post is checked for its references, images and files.
func TestCheckPost(t *testing.T) {
	files, err := workspace.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	write := func(name string, data []byte) {
		t.Helper()
		if err := files.WriteFile(name, data); err != nil {
			t.Fatal(err)
		}
	}
	picture := func(width int) []byte {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 1))); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	write("hugo.toml", nil)
	write("static/ok.png", picture(10))
	write("static/wide.png", picture(6000))
	write("static/text.png", []byte("text"))
	write("static/large.jpg", make([]byte, site.MaxImage+1))
	j := newTestJob(t)
	call := func(tool tools.Tool, args string) tools.Result {
		t.Helper()
		r, err := tool.Run(t.Context(), &tools.Env{Artifacts: j, Files: files}, json.RawMessage(args))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(j.have, r.Artifacts)
		return r
	}
	for text, want := range map[string]string{
		"# T\n\n![A](/ok.png)":                    "",
		"# T\n\n![A](https://x.example/any.png)":  "",
		"# T\n\n![](/ok.png)":                     "has no description",
		"# T\n\n![A](/gone.png)":                  "there is no file for the image /gone.png",
		"# T\n\n![A](/wide.png)":                  "6000x1 pixels",
		"# T\n\n![A](/text.png)":                  "is no image",
		"# T\n\n![A](/large.jpg)":                 "2 MB are the most",
		"# T\n\nIt is so [4].":                    "have no source: [4]",
		"# T\n\n![A](/../hugo.toml) and `![](x)`": "there is no file for the image",
	} {
		j.have["content"], _ = json.Marshal(text)
		if r := call(CheckPost, `{}`); r.Failed != (want != "") || !strings.Contains(r.Text, want) {
			t.Errorf("%q: %s", text, r.Text)
		}
	}

	j.have["content"] = json.RawMessage(`"# T\n\nText."`)
	j.have["post_folder"] = json.RawMessage(`"out"`)
	if r := call(CheckPost, `{}`); !r.Failed || !strings.Contains(r.Text, "wants the files in out") {
		t.Errorf("nothing was saved: %s", r.Text)
	}
	j.have["social"] = json.RawMessage(`{"posts":[{"network":"x","text":"` + strings.Repeat("word ", 60) + `"}]}`)
	if r := call(Save, `{"dir":"out"}`); r.Failed || !strings.Contains(r.Text, "out/social.md") {
		t.Errorf("%s", r.Text)
	}
	if r := call(CheckPost, `{}`); r.Failed || !strings.Contains(r.Summary, "out/post.md; out/social.md") {
		t.Errorf("saved: %s", r.Text)
	}
	j.have["published"] = json.RawMessage(`{"at":"content/posts/t.md","url":"https://x.example/posts/t/"}`)
	if r := call(CheckPost, `{}`); !r.Failed || !strings.Contains(r.Text, "out/social.md is not up to date") {
		t.Errorf("an announcement without the address: %s", r.Text)
	}
	call(Save, `{"dir":"out"}`)
	b, err := files.ReadFile("out/social.md")
	if err != nil || !strings.Contains(string(b), "… https://x.example/posts/t/") {
		t.Errorf("%s %v", b, err)
	}
	if r := call(CheckPost, `{}`); r.Failed || !strings.Contains(r.Summary, "published: https://x.example/posts/t/") {
		t.Errorf("published: %s", r.Text)
	}
	write("out/post.md", []byte("edited"))
	if r := call(CheckPost, `{}`); !r.Failed || !strings.Contains(r.Text, "out/post.md is not up to date") {
		t.Errorf("edited: %s", r.Text)
	}
}

// Headings of all forms are seen, and those in code are none.
func TestHeadingsOfSections(t *testing.T) {
	if got, want := bare("Costs\n-----\nText.\n\nMore\n====\n```sh\n# a comment\n```\n", "Costs"), "Text.\n\n### More\n```sh\n# a comment\n```"; got != want {
		t.Errorf("the section is %q, want %q", got, want)
	}
	if got := seen("One\n===\n\nTwo\n===\n\n`TODO` is a word, TODO is not.\n\nTwo\n---\n"); len(got) != 3 {
		t.Errorf("seen are %+v", got)
	}
}
