// Package notiontest is a Notion for tests: the few calls that publishing
// takes, held to the limits that Notion documents, and failing on demand.
//
//	n := notiontest.New("secret")
//	defer n.Close()
//	n.Next("POST /v1/pages", notiontest.Cut) // does it, then cuts the connection
//
// It knows one database with one data source, both called "posts".
package notiontest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Version is the only API version that the server accepts.
const Version = "2026-03-11"

// A Fault is a fault of the server in place of the effect of a request, or after it.
type Fault int

const (
	Limited Fault = iota + 1 // 429 with Retry-After: 2; nothing is done
	Refused                  // 503 without a word when to come again; nothing is done
	Broken                   // done, then 502
	Cut                      // done, then the connection is cut
	Dropped                  // the connection is cut; nothing is done
)

// A Page is a page that a client created.
type Page struct {
	ID         string
	Properties map[string]any
	Children   []map[string]any
	Trashed    bool
}

// A Server is the Notion. It is safe for concurrent use.
type Server struct {
	*httptest.Server
	// Properties of the table by name; set before the first request.
	Properties map[string]string
	Fixed      bool // nobody may change the table

	token  string
	mu     sync.Mutex
	pages  []*Page
	faults map[string][]Fault
	log    []string
}

// New starts a server that takes one token.
func New(token string) *Server {
	s := &Server{token: token, faults: map[string][]Fault{}, Properties: map[string]string{
		"Name": "title", "Adroit key": "rich_text", "Tags": "multi_select", "Status": "status",
	}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Next makes the next requests like "POST /v1/pages" fail, one after another.
// Ids in paths are written as *.
func (s *Server) Next(request string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[request] = append(s.faults[request], faults...)
}

// Pages gives a copy of what there is.
func (s *Server) Pages() []Page {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Page
	for _, p := range s.pages {
		c := *p
		c.Children = slices.Clone(p.Children)
		out = append(out, c)
	}
	return out
}

// Log lists the requests that were made, with their status.
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.Method + " " + pattern(r.URL.Path)
	var fault Fault
	if q := s.faults[name]; len(q) > 0 {
		fault, s.faults[name] = q[0], q[1:]
	}
	out, bad := any(nil), (*problem)(nil)
	switch fault {
	case Limited:
		w.Header().Set("Retry-After", "2")
		bad = &problem{http.StatusTooManyRequests, "rate_limited", "too many requests"}
	case Refused:
		bad = &problem{http.StatusServiceUnavailable, "service_unavailable", "come again"}
	case Dropped:
		s.log = append(s.log, name+" dropped")
		panic(http.ErrAbortHandler)
	default:
		out, bad = s.handle(r, body)
	}
	switch {
	case fault == Cut && bad == nil:
		s.log = append(s.log, name+" cut")
		panic(http.ErrAbortHandler)
	case fault == Broken && bad == nil:
		bad = &problem{http.StatusBadGateway, "bad_gateway", "upstream"}
	}
	status := http.StatusOK
	if bad != nil {
		status = bad.status
		out = map[string]any{"object": "error", "status": bad.status, "code": bad.code, "message": bad.message}
	}
	s.log = append(s.log, name+" "+strconv.Itoa(status))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out) // a client that is gone is the client's affair
}

// pattern is a path with * for ids.
func pattern(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) > 3 {
		parts[3] = "*"
	}
	return strings.Join(parts, "/")
}

func (s *Server) handle(r *http.Request, raw []byte) (any, *problem) {
	if r.Header.Get("Authorization") != "Bearer "+s.token {
		return nil, &problem{http.StatusUnauthorized, "unauthorized", "API token is invalid."}
	}
	if r.Header.Get("Notion-Version") != Version {
		return nil, &problem{http.StatusBadRequest, "missing_version", "Notion-Version is " + r.Header.Get("Notion-Version")}
	}
	var in map[string]any
	if r.Method != http.MethodGet {
		if r.Header.Get("Content-Type") != "application/json" || len(raw) > 500<<10 || json.Unmarshal(raw, &in) != nil {
			return nil, &problem{http.StatusBadRequest, "invalid_json", "the body is no JSON object of at most 500 KB"}
		}
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	switch route := r.Method + " " + pattern(r.URL.Path); {
	case route == "GET /v1/databases/*" && parts[1] == "posts":
		return map[string]any{"object": "database", "data_sources": []any{map[string]any{"id": "posts", "name": "Posts"}}}, nil
	case (r.Method == http.MethodGet || r.Method == http.MethodPatch) && pattern(r.URL.Path) == "/v1/data_sources/*" && parts[1] == "posts":
		if r.Method == http.MethodPatch {
			if s.Fixed {
				return nil, &problem{http.StatusForbidden, "restricted_resource", "Insufficient permissions for this endpoint."}
			}
			add, _ := in["properties"].(map[string]any)
			for name, of := range add {
				kind, _ := of.(map[string]any)
				for typ := range kind {
					s.Properties[name] = typ
				}
			}
		}
		props := map[string]any{}
		for name, typ := range s.Properties {
			props[name] = map[string]any{"type": typ, typ: map[string]any{}}
		}
		return map[string]any{"object": "data_source", "id": "posts", "properties": props}, nil
	case route == "POST /v1/data_sources/*/query" && parts[1] == "posts":
		return s.query(in)
	case route == "POST /v1/pages":
		return s.create(in)
	case route == "PATCH /v1/blocks/*/children":
		return s.append(parts[1], in)
	case route == "GET /v1/blocks/*/children":
		return s.list(parts[1], r)
	}
	return nil, &problem{http.StatusNotFound, "object_not_found", "Could not find " + r.URL.Path}
}

func (s *Server) page(id string) *Page {
	for _, p := range s.pages {
		if p.ID == id {
			return p
		}
	}
	return nil
}

func (s *Server) query(in map[string]any) (any, *problem) {
	filter, _ := in["filter"].(map[string]any)
	name, _ := filter["property"].(string)
	cond, _ := filter["rich_text"].(map[string]any)
	want, ok := cond["equals"].(string)
	if s.Properties[name] != "rich_text" || !ok {
		return nil, invalid("filter must be rich_text equals of a text property")
	}
	results := []any{}
	for _, p := range s.pages {
		if !p.Trashed && Text(p.Properties[name]) == want {
			results = append(results, p.object())
		}
	}
	return map[string]any{"object": "list", "results": results, "has_more": false}, nil
}

func (p *Page) object() map[string]any {
	return map[string]any{"object": "page", "id": p.ID, "url": "https://notion.example/" + p.ID, "in_trash": p.Trashed, "properties": p.Properties}
}

// Text is the text of a property of type title or rich_text.
func Text(property any) string {
	m, _ := property.(map[string]any)
	list, ok := m["rich_text"].([]any)
	if !ok {
		list, _ = m["title"].([]any)
	}
	return spans(list)
}

func spans(list []any) string {
	var b strings.Builder
	for _, x := range list {
		m, _ := x.(map[string]any)
		t, _ := m["text"].(map[string]any)
		c, _ := t["content"].(string)
		b.WriteString(c)
	}
	return b.String()
}

func (s *Server) create(in map[string]any) (any, *problem) {
	parent, _ := in["parent"].(map[string]any)
	if parent["type"] != "data_source_id" || parent["data_source_id"] != "posts" {
		return nil, invalid("parent must be a data_source_id that there is")
	}
	if bad := known(in, "parent", "properties", "children", "icon", "cover"); bad != nil {
		return nil, bad
	}
	props, _ := in["properties"].(map[string]any)
	title := false
	for name, v := range props {
		typ, ok := s.Properties[name]
		m, isMap := v.(map[string]any)
		if !ok || !isMap || m[typ] == nil {
			return nil, invalid("properties.%s is not a %q of the table", name, typ)
		}
		title = title || typ == "title"
		if list, ok := m[typ].([]any); ok && (typ == "title" || typ == "rich_text") {
			if bad := richText("properties."+name, list); bad != nil {
				return nil, bad
			}
		}
	}
	if !title {
		return nil, invalid("properties has no title")
	}
	children, bad := checkChildren(in["children"])
	if bad != nil {
		return nil, bad
	}
	p := &Page{ID: fmt.Sprintf("page-%d", len(s.pages)+1), Properties: props, Children: children}
	s.pages = append(s.pages, p)
	return p.object(), nil
}

func (s *Server) append(id string, in map[string]any) (any, *problem) {
	p := s.page(id)
	if p == nil {
		return nil, &problem{http.StatusNotFound, "object_not_found", "Could not find block " + id}
	}
	if bad := known(in, "children", "position"); bad != nil {
		return nil, bad
	}
	children, bad := checkChildren(in["children"])
	if bad != nil {
		return nil, bad
	}
	if len(children) == 0 {
		return nil, invalid("children should be not empty")
	}
	p.Children = append(p.Children, children...)
	return map[string]any{"object": "list", "results": children, "has_more": false}, nil
}

func (s *Server) list(id string, r *http.Request) (any, *problem) {
	p := s.page(id)
	if p == nil {
		return nil, &problem{http.StatusNotFound, "object_not_found", "Could not find block " + id}
	}
	size, _ := strconv.Atoi(r.URL.Query().Get("page_size"))
	at, _ := strconv.Atoi(r.URL.Query().Get("start_cursor"))
	if size < 1 || size > 100 || at > len(p.Children) {
		return nil, invalid("page_size should be 1 to 100")
	}
	end := min(at+size, len(p.Children))
	out := map[string]any{"object": "list", "results": p.Children[at:end], "has_more": end < len(p.Children)}
	if end < len(p.Children) {
		out["next_cursor"] = strconv.Itoa(end)
	}
	return out, nil
}
