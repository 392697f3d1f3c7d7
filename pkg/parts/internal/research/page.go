package research

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/outputs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// pageInput is the input of web_fetch.
type pageInput struct {
	URL   string `json:"url" jsonschema:"description=Address of the page"`
	Page  int    `json:"page,omitempty" jsonschema:"minimum=1,maximum=10000,description=Part of a long page; default 1"`
	Whole bool   `json:"whole,omitempty" jsonschema:"description=With menus and all"`
}

const pageSize = 12_000 // bytes of Markdown in one part

func (d *webTools) pageTool() tools.Tool {
	return tools.New(tools.Metadata{
		Name: "web_fetch", Category: "research", Needs: tools.Net, Effect: tools.Pure, Produces: []string{"page", outputs.FigureFamily}, Timeout: time.Minute,
		Examples: []tools.Example{{Note: "read a page", Args: json.RawMessage(`{"url":"https://go.dev/doc/effective_go"}`)}},
	}.ProseIn(descriptions), d.fetchPage)
}

func (d *webTools) fetchPage(ctx context.Context, env *tools.Env, in pageInput) (tools.Result, error) {
	u, err := fetch.ParseURL(in.URL)
	if err != nil {
		return tools.Result{}, err
	}
	a, err := fetch.Get(ctx, env.HTTP, d.cache, fetch.Request{URL: u, Accept: "text/html, application/xhtml+xml, text/markdown;q=0.9, text/plain;q=0.8, */*;q=0.5", Cached: true})
	if err != nil {
		return tools.Result{}, err
	}
	title, text, err := pageText(a, in.Whole)
	if err != nil {
		return tools.Result{}, fmt.Errorf("%s: %w", fetch.Redacted(a.URL), err)
	}
	parts := pages(text, pageSize)
	page := cmp.Or(in.Page, 1)
	if page > len(parts) {
		return tools.Result{}, fmt.Errorf("%s has %s only", fetch.Redacted(a.URL), spelling.Plural(len(parts), "page"))
	}
	var b strings.Builder
	if title != "" {
		fmt.Fprintf(&b, "# %s\n", title)
	}
	fmt.Fprintf(&b, "%s", a.URL)
	if len(parts) > 1 {
		fmt.Fprintf(&b, " (page %d of %d)", page, len(parts))
	}
	b.WriteString("\n\n" + parts[page-1])
	if page < len(parts) {
		fmt.Fprintf(&b, "\n\n[goes on: page %d of %d]", page+1, len(parts))
	}
	v, err := json.Marshal(map[string]any{"url": a.URL.String(), "title": title, "page": page, "pages": len(parts), "text": parts[page-1]})
	if err != nil {
		return tools.Result{}, tools.Fatal(err)
	}
	name, found := outputs.FiguresOfPage(u.String(), a.URL.String(), title+"\n"+text)
	known, err := json.Marshal(found)
	if err != nil {
		return tools.Result{}, tools.Fatal(err)
	}
	return tools.Result{Text: b.String(), Summary: spelling.Clip(cmp.Or(title, fetch.Redacted(a.URL)), 80) + fmt.Sprintf(", %d KB", (len(text)+1023)/1024), Artifacts: map[string]json.RawMessage{"page": v, name: known}}, nil
}

// pageText converts a response to text, or reports why it cannot.
func pageText(a *fetch.Response, whole bool) (title, text string, err error) {
	kind := a.Type
	if sniffed, _ := fetch.Media(http.DetectContentType(a.Body)); kind == "" || kind == "application/octet-stream" || !strings.HasPrefix(sniffed, "text/") && sniffed != "application/octet-stream" {
		kind = sniffed // a label that is wrong about a picture is wrong
	}
	switch {
	case kind == "application/pdf" || bytes.HasPrefix(a.Body, []byte("%PDF-")):
		return "", "", fmt.Errorf("it is a PDF (%d KB), which cannot be read here; look for the same text as a page", len(a.Body)>>10)
	case kind == "text/html" || kind == "application/xhtml+xml":
		s, err := decodePage(a.Body, a.Charset)
		if err != nil {
			return "", "", err
		}
		return readPage(s, a.URL, whole)
	case kind == "text/calendar":
		return "", "", errors.New("it is a calendar; the tool calendar reads it")
	case strings.HasSuffix(kind, "rss+xml"), strings.HasSuffix(kind, "atom+xml"), kind == "application/feed+json":
		return "", "", errors.New("it is a feed; the tool rss_feed reads it")
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "json"), strings.HasSuffix(kind, "xml"), strings.HasSuffix(kind, "yaml"), kind == "application/javascript":
		s, err := fetch.Decode(a.Body, a.Charset)
		if err != nil {
			return "", "", err
		}
		s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
		if strings.HasPrefix(kind, "text/") && kind != "text/xml" {
			return "", s, nil
		}
		lang := kind[strings.LastIndexAny(kind, "/+")+1:]
		return "", fence(lang, s), nil
	}
	return "", "", fmt.Errorf("it is %s (%d KB), which cannot be read as text", cmp.Or(fetch.OneLine(kind, 60), "of no known type"), len(a.Body)>>10)
}

// fence puts s into a code block that it cannot end itself.
func fence(lang, s string) string {
	marks := "```"
	for strings.Contains(s, marks) {
		marks += "`"
	}
	return marks + lang + "\n" + strings.TrimRight(s, "\n") + "\n" + marks
}

// pages cuts Markdown into parts of about size bytes, between paragraphs where
// that can be, never within a letter. A code block that is cut is closed and
// opened again.
func pages(s string, size int) []string {
	var out []string
	var b strings.Builder
	open := "" // the line that opened the code block we are in
	flush := func() {
		if open != "" {
			b.WriteString(marks(open) + "\n")
		}
		if text := strings.Trim(b.String(), "\n"); text != "" {
			out = append(out, text)
		}
		b.Reset()
		if open != "" {
			b.WriteString(open + "\n")
		}
	}
	for l := range strings.Lines(s) {
		for len(l) > size { // one line can be a whole page
			head := spelling.Clip(l[:size], size)
			b.WriteString(head)
			flush()
			l = l[len(head):]
		}
		text := strings.TrimRight(l, "\n")
		blank := strings.TrimSpace(text) == ""
		if n := b.Len() + len(l); n > size || blank && open == "" && n > size*3/4 {
			flush()
		}
		b.WriteString(l)
		switch m := marks(text); {
		case m == "":
		case open == "":
			open = text
		case strings.TrimSpace(text) == m && len(m) >= len(marks(open)) && m[0] == marks(open)[0]:
			open = ""
		}
	}
	open = ""
	flush()
	if out == nil {
		out = []string{"(there is no text on it)"}
	}
	return out
}

// marks are the backticks or tildes with which a line opens or ends a code block.
func marks(l string) string {
	t := strings.TrimLeft(l, " ")
	for _, c := range []string{"`", "~"} {
		if n := len(t) - len(strings.TrimLeft(t, c)); n >= 3 && len(l)-len(t) < 4 {
			return t[:n]
		}
	}
	return ""
}
