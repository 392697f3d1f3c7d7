package blog

import (
	"encoding/json"
	"strings"
	"testing"
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

// A figure has a source beside it, comes from the user, or is marked.
func TestFigures(t *testing.T) {
	j := newTestJob(t)
	j.have["citations"] = json.RawMessage(twoSources)
	for _, c := range []struct{ text, own, want, marked string }{
		{"We killed it 155 times.", "", "We killed it 155 (unverified) times.", "155"},
		{"We killed it 155 times [1].", "", "We killed it 155 times [1].", ""},
		{"We killed it [155 times](https://x.example).", "", "We killed it [155 times](https://x.example).", ""},
		{"In 2019, at 9:30, about 70% of 1,500.", "", "In 2019, at 9:30, about 70% (unverified) of 1,500 (unverified).", "70%; 1,500"},
		{"The 7th of 10.", "10", "The 7th (unverified) of 10.", "7th"},
		{"1. One\n2. Two\n\n`sleep 10`, mp3.", "", "1. One\n2. Two\n\n`sleep 10`, mp3.", ""},
		{"### 10 ways\n\nText.", "", "### 10 ways\n\nText.", ""},
		{"![99 cats](c.png) and 3 (unverified) dogs, (unverified) talk", "", "![99 cats](c.png) and 3 (unverified) dogs, (unverified) talk", "3"},
		{"- 5 here\n- there [2]", "", "- 5 here\n- there [2]", ""},
		{"日本で90パーセント。", "", "日本で90パーセント。", ""},
	} {
		args, _ := json.Marshal(map[string]any{"text": c.text, "own_figures": []string{c.own}})
		r := j.call(Write, string(args))
		got, _, _ := strings.Cut(j.content(), "\n\n## Sources")
		if got != c.want || (c.marked != "") != strings.Contains(r.Text, "Marked as unverified") || !strings.Contains(r.Text, c.marked) {
			t.Errorf("%q:\n%s\n%s", c.text, got, r.Text)
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
