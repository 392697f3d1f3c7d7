package markdown

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestLinks(t *testing.T) {
	for text, want := range map[string]string{
		"[a](b) ![c](d \"t\") <https://e.example> <f@g.example>":                  "1 b, 1 d, 1 https://e.example, 1 mailto:f@g.example",
		"See https://a.example/b_c_d, (https://e.example/f_(g)).":                 "1 https://a.example/b_c_d, 1 https://e.example/f_(g)",
		"http://localhost:8080/a\n\n`https://no.example`\n\n\thttps://no.example": "1 http://localhost:8080/a",
		"[![a](b)](c) [https://shown.example](d)":                                 "1 c, 1 b, 1 d",
		"[a][1]\n\n[1]: <b c>\n":                                                  "3 b c",
		"[a](b\\_c?d=1&amp;e=2)":                                                  "1 b_c?d=1&e=2",
		"<a href='b'>\n\n<!-- <a href='no'> [no](no) -->\n\n<img src=c>":          "1 b, 5 c",
		"```\n[no](no)\n```\n[a](b)":                                              "4 b",
		"+++\ntitle = 'x'\n+++\n\n| a |\n|---|\n| [b](c) |":                       "7 c",
		"a[^1]\n\n[^1]: See [b](c).":                                              "3 c",
	} {
		var got []string
		p, err := Read(text)
		if err != nil {
			t.Error(err)
		}
		for _, l := range p.Links {
			got = append(got, string(rune('0'+l.Line))+" "+l.Target)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%q has %s, want %s", text, s, want)
		}
	}
}

// What would take the parser minutes or all memory is not taken for a text without links.
func TestUnread(t *testing.T) {
	for _, begin := range []string{
		strings.Repeat("[a](b) ", 20001), strings.Repeat(">", 1<<20), strings.Repeat("1. ", 1<<20), "# a " + strings.Repeat("{a={", 1<<20),
		strings.Repeat("|a", 3000) + "\n" + strings.Repeat("|-", 3000) + "\n" + strings.Repeat("|\n", 3000),
	} {
		p, err := Read(begin + "\n\n[c](d)\n")
		if err == nil || len(p.Links) > 0 {
			t.Errorf("%.20q: %v, %v", begin, err, p.Links)
		}
		if Parse([]byte(begin)).HasChildren() {
			t.Errorf("%.20q is parsed", begin)
		}
	}
	for _, plain := range []string{strings.Repeat("-", 1<<20), strings.Repeat("> - a | b\n", 1<<16), strings.Repeat("[a](b) ", 20000), strings.Repeat("x > {a} ", 1<<17)} {
		if _, err := Read(plain); err != nil {
			t.Errorf("%.20q: %v", plain, err)
		}
	}
}

func TestAnchors(t *testing.T) {
	p, _ := Read("# A\n\n# A\n\n# A-1\n\n# A\n\n<a name=\"Here\"></a>\n\n```md\n# No\n```\n")
	for _, want := range []string{"a", "a-1", "a-1-1", "a-2", "here"} {
		if !p.Anchors[want] {
			t.Errorf("%q is missing in %v", want, p.Anchors)
		}
	}
	if p.Anchors["no"] || p.Anchors["a-3"] {
		t.Errorf("too many: %v", p.Anchors)
	}
}

// Front matter that ends with three dots is none of the text, and letters become small as
// forges have them.
func TestAnchorsOfEdges(t *testing.T) {
	for text, want := range map[string]string{"---\ntitle: x\n...\n\n# After": "after", "---yaml\ntitle: x\n--- \n\n# After": "after", "## İstanbul": "i̇stanbul", "## ![img](x.png) Alt": "-alt"} {
		if p, _ := Read(text); !p.Anchors[want] || p.Anchors["title-x"] {
			t.Errorf("%q: %q is missing in %v", text, want, p.Anchors)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("[a](https://x/(y)) <https://z> `[no](q)` [r]: u\n```\nx\n```\n# H\n<h2>a</h2>\n[^1]: b")
	f.Fuzz(func(t *testing.T, s string) {
		lines := 1 + strings.Count(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s), "\n")
		p, _ := Read(s)
		for _, l := range p.Links {
			if l.Line < 1 || l.Line > lines {
				t.Fatalf("%q is on line %d of %d", l.Target, l.Line, lines)
			}
		}
	})
}

// Headings are found whichever way they are written, and not in code, quotations and lists.
func TestHeadings(t *testing.T) {
	src := "# One #\n\nTwo\nand more\n===\n\nThree\n---\n```\n# code\n```\n    # code\n\n> # quoted\n\n- # listed\n\n#hash\n\n#### Four `x` {#own}\n"
	var got []string
	for _, h := range Headings(src) {
		got = append(got, fmt.Sprintf("%d %s: %q", h.Level, h.Title, src[h.Start:h.End]))
	}
	want := []string{`1 One: "# One #"`, `1 Two and more: "Two\nand more\n==="`, `2 Three: "Three\n---"`, "4 Four `x`: \"#### Four `x` {#own}\""}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if got, want := WithoutCode("a `TODO` b\n```\nTODO\n```\n\tx\n"), "a `    ` b\n```\n    \n```\n\t \n"; got != want {
		t.Errorf("without code %q, want %q", got, want)
	}
}
