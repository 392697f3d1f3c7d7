package markdown

import "testing"

func TestInert(t *testing.T) {
	for _, c := range []struct{ name, body, want, old string }{
		{name: "script", body: "a <script>x()</script> b", want: "a &lt;script>x()&lt;/script> b"},
		{name: "script block", body: "<SCRIPT\nsrc=x>\n</SCRIPT>\n", want: "&lt;SCRIPT\nsrc=x>\n&lt;/SCRIPT>\n"},
		{name: "event", body: "<img src=x onerror=a()> <b onclick='a()'>", want: "&lt;img src=x onerror=a()> &lt;b onclick='a()'>"},
		{name: "style", body: "<p style=\"background:url(x)\"> <style>a</style>", want: "&lt;p style=\"background:url(x)\"> &lt;style>a&lt;/style>"},
		{name: "elements", body: "<iframe src=x> <object> <embed> <form> <base href=x> <meta http-equiv=refresh> <svg><a> <new-one>", want: "&lt;iframe src=x> &lt;object> &lt;embed> &lt;form> &lt;base href=x> &lt;meta http-equiv=refresh> &lt;svg><a> &lt;new-one>"},
		{name: "unknown attribute", body: "<b class=a>x</b> <b newer=a>y</b>", want: "<b class=a>x</b> &lt;b newer=a>y</b>"},
		{name: "tag of a link", body: "<a href=\"java&Tab;script:a\">x</a> <a href=JavaScript:a> <img src=data:a> <a href=\"b.md\">", want: "&lt;a href=\"java&Tab;script:a\">x</a> &lt;a href=JavaScript:a> &lt;img src=data:a> <a href=\"b.md\">"},
		{name: "links", body: "[x](javascript:a) ![x](data:a) [y](b.md) <javascript:a> <https://b.example> <c@d.example> [m](mailto:c@d.example)", want: "[x\\](javascript:a) ![x\\](data:a) [y](b.md) &lt;javascript:a> <https://b.example> <c@d.example> [m](mailto:c@d.example)"},
		{name: "links in disguise", body: "[x](java&#115;cript:a) [x](javascript&colon;a) [x](\\javascript:a) [x]( <javascript:a b>)", want: "[x\\](java&#115;cript:a) [x\\](javascript&colon;a) [x\\](\\javascript:a) [x\\]( javascript:a%20b)"},
		{name: "definitions", body: "[x][a] [b]\n\n[a]: javascript:a\n[b]:\n  https://b.example\n", want: "[x][a] [b]\n\n[a\\]: javascript:a\n[b]:\n  https://b.example\n"},
		{name: "pointed", body: "[x](<a b.md>) [x](<script>)", want: "[x](a%20b.md) [x](script)"},
		{name: "note", body: "x[^1]\n\n[^1]: Note: y\n", want: "x[^1]\n\n[^1]: Note: y\n"},
		{name: "a note that nothing names", body: "[^1]: <script>\n", want: "[^1]: &lt;script>\n"},
		{name: "harmless", body: "a<br>b<br/> H<sub>2</sub>O <kbd>x</kbd> <details open><summary>s</summary></details>\n<table><tr><td colspan=\"2\"></table> <img src=\"/a.png\" alt='b' width=1> <!-- more --> a < b <3 a<=b", want: "a<br>b<br/> H<sub>2</sub>O <kbd>x</kbd> <details open><summary>s</summary></details>\n<table><tr><td colspan=\"2\"></table> <img src=\"/a.png\" alt='b' width=1> <!-- more --> a < b <3 a<=b"},
		{name: "comment that ends early", body: "<!-- --!><script> -->", want: "&lt;!-- --!>&lt;script> -->"},
		{name: "instruction", body: "<?php a ?> <!DOCTYPE a> <![CDATA[a]]>", want: "&lt;?php a ?> &lt;!DOCTYPE a> &lt;![CDATA[a]]>"},
		{name: "code", body: "`<script>` and\n\n```html\n<script>[x](javascript:a)\n```\n", want: "`<script>` and\n\n```html\n<script>[x](javascript:a)\n```\n"},
		{name: "a fence without end", body: "```\n<script>\n", want: "```\n&lt;script>\n"},
		{name: "code over lines", body: "`a\n: <img onerror=a>`", want: "`a\n: &lt;img onerror=a>`"},
		{name: "code by indentation", body: "a\n: b\n\n    <script>\n\n    c\n\nd", want: "a\n: b\n\n```\n<script>\n\nc\n```\n\nd"},
		{name: "a backtick in a tag", body: "<a href=\"`\"> x `<img onerror=a>`", want: "&lt;a href=\"`\"> x `&lt;img onerror=a>`"},
		{name: "quoted", body: "\\<script> \\\\<script> \\[x](javascript:a)", want: "&lt;script> \\\\&lt;script> \\[x\\](javascript:a)"},
		{name: "no tag yet", body: "<scr{{ a }}ipt> a <b", want: "&lt;scr{{ a }}ipt> a &lt;b"},
		{name: "former", old: "<script>a</script> <i onclick=a> [x](javascript:a)", body: "<script>a</script> <script>b</script> <i onclick=a> [y](javascript:a) [y](javascript:b)", want: "<script>a</script> &lt;script>b</script> <i onclick=a> [y](javascript:a) [y\\](javascript:b)"},
		{name: "former code", old: "`<script>a</script>`", body: "<script>a</script>", want: "&lt;script>a&lt;/script>"},
	} {
		got, found, err := Dialect{}.Inert(c.body, c.old)
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
		if again, _, err := (Dialect{}).Inert(got, c.old); err != nil || again != got {
			t.Errorf("%s: a second time it becomes %q: %v", c.name, again, err)
		}
		if c.name == "script" && len(found) != 2 {
			t.Errorf("found %q", found)
		}
	}
	for body, want := range map[string]string{
		"a{: onclick=\"b\"} {:.c #d target=\"_blank\"} {:toc} {::nomarkdown} `{: e=f}`": "a\\{: onclick=\"b\"} {:.c #d target=\"_blank\"} {:toc} \\{::nomarkdown} `{: e=f}`",
		"<div>\n\n`<script>`\n\n</div>\n\n`<script>`":                                   "<div>\n\n`&lt;script>`\n\n</div>\n\n`<script>`",
		"<div>\n\n\\<script>": "<div>\n\n&lt;script>",
	} {
		if got, _, err := (Dialect{Lists: true}).Inert(body, ""); err != nil || got != want {
			t.Errorf("%v\n%s\nwant\n%s", err, got, want)
		}
	}
}
