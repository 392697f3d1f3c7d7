package publish

import (
	"fmt"
	"strings"
	"testing"
)

// TestBlocks holds what Markdown becomes in Notion, in a short form: the type
// of a block and its spans, with what they look like.
func TestBlocks(t *testing.T) {
	long := "https://e.example/" + strings.Repeat("y", maxText)
	for md, want := range map[string]string{
		"# One\n\nSecond\n===\n\n#### Four #":                "heading_1 One; heading_1 Second; heading_3 Four",
		"a\nb  \nc\\\nd":                                     "paragraph a b⏎c⏎d",
		"*i* **b** __b__ ~~s~~ `c*d*` ***bi***":              "paragraph i{i}· ·b{b}· ·b{b}· ·s{s}· ·c*d*{c}· ·bi{bi}",
		"a_b_c 2*3*4 \\*x\\*":                                "paragraph a_b_c 2·3{i}·4 *x*",
		"[l **b**](https://e.example) <https://f.example>":   "paragraph l {https://e.example}·b{b https://e.example}· ·https://f.example{https://f.example}",
		"See https://e.example/a_b, then a@b.example.":       "paragraph See ·https://e.example/a_b{https://e.example/a_b}·, then ·a@b.example{mailto:a@b.example}·.",
		"[r][1] [l](/rel) ![p](p.png)\n\n[1]: https://e.org": "paragraph r{https://e.org}· [l](/rel) ![p](p.png)",
		"[x](" + long + ")":                                  "paragraph [x](" + long[:maxText-4] + "·" + long[maxText-4:] + ")",
		"![alt *text*](https://e.example/a.png)":             "image https://e.example/a.png alt ·text{i}",
		"an ![alt](https://e.example/a.png) inline":          "paragraph an ·alt{https://e.example/a.png}· inline",
		"---\n***":           "divider ; divider ",
		"> a\n> b\n>\n> - c": "quote a⏎b; bulleted_list_item c",
		"```sh x\na\n\n b\n": "code shell a⏎⏎ b",
		"    a\n":            "code plain text a",
		"<div>\n<b>x</b>\n":  "paragraph <div>⏎<b>x</b>",
		"a <b>x</b> &amp; c": "paragraph a <b>x</b> & c",
		"Tom &amp; Ann, it&#39;s 5&nbsp;EUR \\&amp; `&amp;`": "paragraph Tom & Ann, it's 5\u00a0EUR &amp; ·&amp;{c}",
		"[s](https://e.example/?a=1&amp;b=2\\_c)":            "paragraph s{https://e.example/?a=1&b=2_c}",
		"![a](https://e.example/a\\_b.png)":                  "image https://e.example/a_b.png a",
		"a `x\ny` b <!-- note --> c":                         "paragraph a ·x y{c}· b  c",
		"a\n\n<!-- a note\n\nfor editors -->\n\nb":           "paragraph a; paragraph b",
		"- a\n  more\n\n- b":                                 "bulleted_list_item a more; bulleted_list_item b",
		"3. a\n4. b":                                         "numbered_list_item a; numbered_list_item b",
		"- [x] a\n- [ ] b":                                   "to_do true a; to_do false b",
		"- a\n  - b\n    - c":                                "bulleted_list_item a(bulleted_list_item b; bulleted_list_item c)",
		"- a\n\n  ```go\n  b\n  ```\n  > c\n- d":             "bulleted_list_item a(code go b; quote c); bulleted_list_item d",
		"-\n- a":                                             "bulleted_list_item a",
		"| a | b |\n|---|:-:|\n| `c\\|d` |":                  "table 2(table_row a|b; table_row c|d{c}|)",
		strings.Repeat("[a](", maxLinks+1):                   "paragraph " + strings.TrimSuffix(strings.Repeat(strings.Repeat("[a](", maxText/4)+"·", 10), "·") + "·[a](",
	} {
		if got := shortForm(blocks(md)); got != want {
			t.Errorf("%q is\n%s\nwant\n%s", md, got, want)
		}
	}
}

func shortForm(bs []block) string {
	var out []string
	for _, b := range bs {
		s := b.Type + " "
		switch {
		case b.Body.Checked != nil:
			s += fmt.Sprint(*b.Body.Checked, " ")
		case b.Body.External != nil:
			s += b.Body.External.URL + " "
		case b.Type == "code":
			s += b.Body.Language + " "
		case b.Type == "table":
			s += fmt.Sprint(b.Body.Width)
		}
		s += shortSpans(b.Body.Text) + shortSpans(b.Body.Caption)
		for i, cell := range b.Body.Cells {
			s += strings.Repeat("|", min(i, 1)) + shortSpans(cell)
		}
		if b.Body.Children != nil {
			s += "(" + shortForm(b.Body.Children) + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func shortSpans(spans []span) string {
	var out []string
	for _, s := range spans {
		var marks string
		if l := s.Look; l != nil {
			for mark, on := range map[string]bool{"b": l.Bold, "i": l.Italic, "s": l.Strike, "c": l.Code} {
				if on {
					marks += mark
				}
			}
			if marks == "ib" {
				marks = "bi"
			}
		}
		if s.Text.Link != nil {
			marks = strings.TrimSpace(marks + " " + s.Text.Link.URL)
		}
		if marks != "" {
			marks = "{" + marks + "}"
		}
		out = append(out, strings.ReplaceAll(s.Text.Content, "\n", "⏎")+marks)
	}
	return strings.Join(out, "·")
}

// FuzzBlocks looks for text that cannot be read, and for blocks that Notion
// would refuse.
func FuzzBlocks(f *testing.F) {
	for _, md := range []string{"# a\n\n- b\n  - c\n\n| a |\n|---|\n", "> ~~a~~ **b `c`**\n<x", strings.Repeat("> - ", 500) + "a", strings.Repeat("[*", 500)} {
		f.Add(md)
	}
	f.Fuzz(func(t *testing.T, md string) {
		if _, err := batches(blocks(md)); err != nil {
			t.Error(err)
		}
	})
}
