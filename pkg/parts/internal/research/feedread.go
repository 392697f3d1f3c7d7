package research

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
	"github.com/mmcdole/gofeed"
	jsonfeed "github.com/mmcdole/gofeed/json"
	"github.com/mmcdole/gofeed/rss"
	"golang.org/x/net/html"
)

// A feed is a parsed feed.
type feed struct {
	title, link string
	items       []item
	dropped     int // repeated
}

// An item is one entry of a feed. A zero time was not given.
type item struct {
	Title   string    `json:"title"`
	URL     string    `json:"url,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	Author  string    `json:"author,omitempty"`
	Summary string    `json:"summary,omitempty"`
	Tags    []string  `json:"tags,omitempty"`
	File    string    `json:"file,omitempty"` // an enclosure

	search string // lower case, of all its text
}

// readFeed reads Atom, RSS of any version or JSON Feed. Its cost is bounded by
// the size of body, whatever that holds.
func readFeed(body []byte, label string, at *url.URL) (*feed, error) {
	if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil { // a file that is stored so
		if body, err = io.ReadAll(io.LimitReader(z, mostUnpacked+1)); err != nil || len(body) > mostUnpacked {
			return nil, fmt.Errorf("it is gzip that is broken or has more than %d MB", mostUnpacked>>20)
		}
	}
	text, err := fetch.Decode(body, label)
	if err != nil {
		return nil, err
	}
	page := text
	text = strings.TrimLeft(text, " \t\r\n\ufeff")
	if strings.HasPrefix(text, "<") {
		if text, err = fetch.CleanXML(text); err != nil {
			return nil, err
		}
	} else if !strings.HasPrefix(text, "{") {
		return nil, errors.New("it is not a feed: neither XML nor JSON")
	}
	parser := gofeed.NewParser()
	parser.RSSTranslator = permalinks{&gofeed.DefaultRSSTranslator{}}
	parser.JSONTranslator = external{&gofeed.DefaultJSONTranslator{}}
	parsed, err := parser.ParseString(text)
	switch {
	case errors.Is(err, gofeed.ErrFeedTypeNotDetected):
		if named := feedOf(page, at); named != "" {
			return nil, fmt.Errorf("it is a page, whose feed is %s", named)
		}
		return nil, errors.New("it is not a feed of a known kind (Atom, RSS or JSON Feed); web_fetch reads pages")
	case err != nil:
		return nil, fmt.Errorf("it is a broken feed: %s", fetch.OneLine(err.Error(), 200))
	}
	f := &feed{title: heading(parsed.Title, 200), link: fetch.ResolveLink(at, parsed.Link)}
	seen := map[string]bool{}
	for _, it := range parsed.Items[:min(len(parsed.Items), fetch.MostItems)] {
		if it == nil {
			continue
		}
		one := read(it, at)
		if key := identity(it, one); seen[key] {
			f.dropped++
			continue
		} else {
			seen[key] = true
		}
		f.items = append(f.items, one)
	}
	// The newest first; what has no time comes last, in its own order.
	slices.SortStableFunc(f.items, func(a, b item) int {
		return b.Time.Compare(a.Time)
	})
	return f, nil
}

// permalinks gives items of RSS that have no link of their own the one that their guid
// is, unless that says it is none.
type permalinks struct{ *gofeed.DefaultRSSTranslator }

func (t permalinks) Translate(in any) (*gofeed.Feed, error) {
	out, err := t.DefaultRSSTranslator.Translate(in)
	from, ok := in.(*rss.Feed)
	if err != nil || !ok || len(out.Items) != len(from.Items) {
		return out, err
	}
	for i, it := range from.Items {
		if it.GUID != nil && out.Items[i].Link == "" && !strings.EqualFold(strings.TrimSpace(it.GUID.IsPermalink), "false") && strings.Contains(it.GUID.Value, "://") {
			out.Items[i].Link = it.GUID.Value
		}
	}
	return out, nil
}

// external gives items of JSON Feed that are about a page elsewhere the address of that page.
type external struct{ gofeed.Translator }

func (t external) Translate(in any) (*gofeed.Feed, error) {
	out, err := t.Translator.Translate(in)
	from, ok := in.(*jsonfeed.Feed)
	if err != nil || !ok || len(out.Items) != len(from.Items) {
		return out, err
	}
	for i, it := range from.Items {
		out.Items[i].Link = cmp.Or(out.Items[i].Link, it.ExternalURL)
	}
	return out, nil
}

func read(it *gofeed.Item, at *url.URL) item {
	one := item{Title: heading(it.Title, 300), URL: fetch.ResolveLink(at, it.Link), Summary: words(cmp.Or(it.Description, it.Content), 500)}
	if t := cmp.Or(it.PublishedParsed, it.UpdatedParsed); t != nil && t.Year() > 1 && t.Year() < 10_000 {
		one.Time = t.UTC()
	}
	// The library takes zones that it does not know for UTC.
	if t, ok := fetch.FeedDate(cmp.Or(it.Published, it.Updated)); ok {
		one.Time = t.UTC()
	}
	if len(it.Authors) > 0 && it.Authors[0] != nil {
		one.Author = words(cmp.Or(it.Authors[0].Name, it.Authors[0].Email), 100)
	}
	for _, tag := range it.Categories[:min(len(it.Categories), 10)] {
		if tag = words(tag, 50); tag != "" && !slices.Contains(one.Tags, tag) {
			one.Tags = append(one.Tags, tag)
		}
	}
	for _, e := range it.Enclosures {
		if e != nil && one.File == "" {
			one.File = fetch.ResolveLink(at, e.URL)
		}
	}
	one.search = strings.ToLower(strings.Join([]string{one.Title, words(it.Description, 20_000), words(it.Content, 20_000), one.Author, strings.Join(one.Tags, " ")}, " "))
	if one.Title == "" {
		one.Title = cmp.Or(spelling.Clip(one.Summary, 80), one.URL, "(no title)")
	}
	return one
}

// identity returns the key that repeated items share.
func identity(it *gofeed.Item, one item) string {
	if it.GUID != "" {
		return "id " + it.GUID
	}
	if one.URL != "" {
		return "url " + one.URL
	}
	return fmt.Sprint("text ", one.Title, one.Time, one.Summary)
}

// inTitles are the elements that titles are written with; br, img and wbr have no end.
var inTitles = strings.Fields("a abbr acronym b bdi big cite code del div em font h1 h2 h3 h4 h5 h6 i ins kbd mark p q s samp script small span strike strong style sub sup tt u var")

// heading is the text of a title on one line. RSS leaves open whether it is HTML, and titles name types and
// elements: a tag is markup if it belongs to a whole element.
func heading(s string, n int) string {
	low := strings.ToLower(s)
	return textOf(s, n, func(tag string, end bool) bool {
		switch {
		case tag == "br" || tag == "img" || tag == "wbr":
			return true
		case !slices.Contains(inTitles, tag):
			return false
		case end:
			return strings.Contains(low, "<"+tag)
		}
		return strings.Contains(low, "</"+tag+">")
	})
}

// words is the text of a piece of HTML on one line, n bytes at most.
func words(s string, n int) string {
	return textOf(s, n, func(string, bool) bool { return true })
}

// textOf returns the text between the tags that are markup.
func textOf(s string, n int, markup func(tag string, end bool) bool) string {
	if !strings.ContainsAny(s, "<&") {
		return fetch.OneLine(s, n)
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	z.SetMaxBuf(1 << 20)
	skip := ""
	for b.Len() < 4*n+1024 {
		switch z.Next() {
		case html.ErrorToken:
			return fetch.OneLine(b.String(), n)
		case html.TextToken:
			if skip == "" {
				b.Write(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			raw := string(z.Raw())
			name, _ := z.TagName()
			switch t := string(name); {
			case !markup(t, false):
				b.WriteString(raw)
				continue
			case t == "script" || t == "style":
				skip = t
			}
			b.WriteByte(' ')
		case html.EndTagToken:
			raw := string(z.Raw())
			name, _ := z.TagName()
			switch t := string(name); {
			case !markup(t, true):
				b.WriteString(raw)
				continue
			case t == skip:
				skip = ""
			}
			b.WriteByte(' ')
		}
	}
	return fetch.OneLine(b.String(), n)
}

// mostUnpacked bounds a feed that is stored as gzip, in bytes.
const mostUnpacked = 16 << 20

// feedOf returns the address of the first feed that a page names, "" if it names none.
func feedOf(page string, at *url.URL) string {
	for z := html.NewTokenizer(strings.NewReader(page)); z.Next() != html.ErrorToken; {
		n := html.Node{}
		if t := z.Token(); t.Data == "link" {
			n.Attr = t.Attr
		}
		kind, _, _ := strings.Cut(attr(&n, "type"), ";")
		if slices.Contains(strings.Fields(strings.ToLower(attr(&n, "rel"))), "alternate") && kind != "" && strings.Contains(feedTypes, strings.ToLower(kind)+",") {
			return fetch.OneLine(fetch.ResolveLink(at, attr(&n, "href")), 500)
		}
	}
	return ""
}
