package site

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// quotedTexts are lines of posts about template languages.
var quotedTexts = []string{
	"Write ${{ secrets.TOKEN }}, never the value.",
	"Jinja repeats with {% for x in y %} as long as it can.",
	"It ends with {% endfor %} and {%- endif -%} there.",
	"Raw {% raw %} and {% endraw %} and {%-  endraw  -%} too.",
	"An output {{ page.url | upcase }} and {{{ three }}} braces.",
	"Both: {{ a }} then {% b %} then {{ c {% endraw %} d }}.",
	"Shortcodes {{< youtube abc >}} and {{% notice %}} and {{</* quoted */>}} and {{%/* too */%}}.",
	"Without end {{ here.",
	"A tag without end {% if x",
	"A comment {# of Jinja #} and {# without end.",
	"Braces {} {a} {{}} {%%} }} %} {{<>}} {{< a */>}} b",
	"{{ at the start",
	"ends with {{",
	"ends with {%",
	"{{ over",
	"lines }} after",
	"A plug-in: {% include x.html %} {% gist 1 %}",
}

// quotedPost has them in paragraphs, in code and in a list.
func quotedPost(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "P%d `%s`\n\n", i, line)
	}
	b.WriteString("```text\n")
	for i, line := range lines {
		fmt.Fprintf(&b, "C%d %s\n", i, line)
	}
	return b.String() + "```\n\nThe end.\n"
}

var htmlTag = regexp.MustCompile(`<[^>]*>`)

// showsQuoted compares a page with the lines that it was made of.
func showsQuoted(t *testing.T, pages map[string]string, lines []string) {
	t.Helper()
	var shown string
	for _, text := range pages {
		shown += html.UnescapeString(htmlTag.ReplaceAllString(text, ""))
	}
	for i, line := range lines {
		for _, want := range []string{fmt.Sprintf("P%d %s\n", i, line), fmt.Sprintf("C%d %s\n", i, line)} {
			if !strings.Contains(shown, want) {
				t.Errorf("%q is not on the page", want)
			}
		}
	}
	for name, page := range pages {
		actsNot(t, name, page)
	}
	if !strings.Contains(shown, "The end.") || t.Failed() {
		t.Errorf("the page is\n%s", shown)
	}
}

// activeText has HTML that browsers run, in places that generators divide differently,
// and some that is harmless.
const activeText = `H<sub>2</sub>O <script>a()</script> <img src=x onerror=a()> [l](javascript:a) [m](java&Tab;script:a) [n][d] <javascript:a>
<svg/onload=a()> <form action=x> <iframe src=x></iframe> \<script> {: onclick="a()"}

[d]: javascript:a

<details><summary>More</summary>

` + "`<script>a()</script>`" + ` <embed src=x>

</details>

<div onclick="a()">

    <script>a()</script>

term
: definition

    <script>a()</script>

[^1]: note

    <img src=x onerror=a()>

` + "`a\n: <img src=x onerror=a()>`" + `

{::nomarkdown}<script>a()</script>{:/}

<!-- --!><script>a()</script> -->

<a href="` + "`" + `"> x ` + "`<img src=x onerror=a()>`" + ` [x](<script>) x[^1]
{: onclick="a()"}

`

// actsNot fails for a page of which a browser would run something.
func actsNot(t *testing.T, name, page string) {
	t.Helper()
	z := nethtml.NewTokenizer(strings.NewReader(page))
	sub := false
	for z.Next() != nethtml.ErrorToken {
		tok := z.Token()
		if tok.Type != nethtml.StartTagToken && tok.Type != nethtml.SelfClosingTagToken {
			continue
		}
		sub = sub || tok.Data == "sub"
		bad := slices.Contains([]string{"script", "svg", "form", "iframe", "embed"}, tok.Data)
		for _, a := range tok.Attr {
			bad = bad || strings.HasPrefix(a.Key, "on") || strings.HasPrefix(strings.ToLower(strings.Join(strings.Fields(a.Val), "")), "javascript:")
		}
		if bad {
			t.Errorf("%s has %s", name, tok)
		}
	}
	if !sub && strings.Contains(page, "H") && strings.Contains(page, "term") {
		t.Errorf("%s lost the harmless element sub", name)
	}
}

// inertSite is a site with a post of the lines, made inert.
func inertSite(t *testing.T, post string, files map[string]string, lines []string) builtSite {
	t.Helper()
	b := builtSite{post, t.TempDir(), t.TempDir(), nil}
	writeFiles(t, b.dir, files)
	body, found, err := Open(os.DirFS(b.dir), Settings{}).Inert(post, Matter{}, activeText+quotedPost(lines), "")
	if err != nil || len(found) == 0 {
		t.Fatalf("%d are quoted: %v", len(found), err)
	}
	writeFiles(t, b.dir, map[string]string{post: "---\ntitle: T\ndate: 2026-01-05\n---\n\n" + body})
	return b
}

// Real generators show what a post says of template languages as it is written.
func TestInertInJekyll(t *testing.T) {
	testenv.NeedsProgram(t, "jekyll")
	s := inertSite(t, "_posts/2026-01-05-post.md", map[string]string{
		"_config.yml":    "url: https://x.example\nfuture: true\n",
		"index.html":     "---\n---\n{% for post in site.posts %}{{ post.excerpt }}{% endfor %}",
		"_posts/.hidden": "",
	}, quotedTexts)
	cmd := exec.Command("ruby", "-e", jekyllBuilds, s.dir, s.out)
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	showsQuoted(t, pagesOf(t, s.out), quotedTexts)
}

func TestInertInHugo(t *testing.T) {
	hugo := testenv.NeedsVariable(t, "HUGO_BIN", "build.sh hugo")
	s := inertSite(t, "content/posts/post.md", map[string]string{
		"hugo.toml":                    "baseURL = 'https://x.example/'\ndisableKinds = ['taxonomy', 'term', 'rss', 'sitemap']\nmarkup.goldmark.renderer.unsafe = true\n",
		"layouts/_default/single.html": "{{ .Content }}",
		"layouts/_default/list.html":   "{{ range .Pages }}{{ .Summary }}{{ end }}",
	}, quotedTexts)
	cmd := exec.Command(hugo, "--destination", s.out, "--noBuildLock")
	cmd.Dir = s.dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	showsQuoted(t, pagesOf(t, s.out), quotedTexts)
}

func TestInertInEleventy(t *testing.T) {
	for name, config := range map[string]string{"liquid": "", "nunjucks": "return { markdownTemplateEngine: 'njk' };"} {
		t.Run(name, func(t *testing.T) {
			s := inertSite(t, "posts/post.md", map[string]string{
				"eleventy.config.js": "export default function () { " + config + " }\n", "package.json": `{"type": "module"}`,
			}, quotedTexts)
			buildEach(func(t *testing.T, s builtSite) *exec.Cmd {
				return npmProgram(t, "@11ty/eleventy/cmd.cjs", "--quiet", "--output="+s.out)
			})(t, []builtSite{s})
			showsQuoted(t, pagesOf(t, s.out), quotedTexts)
		})
	}
}

// What a post has of the kind was put there by its site's people and stays.
func TestInertKeeps(t *testing.T) {
	jekyll, hugo, eleventy, astro := Site{Style: Jekyll}, Site{Style: Hugo}, Site{Style: Eleventy}, Site{Style: Astro}
	off := Matter{Values: map[string]any{"render_with_liquid": false}}
	njk := Matter{Values: map[string]any{"templateEngineOverride": "njk,md"}}
	plain := Matter{Values: map[string]any{"templateEngineOverride": "md"}}
	defaults := Site{Style: Jekyll, config: map[string]any{"defaults": []any{map[string]any{"scope": map[string]any{"path": "_posts"}, "values": map[string]any{"render_with_liquid": false}}}}}
	for _, c := range []struct {
		s                     Site
		name                  string
		m                     Matter
		body, old, want, fail string
	}{
		{s: jekyll, body: "{% include a.html %} {{ b }}", old: "x {% include a.html %}", want: "{% include a.html %} {% raw %}{{ b }}{% endraw %}"},
		{s: jekyll, body: "{% raw %}{{ b }}{% endraw %} {{ b }}", old: "{% raw %}{{ b }}{% endraw %}", want: "{% raw %}{{ b }}{% endraw %} {% raw %}{{ b }}{% endraw %}"},
		{s: jekyll, m: off, body: "{{ b }}", want: "{{ b }}"},
		{s: defaults, name: "_posts/a.md", body: "{{ b }}", want: "{{ b }}"},
		{s: defaults, name: "_drafts/a.md", body: "{{ b }}", want: "{% raw %}{{ b }}{% endraw %}"},
		{s: hugo, body: `{{< ref "a.md" >}} {{< b >}} {{ c }}`, old: `{{< ref "a.md" >}}`, want: `{{< ref "a.md" >}} {{</* b */>}} {{ c }}`},
		{s: hugo, body: "{{</* a */>}} {{</* b */>}} {{<script>}}", old: "{{</* a */>}}", want: "{{</* a */>}} {{&lt;/* b */>}} {{&lt;script>}}"},
		{s: hugo, body: "<script>a</script> <br> {{<c>}}", old: "{{<c>}}", want: "&lt;script>a&lt;/script> <br> {{<c>}}"},
		{s: jekyll, body: `{{: onclick="a" }} {{ "<b>" | c }} <script>`, old: `{{ "<b>" | c }}`, want: `{\{: onclick="a" }} {{ "<b>" | c }} &lt;script>`},
		{s: hugo, body: "a\n{{< b", fail: "line 2 of the text has {{< without its end"},
		{s: eleventy, body: "{{ b }} {# c #}", want: "{% raw %}{{ b }}{% endraw %} {# c #}"},
		{s: eleventy, m: njk, body: "{# c #}", want: "{% raw %}{# c #}{% endraw %}"},
		{s: eleventy, m: plain, body: "{{ b }}", want: "{{ b }}"},
		{s: Site{Style: Eleventy, markdown: "false"}, body: "{{ b }}", want: "{{ b }}"},
		{s: Site{Style: Eleventy, markdown: "ejs"}, body: "`<%= b %>`", fail: "through ejs"},
		{s: astro, name: "a.md", body: "{a} <B/>", want: "{a} <B/>"},
		{s: astro, name: "a.md", body: "{a} <C/>", want: "{a} &lt;C/>"},
		{s: astro, name: "a.mdx", body: "[a](javascript:b) <c>", want: "[a\\](javascript:b) &lt;c>"},
		{s: astro, name: "a.mdx", body: "import b from 'c'\n\n{a} <B/> a < b `{c}` [d](<e>) <https://f.example> \\{g} {h}", old: "{h}",
			want: "&#105;mport b from 'c'\n\n\\{a} &lt;B/> a < b `{c}` [d](e) [https://f.example](https://f.example) \\{g} {h}"},
		{s: astro, name: "a.mdx", body: "<Note a={1}>\n\n    {a}\n\n```js\n{b}\n```\n\n</Note>\n\n<script>c</script>", old: "<Note a={1}>\n</Note>",
			want: "<Note a={1}>\n\n    \\{a}\n\n```js\n{b}\n```\n\n</Note>\n\n&lt;script>c&lt;/script>"},
	} {
		got, _, err := c.s.Inert(c.name, c.m, c.body, c.old)
		if c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)) || c.fail == "" && (err != nil || got != c.want) {
			t.Errorf("%s %q: %v\n%s\nwant\n%s%s", c.s.Style, c.body, err, got, c.want, c.fail)
		}
	}
}

// MDX divides a text as no other parser does: what it would run is text, or the post is
// refused. A real MDX has run these and some 300,000 random ones; see docs/dev/conformance.md.
func TestInertMDX(t *testing.T) {
	mdx := Site{Style: Astro}
	const refused = "begins code that MDX may end elsewhere"
	for _, c := range [][2]string{
		{"```\n    ```\n{a}\n```", "```\n    ```\n\\{a}\n```"}, // it ended at the second line
		{"    ```\n    {a}\n    ```\n{b}", "    ```\n    {a}\n    ```\n\\{b}"},
		{"- a\n\n  ```js\n  {a}\n\n  ```\n{b}", "- a\n\n  ```js\n  {a}\n\n  ```\n\\{b}"},
		{"- a\n\n  ```js\n{a}\n  ```", refused},
		{"- ```js\n  {a}\n  ```", refused},
		{"2. ```\n   x\n   ```\n{b}", refused},
		{"> ```\n> a\n> ```", refused},
		{"  ```\n  a", refused},
		{":::note\n```\n:::\n{a}\n```", refused},
		{"$$\n```\n$$\n{a}\n```", refused},
		{"a `{b}` c", "a `{b}` c"},
		{"a `b\n{c}` `d`", "a `b\n\\{c}` `d`"},
		{"a `b\n\n`{c}`", "a `b\n\n`{c}`"},
		{"| a `b | `{c}` |\n|-|-|", "| a `b | `\\{c}` |\n|-|-|"},
		{"| `b | {c}` |\n|-|-|", "| `b | \\{c}` |\n|-|-|"},
		{"a `{b || c}`", "a `{b || c}`"},
		{"$`$ {a} `$`", "$`$ \\{a} `$`"},
		{"[a](b \"`\"){c}`", "[a](b \"`\")\\{c}`"},
		{"[a](b) `{c}` [d](<e>) [f](<g h>)", "[a](b) `{c}` [d](e) [f](&lt;g h>)"},
		{"https://a.example/`<b>` `{c}`", "https://a.example/`&lt;b>` `\\{c}`"},
		{"https://a.example/\\<b>", "https://a.example/&lt;b>"},
		{"<a@b.example><a@b.example><https://c.example>", "[a@b.example](mailto:a@b.example)[a@b.example](mailto:a@b.example)[https://c.example](https://c.example)"},
		{"a <", "a &lt;"},
		{"a\rimport b", "a\n&#105;mport b"},
		{"- `a\nexport b", "- `a\n&#101;xport b"},
		{"a <!-- for editors --> b <!-- --> c", "a {/* */} b {/* */} c"},
	} {
		got, _, err := mdx.Inert("a.mdx", Matter{}, c[0], "")
		if c[1] == refused && (err == nil || !strings.Contains(err.Error(), refused)) || c[1] != refused && (err != nil || got != c[1]) {
			t.Errorf("%q: %v\n%q\nwant\n%q", c[0], err, got, c[1])
		}
	}
	// A post that has such code already can still be changed.
	old := "- ```js\n  {a}\n  ```\n"
	if got, _, err := mdx.Inert("a.mdx", Matter{}, old+"\n{b}\n", old); err != nil || got != old+"\n\\{b}\n" {
		t.Errorf("%q, %v", got, err)
	}
}
