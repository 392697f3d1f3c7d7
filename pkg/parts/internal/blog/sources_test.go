package blog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/parts/internal/shared/outputs"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

const twoSources = `[{"number":1,"url":"https://a.example/x","title":"A [study]","accessed":"2026-11-22"},{"number":2,"url":"https://b.example","title":"B","accessed":"2026-11-22"}]`

// A list of sources stands wherever a number does, once, however often the post
// is written.
func TestSources(t *testing.T) {
	j := newTestJob(t)
	j.have["citations"] = json.RawMessage(twoSources)
	const list = "\n\n## Sources\n\n- [1] [A \\[study\\]](<https://a.example/x>), accessed 2026-11-22"
	j.call(Write, `{"text":"# T\n\nIt lives [1]. Not code: `+"`x[2]`"+`.\n\n    y[2]\n"}`)
	if got := j.content(); !strings.HasSuffix(got, "y[2]"+list) {
		t.Errorf("got\n%s", got)
	}
	again, _ := json.Marshal(map[string]string{"text": j.content() + "\n"})
	before := j.content()
	if j.call(Write, string(again)); j.content() != before {
		t.Errorf("written again:\n%s", j.content())
	}
	j.call(Write, string(again[:len(again)-1])+`,"sources":"Quellen"}`)
	if got := j.content(); !strings.Contains(got, "## Quellen\n") || strings.Contains(got, "## Sources") {
		t.Errorf("another heading:\n%s", got)
	}
	r := j.call(Write, `{"text":"# T\n\nBoth [2] and [3]."}`)
	if !strings.Contains(r.Text, "no source: [3].") || !strings.Contains(j.content(), "- [2] [B](<https://b.example>)") {
		t.Errorf("%s\n%s", r.Text, j.content())
	}
	delete(j.have, "citations")
	if j.call(Write, `{"text":"# T\n\nNo number."}`); strings.Contains(j.content(), "##") {
		t.Errorf("a list without numbers:\n%s", j.content())
	}
}

// A figure stands on a page that was fetched and is referred to beside it, comes from the
// user, or is reported. The text stays as it is.
func TestFigures(t *testing.T) {
	files, err := workspace.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	j := newTestJob(t)
	j.have["citations"] = json.RawMessage(twoSources)
	for url, text := range map[string]string{"https://a.example/x": "155 kills of 1,500, and forty percent", "https://x.example/y": "we tried 20 times"} {
		name, page := outputs.FiguresOfPage(url, url, text)
		j.have[name], _ = json.Marshal(page)
	}
	for _, c := range []struct{ text, own, reported string }{
		{"We killed it 155 times.", "", "155 (no source beside it)"},
		{"We killed it 155 times [1].", "", ""},
		{"We killed 1500 jobs, 40% of them twice [1].", "", ""},
		{"41% of it is invented [1].", "", "41% (not on a page beside it that was fetched)"},
		{"We killed it 155 times [2], which nobody fetched.", "", "155 (not on a page"},
		{"We killed it [as they say](https://x.example/y#how) 20 times, not 21.", "", "21 (not on a page"},
		{"We killed it 20 times: <https://x.example/y>.", "", ""},
		{"In 2019, at 9:30, about 70% of 1,500.", "", "70% (no source beside it); 1,500 (no source"},
		{"| n | share |\n|---|---|\n| 1 | 70% |\n\nPost 3.", "1, 3, 70", ""},
		{"The 7th of 10.", "10", "7th (no source"},
		{"1. One\n2. Two\n\n`sleep 10`, mp3.", "", ""},
		{"### 10 ways\n\nText.", "", ""},
		{"There are 3 (unverified) dogs, (unverified) talk", "", "3 (no source"},
		{"- 5 here\n- there [2]", "", "5 (not on a page"},
		{"日本で90パーセント。", "", ""},
	} {
		args, _ := json.Marshal(map[string]any{"text": c.text, "own_figures": []string{c.own}})
		r := j.call(Write, string(args))
		got, _, _ := strings.Cut(j.content(), "\n\n## Sources")
		if got != c.text || (c.reported != "") != strings.Contains(r.Text, "No source backs") || !strings.Contains(r.Text, c.reported) {
			t.Errorf("%q:\n%s\n%s", c.text, got, r.Text)
		}
		again, err := CheckPost.Run(t.Context(), &tools.Env{Artifacts: j, Files: files}, json.RawMessage(`{"of":"content"}`))
		if err != nil || again.Failed {
			t.Fatalf("%q: %s, %v", c.text, again.Text, err)
		}
		if (c.reported != "") != strings.Contains(again.Text, "no source backs") || !strings.Contains(again.Text, c.reported) {
			t.Errorf("%q is checked: %s", c.text, again.Text)
		}
	}
}

// What the user wants short is a post, too, and only what is short is.
func TestShort(t *testing.T) {
	j := newTestJob(t)
	if r := j.call(Write, `{"title":"We moved","text":"Our office is now at the harbour.","short":true}`); r.Failed || string(j.have["announcement"]) != string(j.have["content"]) {
		t.Errorf("%s %s", r.Text, j.have["announcement"])
	}
	for _, text := range []string{"Short.", strings.Repeat("long ", 101)} {
		if r := j.call(Write, `{"text":"`+text+`","short":true}`); !r.Failed || !strings.Contains(r.Text, "what is short has 20 to 499") {
			t.Errorf("%s", r.Text)
		}
	}
}
