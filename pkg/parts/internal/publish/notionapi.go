package publish

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/adroit-run/adroit/pkg/tools"
)

// notionVersion is the version of the interface that this was written for.
const notionVersion = "2026-03-11"

// A notionAPI is the part of Notion's interface that publishing takes.
type notionAPI struct {
	Notion
	token  string
	client *client
}

// call sends one request and decodes what comes back.
func (a *notionAPI) call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return tools.Fatal(err)
		}
	}
	got, err := a.client.do(ctx, func(ctx context.Context) (*http.Request, error) {
		base := strings.TrimSuffix(cmp.Or(a.URL, "https://api.notion.com"), "/")
		req, err := http.NewRequestWithContext(ctx, method, base+"/v1/"+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+a.token)
		req.Header.Set("Notion-Version", notionVersion)
		if in != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		return req, nil
	})
	if r := new(refusal); errors.As(err, &r) {
		var said struct{ Code, Message string }
		if json.Unmarshal([]byte(r.text), &said) == nil && said.Message != "" {
			r.text = said.Message
		}
		switch r.status {
		case http.StatusUnauthorized, http.StatusForbidden:
			return fmt.Errorf("%w. The token in %s is not valid or not allowed to do this; tell the user", err, a.KeyEnv)
		case http.StatusNotFound:
			return fmt.Errorf("%w. The id may be wrong, or the table is not shared with the connection; tell the user", err)
		}
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(got.body, out); err != nil {
		err = fmt.Errorf("what Notion answered cannot be read: %w", err)
		if method == http.MethodPost || method == http.MethodPatch {
			return &unsure{err}
		}
		return err
	}
	return nil
}

// A dataSource is a table: its properties by name.
type dataSource struct {
	ID         string `json:"id"`
	Properties map[string]struct {
		Type string `json:"type"`
	} `json:"properties"`
}

// A page is one in Notion.
type page struct {
	ID  string `json:"id"`
	URL string `json:"url"`
}

func (a *notionAPI) source(ctx context.Context) (*dataSource, error) {
	id := a.DataSource
	if id == "" {
		var db struct {
			Sources []struct{ ID, Name string } `json:"data_sources"`
		}
		if err := a.call(ctx, http.MethodGet, "databases/"+url.PathEscape(a.Database), nil, &db); err != nil {
			return nil, fmt.Errorf("looking up the database: %w", err)
		}
		if n := len(db.Sources); n != 1 {
			return nil, fmt.Errorf("the database has %d data sources; the configuration must name one as publish.notion.data_source. Tell the user", n)
		}
		id = db.Sources[0].ID
	}
	var s dataSource
	if err := a.call(ctx, http.MethodGet, "data_sources/"+url.PathEscape(id), nil, &s); err != nil {
		return nil, fmt.Errorf("looking up the data source: %w", err)
	}
	s.ID = id
	return &s, nil
}

// withKey adds the property in which a publication's key is kept, where it is missing.
// Adding it twice does no harm.
func (a *notionAPI) withKey(ctx context.Context, s *dataSource) error {
	switch p, ok := s.Properties[a.keyProperty()]; {
	case ok && p.Type == "rich_text":
		return nil
	case ok:
		return fmt.Errorf("the property %q of the Notion table is of the type %s; publishing keeps in it what it has published, as text. Tell the user to name another as publish.notion.key_property", a.keyProperty(), p.Type)
	}
	in := map[string]any{"properties": map[string]any{a.keyProperty(): map[string]any{"rich_text": map[string]any{}}}}
	var now dataSource
	if err := a.call(ctx, http.MethodPatch, "data_sources/"+url.PathEscape(s.ID), in, &now); err != nil {
		return fmt.Errorf("adding the text property %q to the Notion table, in which publishing keeps what it has published: %w. Without the right to change the table, ask the user to add it", a.keyProperty(), err)
	}
	s.Properties = now.Properties
	return nil
}

// find gives the page that has the key, nil if there is none.
func (a *notionAPI) find(ctx context.Context, s *dataSource, key string) (*page, error) {
	var got struct{ Results []page }
	in := map[string]any{
		"filter":    map[string]any{"property": a.keyProperty(), "rich_text": map[string]any{"equals": key}},
		"page_size": 2,
	}
	if err := a.call(ctx, http.MethodPost, "data_sources/"+url.PathEscape(s.ID)+"/query", in, &got); err != nil {
		return nil, fmt.Errorf("looking whether Notion has the post: %w", err)
	}
	switch len(got.Results) {
	case 0:
		return nil, nil
	case 1:
		return &got.Results[0], nil
	}
	return nil, fmt.Errorf("notion has this post more than once: %s and %s. Tell the user", got.Results[0].URL, got.Results[1].URL)
}

func (a *notionAPI) create(ctx context.Context, s *dataSource, props map[string]any, children []block) (*page, error) {
	var p page
	in := map[string]any{
		"parent":     map[string]any{"type": "data_source_id", "data_source_id": s.ID},
		"properties": props,
		"children":   children,
	}
	if err := a.call(ctx, http.MethodPost, "pages", in, &p); err != nil {
		return nil, err
	}
	if p.ID == "" {
		return nil, &unsure{errors.New("notion answered without the id of a page")}
	}
	return &p, nil
}

func (a *notionAPI) append(ctx context.Context, page string, children []block) error {
	in := map[string]any{"children": children, "position": map[string]any{"type": "end"}}
	return a.call(ctx, http.MethodPatch, "blocks/"+url.PathEscape(page)+"/children", in, &struct{}{})
}

// count returns the number of blocks at the top level of a page.
func (a *notionAPI) count(ctx context.Context, page string) (int, error) {
	n, cursor := 0, ""
	for range 200 {
		var got struct {
			Results []struct{}
			More    bool   `json:"has_more"`
			Next    string `json:"next_cursor"`
		}
		q := url.Values{"page_size": {"100"}}
		if cursor != "" {
			q.Set("start_cursor", cursor)
		}
		if err := a.call(ctx, http.MethodGet, "blocks/"+url.PathEscape(page)+"/children?"+q.Encode(), nil, &got); err != nil {
			return 0, fmt.Errorf("counting the blocks of the page: %w", err)
		}
		n += len(got.Results)
		if !got.More || got.Next == "" {
			return n, nil
		}
		cursor = got.Next
	}
	return 0, errors.New("the page has more blocks than any post")
}

func (n Notion) keyProperty() string { return cmp.Or(n.KeyProperty, defaultKeyProperty) }

// properties returns the properties of a new page, in the forms that the table has.
func (s *dataSource) properties(n Notion, title, key string, tags []string) (map[string]any, error) {
	out := map[string]any{n.keyProperty(): map[string]any{"rich_text": plainText(key)}}
	for _, name := range sorted(s.Properties) {
		if s.Properties[name].Type == "title" {
			out[name] = map[string]any{"title": plainText(title)}
		}
	}
	if p, ok := s.Properties["Tags"]; ok && p.Type == "multi_select" && len(tags) > 0 {
		var list []any
		for _, t := range tags {
			// A comma would be two options.
			list = append(list, map[string]any{"name": strings.ReplaceAll(t, ",", " ")})
		}
		out["Tags"] = map[string]any{"multi_select": list}
	}
	for _, name := range sorted(n.Properties) {
		v := n.Properties[name]
		switch typ := s.Properties[name].Type; typ {
		case "select", "status":
			out[name] = map[string]any{typ: map[string]any{"name": v}}
		case "multi_select":
			out[name] = map[string]any{typ: []any{map[string]any{"name": v}}}
		case "rich_text":
			out[name] = map[string]any{typ: plainText(v)}
		case "url", "email":
			out[name] = map[string]any{typ: v}
		case "checkbox":
			out[name] = map[string]any{typ: v == "true"}
		default:
			return nil, fmt.Errorf("the configuration sets the property %q, which the Notion table %s. Tell the user", name,
				map[bool]string{true: "does not have", false: "has as " + typ + ", which is not supported"}[typ == ""])
		}
	}
	return out, nil
}

func plainText(s string) []span {
	var out []span
	for _, part := range pieces(s) {
		out = append(out, span{Type: "text", Text: &spanText{Content: part}})
	}
	return out
}

// maxText bounds the length of one piece of text, in UTF-16 units.
const maxText = 2000

// pieces cuts text where Notion needs it cut, between characters.
func pieces(s string) []string {
	var out []string
	start, n := 0, 0
	for i, r := range s {
		w := max(utf16.RuneLen(r), 1)
		if n+w > maxText {
			out = append(out, s[start:i])
			start, n = i, 0
		}
		n += w
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// Bounds of one request: blocks at its top, in all, and bytes with a margin
// for the properties.
const (
	maxChildren = 100
	maxBlocks   = 1000
	maxBytes    = 400 << 10
)

// batches divides blocks into requests.
func batches(all []block) ([][]block, error) {
	out := [][]block{{}}
	count, size := 0, 0
	for _, b := range all {
		raw, err := json.Marshal(b)
		if err != nil {
			return nil, tools.Fatal(err)
		}
		n := b.total()
		last := &out[len(out)-1]
		if len(*last) == maxChildren || count+n > maxBlocks || size+len(raw) > maxBytes {
			out = append(out, nil)
			last = &out[len(out)-1]
			count, size = 0, 0
		}
		*last = append(*last, b)
		count += n
		size += len(raw)
	}
	return slices.Clip(out), nil
}
