package research

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
	"github.com/adroit-run/adroit/pkg/tools"
)

// searchInput is the input of web_search.
type searchInput struct {
	Query string `json:"query" jsonschema:"minLength=1,maxLength=400,description=Words to look for"`
	Limit int    `json:"limit,omitempty" jsonschema:"minimum=1,maximum=20,description=Default 8"`
}

const brave = "https://api.search.brave.com/res/v1/web/search"

func (d *webTools) searchTool() tools.Tool {
	m := tools.Metadata{
		Name: "web_search", Category: "research", Needs: tools.Net, Effect: tools.Pure, Produces: []string{"search_results"}, Timeout: time.Minute,
		Examples: []tools.Example{{Note: "find sources", Args: json.RawMessage(`{"query":"iCalendar recurrence rule DST","limit":5}`)}},
	}.ProseIn(descriptions)
	if d.Search.Engine == "" {
		m.Requires = []string{"config:research.search"}
	}
	return tools.New(m, d.search)
}

// A hit is one result of a search.
type hit struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet,omitempty"`
	Date    string `json:"date,omitempty"`
}

func (d *webTools) search(ctx context.Context, env *tools.Env, in searchInput) (tools.Result, error) {
	limit := cmp.Or(in.Limit, 8)
	r := fetch.Request{What: "the search engine", Accept: "application/json", Header: http.Header{}}
	key := ""
	if d.Search.KeyEnv != "" {
		if key = d.Getenv(d.Search.KeyEnv); key == "" {
			return tools.Result{}, fmt.Errorf("searching needs a key and %s is not set; only the user can fix this; continue with addresses that you know", d.Search.KeyEnv)
		}
	}
	q := url.Values{"q": {in.Query}}
	base := d.Search.URL
	switch d.Search.Engine {
	case "searxng":
		base = strings.TrimSuffix(base, "/")
		if !strings.HasSuffix(base, "/search") {
			base += "/search"
		}
		q.Set("format", "json")
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
	case "brave":
		base = cmp.Or(base, brave)
		q.Set("count", strconv.Itoa(limit))
		r.Header.Set("X-Subscription-Token", key)
	default:
		return tools.Result{}, errors.New("no search engine is set up here (research.search in the configuration: a SearxNG, or Brave with a key). Go on with addresses that you know or that the task names: web_fetch reads them")
	}
	u, err := fetch.ParseURL(base)
	if err != nil {
		return tools.Result{}, fmt.Errorf("the search engine, as the configuration has it: %w", err)
	}
	u.RawQuery = q.Encode()
	r.URL = u
	a, err := fetch.Get(ctx, env.HTTP, d.cache, r)
	if err != nil {
		return tools.Result{}, err
	}
	hits, err := readHits(d.Search.Engine, a.Body)
	if err != nil {
		return tools.Result{}, err
	}
	hits = hits[:min(len(hits), limit)]
	var b strings.Builder
	fmt.Fprintf(&b, "%s for %q\n", spelling.Plural(len(hits), "result"), in.Query)
	for i, h := range hits {
		fmt.Fprintf(&b, "\n%d. %s", i+1, h.Title)
		if h.Date != "" {
			b.WriteString(" (" + h.Date + ")")
		}
		b.WriteString("\n   " + h.URL)
		if h.Snippet != "" {
			b.WriteString("\n   " + h.Snippet)
		}
	}
	return turn.Bind(tools.Result{Text: b.String(), Summary: fmt.Sprintf("%s for %q", spelling.Plural(len(hits), "result"), spelling.Clip(in.Query, 60))}, "search_results", hits)
}

// readHits reads the answer of an engine, without what has no usable address.
func readHits(engine string, body []byte) ([]hit, error) {
	type row struct {
		Title         string `json:"title"`
		URL           string `json:"url"`
		Content       string `json:"content"`
		Description   string `json:"description"`
		PublishedDate string `json:"publishedDate"`
		PageAge       string `json:"page_age"`
	}
	var answer struct {
		Results []row `json:"results"`
		Web     struct {
			Results []row `json:"results"`
		} `json:"web"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		if engine == "searxng" && strings.HasPrefix(strings.TrimSpace(string(body[:min(len(body), 100)])), "<") {
			return nil, errors.New("the SearxNG answered with a page: its settings must list json under search.formats; only the user can fix this")
		}
		return nil, errors.New("the search engine's answer is not the JSON that it should be")
	}
	hits, seen := []hit{}, map[string]bool{}
	for _, r := range append(answer.Results, answer.Web.Results...) {
		h := hit{Title: words(r.Title, 200), URL: fetch.ResolveLink(nil, r.URL), Snippet: words(cmp.Or(r.Content, r.Description), 300)}
		if date := cmp.Or(r.PublishedDate, r.PageAge); len(date) >= 10 {
			if t, err := time.Parse(time.DateOnly, date[:10]); err == nil {
				h.Date = t.Format(time.DateOnly)
			}
		}
		if h.URL == "" || seen[h.URL] {
			continue
		}
		seen[h.URL] = true
		h.Title = cmp.Or(h.Title, h.URL)
		hits = append(hits, h)
	}
	return hits, nil
}
