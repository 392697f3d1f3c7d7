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
	return []tools.Tool{Write, Analyze, Outline, Expand, Assemble, Social, Check, Save, CheckPost}
}

func TestTools(t *testing.T) { toolstest.Check(t, all()...) }

// A testJob has artifacts and a model that gives its answers in order.
type testJob struct {
	t     *testing.T
	have  map[string]json.RawMessage
	says  []string
	asked []*llm.Request
}

func (j *testJob) Value(name string) json.RawMessage { return j.have[name] }
func (j *testJob) Names() []string                   { return slices.Sorted(maps.Keys(j.have)) }

func (j *testJob) Generate(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	j.asked = append(j.asked, req)
	if len(j.says) == 0 {
		return nil, &llm.Error{Kind: llm.Garbled, Message: "nothing left to say"}
	}
	text := j.says[0]
	j.says = j.says[1:]
	return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: text}}, nil
}

// call runs a tool on what is there and keeps what it makes.
func (j *testJob) call(tool tools.Tool, args string, says ...string) tools.Result {
	j.t.Helper()
	j.says, j.asked = says, nil
	r, err := tool.Run(j.t.Context(), &tools.Env{Model: j, Artifacts: j}, json.RawMessage(args))
	if err != nil {
		j.t.Fatal(err)
	}
	if len(j.says) > 0 {
		j.t.Errorf("%s left %d answers unread", tool.Name, len(j.says))
	}
	maps.Copy(j.have, r.Artifacts)
	return r
}

func (j *testJob) content() string {
	var s string
	_ = json.Unmarshal(j.have["content"], &s)
	return s
}

func newTestJob(t *testing.T) *testJob { return &testJob{t: t, have: map[string]json.RawMessage{}} }

const planned = `{"title":"Jobs that live","sections":[{"title":"Why jobs die","points":["kill -9"]},{"title":"How they live on","points":[]}]}`

// A long post by all its stations; a section written again replaces itself
// alone.
func TestLongPost(t *testing.T) {
	j := newTestJob(t)
	j.call(Analyze, `{"prompt":"Something long."}`, `Sure: {"topic":"Jobs","audience":"operators","tone":"dry","words":600,"sections":[],"questions":["what dies?"]}`)
	j.call(Outline, `{"topic":"Jobs"}`, "```json\n"+planned+"\n```")
	if ask := j.asked[0].Messages[1].Text; !strings.Contains(ask, "operators") || !strings.Contains(ask, "about 600 words") {
		t.Errorf("the outline was asked for without the analysis:\n%s", ask)
	}
	j.call(Expand, `{"section":"How they live on"}`, "## How they live on\n\nBy a journal.\n\n# Loud\n\n```sh\n# comment\n```")
	r := j.call(Assemble, `{}`)
	if !r.Failed || !strings.Contains(r.Text, "Why jobs die") {
		t.Errorf("assembled without a section: %s", r.Text)
	}
	j.call(Expand, `{"section":"why jobs die"}`, "They are killed.")
	frame := `{"intro":"Read this.","transitions":["So what."],"outro":"Try it."}`
	j.call(Assemble, `{}`, frame)
	want := "# Jobs that live\n\nRead this.\n\n## Why jobs die\n\nThey are killed.\n\nSo what.\n\n## How they live on\n\nBy a journal.\n\n### Loud\n\n```sh\n# comment\n```\n\nTry it."
	if got := j.content(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	before := j.have["section/how-they-live-on"]
	j.call(Expand, `{"section":"Why jobs die","notes":"shorter"}`, "Power.")
	if string(j.have["section/how-they-live-on"]) != string(before) || !strings.Contains(string(j.have["section/why-jobs-die"]), "Power.") {
		t.Error("writing a section again did not replace it alone")
	}
	j.call(Assemble, `{"plain":true,"intro":"Mine."}`)
	if got := j.content(); !strings.Contains(got, "Mine.\n\n## Why jobs die\n\nPower.\n\n## How") || strings.Contains(got, "Try it") {
		t.Errorf("joined plainly:\n%s", got)
	}
}

func TestExpandWithoutOutline(t *testing.T) {
	j := newTestJob(t)
	if r := j.call(Expand, `{"section":"Alone"}`); !r.Failed || !strings.Contains(r.Text, "position") {
		t.Errorf("a section without a place: %s", r.Text)
	}
	j.call(Expand, `{"section":"Second","position":2}`, "Two.")
	j.call(Expand, `{"section":"First","position":1}`, "One.")
	if r := j.call(Assemble, `{"plain":true}`); !r.Failed || !strings.Contains(r.Text, "title") {
		t.Errorf("a post without a title: %s", r.Text)
	}
	j.call(Assemble, `{"plain":true,"title":"Both"}`)
	if got := j.content(); got != "# Both\n\n## First\n\nOne.\n\n## Second\n\nTwo." {
		t.Errorf("got %s", got)
	}
	j.have["outline"] = json.RawMessage(planned)
	if r := j.call(Expand, `{"section":"Frist"}`); !r.Failed || !strings.Contains(r.Text, "Why jobs die; How they live on") {
		t.Errorf("a section that is not planned: %s", r.Text)
	}
}

// An answer that does not fit is sent back once with its faults; after a second
// one the tool fails.
func TestRepair(t *testing.T) {
	j := newTestJob(t)
	twice := `{"title":"T","sections":[{"title":"A b","points":[]},{"title":"a B!","points":[]}]}`
	j.call(Outline, `{"topic":"Jobs"}`, twice, planned)
	if last := j.asked[1].Messages[3].Text; !strings.Contains(last, "too much alike") {
		t.Errorf("the last message is %q", last)
	}
	for _, bad := range []string{"no", `{"title":`, `{"title":"T"}`, `{"title":"T","sections":[],"more":1}`, `[1]`, "", strings.Repeat("{", 5000)} {
		delete(j.have, "outline")
		r := j.call(Outline, `{"topic":"Jobs"}`, bad, bad)
		if !r.Failed || !strings.Contains(r.Text, "of no use") || j.have["outline"] != nil {
			t.Errorf("%.20q: %+v", bad, r)
		}
	}
	r := j.call(Outline, `{"topic":"Jobs"}`)
	if !r.Failed || !strings.Contains(r.Text, "did not answer") {
		t.Errorf("without an answer: %+v", r)
	}
}

func TestWrite(t *testing.T) {
	j := newTestJob(t)
	j.call(Write, `{"title":"A\n# B","text":"Text."}`)
	if got := j.content(); got != "# A # B\n\nText." {
		t.Errorf("got %q", got)
	}
	j.call(Write, `{"title":"A","text":"# Own\n\nText."}`)
	if got := j.content(); got != "# Own\n\nText." {
		t.Errorf("got %q", got)
	}
	if r := j.call(Write, `{"text":" \n"}`); !r.Failed {
		t.Error("an empty post was taken")
	}
}

func TestReview(t *testing.T) {
	j := newTestJob(t)
	j.have["content"], _ = json.Marshal("# A\n\n## B\n\n#### C\n\nTODO: more. [here](#)\n\n## B\n\n```\n# X\nTODO\n```")
	r := j.call(Check, `{}`, `{"verdict":"ready","faults":[{"where":"B","what":"thin","fix":""}]}`)
	for _, want := range []string{"revise", "level 4 follows one of level 2", "two sections", "TODO: a placeholder", "](#): a placeholder", "thin", "5 faults"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is missing in\n%s", want, r.Text)
		}
	}
	j.have["content"], _ = json.Marshal("# A\n\nSee [it](https://example.com).")
	if r = j.call(Check, `{}`, `{"verdict":"ready","faults":[]}`); !strings.HasPrefix(r.Text, "ready") {
		t.Errorf("a clean post: %s", r.Text)
	}
}

// Whatever the model writes, what comes out keeps to the limits and carries
// the link.
func TestSocial(t *testing.T) {
	const link = "https://example.com/a-rather-long-path/that-is-counted-as-twenty-three"
	j := newTestJob(t)
	j.have["content"], _ = json.Marshal("# A\n\nText.")
	long := strings.Repeat("word ", 150)
	posts := func(x, m string) string {
		raw, _ := json.Marshal(announcementList{[]announcement{{"x", x}, {"mastodon", m}}})
		return string(raw)
	}
	r := j.call(Social, `{"networks":["x","mastodon","x"],"url":"`+link+`"}`, posts(long+link, "short "+link), posts(long+link, "short "+link))
	if last := j.asked[1].Messages[3].Text; !strings.Contains(last, "the post for x counts") {
		t.Errorf("the last message is %q", last)
	}
	if r.Failed || !strings.Contains(r.Text, "shortened") {
		t.Errorf("%+v", r)
	}
	var got announcementList
	if err := json.Unmarshal(j.have["social"], &got); err != nil || len(got.Posts) != 2 {
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
		if r := j.call(Social, args, says...); !r.Failed {
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
