package publish

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/notiontest"
	"github.com/adroit-run/adroit/pkg/tools"
)

// long is a post that takes four requests.
func long() string {
	var b strings.Builder
	b.WriteString("# A long post\n\n")
	for i := range 340 {
		fmt.Fprintf(&b, "Paragraph %d.\n\n", i)
	}
	return b.String()
}

func notion(t *testing.T) (*notiontest.Server, tools.Tool) {
	t.Helper()
	n := notiontest.New("secret-token")
	t.Cleanup(n.Close)
	return n, tool(t, Config{Notion: Notion{URL: n.URL, KeyEnv: "TOKEN", Database: "posts", Properties: map[string]string{"Status": "Draft"}}}, "publish_notion")
}

// whole checks that there is one page with every paragraph once, in order.
func whole(t *testing.T, n *notiontest.Server) {
	t.Helper()
	pages := n.Pages()
	if len(pages) != 1 {
		t.Fatalf("there are %d pages\n%s", len(pages), strings.Join(n.Log(), "\n"))
	}
	if got := len(pages[0].Children); got != 340 {
		t.Fatalf("the page has %d blocks\n%s", got, strings.Join(n.Log(), "\n"))
	}
	for i, b := range pages[0].Children {
		if got := fmt.Sprint(b["paragraph"]); !strings.Contains(got, fmt.Sprintf("Paragraph %d.", i)) {
			t.Fatalf("block %d is %s", i, got)
		}
	}
}

func TestNotion(t *testing.T) {
	n, tool := notion(t)
	j := newJob(t, long())
	r := j.call(tool, `{"tags":["a, b","c"]}`)
	if r.Failed || !strings.Contains(r.Text, "https://notion.example/page-1") {
		t.Fatal(r.Text)
	}
	whole(t, n)
	props := n.Pages()[0].Properties
	switch {
	case notiontest.Text(props["Name"]) != "A long post":
		t.Errorf(`notiontest.Text(props["Name"]) is not "A long post": properties: %v`, props)
	case !strings.HasPrefix(notiontest.Text(props["Adroit key"]), "J1-"):
		t.Errorf(`strings.HasPrefix(notiontest.Text(props["Adroit key"]), "J1-") is false: properties: %v`, props)
	case !strings.Contains(fmt.Sprint(props["Tags"]), "a  b"):
		t.Errorf(`fmt.Sprint(props["Tags"]) lacks "a b": properties: %v`, props)
	case !strings.Contains(fmt.Sprint(props["Status"]), "Draft"):
		t.Errorf(`fmt.Sprint(props["Status"]) lacks "Draft": properties: %v`, props)
	}
	if r := j.call(tool, `{"tags":["a, b","c"]}`); !strings.Contains(r.Text, "already") || r.Failed {
		t.Errorf("a second time: %s", r.Text)
	}
	whole(t, n)
	j.content += "\n\nOne more."
	if r := j.call(tool, `{}`); r.Failed || len(n.Pages()) != 2 {
		t.Errorf("another text is another page: %s", r.Text)
	}
}

// What may have happened is looked for; what surely did not is tried again;
// where neither can be known it is said, and in no case is anything twice.
func TestNotionFaults(t *testing.T) {
	for _, c := range []struct {
		request string
		faults  []notiontest.Fault
		unknown bool
	}{
		{"POST /v1/pages", []notiontest.Fault{notiontest.Limited, notiontest.Limited}, false},
		{"POST /v1/pages", []notiontest.Fault{notiontest.Broken}, false},
		{"POST /v1/pages", []notiontest.Fault{notiontest.Cut}, false},
		{"POST /v1/pages", []notiontest.Fault{notiontest.Dropped}, true},
		{"POST /v1/pages", []notiontest.Fault{notiontest.Refused}, true},
		{"PATCH /v1/blocks/*/children", []notiontest.Fault{notiontest.Limited}, false},
		{"PATCH /v1/blocks/*/children", []notiontest.Fault{notiontest.Broken, notiontest.Cut, notiontest.Broken}, false},
		{"PATCH /v1/blocks/*/children", []notiontest.Fault{notiontest.Dropped}, true},
		{"GET /v1/blocks/*/children", []notiontest.Fault{notiontest.Cut, notiontest.Broken, notiontest.Refused}, false},
		{"POST /v1/data_sources/*/query", []notiontest.Fault{notiontest.Cut, notiontest.Dropped}, false},
		{"GET /v1/databases/*", []notiontest.Fault{notiontest.Refused, notiontest.Limited}, false},
	} {
		n, tool := notion(t)
		n.Next(c.request, c.faults...)
		j := newJob(t, long())
		r := j.call(tool, `{}`)
		if !c.unknown {
			if r.Failed {
				t.Errorf("%s %v: %s", c.request, c.faults, r.Text)
			}
			whole(t, n)
			continue
		}
		switch {
		case !r.Failed:
			t.Errorf("r.Failed is false: %s %v: %+v, notes %q", c.request, c.faults, r, j.notes)
		case !strings.Contains(r.Text, "not known"):
			t.Errorf(`r.Text lacks "not known": %s %v: %+v, notes %q`, c.request, c.faults, r, j.notes)
		case len(j.notes) != 1:
			t.Errorf("len(j.notes) is %v, want 1: %s %v: %+v, notes %q", len(j.notes), c.request, c.faults, r, j.notes)
		case !strings.Contains(j.notes[0], "J1-"):
			t.Errorf(`j.notes[0] lacks "J1-": %s %v: %+v, notes %q`, c.request, c.faults, r, j.notes)
		}
		if got := len(n.Pages()); got > 1 {
			t.Errorf("%s %v: %d pages", c.request, c.faults, got)
		}
	}
}

// A process that dies at any request leaves something that the next one goes
// on with: it ends with one page that is whole.
func TestNotionKilled(t *testing.T) {
	for at := 1; ; at++ {
		n, tool := notion(t)
		j := newJob(t, long())
		died := j.dying(tool, `{}`, at)
		if r := j.call(tool, `{}`); r.Failed {
			t.Fatalf("after dying at request %d: %s", at, r.Text)
		}
		whole(t, n)
		if !died {
			if at < 8 {
				t.Errorf("only %d requests were made", at-1)
			}
			return
		}
	}
}

// The property for keys is added where it is missing, and a second call finds its page.
func TestNotionWithoutKey(t *testing.T) {
	n, tool := notion(t)
	delete(n.Properties, "Adroit key")
	j := newJob(t, "# T\n\nText.")
	if r := j.call(tool, `{}`); r.Failed || n.Properties["Adroit key"] != "rich_text" {
		t.Fatalf("%s %v", r.Text, n.Properties)
	}
	if r := j.call(tool, `{}`); r.Failed || !strings.Contains(r.Text, "already") || len(n.Pages()) != 1 {
		t.Errorf("a second time: %s, %d pages", r.Text, len(n.Pages()))
	}
}

func TestNotionRefusals(t *testing.T) {
	n, tool := notion(t)
	j := newJob(t, "# T\n\nText.")
	for request, want := range map[string]string{"GET /v1/databases/*": "too long here"} {
		n.Next(request, notiontest.Limited, notiontest.Limited, notiontest.Limited, notiontest.Limited, notiontest.Limited)
		if r := j.call(tool, `{}`); !r.Failed || strings.Contains(r.Text, "secret-token") {
			t.Errorf("%s: %s (want %s)", request, r.Text, want)
		}
	}
	delete(n.Properties, "Adroit key")
	n.Fixed = true
	if r := j.call(tool, `{}`); !r.Failed || !strings.Contains(r.Text, `ask the user to add it`) {
		t.Error(r.Text)
	}
	n.Properties["Adroit key"] = "number"
	if r := j.call(tool, `{}`); !r.Failed || !strings.Contains(r.Text, `is of the type number`) {
		t.Error(r.Text)
	}
	n.Properties["Adroit key"] = "rich_text"
	delete(n.Properties, "Status")
	if r := j.call(tool, `{}`); !r.Failed || !strings.Contains(r.Text, "does not have") {
		t.Error(r.Text)
	}
	wrong := toolWith(t, n.URL, "nowhere", "TOKEN")
	if r := j.call(wrong, `{}`); !r.Failed || !strings.Contains(r.Text, "not shared") {
		t.Error(r.Text)
	}
	none := toolWith(t, n.URL, "posts", "NOTHING")
	if r := j.call(none, `{}`); !r.Failed || !strings.Contains(r.Text, "NOTHING") {
		t.Error(r.Text)
	}
	j.content = ""
	if r := j.call(tool, `{}`); !r.Failed || !strings.Contains(r.Text, "no content") {
		t.Error(r.Text)
	}
	if len(n.Pages()) != 0 {
		t.Error("something was published")
	}
}

func toolWith(t *testing.T, url, source, keyEnv string) tools.Tool {
	return tool(t, Config{Notion: Notion{URL: url, KeyEnv: keyEnv, DataSource: source}}, "publish_notion")
}

// Whatever a post is made of, Notion takes it and nothing is lost.
func TestNotionLimits(t *testing.T) {
	n, tool := notion(t)
	post := "# T\n\n" +
		strings.Repeat("long ", 3000) + "\n\n" +
		strings.Repeat("👍", 2500) + "\n\n" +
		"```cobol\n" + strings.Repeat("MOVE 1 TO X\n", 400) + "```\n\n" +
		strings.Repeat("**a** b ", 150) + "\n\n" +
		"| a | b |\n|---|---|\n" + strings.Repeat("| 1 | [x](https://e.example/"+strings.Repeat("y", 2500)+") |\n", 150) + "\n" +
		"- one\n  - two\n    - three\n      - four\n" + strings.Repeat("  - more\n", 130) +
		"\n![alt](https://e.example/a.png)\n\n---\n\n> quoted\n> more\n\n- [x] done\n1. first\n"
	j := newJob(t, post)
	if r := j.call(tool, `{}`); r.Failed {
		t.Fatal(r.Text)
	}
	text := fmt.Sprint(n.Pages()[0].Children)
	for word, want := range map[string]int{"long ": 3000 - 7, "👍": 2500, "MOVE": 400, "four": 1, "more": 131, "quoted": 1, "done": 1, "first": 1, "plain text": 1} {
		if got := strings.Count(text, word); got < want {
			t.Errorf("%q is there %d times, want %d", word, got, want)
		}
	}
}
