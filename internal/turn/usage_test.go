package turn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

func TestUsage(t *testing.T) {
	for _, c := range []struct{ weight, estimate, in, tokens, rate int }{
		{10_000, 3031, 2500, 2500, 4000}, // the server's count is the truth
		{10_000, 3031, 0, 3031, 0},       // it counts nothing
		{10_000, 3031, 5, 3031, 0},       // or only what was new to it
		{10_000, 3031, 90_000, 3031, 0},  // or something else
		{300, 91, 800, 800, 0},           // a template is most of a short request
	} {
		var u Usage
		u.Count(c.weight, c.estimate, c.in)
		if u.Tokens != c.tokens || u.Rate != c.rate {
			t.Errorf("%+v: %+v", c, u)
		}
	}
	if a, b := Weight("plain words of English"), Weight("純粋な日本語の文章です"); b < a {
		t.Errorf("eleven ideographs weigh %d, 22 letters %d", b, a)
	}
	if a, b := Weight(strings.Repeat("word ", 8)), Weight(strings.Repeat(`{"a":1,`, 8)[:40]); b <= a {
		t.Errorf("JSON weighs %d, prose %d", b, a)
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		all   int
		want  []int
	}{
		{[]int{10, 20, 30}, 100, []int{10, 20, 30}},
		{[]int{900, 10, 20, 800}, 1030, []int{500, 10, 20, 500}},
		{[]int{900, 10, 20, 300}, 1030, []int{700, 10, 20, 300}},
		{[]int{500, 500, 500}, 1000, []int{333, 333, 334}},
		{[]int{500}, 100, []int{100}},
		{nil, 100, []int{}},
	} {
		if got := Share(c.sizes, c.all); !slices.Equal(got, c.want) {
			t.Errorf("%v of %d: %v, want %v", c.sizes, c.all, got, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	var b strings.Builder
	for i := 41; i <= 100; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	page := tools.Page{From: 41, To: 100}
	text, last := CutPage(b.String()+"[20 of 120 lines left; go on with from=101]\n", page, 300)
	if last != 70 || !strings.HasSuffix(text, "line 70\n[cut after line 70]\n") || !strings.HasPrefix(text, "line 41\n") || len(text) > 300 {
		t.Errorf("%d: %s", last, text)
	}
	page.Head = 1
	if text, last = CutPage("[lines 41-100]\n"+b.String(), page, 10); last != 41 || text != "[from line 41]\nline 41\n[cut after line 41]\n" {
		t.Errorf("%d: %s", last, text)
	}
	text, lines := CutMore(b.String(), 9000, 300, "3fa9c2d1e07b")
	head, tail, ok := strings.Cut(text, fmt.Sprintf("line %d\n[", 40+lines))
	if !ok || len(text) > 300 || !strings.HasPrefix(head, "line 41\n") || !strings.HasPrefix(tail, fmt.Sprintf("%d of 9000 bytes left out here: 3fa9c2d1e07b]\n", 9000-len(text)+len("[8756 of 9000 bytes left out here: 3fa9c2d1e07b]\n"))) || !strings.HasSuffix(tail, "line 100\n") {
		t.Errorf("%d lines: %s", lines, text)
	}
}

// What has the whole of a result is known by its message, however the text is worded.
func TestWholeIsAValue(t *testing.T) {
	msgs := []llm.Message{{Role: llm.System}, {Role: llm.User, Text: "Go."}}
	for _, id := range []string{"a", "b", "c", "d"} {
		msgs = append(msgs, llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: id, Name: "shell", Args: json.RawMessage(`{"command":"` + id + `"}`)}}},
			llm.Message{Role: llm.Tool, CallID: id, Name: "shell", Text: strings.Repeat(`read_result with id "0123456789ab" shows nothing. `, 40)})
	}
	msgs[3].Whole = "whole1"
	stored := 0
	trim := NewTrimmer(msgs, func(string) (tools.Tool, bool) { return tools.Tool{}, false }, func(string) string { stored++; return "stored" })
	trim.Shorten(func() bool { return true })
	if !strings.Contains(trim.Messages[3].Text, `with id "whole1"`) || !strings.Contains(trim.Messages[5].Text, `with id "stored"`) || stored != 1 {
		t.Errorf("%d stored: %q, %q", stored, trim.Messages[3].Text, trim.Messages[5].Text)
	}
	before := trim.Messages[5].Whole
	if trim.Squeeze(func() bool { return true }); before != "stored" || !strings.Contains(trim.Messages[5].Text, `with id "stored"`) {
		t.Errorf("%q: %q", before, trim.Messages[5].Text)
	}
}
