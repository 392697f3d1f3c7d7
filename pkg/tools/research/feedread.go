package research

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
)

const (
	maxDepth  = 1000   // of elements; a feed has about ten
	mostItems = 20_000 // a feed has hundreds
)

// A feed is what was read of one.
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
	text, err := decode(body, label)
	if err != nil {
		return nil, err
	}
	text = strings.TrimLeft(text, " \t\r\n\ufeff")
	if strings.HasPrefix(text, "<") {
		if text, err = tame(text); err != nil {
			return nil, err
		}
	} else if !strings.HasPrefix(text, "{") {
		return nil, errors.New("it is not a feed: neither XML nor JSON")
	}
	parsed, err := gofeed.NewParser().ParseString(text)
	switch {
	case errors.Is(err, gofeed.ErrFeedTypeNotDetected):
		return nil, errors.New("it is not a feed of a known kind (Atom, RSS or JSON Feed); web_fetch reads pages")
	case err != nil:
		return nil, fmt.Errorf("it is a broken feed: %s", line(err.Error(), 200))
	}
	f := &feed{title: words(parsed.Title, 200), link: resolve(at, parsed.Link)}
	seen := map[string]bool{}
	for _, it := range parsed.Items[:min(len(parsed.Items), mostItems)] {
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

func read(it *gofeed.Item, at *url.URL) item {
	one := item{Title: words(it.Title, 300), URL: resolve(at, it.Link), Summary: words(cmp.Or(it.Description, it.Content), 500)}
	if t := cmp.Or(it.PublishedParsed, it.UpdatedParsed); t != nil && t.Year() > 1 && t.Year() < 10_000 {
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
			one.File = resolve(at, e.URL)
		}
	}
	one.search = strings.ToLower(strings.Join([]string{one.Title, words(it.Description, 20_000), words(it.Content, 20_000), one.Author, strings.Join(one.Tags, " ")}, " "))
	if one.Title == "" {
		one.Title = cmp.Or(clip(one.Summary, 80), one.URL, "(no title)")
	}
	return one
}

// identity is what two items share if they are the same.
func identity(it *gofeed.Item, one item) string {
	if it.GUID != "" {
		return "id " + it.GUID
	}
	if one.URL != "" {
		return "url " + one.URL
	}
	return fmt.Sprint("text ", one.Title, one.Time, one.Summary)
}

// resolve makes a link of a feed absolute, and drops what is none.
func resolve(at *url.URL, ref string) string {
	ref = strings.TrimSpace(ref)
	u, err := url.Parse(ref)
	if ref == "" || err != nil || len(ref) > 4096 {
		return ""
	}
	if at != nil {
		u = at.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return u.String()
}

// tame refuses what would make reading XML cost more than its size, and names
// the one encoding that the text has by now.
func tame(text string) (string, error) {
	if rest, ok := strings.CutPrefix(text, "<?xml"); ok {
		if _, after, ok := strings.Cut(rest, "?>"); ok {
			text = `<?xml version="1.0" encoding="UTF-8"?>` + after
		}
	}
	if n := strings.Count(text, "<item") + strings.Count(text, "<entry"); n > mostItems {
		return "", fmt.Errorf("it has %d items, more than can be read here", n)
	}
	depth, most := 0, 0
	for i := strings.IndexByte(text, '<'); i >= 0; {
		rest := text[i:]
		end := ">"
		switch {
		case strings.HasPrefix(rest, "<!--"):
			end = "-->"
		case strings.HasPrefix(rest, "<![CDATA["):
			end = "]]>"
		case strings.HasPrefix(rest, "<?"):
			end = "?>"
		case strings.HasPrefix(rest, "<!"):
			decl, _, _ := strings.Cut(rest, ">")
			if strings.Contains(decl, "[") || strings.HasPrefix(strings.ToUpper(rest), "<!ENTITY") {
				return "", errors.New("it declares entities, which feeds do not need and attackers do; it is not read")
			}
		case strings.HasPrefix(rest, "</"):
			depth--
		default:
			depth++
		}
		n := strings.Index(rest, end)
		if n < 0 {
			break
		}
		if end == ">" && n > 0 && rest[n-1] == '/' && rest[1] != '/' {
			depth--
		}
		if most = max(most, depth); most > maxDepth {
			return "", fmt.Errorf("it nests elements deeper than %d; that is no feed", maxDepth)
		}
		next := strings.IndexByte(rest[n:], '<')
		if next < 0 {
			break
		}
		i += n + next
	}
	return text, nil
}
