package blog

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

func all() []tools.Tool {
	return []tools.Tool{Write, Analyze, Outline, Expand, Assemble, Social, Check}
}

func TestTools(t *testing.T) { toolstest.Check(t, all()...) }

// A desk is a job in small: artifacts, and a model that answers in turn.
type desk struct {
	t     *testing.T
	have  map[string]json.RawMessage
	says  []string
	asked []*llm.Request
}

func (d *desk) Value(name string) json.RawMessage { return d.have[name] }
func (d *desk) Names() []string                   { return slices.Sorted(maps.Keys(d.have)) }

func (d *desk) Generate(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	d.asked = append(d.asked, req)
	if len(d.says) == 0 {
		return nil, &llm.Error{Kind: llm.Exhausted, Message: "nothing left to say"}
	}
	text := d.says[0]
	d.says = d.says[1:]
	return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: text}}, nil
}

// call runs a tool on what is there and keeps what it makes.
func (d *desk) call(tool tools.Tool, args string, says ...string) tools.Result {
	d.t.Helper()
	d.says, d.asked = says, nil
	r, err := tool.Run(d.t.Context(), &tools.Env{Model: d, Artifacts: d}, json.RawMessage(args))
	if err != nil {
		d.t.Fatal(err)
	}
	if len(d.says) > 0 {
		d.t.Errorf("%s left %d answers unheard", tool.Name, len(d.says))
	}
	maps.Copy(d.have, r.Artifacts)
	return r
}

func (d *desk) content() string {
	var s string
	_ = json.Unmarshal(d.have["content"], &s)
	return s
}

func newDesk(t *testing.T) *desk { return &desk{t: t, have: map[string]json.RawMessage{}} }

const planned = `{"title":"Jobs that live","sections":[{"title":"Why jobs die","points":["kill -9"]},{"title":"How they live on","points":[]}]}`

// A long post by all its stations; a section written again replaces itself
// alone.
func TestLongPost(t *testing.T) {
	d := newDesk(t)
	d.call(Analyze, `{"prompt":"Something long."}`, `Sure: {"topic":"Jobs","audience":"operators","tone":"dry","words":600,"sections":[],"questions":["what dies?"]}`)
	d.call(Outline, `{"topic":"Jobs"}`, "```json\n"+planned+"\n```")
	if ask := d.asked[0].Messages[1].Text; !strings.Contains(ask, "operators") || !strings.Contains(ask, "about 600 words") {
		t.Errorf("the outline was asked for without the analysis:\n%s", ask)
	}
	d.call(Expand, `{"section":"How they live on"}`, "## How they live on\n\nBy a journal.\n\n# Loud\n\n```sh\n# comment\n```")
	r := d.call(Assemble, `{}`)
	if !r.Failed || !strings.Contains(r.Text, "Why jobs die") {
		t.Errorf("assembled without a section: %s", r.Text)
	}
	d.call(Expand, `{"section":"why jobs die"}`, "They are killed.")
	frame := `{"intro":"Read this.","transitions":["So what."],"outro":"Try it."}`
	d.call(Assemble, `{}`, frame)
	want := "# Jobs that live\n\nRead this.\n\n## Why jobs die\n\nThey are killed.\n\nSo what.\n\n## How they live on\n\nBy a journal.\n\n### Loud\n\n```sh\n# comment\n```\n\nTry it."
	if got := d.content(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	before := d.have["section/how-they-live-on"]
	d.call(Expand, `{"section":"Why jobs die","notes":"shorter"}`, "Power.")
	if string(d.have["section/how-they-live-on"]) != string(before) || !strings.Contains(string(d.have["section/why-jobs-die"]), "Power.") {
		t.Error("writing a section again did not replace it alone")
	}
	d.call(Assemble, `{"plain":true,"intro":"Mine."}`)
	if got := d.content(); !strings.Contains(got, "Mine.\n\n## Why jobs die\n\nPower.\n\n## How") || strings.Contains(got, "Try it") {
		t.Errorf("joined plainly:\n%s", got)
	}
}

func TestExpandWithoutOutline(t *testing.T) {
	d := newDesk(t)
	if r := d.call(Expand, `{"section":"Alone"}`); !r.Failed || !strings.Contains(r.Text, "position") {
		t.Errorf("a section without a place: %s", r.Text)
	}
	d.call(Expand, `{"section":"Second","position":2}`, "Two.")
	d.call(Expand, `{"section":"First","position":1}`, "One.")
	if r := d.call(Assemble, `{"plain":true}`); !r.Failed || !strings.Contains(r.Text, "title") {
		t.Errorf("a post without a title: %s", r.Text)
	}
	d.call(Assemble, `{"plain":true,"title":"Both"}`)
	if got := d.content(); got != "# Both\n\n## First\n\nOne.\n\n## Second\n\nTwo." {
		t.Errorf("got %s", got)
	}
	d.have["outline"] = json.RawMessage(planned)
	if r := d.call(Expand, `{"section":"Frist"}`); !r.Failed || !strings.Contains(r.Text, "Why jobs die; How they live on") {
		t.Errorf("a section that is not planned: %s", r.Text)
	}
}

// An answer that does not fit is sent back once with what is wrong, and then
// the caller is told.
func TestRepair(t *testing.T) {
	d := newDesk(t)
	twice := `{"title":"T","sections":[{"title":"A b","points":[]},{"title":"a B!","points":[]}]}`
	d.call(Outline, `{"topic":"Jobs"}`, twice, planned)
	if last := d.asked[1].Messages[3].Text; !strings.Contains(last, "too much alike") {
		t.Errorf("the model was told %q", last)
	}
	for _, bad := range []string{"no", `{"title":`, `{"title":"T"}`, `{"title":"T","sections":[],"more":1}`, `[1]`, "", strings.Repeat("{", 5000)} {
		delete(d.have, "outline")
		r := d.call(Outline, `{"topic":"Jobs"}`, bad, bad)
		if !r.Failed || !strings.Contains(r.Text, "of no use") || d.have["outline"] != nil {
			t.Errorf("%.20q: %+v", bad, r)
		}
	}
	r := d.call(Outline, `{"topic":"Jobs"}`)
	if !r.Failed || !strings.Contains(r.Text, "did not answer") {
		t.Errorf("without an answer: %+v", r)
	}
}

func TestWrite(t *testing.T) {
	d := newDesk(t)
	d.call(Write, `{"title":"A\n# B","text":"Text."}`)
	if got := d.content(); got != "# A # B\n\nText." {
		t.Errorf("got %q", got)
	}
	d.call(Write, `{"title":"A","text":"# Own\n\nText."}`)
	if got := d.content(); got != "# Own\n\nText." {
		t.Errorf("got %q", got)
	}
	if r := d.call(Write, `{"text":" \n"}`); !r.Failed {
		t.Error("an empty post was taken")
	}
}

func TestReview(t *testing.T) {
	d := newDesk(t)
	d.have["content"], _ = json.Marshal("# A\n\n## B\n\n#### C\n\nTODO: more. [here](#)\n\n## B\n\n```\n# X\nTODO\n```")
	r := d.call(Check, `{}`, `{"verdict":"ready","faults":[{"where":"B","what":"thin","fix":""}]}`)
	for _, want := range []string{"revise", "level 4 follows one of level 2", "two sections", "TODO: a placeholder", "](#): a placeholder", "thin", "5 faults"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is missing in\n%s", want, r.Text)
		}
	}
	d.have["content"], _ = json.Marshal("# A\n\nSee [it](https://example.com).")
	if r = d.call(Check, `{}`, `{"verdict":"ready","faults":[]}`); !strings.HasPrefix(r.Text, "ready") {
		t.Errorf("a clean post: %s", r.Text)
	}
}

// Whatever the model writes, what comes out keeps to the limits and carries
// the link.
func TestSocial(t *testing.T) {
	const link = "https://example.com/a-rather-long-path/that-is-counted-as-twenty-three"
	d := newDesk(t)
	d.have["content"], _ = json.Marshal("# A\n\nText.")
	long := strings.Repeat("word ", 150)
	posts := func(x, m string) string {
		raw, _ := json.Marshal(announcementList{[]announcement{{"x", x}, {"mastodon", m}}})
		return string(raw)
	}
	r := d.call(Social, `{"networks":["x","mastodon","x"],"url":"`+link+`"}`, posts(long+link, "short "+link), posts(long+link, "short "+link))
	if last := d.asked[1].Messages[3].Text; !strings.Contains(last, "the post for x counts") {
		t.Errorf("the model was told %q", last)
	}
	if r.Failed || !strings.Contains(r.Text, "shortened") {
		t.Errorf("%+v", r)
	}
	var got announcementList
	if err := json.Unmarshal(d.have["social"], &got); err != nil || len(got.Posts) != 2 {
		t.Fatalf("%v %v", got, err)
	}
	for _, p := range got.Posts {
		n, _ := lookup(p.Network)
		if !n.fits(p.Text) || !strings.HasSuffix(p.Text, link) {
			t.Errorf("%s: %d, %q", p.Network, n.count(p.Text), p.Text)
		}
	}
	for args, says := range map[string][]string{
		`{"networks":["x"],"url":"` + link + `"}`: {`{"posts":[{"network":"x","text":"no link"}]}`, `{"posts":[{"network":"x","text":"no link"}]}`},
		`{"networks":["x"]}`:                      {`{"posts":[{"network":"threads","text":"a"}]}`, `{"posts":[{"network":"threads","text":"a"}]}`},
		`{"networks":["myspace"]}`:                nil,
		`{"networks":["x"],"url":"nowhere"}`:      nil,
		`{"networks":["bluesky"],"url":"https://example.com/` + strings.Repeat("x", 400) + `"}`: {
			`{"posts":[{"network":"bluesky","text":"a https://example.com/` + strings.Repeat("x", 400) + `"}]}`,
			`{"posts":[{"network":"bluesky","text":"a https://example.com/` + strings.Repeat("x", 400) + `"}]}`},
	} {
		if r := d.call(Social, args, says...); !r.Failed {
			t.Errorf("%.60s: %s", args, r.Text)
		}
	}
}

func TestCounts(t *testing.T) {
	url := "https://example.com/" + strings.Repeat("x", 100)
	for _, c := range []struct {
		network, text string
		want          int
	}{
		{"x", "hello", 5},
		{"x", "日本語", 6},
		{"x", "a " + url + ".", 2 + 23 + 1},
		{"x", "http://a.de", 23},
		{"x", "👨‍👩‍👧‍👦", 2},
		{"x", "👍🏽🇩🇪", 4},
		{"x", "caf\u00e9 “q”", 8},
		{"x", "see example.com", 4 + 23},
		{"x", "e.g. this", 9},
		{"mastodon", "hi @ann@example.social " + url, 3 + 4 + 1 + 23},
		{"mastodon", "👨‍👩‍👧‍👦e\u0301", 2},
		{"bluesky", "👨‍👩‍👧‍👦 " + "ok", 4},
		{"bluesky", url, 120},
		{"threads", "a👍", 5},
		{"linkedin", "a👍", 3},
		{"mastodon", "1\ufe0f\u20e3\r\n", 2},
	} {
		n, ok := lookup(c.network)
		if got := n.count(c.text); !ok || got != c.want {
			t.Errorf("%s counts %q as %d, want %d", c.network, c.text, got, c.want)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a word and https://example.com/x more", "https://example.com/x")
	f.Add(strings.Repeat("日👍🏽 ", 300), "")
	f.Fuzz(func(t *testing.T, s, link string) {
		if len(link) > 40 {
			return
		}
		for _, n := range networks() {
			if got := n.cut(s, link); !n.fits(got) {
				t.Errorf("%s: %d of %d", n.name, n.count(got), n.most)
			}
		}
	})
}

func FuzzObject(f *testing.F) {
	f.Add("a {\"b\":1} c")
	f.Add("{{{")
	f.Fuzz(func(t *testing.T, s string) {
		if raw, err := object(s); err == nil && !json.Valid(raw) {
			t.Errorf("%q", raw)
		}
	})
}

func ExampleWrite() {
	r, err := Write.Run(context.Background(), nil, json.RawMessage(`{"title":"Moved","text":"We are at the harbour now."}`))
	fmt.Println(r.Text, err)
	fmt.Println(string(r.Artifacts["content"]))
	// Output:
	// The post has 8 words (35 characters). <nil>
	// "# Moved\n\nWe are at the harbour now."
}
