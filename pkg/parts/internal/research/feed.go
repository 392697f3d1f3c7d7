package research

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
	"github.com/adroit-run/adroit/pkg/tools"
)

// feedInput is the input of rss_feed.
type feedInput struct {
	Feed  string `json:"feed" jsonschema:"description=Address or configured name"`
	Limit int    `json:"limit,omitempty" jsonschema:"minimum=1,maximum=100,description=Items at most; default 20"`
	Since string `json:"since,omitempty" jsonschema:"description=2026-11-21 or 7d"`
	Query string `json:"query,omitempty" jsonschema:"description=Words that an item must have"`
}

const feedTypes = "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, application/json;q=0.8, */*;q=0.5"

func (d *webTools) feedTool() tools.Tool {
	return tools.New(tools.Metadata{
		Name: "rss_feed", Category: "research", Needs: tools.Net, Effect: tools.Pure, Produces: []string{"feed_items"}, Timeout: time.Minute,
		Examples: []tools.Example{{Note: "what was news this week", Args: json.RawMessage(`{"feed":"https://go.dev/blog/feed.atom","since":"7d"}`)}},
	}.ProseIn(descriptions), d.readFeed)
}

func (d *webTools) readFeed(ctx context.Context, env *tools.Env, in feedInput) (tools.Result, error) {
	from, err := d.since(in.Since)
	if err != nil {
		return tools.Result{}, err
	}
	u, what, err := source(in.Feed, d.Feeds, "feeds")
	if err != nil {
		return tools.Result{}, err
	}
	a, err := fetch.Get(ctx, env.HTTP, d.cache, fetch.Request{What: what, URL: u, Accept: feedTypes, Cached: true})
	if err != nil {
		return tools.Result{}, err
	}
	f, err := readFeed(a.Body, a.Charset, a.URL)
	if err != nil {
		return tools.Result{}, fmt.Errorf("%s: %w", what, err)
	}
	return f.result(in, from, a.Unchanged)
}

// source finds the address behind a configured name, or reads it as one.
func source(name string, configured map[string]string, what string) (*url.URL, string, error) {
	if s, ok := configured[name]; ok {
		u, err := fetch.ParseURL(s)
		if err != nil {
			return nil, "", fmt.Errorf("%s, as the configuration has it: %w", name, err)
		}
		return u, name, nil
	}
	if !strings.Contains(name, ":") {
		return nil, "", fmt.Errorf("%q is neither an address nor a configured name%s; %s", spelling.Clip(name, 80), spelling.DidYouMean(name, slices.Sorted(maps.Keys(configured))), fetch.Configured(what, configured))
	}
	u, err := fetch.ParseURL(name)
	if err != nil {
		return nil, "", err
	}
	return u, fetch.Redacted(u), nil
}

func (f *feed) result(in feedInput, from time.Time, old bool) (tools.Result, error) {
	limit := in.Limit
	limit = cmp.Or(limit, 20)
	need := strings.Fields(strings.ToLower(in.Query))
	found := []item{}
	undated := 0
	for _, it := range f.items {
		switch {
		case slices.ContainsFunc(need, func(w string) bool { return !strings.Contains(it.search, w) }):
		case !from.IsZero() && it.Time.IsZero():
			undated++
		case it.Time.Before(from):
		default:
			found = append(found, it)
		}
	}
	all := len(found)
	found = found[:min(limit, all)]
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", f.title, spelling.Plural(len(f.items), "item"))
	if f.link != "" {
		fmt.Fprintf(&b, " (%s)", f.link)
	}
	if f.dropped > 0 {
		fmt.Fprintf(&b, ", %d more were repetitions", f.dropped)
	}
	if old {
		b.WriteString(", not changed since it was last read")
	}
	b.WriteByte('\n')
	if all < len(f.items) {
		fmt.Fprintf(&b, "%d of them fit since and query.\n", all)
	}
	if undated > 0 {
		fmt.Fprintf(&b, "%s without a time left out; leave out since to see them.\n", spelling.Plural(undated, "item"))
	}
	for i, it := range found {
		fmt.Fprintf(&b, "\n%d. %s", i+1, it.Title)
		if !it.Time.IsZero() {
			fmt.Fprintf(&b, " (%s)", it.Time.Format("2006-01-02 15:04 UTC"))
		}
		if it.URL != "" {
			b.WriteString("\n   " + it.URL)
		}
		if it.Summary != "" && it.Summary != it.Title {
			b.WriteString("\n   " + spelling.Clip(it.Summary, 300))
		}
	}
	if all > len(found) {
		fmt.Fprintf(&b, "\n\n%d more; raise limit, or narrow by since or query.", all-len(found))
	}
	return turn.Bind(tools.Result{Text: b.String(), Summary: fmt.Sprintf("%s of %s", spelling.Plural(len(found), "item"), spelling.Clip(f.title, 60))}, "feed_items", found)
}

// since reads a point in time: a date, a time, or so many hours, days or weeks ago.
func (d *webTools) since(s string) (time.Time, error) {
	s = strings.TrimSpace(s)
	now := d.Now().UTC()
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	var n int
	var unit string
	if _, err := fmt.Sscanf(s, "%d%s", &n, &unit); err == nil && n > 0 && n < 1e5 {
		switch unit {
		case "h":
			return now.Add(-time.Duration(n) * time.Hour), nil
		case "d":
			return now.AddDate(0, 0, -n), nil
		case "w":
			return now.AddDate(0, 0, -7*n), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: write 2026-11-21, 2026-11-21T08:00:00Z, or 24h, 7d, 2w for so long ago", spelling.Clip(s, 80))
}
